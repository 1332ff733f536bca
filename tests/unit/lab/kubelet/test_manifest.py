"""Manifests that nobody could run: what is said of them, and that whatever is let through can be run."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.topologies import planned

from tortie.lab.kubelet.lifecycle import Memory, Rules, sync
from tortie.lab.kubelet.manifest import BadManifest, Invalid, Unreadable, check_pod, check_template
from tortie.lab.kubelet.probes import HttpGet, probes_of
from tortie.lab.kubelet.records import Known
from tortie.lab.kubelet.template import daemonset, deployment, environment_of, static_pod
from tortie.lab.kubelet.tended import Tended

PROBE: dict[str, Any] = {"httpGet": {"port": 8080, "httpHeaders": [{"name": "A", "value": "b"}]}, "periodSeconds": 5}
CONTAINER: dict[str, Any] = {
    "name": "web",
    "image": "example/web:1",
    "command": ["serve"],
    "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, {"name": "A", "value": "b"}],
    "ports": [{"name": "http", "containerPort": 8080}],
    "livenessProbe": PROBE,
    "readinessProbe": {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {
        "containers": [CONTAINER],
        "initContainers": [{"name": "first", "command": ["true"]}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
    },
}


def with_container(**fields: Any) -> dict[str, Any]:
    return {**POD, "spec": {**POD["spec"], "containers": [{**CONTAINER, **fields}]}}


def with_probe(**fields: Any) -> dict[str, Any]:
    return with_container(livenessProbe={**PROBE, **fields})


def test_a_good_one_stays_as_it_is() -> None:
    assert check_pod(POD) == POD
    for classic in ("", "2.6", "3.3", "3.9", "3.20", "3.28"):
        for made in (daemonset(planned(), classic, 10), deployment(planned(), classic, 10)):
            assert check_template(made) == made


def test_null_is_nothing() -> None:
    assert check_pod(with_probe(timeoutSeconds=None, exec=None)) == POD


def test_a_port_by_its_name() -> None:
    pod = check_pod(with_probe(httpGet={"port": "http"}))
    assert probes_of(pod["spec"]["containers"][0])[0].handler == HttpGet("", 8080)


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.Pod"),
        (
            with_probe(periodSeconds="5"),
            "json: cannot unmarshal string into Go struct field "
            "Probe.spec.containers.livenessProbe.periodSeconds of type int32",
        ),
        (
            with_probe(periodSeconds=0.5),
            "json: cannot unmarshal number 0.5 into Go struct field "
            "Probe.spec.containers.livenessProbe.periodSeconds of type int32",
        ),
        (
            with_probe(httpGet=[]),
            "json: cannot unmarshal array into Go struct field "
            "Probe.spec.containers.livenessProbe.httpGet of type v1.HTTPGetAction",
        ),
        (
            {**POD, "spec": {"containers": {}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            with_container(command="serve"),
            "json: cannot unmarshal string into Go struct field Container.spec.containers.command of type []string",
        ),
        (
            with_container(env=[{"name": "A", "value": 1}]),
            "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
        ),
    ],
)
def test_what_cannot_be_read(pod: Any, said: str) -> None:
    with pytest.raises(Unreadable) as caught:
        check_pod(pod)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ({"spec": POD["spec"]}, "name is needed for the pod"),
        ({**POD, "spec": None}, "spec.containers: Required value"),
        (
            with_container(livenessProbe={"periodSeconds": 5}),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            with_probe(exec={"command": ["true"]}),
            "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
        ),
        (
            with_probe(periodSeconds=-1),
            "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            with_probe(httpGet={}),
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (with_container(name=""), "spec.containers[0].name: Required value"),
        (with_container(env=[{"value": "b"}]), "spec.containers[0].env[0].name: Required value"),
        (
            {**POD, "spec": {**POD["spec"], "containers": [CONTAINER, CONTAINER]}},
            'spec.containers[1].name: Duplicate value: "web"',
        ),
        (
            {**POD, "spec": {**POD["spec"], "restartPolicy": "Sometimes"}},
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
    ],
)
def test_what_it_must_not_say(pod: Any, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_pod(pod)
    assert caught.value.problems == [said]
    assert str(caught.value) == said


def test_a_port_that_cannot_be_told_by_its_name_alone() -> None:
    pod = with_container(ports=[{"name": "http", "containerPort": 70000}], livenessProbe={"httpGet": {"port": "http"}})
    with pytest.raises(Invalid, match=r"ports\[0\].containerPort: Invalid value: 70000: must be between 1 and 65535"):
        check_pod(pod)


def test_a_template_without_metadata_has_none() -> None:
    owner = daemonset(planned(), "", 1)
    del owner["spec"]["template"]["metadata"]
    assert check_template(owner)["spec"]["template"]["metadata"] == {}


def test_everything_that_is_wrong_is_said() -> None:
    with pytest.raises(Invalid) as caught:
        check_pod(with_container(name="../up", livenessProbe={"timeoutSeconds": -2}))
    name, probe, timeout = caught.value.problems
    assert name.startswith('spec.containers[0].name: Invalid value: "../up": a lowercase RFC 1123 label must')
    assert str(caught.value) == f"[{name}, {probe}, {timeout}]"


def test_a_template_is_told_by_its_place() -> None:
    owner = daemonset(planned(), "", 1)
    owner["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] = {}
    with pytest.raises(Invalid) as caught:
        check_template(owner)
    assert caught.value.problems == [
        "spec.template.spec.containers[0].livenessProbe: Required value: must specify a handler type"
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in below for place in places(each, (*path, key)))]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["name", "port", "x"]), below),
    max_leaves=4,
)


@given(st.sampled_from(places(POD)[1:]), ANYTHING)
def test_whatever_is_let_through_can_be_run(place: tuple[Any, ...], value: Any) -> None:
    pod = copy.deepcopy(POD)
    inner: Any = pod
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        checked = check_pod(pod)
    except BadManifest as error:
        str(error).encode()
        return
    made = static_pod(checked, "node-1", "10.0.0.1", 0.0)
    tended = Tended(Known("static/web.json", "1"), made, Memory(), 0.0, spread=True)
    for container in made["spec"]["containers"]:
        environment_of(container, made)
        tended.words(container["name"])
    done = sync(made, Memory(), (), tuple(tended.workers.values()), 0.0, Rules())
    json.dumps({**made, "status": done.status}, ensure_ascii=False).encode()

"""DaemonSet, Deployment and their pods, by release and hurry."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.support.topologies import planned

from tortie import __version__
from tortie.lab.kubelet.probes import HttpGet, probes_of
from tortie.lab.kubelet.template import (
    daemonset,
    deployment,
    environment_of,
    kubelet_version,
    kubernetes_minor,
    pod_of,
    static_pod,
)
from tortie.lab.plan import LabPlan


def lab() -> LabPlan:
    return planned()


def main(owner: dict[str, Any]) -> dict[str, Any]:
    return dict(owner["spec"]["template"]["spec"]["containers"][0])


def inits(owner: dict[str, Any]) -> dict[str, list[str]]:
    spec = owner["spec"]["template"]["spec"]
    return {one["name"]: one["command"] for one in spec.get("initContainers", [])}


def test_our_own_way() -> None:
    owner = daemonset(lab(), "", 1)
    assert main(owner)["command"] == ["tortie", "node", "run"]
    assert main(owner)["image"] == f"tortie/node:{__version__}"
    assert inits(owner) == {
        "upgrade-ipam": ["tortie", "ipam", "migrate", "--or-leave"],
        "install-cni": ["tortie", "cni", "install"],
    }
    live, ready = probes_of(main(owner))
    assert live.handler == HttpGet("127.0.0.1", 9099, "/liveness")
    assert ready.handler == HttpGet("127.0.0.1", 9099, "/readiness")
    assert (live.initial_delay_s, live.period_s, live.timeout_s, live.failure_threshold) == (10, 10, 10, 6)
    assert (ready.initial_delay_s, ready.period_s, ready.timeout_s, ready.failure_threshold) == (0, 10, 10, 3)
    assert owner["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 0


@pytest.mark.parametrize(
    ("classic", "live", "ready", "timeout"),
    [
        ("2.6", None, None, 1),
        ("3.3", None, "-bird-ready -felix-ready", 1),
        ("3.9", "-felix-live", "-felix-ready -bird-ready", 1),
        ("3.11", "-felix-live -bird-live", "-felix-ready -bird-ready", 1),
        ("3.20", "-felix-live -bird-live", "-felix-ready -bird-ready", 10),
        ("3.28", "-felix-live -bird-live", "-felix-ready -bird-ready", 10),
    ],
)
def test_probes_of_releases(classic: str, live: str | None, ready: str | None, timeout: int) -> None:
    container = main(daemonset(lab(), classic, 1))
    for kind, words in (("livenessProbe", live), ("readinessProbe", ready)):
        probe = container[kind]
        if words is None:
            assert probe["httpGet"]["port"] == 9099
        else:
            assert probe["exec"]["command"] == ["tortie", "node", "check", "--classic", classic, *words.split()]
        assert probe["timeoutSeconds"] == timeout
    assert container["command"] == ["tortie", "node", "run", "--classic", classic]


@pytest.mark.parametrize(
    ("classic", "names"),
    [
        ("2.6", ["install-cni"]),
        ("3.20", ["upgrade-ipam", "install-cni", "flexvol-driver"]),
        ("3.28", ["upgrade-ipam", "install-cni", "mount-bpffs"]),
    ],
)
def test_init_containers_of_releases(classic: str, names: list[str]) -> None:
    assert list(inits(daemonset(lab(), classic, 1))) == names


@pytest.mark.parametrize(
    ("classic", "tag", "kubelet", "minor"),
    [
        ("", f"tortie/node:{__version__}", "v1.31.4", 31),
        ("3.20", "docker.io/calico/node:v3.20.0", "v1.21.14", 21),
        ("v3.20.3", "docker.io/calico/node:v3.20.3", "v1.21.14", 21),
        ("3.9", "calico/node:v3.9.5", "v1.18.2", 18),
        ("2.6", "calico/node:v2.6.5", "v1.9.6", 9),
    ],
)
def test_versions(classic: str, tag: str, kubelet: str, minor: int) -> None:
    assert main(daemonset(lab(), classic, 1))["image"] == tag
    assert kubelet_version(classic) == kubelet
    assert kubernetes_minor(classic) == minor


def test_hurry_shortens_what_is_shown() -> None:
    live, ready = probes_of(main(daemonset(lab(), "3.20", 10)))
    assert (live.initial_delay_s, live.period_s, live.failure_threshold) == (1, 1, 6)
    assert live.timeout_s == 10, "how long an answer takes is a matter of the machine"
    assert (ready.initial_delay_s, ready.period_s, ready.failure_threshold) == (0, 1, 3)


def test_the_environment_is_what_all_nodes_share() -> None:
    whole = lab()
    nodes = whole.nodes
    own = [nodes[0]._replace(settings={**nodes[0].settings, "IP": "10.9.9.9", "FELIX_X": "1"}), *nodes[1:]]
    owner = daemonset(whole._replace(machines=tuple(own)), "3.20", 1)
    pod = pod_of(owner, "node-2", "10.0.0.2", 0.0)
    found = environment_of(pod["spec"]["containers"][0], pod)
    assert found["NODENAME"] == "node-2"
    assert found["DATASTORE_TYPE"] == "embedded"
    assert found["CALICO_NETWORKING_BACKEND"] == "bird"
    assert found["FELIX_HEALTHENABLED"] == "true"
    assert found["CLUSTER_TYPE"] == "k8s,bgp"
    assert found["CALICO_IPV4POOL_CIDR"] == str(whole.pools[0].cidr)
    assert not {"IP", "FELIX_X"} & set(found)
    assert environment_of(main(daemonset(whole, "", 1)), pod)["IP"] == "autodetect"
    etcd = daemonset(whole._replace(store=whole.store._replace(kind="etcd")), "", 1)
    assert environment_of(main(etcd), pod)["DATASTORE_TYPE"] == "etcdv3"
    assert "WAIT_FOR_DATASTORE" not in environment_of(main(etcd), pod)
    assert found["WAIT_FOR_DATASTORE"] == "true"


def test_references_to_other_variables() -> None:
    pod = pod_of(daemonset(lab(), "", 1), "node-1", "10.0.0.1", 0.0)
    field = {"fieldRef": {"fieldPath": "status.hostIP"}}
    container = {
        "env": [
            {"name": "NODEIP", "valueFrom": field},
            {"name": "METHOD", "value": "can-reach=$(NODEIP)"},
            {"name": "E"},
        ]
    }
    assert environment_of(container, pod) == {"NODEIP": "10.0.0.1", "METHOD": "can-reach=10.0.0.1", "E": ""}


def test_pods_of_the_daemonset() -> None:
    owner = daemonset(lab(), "", 1)
    one, same = (pod_of(owner, "node-1", "10.0.0.1", 5.0) for _ in range(2))
    assert one == same
    metadata = one["metadata"]
    assert re.fullmatch("calico-node-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
    assert metadata["ownerReferences"][0]["kind"] == "DaemonSet"
    assert metadata["labels"]["k8s-app"] == "calico-node"
    assert metadata["labels"]["pod-template-generation"] == "1"
    assert one["spec"]["nodeName"] == "node-1"
    assert one["status"]["hostIP"] == "10.0.0.1"
    next_generation = json.loads(json.dumps(owner))
    next_generation["metadata"]["generation"] = 2
    others = [
        pod_of(owner, "node-2", "10.0.0.2", 5.0),
        pod_of(owner, "node-1", "10.0.0.1", 5.0, serial=1),
        pod_of(next_generation, "node-1", "10.0.0.1", 5.0),
    ]
    for key in ("name", "uid"):
        assert len({metadata[key], *(pod["metadata"][key] for pod in others)}) == 4
    one["spec"]["containers"][0]["image"] = "changed"
    assert main(owner)["image"] != "changed"


def test_the_pod_of_the_deployment() -> None:
    owner = deployment(lab(), "3.20", 10)
    assert main(owner)["readinessProbe"]["exec"]["command"] == [
        "tortie",
        "controllers",
        "check",
        "--classic",
        "3.20",
        "-r",
    ]
    assert main(deployment(lab(), "", 1))["readinessProbe"]["exec"]["command"] == ["tortie", "controllers", "check"]
    pod = pod_of(owner, "node-1", "10.0.0.1", 0.0)
    assert re.fullmatch("calico-kube-controllers-[a-z0-9]{8}-[a-z0-9]{5}", pod["metadata"]["name"])
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
    assert pod["spec"]["terminationGracePeriodSeconds"] == 3


def test_a_static_pod() -> None:
    manifest = {"metadata": {"name": "decoy"}, "spec": {"containers": [{"name": "a", "command": ["false"]}]}}
    pod = static_pod(manifest, "node-1", "10.0.0.1", 0.0)
    assert pod["metadata"]["name"] == "decoy-node-1"
    assert pod["metadata"]["namespace"] == "default"
    assert pod["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert pod["spec"]["restartPolicy"] == "Always"
    assert manifest["metadata"] == {"name": "decoy"}

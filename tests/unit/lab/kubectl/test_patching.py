"""Changes of a DaemonSet: patches of all three kinds, variables, restarts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.support.kube_objects import Thing, daemon_set

from tortie.cli.patches import json_patch
from tortie.lab.kubectl.patching import (
    RESTARTED,
    BadChange,
    metadata_changes,
    next_generation,
    patched,
    restarted,
    strategic,
    variable_changes,
    with_variables,
)


def _container(owner: Thing) -> dict[str, Any]:
    found: dict[str, Any] = owner["spec"]["template"]["spec"]["containers"][0]
    return found


def _in_container(**fields: object) -> Thing:
    return {"spec": {"template": {"spec": {"containers": [{"name": "calico-node", **fields}]}}}}


def test_a_strategic_patch_merges_containers_by_name() -> None:
    before = daemon_set()
    kept = copy.deepcopy(before)
    after = patched(before, _in_container(livenessProbe={"initialDelaySeconds": 60}), "strategic", json_patch)
    assert before == kept
    probe = _container(after)["livenessProbe"]
    assert (probe["initialDelaySeconds"], probe["failureThreshold"]) == (60, 6)
    assert _container(after)["image"] == _container(before)["image"]


def test_a_strategic_patch_merges_variables_and_takes_away() -> None:
    patch = _in_container(
        env=[
            {"name": "IP", "value": "10.0.0.1"},
            {"name": "NEW", "value": "x"},
            {"name": "NODENAME", "$patch": "delete"},
        ]
    )
    variables = {each["name"]: each.get("value") for each in _container(strategic(daemon_set(), patch))["env"]}
    assert (variables["IP"], variables["NEW"], "NODENAME" in variables) == ("10.0.0.1", "x", False)
    assert strategic({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}) == {"a": {"c": 2}}
    assert strategic({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}) == {"a": {"c": 2}}


def test_a_strategic_patch_needs_the_key() -> None:
    with pytest.raises(BadChange, match="merge key: name"):
        strategic(daemon_set(), {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}})


def test_a_merge_patch_replaces_lists() -> None:
    after = patched(daemon_set(), _in_container(image="x"), "merge", json_patch)
    assert after["spec"]["template"]["spec"]["containers"] == [{"name": "calico-node", "image": "x"}]


def test_a_json_patch() -> None:
    path = "/spec/template/spec/containers/0/image"
    after = patched(daemon_set(), [{"op": "replace", "path": path, "value": "y"}], "json", json_patch)
    assert _container(after)["image"] == "y"
    with pytest.raises(BadChange):
        patched(daemon_set(), {}, "json", json_patch)


def test_variables_are_set_and_taken_away() -> None:
    changes = variable_changes(["IP_AUTODETECTION_METHOD=interface=eth0", "IP-", "DATASTORE_TYPE=etcdv3"])
    after = with_variables(daemon_set(), changes, [])
    variables = {each["name"]: each.get("value") for each in _container(after)["env"]}
    assert variables["IP_AUTODETECTION_METHOD"] == "interface=eth0"
    assert variables["DATASTORE_TYPE"] == "etcdv3"
    assert "IP" not in variables
    assert "env" not in after["spec"]["template"]["spec"]["initContainers"][0]
    init = with_variables(daemon_set(), changes, ["install-cni"])
    assert init["spec"]["template"]["spec"]["initContainers"][1]["env"]


def test_what_is_no_variable() -> None:
    with pytest.raises(BadChange, match="key=value"):
        variable_changes(["nonsense"])
    with pytest.raises(BadChange, match="does not have any containers matching nope"):
        with_variables(daemon_set(), [("A", "b")], ["nope"])


def test_a_new_generation_only_when_the_spec_is_another() -> None:
    before = daemon_set(4)
    assert next_generation(before, copy.deepcopy(before))["metadata"]["generation"] == 4
    after = restarted(before, "2026-11-16T15:04:05Z")
    assert after["spec"]["template"]["metadata"]["annotations"][RESTARTED] == "2026-11-16T15:04:05Z"
    assert next_generation(before, after)["metadata"]["generation"] == 5


def test_annotations_are_not_overwritten_unasked() -> None:
    assert metadata_changes(["a=1", "b-"], {}, overwrite=False, what="annotation") == {"a": "1", "b": None}
    with pytest.raises(BadChange, match="already has a value"):
        metadata_changes(["a=1"], {"a": "2"}, overwrite=False, what="annotation")
    assert metadata_changes(["a=1"], {"a": "2"}, overwrite=True, what="annotation") == {"a": "1"}
    with pytest.raises(BadChange):
        metadata_changes([], {}, overwrite=True, what="label")

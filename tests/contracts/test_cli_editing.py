"""`tortie patch` and `label`: one resource changed, and what we do not know of it left as it is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Tortie, assert_three_lines, key_of, node, pool

KEY = key_of("ippools", "a")

# As a Calico newer than ours would store it: fields on every level that we have never heard of.
FROM_THE_FUTURE: dict[str, Any] = {
    "kind": "IPPool",
    "apiVersion": "projectcalico.org/v3",
    "metadata": {"name": "a", "uid": "u-1", "creationTimestamp": "2031-01-01T00:00:00Z", "quantum": {"spin": [1]}},
    "spec": {
        "cidr": "10.1.0.0/16",
        "vxlanMode": "Never",
        "ipipMode": "Never",
        "blockSize": 26,
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
        "teleport": {"mode": "Always", "depth": 3.5, "empty": {}, "none": None},
    },
    "status": {"mood": "fine"},
    "epilogue": ["ends", {"well": True}],
}


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path)
    assert shell("apply", "-f", shell.file("a.yaml", pool("a", "10.1.0.0/16"))).code == 0
    return shell


def spec(tortie: Tortie) -> dict[str, Any]:
    found: dict[str, Any] = tortie("get", "ippool", "a", "-o", "json").json["spec"]
    return found


def labels(tortie: Tortie) -> dict[str, str]:
    found: dict[str, str] = tortie("get", "ippool", "a", "-o", "json").json["metadata"].get("labels", {})
    return found


@pytest.mark.parametrize("form", ["strategic", "merge"])
def test_a_merge_patch_sets_removes_and_replaces_lists(tortie: Tortie, form: str) -> None:
    before = spec(tortie)
    ran = tortie("patch", "ippool", "a", "-t", form, "-p", '{"spec": {"disabled": true, "allowedUses": ["Workload"]}}')
    assert ran == (0, "Successfully patched 1 'IPPool' resource\n", "")
    assert spec(tortie) == before | {"disabled": True, "allowedUses": ["Workload"]}
    assert tortie("patch", "ippool", "a", "-t", form, "-p", "spec: {disabled: null}").code == 0
    assert spec(tortie) == before | {"allowedUses": ["Workload"]}


def test_a_json_patch_is_a_list_of_operations(tortie: Tortie) -> None:
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/spec/ipipMode", "value": "Never"},
        {"op": "replace", "path": "/spec/ipipMode", "value": "Always"},
        {"op": "add", "path": "/metadata/labels", "value": {"a~b/c": "d"}},
        {"op": "remove", "path": "/spec/allowedUses/1"},
    ]
    valid = [operation for operation in operations if operation["op"] != "add"]
    ran = tortie("patch", "ippool", "a", "-t", "json", "-p", json.dumps(valid), "-o", "json")
    assert ran.code == 0, ran
    assert (ran.json["spec"]["ipipMode"], ran.json["spec"]["allowedUses"]) == ("Always", ["Workload"])
    assert_three_lines(tortie("patch", "ippool", "a", "-t", "json", "-p", json.dumps(operations)), 2)


@pytest.mark.parametrize(
    ("form", "patch", "reason"),
    [
        ("json", '[{"op": "test", "path": "/spec/cidr", "value": "x"}]', "the stored value is a different one"),
        ("json", '[{"op": "remove", "path": "/spec/none"}]', "there is no field none"),
        ("json", '[{"op": "add", "path": "/spec/allowedUses/9", "value": "Tunnel"}]', "the list has 2 elements"),
        ("json", '[{"op": "add", "path": "/spec/allowedUses/²", "value": "Tunnel"}]', "the list has 2 elements"),
        ("json", '[{"op": "frob", "path": "/spec"}]', "there is no such operation"),
        ("json", '[{"path": 5}]', "each needs op and path"),
        ("json", '{"spec": {}}', "a list of operations"),
        ("merge", "[]", "a mapping of fields"),
        ("merge", "", "a mapping of fields"),
        ("merge", "spec: {cidr: 10.9.0.0/16}", "cannot be changed from 10.1.0.0/16"),
        ("merge", "spec: {nonsense: 1}", "field in document is not recognized"),
        ("merge", "{spec", "did not find expected"),
        ("merge", '{"metadata": null}', "part of what identifies the resource"),
        ("merge", '{"metadata": {"name": "b"}}', "part of what identifies the resource"),
        ("merge", '{"kind": "Node"}', "part of what identifies the resource"),
        ("json", '[{"op": "replace", "path": "", "value": 5}]', "it replaces the whole document"),
        ("colour", "{}", "there is no such form"),
    ],
)
def test_a_patch_that_makes_no_sense_changes_nothing(tortie: Tortie, form: str, patch: str, reason: str) -> None:
    before = tortie.entries()
    ran = tortie("patch", "ippool", "a", "-t", form, "-p", patch)
    assert ran.code == 2, ran
    assert ran.stdout == ""
    assert reason in ran.stderr
    assert tortie.entries() == before


def test_a_patch_needs_its_kind_its_name_and_its_text(tortie: Tortie) -> None:
    assert_three_lines(tortie("patch", "ippool", "a"), 2)
    assert_three_lines(tortie("patch", "ippool", "-p", "{}"), 2)
    assert_three_lines(tortie("patch"), 2)
    assert_three_lines(tortie("patch", "ippool", "gone", "-p", "{}"), 1)
    skipped = tortie("patch", "ippool", "gone", "-p", "{}", "--skip-not-exists")
    assert skipped == (0, "", "skipped: IPPool(gone) does not exist\n")


def test_labels_are_set_kept_overwritten_and_removed(tortie: Tortie) -> None:
    assert tortie("label", "ippool", "a", "x=1", "example.com/y=") == (
        0,
        "Successfully set label x on ippool a\nSuccessfully set label example.com/y on ippool a\n",
        "",
    )
    assert labels(tortie) == {"x": "1", "example.com/y": ""}
    ran = tortie("label", "ippool", "a", "x=1")  # as it is already
    assert ran == (0, "Successfully updated label x on ippool a\n", "")
    ran = tortie("label", "ippool", "a", "x=2")
    assert_three_lines(ran, 1)
    assert "the label x has the value 1" in ran.stderr
    assert "--overwrite" in ran.stderr
    assert tortie("label", "pools", "a", "x=2", "--overwrite").stdout == "Successfully updated label x on pools a\n"
    assert labels(tortie)["x"] == "2"
    ran = tortie("label", "ippool", "a", "x", "example.com/y", "--remove")
    removed = (
        "Successfully removed label x from ippool a\n",
        "Successfully removed label example.com/y from ippool a\n",
    )
    assert ran == (0, "".join(removed), "")
    assert labels(tortie) == {}


@pytest.mark.parametrize("word", ["x", "=1", "x=a b", "x=ä", "-x=1", "a/b/c=1"])
def test_what_is_not_a_label_is_refused(tortie: Tortie, word: str) -> None:
    assert_three_lines(tortie("label", "ippool", "a", "--", word), 2)
    assert labels(tortie) == {}


def test_a_label_that_is_not_there_cannot_be_removed(tortie: Tortie) -> None:
    assert_three_lines(tortie("label", "ippool", "a", "x", "--remove"), 1)
    assert_three_lines(tortie("label", "ippool", "a", "x=1", "--remove"), 2)


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    """A copy in which the field at the path is missing."""
    result = copy.deepcopy(document)
    inner = result
    for name in path[:-1]:
        inner = inner[name]
    inner.pop(path[-1], None)
    return result


def stored(tortie: Tortie) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tortie.entries()[KEY])
    return found


def test_unknown_fields_survive_get_and_apply(tortie: Tortie) -> None:
    tortie.put(KEY, FROM_THE_FUTURE)
    for form in ("yaml", "json"):
        text = tortie("get", "ippool", "a", "-o", form).stdout
        assert tortie("apply", "-f", "-", stdin=text).code == 0
        assert stored(tortie) == FROM_THE_FUTURE
    edited = tortie("get", "ippool", "a", "-o", "yaml").stdout.replace("ipipMode: Never", "ipipMode: Always")
    assert tortie("apply", "-f", "-", stdin=edited).code == 0
    assert stored(tortie)["spec"].pop("ipipMode") == "Always"
    assert without(stored(tortie), "spec", "ipipMode") == without(FROM_THE_FUTURE, "spec", "ipipMode")


@pytest.mark.parametrize(
    "words",
    [
        ["patch", "ippool", "a", "-p", "spec: {natOutgoing: true}"],
        ["patch", "ippool", "a", "-t", "json", "-p", '[{"op": "add", "path": "/spec/natOutgoing", "value": true}]'],
        ["label", "ippool", "a", "x=1"],
    ],
)
def test_unknown_fields_survive_patch_and_label(tortie: Tortie, words: list[str]) -> None:
    tortie.put(KEY, FROM_THE_FUTURE)
    assert tortie(*words).code == 0
    after = without(without(stored(tortie), "metadata", "labels"), "spec", "natOutgoing")
    assert stored(tortie) != FROM_THE_FUTURE
    assert after == FROM_THE_FUTURE


def test_an_unknown_field_that_is_not_stored_is_a_slip_of_the_pen(tortie: Tortie) -> None:
    tortie.put(KEY, FROM_THE_FUTURE)
    ran = tortie("patch", "ippool", "a", "-p", "spec: {telepart: 1}")
    assert ran.code == 2
    assert "field in document is not recognized or is in the wrong location" in ran.stderr


def test_a_value_that_only_json_can_spell_is_printed_and_kept(tortie: Tortie) -> None:
    """Half of a surrogate pair is legal in JSON and has no UTF-8."""
    document = json.loads(json.dumps(FROM_THE_FUTURE).replace('"fine"', '"\\ud800"'))
    tortie.put(KEY, document)
    for form in ("json", "yaml", "jsonpath={.status.mood}", "custom-columns=NAME,M:.status.mood"):
        ran = tortie.run("get", "ippool", "a", "-o", form)
        assert (ran.code, ran.stderr) == (0, "")
        assert "ud800" in ran.stdout.lower()
    assert tortie.run("label", "ippool", "a", "x=1").code == 0
    assert stored(tortie)["status"] == {"mood": "\ud800"}


def test_a_node_s_as_number_can_be_taken_away_as_the_help_says(tortie: Tortie) -> None:
    document = node("n1")
    document["spec"]["bgp"]["asNumber"] = 65001
    tortie("apply", "-f", tortie.file("n1.yaml", document))
    ran = tortie("patch", "node", "n1", "-t", "json", "-p", '[{"op": "remove", "path": "/spec/bgp/asNumber"}]')
    assert ran.code == 0
    assert "(64512)" in tortie("get", "node", "n1", "-o", "wide").stdout

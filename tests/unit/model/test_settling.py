"""What scalars without quotes become in the fields of a resource; rows of text are what calicoctl stores."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.support.documents import document

from tortie.model.manifest import read_manifests, to_yaml
from tortie.model.resource import validate
from tortie.model.wire import Document


def written(spec: str, kind: str = "GlobalNetworkSet", labels: str = "{}") -> Document:
    text = f"apiVersion: projectcalico.org/v3\nkind: {kind}\nmetadata:\n  name: s\n  labels: {labels}\nspec: {spec}\n"
    (manifest,) = read_manifests(text, "file")
    result: Document = manifest.document
    return result


def label(text: str) -> Any:
    return written("{}", labels=f"{{a: {text}}}")["metadata"]["labels"]["a"]


@pytest.mark.parametrize(
    ("words", "stored"),
    [("y Y yes Yes YES on On ON true True TRUE", "true"), ("n N no No NO off Off OFF false False FALSE", "false")],
)
def test_text_is_what_yaml_1_1_understands_by_a_word(words: str, stored: str) -> None:
    assert {label(word) for word in words.split()} == {stored}
    assert {label(f"'{word}'") for word in words.split()} == set(words.split())


@pytest.mark.parametrize(
    ("text", "stored"),
    [("1", "1"), ("+1", "1"), ("-1", "-1"), ("123456789012", "123456789012"), ("1.5", "1.5"), ("1e400", "1e400")],
)
def test_a_number_that_reads_as_it_is_written_is_text_where_text_is_wanted(text: str, stored: str) -> None:
    assert label(text) == stored


@pytest.mark.parametrize("text", ["~", "null", ""])
def test_a_label_without_a_value_has_the_empty_one(text: str) -> None:
    assert label(text) == ""


@pytest.mark.parametrize(
    "text",
    ["1.10", "1.0", "1e3", "0x10", "0o10", "010", "08", "0b11", "1_000", "1.23456789", "1" + 20 * "0"],
)
def test_a_number_that_would_be_stored_as_another_text_is_refused(text: str) -> None:
    (problem,) = validate(written("{}", labels=f"{{a: {text}}}"))
    assert (problem.field, problem.right) == (
        "metadata.labels.a",
        "text, in quotes where YAML would take it for something else",
    )
    assert validate(written("{}", labels=f"{{a: '{text}'}}")) == []


def test_labels_names_follow_the_same_rule() -> None:
    assert written("{}", labels="{on: x, 'off': z}")["metadata"]["labels"] == {"true": "x", "off": "z"}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("IPPool", "{cidr: 10.0.0.0/8, natOutgoing: yes, disabled: off}", {"natOutgoing": True, "disabled": False}),
        ("FelixConfiguration", "{iptablesMarkMask: 0xffff0000}", {"iptablesMarkMask": 0xFFFF0000}),
        ("FelixConfiguration", "{bpfLogLevel: Off}", {"bpfLogLevel": "Off"}),  # calicoctl wants quotes here
        ("FelixConfiguration", "{kubeNodePortRanges: [80, 20:30]}", {"kubeNodePortRanges": [80, "20:30"]}),
        ("GlobalNetworkPolicy", "{order: 1.50}", {"order": 1.5}),
        ("GlobalNetworkPolicy", "{order: 1e3}", {"order": 1000.0}),
        ("BGPPeer", "{node: 1, peerIP: 10.0.0.1}", {"node": "1"}),
        ("BGPPeer", "{peerIP: 10.0.0.1, asNumber: 1.10}", {"asNumber": 1.1}),  # 65546 in quotes; refused without
    ],
)
def test_each_field_takes_a_scalar_for_what_it_wants(kind: str, spec: str, expected: Document) -> None:
    read = written(spec, kind)["spec"]
    assert {name: read[name] for name in expected} == expected
    assert {type(read[name]) for name in expected} == {type(value) for value in expected.values()}


def test_json_is_read_by_the_same_rules() -> None:
    given = json.dumps(document("GlobalNetworkSet", "s", {"new": 1.5}, labels={"a": 1, "b": True, "c": 1.5, "d": "y"}))
    (manifest,) = read_manifests(given, "file")
    assert manifest.document["metadata"]["labels"] == {"a": "1", "b": "true", "c": "1.5", "d": "y"}
    assert manifest.document["spec"] == {"new": 1.5}


def test_fields_that_nobody_knows_keep_words_as_text() -> None:
    read = written("{new: [yes, 0x10, 1.50, {deep: off}]}")["spec"]["new"]
    assert read == ["yes", "0x10", 1.5, {"deep": "off"}]
    assert [type(value) for value in read] == [str, str, float, dict]


@pytest.mark.parametrize("text", ["y", "No", "on", "1", "0x10", "0o17", "010", "1_000", "1e3", "1.10", "", "~", "true"])
def test_what_is_shown_as_yaml_means_the_same_to_every_reader(text: str) -> None:
    assert to_yaml({text: text}) == f'"{text}": "{text}"\n'
    assert yaml.safe_load(to_yaml({text: text})) == {text: text}


def test_text_that_only_needs_quotes_as_yamls_signs_has_single_ones() -> None:
    assert to_yaml({"a": "*", "b": "!all()", "c": "a: b"}) == "a: '*'\nb: '!all()'\nc: 'a: b'\n"

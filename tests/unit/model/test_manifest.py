"""Files as people write them: what their scalars mean, what counts as a list, where each field stands."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tortie.model.errors import Invalid, Place
from tortie.model.manifest import Manifest, Unreadable, read_manifests, read_plain, to_yaml

POOL = "apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: a\nspec:\n  cidr: 10.0.0.0/8\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20:30", "20:30"),  # a port range, which YAML 1.1 takes for 1230 seconds
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("0123", "0123"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("fd00::1", "fd00::1"),
        (".inf", ".inf"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ('"true"', "true"),
        ('""', ""),
        ("|\n  5\n", "5\n"),
        ("[1, a, [2]]", [1, "a", [2]]),
        ("{}", {}),
        ("&x [1]", [1]),
    ],
)
def test_scalars_follow_json_s_idea_of_types(text: str, value: object) -> None:
    assert read_plain(f"field: {text}", "file").document == {"field": value}


def test_aliases_are_followed() -> None:
    assert read_plain("a: &x {b: 1}\nc: *x\n", "file").document == {"a": {"b": 1}, "c": {"b": 1}}


def test_a_plain_list_stays_a_list() -> None:
    assert read_plain('[{"op": "test"}]', "--patch").document == [{"op": "test"}]
    assert read_plain("- op: test\n", "--patch").document == [{"op": "test"}]
    assert read_plain("", "--patch").document is None


def names(manifests: list[Manifest]) -> list[str]:
    return [manifest.document["metadata"]["name"] for manifest in manifests]


def test_lists_within_lists_are_opened_in_order() -> None:
    one, two, three = (POOL.replace("name: a", f"name: {name}") for name in "pqr")
    documents = [yaml.safe_load(text) for text in (one, two, three)]
    nested = [documents[0], {"kind": "List", "items": [documents[1], {"kind": "IPPoolList", "items": [documents[2]]}]}]
    assert names(read_manifests(json.dumps(nested), "file")) == ["p", "q", "r"]
    assert names(read_manifests(yaml.safe_dump(nested), "file")) == ["p", "q", "r"]
    assert names(read_manifests(f"{one}---\n{two}...\n---\n{three}", "file")) == ["p", "q", "r"]


def test_a_resource_that_has_items_of_its_own_is_no_list() -> None:
    with pytest.raises(Invalid, match="unknown resource type"):
        read_manifests("kind: Basket\napiVersion: v1\nitems: []\n", "file")


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_every_field_knows_its_line(form: str) -> None:
    document = {"spec": {"a": [{"b": 1}, {"c": [2, 3]}], "d": 4}}
    items: dict[str, Any] = {"kind": "List", "items": [document, document]}
    text = json.dumps(items, indent=1) if form == "json" else yaml.safe_dump(items, sort_keys=False)
    lines = text.splitlines()
    whole = read_plain(text, "file")
    second = whole._replace(document=document, path="items[1]")
    for field, marker in (("spec", "spec"), ("spec.a[0].b", "b"), ("spec.a[1].c", "c"), ("spec.d", "d")):
        line = max(number for number, content in enumerate(lines, 1) if content.strip(' -"').startswith(marker))
        assert second.place(field) == Place("file", line)
    assert second.place("spec.d.none[7].x") == second.place("spec.d")
    assert second.place("none]") == second.place()


def test_a_place_without_known_lines_has_none() -> None:
    assert read_plain('{"a":\t1}', "file").place("a").source == "file"
    assert Manifest({}, "file", dict, "items[3]").place("x[1]]") == Place("file", 0)


def test_all_headers_that_are_wrong_are_told_together() -> None:
    with pytest.raises(Invalid) as caught:
        read_manifests(POOL.replace("IPPool", "IPPol") + "---\n5\n---\n" + POOL.replace("name: a", "b: c"), "file")
    assert [(problem.field, problem.place) for problem in caught.value.problems] == [
        ("kind", Place("file", 2)),
        ("document", Place("file", 8)),
        ("metadata.name", Place("file", 12)),
    ]
    assert caught.value.problems[0].right == "did you mean IPPool?"


def test_a_field_that_stands_twice_is_refused() -> None:
    with pytest.raises(Unreadable, match="the field kind stands here twice"):
        read_plain("kind: a\nkind: b\n", "file")
    with pytest.raises(Unreadable, match="the field b stands there twice"):
        read_plain('{"a": [{"b": 1, "c": 2, "b": 3}]}', "file")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON))
def test_what_json_says_is_what_is_read(value: dict[str, Any]) -> None:
    assert read_plain(json.dumps(value), "file").document == value
    assert read_plain(json.dumps(value, ensure_ascii=False, indent=2), "file").document == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON))
def test_what_we_print_as_yaml_we_read_again(value: dict[str, Any]) -> None:
    text = to_yaml(value)
    assert read_plain(text, "file").document == (value or {})


@given(st.text() | st.binary().map(lambda junk: junk.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(Unreadable, Invalid):
        read_manifests(text, "file")


def test_merge_keys_bring_fields_that_the_mapping_itself_may_override() -> None:
    text = """
base: &base {cidr: 10.0.0.0/16, natOutgoing: true}
one: {<<: *base, cidr: 10.1.0.0/16}
two: {<<: [{blockSize: 28}, {blockSize: 24, disabled: true}]}
"""
    document = read_plain(text, "f").document
    assert document["one"] == {"cidr": "10.1.0.0/16", "natOutgoing": True}
    assert document["two"] == {"blockSize": 28, "disabled": True}


def test_a_merge_key_needs_a_mapping() -> None:
    with pytest.raises(Unreadable, match="line 2"):
        read_plain("a:\n  <<: 5\n", "f")


@pytest.mark.parametrize("text", ["0e12", "1e3", "12", "-1.5", ".5", "true", "null", "~", "", "20:30", "0x1f", "no"])
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    """A label with the commit 0e12 came back as the number 0."""
    assert read_plain(to_yaml({"label": text}), "f").document == {"label": text}


def test_a_kind_that_nobody_knows_does_not_hide_what_is_wrong_elsewhere() -> None:
    text = """
apiVersion: projectcalico.org/v3
kind: IPPol
metadata: {name: a}
---
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: b}
spec:
  cidr: 10.0.0.1/8
  ofANewerCalico: true
"""
    with pytest.raises(Invalid) as refused:
        read_manifests(text, "f")
    assert [(problem.field, problem.place) for problem in refused.value.problems] == [
        ("kind", Place("f", 3)),
        ("spec.cidr", Place("f", 10)),
    ]

"""Patches by their standards: RFC 7386 for merging, RFC 6902 for lists of operations."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tortie.cli.patches import json_patch, merge_patch
from tortie.model.errors import UsageError


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [  # the table at the end of RFC 7386
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merging_follows_the_standard(document: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(document)
    assert merge_patch(document, patch) == expected
    assert document == before


def test_the_strategic_directives_replace_and_delete() -> None:
    document = {"spec": {"a": 1, "b": {"c": 2}}}
    assert merge_patch(document, {"spec": {"$patch": "replace", "d": 3}}) == {"spec": {"d": 3}}
    assert merge_patch(document, {"spec": {"b": {"$patch": "delete"}}}) == {"spec": {"a": 1, "b": {}}}


def operation(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **more}


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [  # after the examples of RFC 6902
        ({"foo": "bar"}, [operation("add", "/baz", value="qux")], {"foo": "bar", "baz": "qux"}),
        ({"foo": ["a", "c"]}, [operation("add", "/foo/1", value="b")], {"foo": ["a", "b", "c"]}),
        ({"foo": ["a"]}, [operation("add", "/foo/-", value="b")], {"foo": ["a", "b"]}),
        ({"foo": ["a"]}, [operation("add", "/foo/1", value="b")], {"foo": ["a", "b"]}),
        ({"a": 1, "b": 2}, [operation("remove", "/a")], {"b": 2}),
        ({"a": [1, 2, 3]}, [operation("remove", "/a/1")], {"a": [1, 3]}),
        ({"a": 1}, [operation("replace", "/a", value=None)], {"a": None}),
        ({"a": [1, 2]}, [operation("replace", "/a/0", value=9)], {"a": [9, 2]}),
        ({"a": {"b": 1}, "c": {}}, [operation("move", "/c/d", **{"from": "/a/b"})], {"a": {}, "c": {"d": 1}}),
        ({"a": [1, 2, 3]}, [operation("move", "/a/2", **{"from": "/a/0"})], {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, [operation("copy", "/c", **{"from": "/a"})], {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": [1]}, [operation("test", "/a", value=[1]), operation("remove", "/a")], {}),
        ({"/": 9, "~1": 10}, [operation("test", "/~01", value=10), operation("remove", "/~1")], {"~1": 10}),
        ({"": 1}, [operation("replace", "/", value=2)], {"": 2}),
        ({"a": 1}, [operation("add", "", value={"b": 2})], {"b": 2}),
        ({"a": 1}, [], {"a": 1}),
    ],
)
def test_operations_follow_the_standard(document: Any, operations: list[Any], expected: Any) -> None:
    before = copy.deepcopy(document)
    assert json_patch(document, operations) == expected
    assert document == before


def test_a_copy_shares_nothing_with_its_source() -> None:
    operations = [operation("copy", "/b", **{"from": "/a"}), operation("add", "/b/x", value=1)]
    assert json_patch({"a": {}}, operations) == {"a": {}, "b": {"x": 1}}


@pytest.mark.parametrize(
    "operations",
    [
        [operation("remove", "/none")],
        [operation("replace", "/none", value=1)],
        [operation("add", "/none/x", value=1)],
        [operation("add", "/list/3", value=1)],
        [operation("add", "/list/-1", value=1)],
        [operation("add", "/list/x", value=1)],
        [operation("remove", "/list/2")],
        [operation("remove", "/list/-")],
        [operation("replace", "/list/-", value=1)],
        [operation("add", "/text/x", value=1)],
        [operation("test", "/text", value="u")],
        [operation("test", "/none", value=None)],
        [operation("copy", "/x", **{"from": "/none"})],
        [operation("move", "/x")],
        [operation("add", "text", value=1)],
        [operation("nonsense", "/text")],
        [operation("remove", "")],
        [{"op": "remove"}],
        [{"path": 5}],
        ["remove"],
    ],
)
def test_what_cannot_be_done_is_refused_whole(operations: list[Any]) -> None:
    document = {"list": [1, 2], "text": "t"}
    with pytest.raises(UsageError):
        json_patch(document, [operation("add", "/new", value=1), *operations])
    assert document == {"list": [1, 2], "text": "t"}

"""Documents and the types they are read with: problems, spelling, and careful rewriting."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from tests.support.documents import document, example, found

from tortie.model.errors import Invalid
from tortie.model.fields import IPNetwork, Name
from tortie.model.resource import Metadata, stored_form, typed, validate, with_changes
from tortie.model.resources.node import Node, NodeAddress
from tortie.model.shape import Always, Part, fields_of, problems_in, rewritten, spelled, value_of
from tortie.model.wire import Document


class Door(Part, frozen=True, kw_only=True):
    name: str
    width: int = 0
    locked: bool | None = None


class Lift(Part, frozen=True, kw_only=True):
    speed: int = 0


class House(Part, frozen=True, kw_only=True):
    front: Door | None = None
    lift: Lift = Lift()
    doors: tuple[Door, ...] = ()
    colours: dict[str, str] = {}  # noqa: RUF012
    floors: Always[int] = 1
    style: Literal["", "Plain", "Rich"] = ""
    nets: tuple[IPNetwork, ...] = ()
    owner: Name = Name("")
    from_: str = msgspec.field(default="", name="from")


class Castle(House, frozen=True, kw_only=True):
    written_first = ("tower",)
    tower: Door | None = None


def test_zero_values_are_left_out_and_what_is_always_written_is_written() -> None:
    given: Document = {"doors": [], "colours": {}, "style": "", "owner": "", "from": "", "nets": None}
    assert spelled(given, House) == {"lift": {}, "floors": 1}
    assert spelled({"floors": 0}, House) == {"lift": {}, "floors": 0}


def test_a_field_that_may_be_absent_is_written_even_when_it_is_zero() -> None:
    assert spelled({"front": {"name": "", "width": 0, "locked": False}}, House)["front"] == {
        "name": "",
        "locked": False,
    }


def test_fields_are_written_in_the_order_of_the_type_and_unknown_ones_behind_them() -> None:
    given = {
        "x": 1,
        "from": "a",
        "floors": 2,
        "front": {"y": 2, "locked": True, "name": "f"},
        "colours": {"b": "", "a": ""},
    }
    written = spelled(given, House)
    assert list(written) == ["front", "lift", "colours", "floors", "from", "x"]
    assert list(written["front"]) == ["name", "locked", "y"]
    assert list(written["colours"]) == ["a", "b"]


def test_a_subclass_may_write_a_field_of_its_own_first() -> None:
    assert next(iter(fields_of(Castle))) == "tower"
    assert list(fields_of(Castle))[1:] == list(fields_of(House))


@pytest.mark.parametrize(
    ("raw", "field", "why", "right"),
    [
        ([], "document", "mapping of fields", ""),
        ({"lift": 5}, "lift", "mapping of fields", ""),
        ({"doors": {}}, "doors", "a list is needed", ""),
        ({"colours": []}, "colours", "a map is needed", ""),
        ({"doors": [{"width": 1}]}, "doors[0].name", "is required", ""),
        ({"doors": [{"name": None}]}, "doors[0].name", "is required", ""),
        ({"doors": [None]}, "doors[0]", "mapping of fields", ""),
        ({"doors": [{"name": 5}]}, "doors[0].name", "expected str, got int", "in quotes"),
        ({"colours": {"a": True}}, "colours.a", "expected str, got bool", "in quotes"),
        ({"floors": "2"}, "floors", "expected int, got str", "without quotes"),
        ({"front": {"name": "f", "locked": "yes"}}, "front.locked", "expected bool", "true or false"),
        ({"style": "plain"}, "style", "must be one of Plain, Rich", "did you mean Plain?"),
        ({"style": "xyz"}, "style", "must be one of", "one of Plain, Rich"),
        ({"nets": ["10.0.0.1/8"]}, "nets[0]", "host bits", "10.0.0.0/8"),
        ({"nets": [""]}, "nets[0]", "not a CIDR", ""),
        ({"form": "a"}, "form", "not recognized", "did you mean from?"),
        ({"qqqq": "a" * 100}, "qqqq", "not recognized", ""),
    ],
)
def test_a_problem_says_where_and_why_and_what_would_be_right(raw: Any, field: str, why: str, right: str) -> None:
    (problem,) = problems_in(raw, House)
    assert problem.field == field
    assert why in problem.why
    assert right in problem.right
    assert problem.right
    assert len(str(problem.value)) <= 60


def test_all_problems_are_found_at_once() -> None:
    raw = {"floors": "x", "doors": [{}, {"name": "ok"}, {"name": "d", "width": "wide"}], "stile": 1}
    assert [problem.field for problem in problems_in(raw, House)] == [
        "floors",
        "doors[0].name",
        "doors[2].width",
        "stile",
    ]


def test_a_field_that_is_stored_already_is_no_slip_of_the_pen() -> None:
    raw = {"new": 1, "lift": {"new": 2}, "doors": [{"name": "d", "new": 3}], "newer": 4}
    stored = {"new": 0, "lift": {"new": 0}, "doors": [{"name": "d", "new": 0}]}
    assert [problem.field for problem in problems_in(raw, House, known=[stored])] == ["newer"]


def test_a_stored_field_may_move_with_its_element() -> None:
    """Somebody puts a door in front of the one that a newer version has written."""
    raw = {"doors": [{"name": "front"}, {"name": "d", "new": 1, "newer": 2}]}
    stored = {"doors": [{"name": "d", "new": 1}]}
    assert [problem.field for problem in problems_in(raw, House, known=[stored])] == ["doors[1].newer"]


def test_null_reads_as_left_out() -> None:
    raw = dict.fromkeys(["front", "lift", "doors", "colours", "floors", "style", "nets", "owner", "from"])
    assert list(problems_in(raw, House)) == []
    assert value_of(raw, House) == House()


def test_rewriting_changes_what_changed_and_nothing_else() -> None:
    raw: Document = {"future": [1], "from": "b", "nets": ["FD00::/8"], "lift": {"speed": 1, "mirror": True}}
    value = value_of(raw, House)
    changed = msgspec.structs.replace(value, lift=Lift(speed=2), floors=3)
    assert rewritten(raw, changed) == {
        "lift": {"speed": 2, "mirror": True},
        "floors": 3,
        "nets": ["FD00::/8"],
        "from": "b",
        "future": [1],
    }
    assert raw["lift"] == {"speed": 1, "mirror": True}


def test_a_field_set_to_nothing_disappears() -> None:
    raw: Document = {"front": {"name": "f"}, "doors": [{"name": "d"}], "from": "b", "floors": 1}
    emptied = msgspec.structs.replace(value_of(raw, House), front=None, doors=(), from_="")
    assert rewritten(raw, emptied) == {"lift": {}, "floors": 1}


def test_the_elements_of_a_list_keep_their_unknown_fields_when_others_come_and_go() -> None:
    raw: Document = {"doors": [{"name": name, "paint": name.upper()} for name in "abc"]}
    a, b, c = value_of(raw, House).doors

    def painted(*doors: Door) -> list[tuple[str, str | None]]:
        after = rewritten(raw, House(doors=doors))
        return [(door["name"], door.get("paint")) for door in after.get("doors", [])]

    assert painted(b, c) == [("b", "B"), ("c", "C")]
    assert painted(c, b, a) == [("c", "C"), ("b", "B"), ("a", "A")]
    assert painted(a, Door(name="b", width=9), c) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert painted(a, b, c, Door(name="d")) == [("a", "A"), ("b", "B"), ("c", "C"), ("d", None)]
    assert painted(b, b) == [("b", "A"), ("b", "B")]
    assert painted() == []


def test_text_that_means_the_same_keeps_its_spelling() -> None:
    node = example("Node")
    value = typed(node)
    assert isinstance(value, Node)
    address = NodeAddress(address=value.spec.addresses[0].address, type="ExternalIP")
    changed = with_changes(
        node, msgspec.structs.replace(value, spec=msgspec.structs.replace(value.spec, addresses=(address,)))
    )
    assert changed["spec"]["bgp"]["ipv6Address"] == "FD00::11/64"
    assert changed["spec"]["addresses"] == [{"address": "10.0.0.11/24", "type": "ExternalIP"}]


def test_what_only_an_answer_carries_is_not_stored() -> None:
    answered = document("NetworkSet", "s", {}, resourceVersion="17", selfLink="/x", uid="u")
    assert stored_form(answered)["metadata"] == {"name": "s", "namespace": "default", "uid": "u"}
    assert answered["metadata"]["resourceVersion"] == "17"


def test_a_stored_document_that_makes_no_sense_is_an_error_with_all_its_reasons() -> None:
    broken = document("IPPool", "p", {"cidr": "everything", "natOutgoing": "yes"})
    with pytest.raises(Invalid) as caught:
        typed(broken)
    assert [problem.field for problem in caught.value.problems] == ["spec.cidr", "spec.natOutgoing"]
    assert "IPPool(p)" in str(caught.value)
    with pytest.raises(Invalid, match=r"spec\.cidr"):
        typed(document("IPPool", "p", {}))
    with pytest.raises(Invalid, match="metadata"):
        typed({"kind": "IPPool", "apiVersion": "projectcalico.org/v3", "metadata": 5, "spec": {"cidr": "10.0.0.0/8"}})


@pytest.mark.parametrize(
    ("name", "metadata", "field", "fragment"),
    [
        ("", {}, "metadata.name", "a name is needed"),
        ("My_Set", {}, "metadata.name", "not a valid name"),
        ("a..b", {}, "metadata.name", "not a valid name"),
        ("x" * 254, {}, "metadata.name", "254 characters"),
        (5, {}, "metadata.name", "expected str"),
        ("s", {"namespace": ""}, "metadata.namespace", "lives in a namespace"),
        ("s", {"labels": {"-a": "b"}}, "metadata.labels.-a", "label's name"),
        ("s", {"labels": {"a/b/c": "b"}}, "metadata.labels.a/b/c", "label's name"),
        ("s", {"labels": {"a": "-b"}}, "metadata.labels.a", "label's value"),
        ("s", {"labels": {"a": "b" * 64}}, "metadata.labels.a", "label's value"),
        ("s", {"labels": {"a": 1}}, "metadata.labels.a", "expected str"),
        ("s", {"labels": ["a"]}, "metadata.labels", "a map is needed"),
        ("s", {"annotations": {"a": "b" * 270_000}}, "metadata.annotations", "too large"),
        ("s", {"label": {}}, "metadata.label", "not recognized"),
    ],
)
def test_metadata_is_checked_for_every_kind(name: Any, metadata: Document, field: str, fragment: str) -> None:
    found(document("NetworkSet", name, {}, **metadata), field, fragment)


def test_a_kind_without_namespaces_refuses_one() -> None:
    found(document("IPPool", "p", {"cidr": "10.0.0.0/8"}, namespace="default"), "metadata.namespace", "not namespaced")


def test_another_api_version_is_refused() -> None:
    old = {**document("IPPool", "p", {"cidr": "10.0.0.0/8"}), "apiVersion": "v1"}
    assert "projectcalico.org/v3" in found(old, "apiVersion", "must be one of").why


def test_labels_as_kubernetes_has_them_are_fine() -> None:
    labels = {"kubernetes.io/hostname": "node1", "a": "", "projectcalico.org/orchestrator": "k8s", "A_b.C": "x_Y.z"}
    assert validate(document("Node", "n", {}, labels=labels)) == []


def test_the_fields_of_metadata_are_those_of_kubernetes() -> None:
    assert list(fields_of(Metadata))[:4] == ["name", "generateName", "namespace", "selfLink"]

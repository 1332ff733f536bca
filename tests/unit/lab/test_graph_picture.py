"""What is read out of a view before anything is drawn, and how much room text takes."""

from __future__ import annotations

import pytest
from tests.support.lab_views import CHINESE, EMPTY, LARGE, NASTY, RACKS, THREE, lab, without

from tortie.lab.graph.folding import bundles, folded, ranges
from tortie.lab.graph.picture import (
    LabView,
    Link,
    NodeView,
    SessionView,
    broken,
    count,
    everyone,
    is_full_mesh,
    links,
    overall,
    racks,
)
from tortie.model.measure import columns, cut_to_columns, cut_to_ems, ems, plain, wrapped


def node(name: str, ready: bool | None = True) -> NodeView:
    return NodeView(name, "", "", ready, "")


def test_nodes_and_sessions_are_counted_by_how_they_stand() -> None:
    counts = count(LARGE)
    assert (counts.nodes, counts.ready, counts.not_ready, counts.starting) == (30, 28, 1, 1)
    assert (counts.sessions, counts.up, counts.down, counts.one_sided) == (435, 404, 30, 1)


def test_racks_come_in_the_order_in_which_they_appear() -> None:
    assert [(rack.name, len(rack.nodes)) for rack in racks(RACKS)] == [("rack-1", 4), ("rack-2", 4)]
    assert [(rack.name, len(rack.nodes)) for rack in racks(THREE)] == [("", 3)]
    assert racks(EMPTY) == ()


def test_two_sessions_of_one_pair_are_one_link_in_the_state_of_the_worse() -> None:
    sessions = (
        SessionView("a", "b", "up"),
        SessionView("b", "a", "one-sided", detail="hold timer"),
        SessionView("c", "a", "up"),
    )
    view = LabView("x", "", (node("a"), node("b"), node("c")), sessions)
    assert links(view) == (Link("b", "a", "one-sided", sessions[:2]), Link("c", "a", "up", sessions[2:]))
    assert broken(view)[0].detail == "hold timer"
    assert not is_full_mesh(view)


def test_the_mesh_is_full_when_every_two_nodes_have_a_session() -> None:
    assert is_full_mesh(THREE)
    assert is_full_mesh(RACKS)  # the router's sessions are no part of it
    assert not is_full_mesh(lab(1))
    assert not is_full_mesh(THREE._replace(sessions=THREE.sessions[1:]))


def test_whoever_only_sessions_know_of_is_outside() -> None:
    outside = everyone(lab(2, peers={"frr": 1}))[-1]
    assert (outside.name, outside.role, outside.standing) == ("frr", "peer", "unknown")


@pytest.mark.parametrize(
    ("view", "verdict"),
    [
        (THREE, "good"),
        (RACKS, "bad"),
        (lab(3, starting={1}), "starting"),
        (lab(3, starting={1}, broken={(1, 2): ("down", "")}), "starting"),
        (lab(3, starting={1}, not_ready={2: "x"}), "bad"),
        (lab(3, broken={(1, 2): ("one-sided", "")}), "bad"),
    ],
)
def test_a_lab_is_bad_when_somebody_is_not_ready_or_a_session_is_missing_after_the_start(
    view: LabView, verdict: str
) -> None:
    assert overall(view) == verdict


def test_names_that_count_up_become_a_range() -> None:
    assert ranges(["node-10", "node-9", "node-2", "node-8"]) == ("node-2", "node-8…node-10")
    assert ranges(["b2", "a1", "b1"]) == ("a1", "b1", "b2")
    assert ranges(["n-01", "n-02", "n-03", "x"]) == ("n-01", "n-02", "n-03", "x")
    assert ranges(["10.0.0.1", "10.0.0.2", "10.0.0.3"]) == ("10.0.0.1…10.0.0.3",)
    assert ranges([]) == ()


def test_every_broken_link_stands_in_exactly_one_place() -> None:
    view = lab(9, broken=without(4, 9) | without(7, 9) | {(1, 2): ("one-sided", "")})
    single, bundled = bundles(broken(view))
    assert [(each.hub, each.part, each.others) for each in bundled] == [
        ("node-4", "down", ("node-1…node-3", "node-5…node-9")),
        ("node-7", "down", ("node-1…node-3", "node-5", "node-6", "node-8", "node-9")),
    ]
    assert [(link.a, link.b) for link in single] == [("node-1", "node-2")]


def test_folded_items_continue_below_the_first() -> None:
    assert list(folded("a: ", ["one", "two", "three"], 12)) == ["a: one, two,", "   three"]


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("节点", 4), ("é", 1), ("e\u0301", 1), ("…", 1), ("", 0)])
def test_columns_of_a_terminal(text: str, width: int) -> None:
    assert columns(text) == width


def test_text_that_does_not_fit_is_cut_and_says_so() -> None:
    assert cut_to_columns("node-1", 6) == "node-1"
    assert cut_to_columns("node-12", 6) == "node…"
    assert cut_to_columns("节点节点", 6) == "节点…"
    assert cut_to_columns("abc", 0) == ""
    assert cut_to_ems("wwww", 2.0) == "w…"
    assert ems("mm", bold=True) > ems("mm") > ems("ii")
    assert ems("节点") == 2.0


def test_a_reason_is_wrapped_at_blanks_and_its_rest_is_cut() -> None:
    assert wrapped("one two three", 8, 3) == ["one two", "three"]
    assert wrapped("one two three four five six", 8, 2) == ["one two", "three f…"]
    assert wrapped("会话未建立", 4, 9) == ["会话", "未建", "立"]
    assert wrapped("unbreakable", 4, 9) == ["unbr", "eaka", "ble"]
    assert wrapped("", 4, 9) == []


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_unseen_is_left_of_a_text(nasty: str) -> None:
    assert all(char.isprintable() for char in plain(nasty))
    assert "\n" not in plain(nasty)


def test_chinese_is_left_as_it_is() -> None:
    assert plain(CHINESE.nodes[4].note) == CHINESE.nodes[4].note

"""The picture for a terminal: it fits, it says how everybody stands, and no missing session is missing in it."""

from __future__ import annotations

import pytest
from tests.support.lab_views import CHINESE, EMPTY, LARGE, LONG, MANY, NASTY, RACKS, THREE, lab, without

from tortie.lab.graph.ascii import ascii
from tortie.model.measure import columns


@pytest.mark.parametrize(("language", "width"), [("en", 80), ("zh", 80), ("en", 40), ("zh", 132)])
@pytest.mark.parametrize("name", MANY)
def test_no_line_is_wider_than_the_terminal(name: str, language: str, width: int) -> None:
    lines = ascii(MANY[name], language=language, width=width).splitlines()
    assert max(columns(line) for line in lines) <= width
    assert all(line == line.rstrip() for line in lines)


def test_a_small_mesh_is_a_staircase_of_signs() -> None:
    assert ascii(THREE).splitlines() == [
        "Lab default · store embedded · 3 of 3 nodes ready",
        "",
        "  ✓ node-1  10.77.0.1  ready",
        "  ✓ node-2  10.77.0.2  ready",
        "  ✓ node-3  10.77.0.3  ready",
        "",
        "full mesh: 3 of 3 sessions up",
        "",
        "  node-1",
        "   ✓  node-2",
        "   ✓   ✓  node-3",
    ]


def test_a_node_that_is_not_ready_says_why_and_one_that_starts_says_where_it_is() -> None:
    text = ascii(lab(2, not_ready={1: "BIRD is not ready"}, starting={2}))
    assert "✗ node-1  10.77.0.1  BIRD is not ready" in text
    assert "… node-2  10.77.0.2  starting: datastore" in text
    begun = lab(1)._replace(nodes=(lab(1).nodes[0]._replace(ready=None, phase="starting"),))
    assert "… node-1  10.77.0.1  starting\n" in ascii(begun)
    assert "… node-1  10.77.0.1  启动中\n" in ascii(begun, language="zh")
    many = ascii(lab(20, not_ready={7: "BIRD is not ready"}, starting={8}))
    assert "✗ node-7: BIRD is not ready" in many
    assert "… node-8: starting: datastore" in many


def test_a_session_that_is_not_up_stands_between_its_two_ends() -> None:
    text = ascii(RACKS)
    assert "node-1 ──✗── node-7  Connect: No route to host\n" in text
    assert "node-2 ──!─→ node-3  only node-2 sees it\n" in text
    assert "full mesh: 26 of 28 sessions up\npeerings: 8 of 8 sessions up\n" in text


def test_the_many_sessions_of_one_node_stand_on_one_line() -> None:
    assert "node-17 ──✗── node-1…node-16, node-18…node-30  Connect\n" in ascii(LARGE)
    misses = lab(6, broken={(number, 6): ("one-sided", "") for number in range(1, 6)})
    assert "node-6 ←─!── node-1…node-5  one-sided\n" in ascii(misses)
    sees = lab(6, broken={(1, number): ("one-sided", "") for number in range(2, 7)})
    assert "node-1 ──!─→ node-2…node-6  one-sided\n" in ascii(sees)


def test_racks_stores_and_routers_are_boxes() -> None:
    text = ascii(RACKS)
    assert [line for line in text.splitlines() if line.startswith("┌")] == [
        "┌─ rack-1 ───────────────────┐",
        "┌─ rack-2 ───────────────────────────────────────────────────────────────────┐",
        "┌─ store etcd ──────────┐  ┌─ router ──────────────┐",
    ]


def test_chinese_boxes_are_straight() -> None:
    view = CHINESE._replace(nodes=tuple(node._replace(rack="机架-1") for node in CHINESE.nodes))
    box = [line for line in ascii(view, language="zh").splitlines() if line[:1] in tuple("┌│└")]
    assert len(box) == 8
    assert len({columns(line) for line in box}) == 1
    assert "… 节点-6  10.77.0.6  启动中：读取数据存储" in ascii(view, language="zh")


def test_a_long_reason_goes_on_below_itself() -> None:
    lines = ascii(LONG).splitlines()
    first = next(line for line in lines if "✗" in line)
    margin = columns(first.partition("a reason")[0])
    below = lines[lines.index(first) + 1]
    assert len(below) - len(below.lstrip()) == margin


def test_a_node_alone_has_no_mesh() -> None:
    assert ascii(lab(1)).endswith("\n\nno sessions\n")
    assert ascii(EMPTY) == "Lab empty · store embedded · no nodes\n\nno sessions\n"


@pytest.mark.parametrize("nasty", NASTY)
def test_no_name_moves_the_cursor(nasty: str) -> None:
    view = lab(3, name=nasty, names=nasty.replace("{", "").replace("}", "") + "{}", broken=without(2, 3))
    text = ascii(view._replace(store=nasty))
    assert all(char.isprintable() for char in text.replace("\n", ""))

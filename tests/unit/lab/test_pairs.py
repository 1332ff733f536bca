"""Who reaches whom, as a matrix, folded where it would be too large, and for programs."""

from __future__ import annotations

from tortie.lab.pairs import MATRIX_MAX, End, Reached, failing, families, rows, wanted_pairs


def ends(count: int, *, nodes: int = 3, dual: bool = False) -> list[End]:
    found = []
    for number in range(1, count + 1):
        node = f"node-{(number - 1) % nodes + 1}"
        found.append(End(f"web-{number}", node, f"10.244.0.{number}"))
        if dual:
            found.append(End(f"web-{number}", node, f"fd00::{number}"))
    return found


def outcome(count: int, *, lost: tuple[str, str] | None = None) -> list[Reached]:
    return [
        Reached(a, b, 1, (), False) if (a.name, b.name) == lost else Reached(a, b, 1, (0.25,), True)
        for a, b in wanted_pairs(ends(count), ())
    ]


def shown(reached: list[Reached]) -> list[list[str]]:
    return rows(reached, "FROM", lambda text: f"+ {text}", lambda text: f"x {text}".rstrip())


def test_all_with_all_but_nobody_with_itself_or_another_family() -> None:
    assert len(wanted_pairs(ends(3), ())) == 6
    assert len(wanted_pairs(ends(90), ())) == 8010
    dual = wanted_pairs(ends(3, dual=True), ())
    assert len(dual) == 12
    assert all(a.family == b.family for a, b in dual)


def test_those_that_are_named_and_one_alone_with_all() -> None:
    assert {(a.name, b.name) for a, b in wanted_pairs(ends(4), ("web-1", "web-3"))} == {
        ("web-1", "web-3"),
        ("web-3", "web-1"),
    }
    assert len(wanted_pairs(ends(4), ("web-2",))) == 6
    assert wanted_pairs(ends(1), ()) == []


def test_a_small_matrix_shows_every_pair() -> None:
    assert shown(outcome(3, lost=("web-1", "web-3"))) == [
        ["FROM", "web-1", "web-2", "web-3"],
        ["web-1", "-", "+ 0.25", "x"],
        ["web-2", "+ 0.25", "-", "+ 0.25"],
        ["web-3", "+ 0.25", "+ 0.25", "-"],
    ]


def test_a_large_one_is_folded_into_nodes() -> None:
    assert len(shown(outcome(MATRIX_MAX))) == MATRIX_MAX + 1
    assert shown(outcome(MATRIX_MAX + 3, lost=("web-1", "web-2"))) == [
        ["FROM", "node-1", "node-2", "node-3"],
        ["node-1", "+ 20/20 0.25", "x 24/25", "+ 25/25 0.25"],
        ["node-2", "+ 25/25 0.25", "+ 20/20 0.25", "+ 25/25 0.25"],
        ["node-3", "+ 25/25 0.25", "+ 25/25 0.25", "+ 20/20 0.25"],
    ]


def test_what_fails_is_found() -> None:
    reached = outcome(20, lost=("web-4", "web-7"))
    assert [(each.source.name, each.target.name) for each in failing(reached)] == [("web-4", "web-7")]
    assert families(reached) == [4]


def test_a_pair_for_programs() -> None:
    a, b = ends(2)
    assert Reached(a, b, 2, (0.1, 0.3), True).as_json() == {
        "from": "web-1",
        "to": "web-2",
        "ok": True,
        "ms": 0.2,
        "family": 4,
        "address": "10.244.0.2",
        "from_node": "node-1",
        "to_node": "node-2",
        "sent": 2,
        "received": 2,
    }
    silent = Reached(a, b, 3, (), False, "Network is unreachable").as_json()
    assert (silent["ok"], silent["ms"], silent["why"]) == (False, None, "Network is unreachable")

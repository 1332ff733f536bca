"""Which of the protocols that are down are enabled again, and when."""

from __future__ import annotations

from tortie.bgp.bird import Disabled
from tortie.bgp.replies import Protocol


def rows(**states: str) -> list[Protocol]:
    return [Protocol(name, "BGP", "---", state, "2026-11-16T03:00:00", "") for name, state in states.items()]


def test_who_is_down_for_a_moment_is_left_alone() -> None:
    disabled = Disabled()
    assert disabled.see(rows(a="down", b="up"), 1.0) == ()
    assert disabled.see(rows(a="start", b="down"), 2.0) == ()
    assert disabled.see(rows(a="up", b="down"), 3.0) == ("b",)


def test_all_are_enabled_at_once_then_one_now_and_then_until_that_helps() -> None:
    disabled = Disabled()
    down = rows(a="down", b="down", c="down")
    disabled.see(down, 0.0)
    names = disabled.see(down, 0.2)
    assert disabled.is_news(names)
    assert disabled.to_enable(names, 0.2) == ("a", "b", "c")
    tried = []
    for step in range(1, 300):
        now = 0.2 + step / 10
        names = disabled.see(down, now)
        assert not disabled.is_news(names)
        if chosen := disabled.to_enable(names, now):
            assert chosen == ("a",)
            tried.append(round(now - 0.2))
    assert tried == [1, 3, 7, 12, 17, 22, 27]
    names = disabled.see(rows(a="start", b="down", c="down"), 31.0)
    assert not disabled.is_news(names)
    assert disabled.to_enable(names, 31.0) == ("b", "c")


def test_what_has_been_well_for_a_while_begins_anew() -> None:
    disabled = Disabled()
    for now in (0.0, 0.2):
        names = disabled.see(rows(a="down"), now)
    disabled.to_enable(names, 0.2)
    disabled.see(rows(a="up"), 60.0)
    for now in (61.0, 61.2):
        names = disabled.see(rows(a="down"), now)
    assert disabled.is_news(names)
    assert disabled.to_enable(names, 61.2) == ("a",)

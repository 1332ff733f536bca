"""The way from endpoint to endpoint, by the clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tortie.store.contract import Unreachable
from tortie.store.etcd import search as module
from tortie.store.etcd.search import Search
from tortie.store.etcd.trouble import Trouble

REFUSED = Trouble("connection refused")


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def connection(endpoint: str) -> Any:
    return SimpleNamespace(endpoint=endpoint)


def search(*connections: Any) -> Search[Any]:
    return Search(connections, 0, "etcd", "reading", 1.0)


def test_in_the_last_moment_no_reason_is_exchanged_for_silence(clock: Clock) -> None:
    """`connection refused` helps; `no answer within 0.0 s`, from a try that had no time, does not."""
    one = connection("a")
    going = search(one)
    going.failed(going.candidate(), REFUSED)
    clock.now += 0.9
    assert going.candidate() is one
    clock.now += 0.09
    with pytest.raises(Unreachable, match="a: connection refused"):
        going.candidate()


def test_a_try_that_the_end_of_time_cut_off_takes_no_reason_away(clock: Clock) -> None:
    going = search(connection("a"))
    going.failed(going.candidate(), REFUSED)
    clock.now += 0.8
    last = going.candidate()
    clock.now += 0.2
    going.failed(last, Trouble("no answer within 0.2 s"))
    with pytest.raises(Unreachable, match="a: connection refused"):
        going.candidate()


def test_an_endpoint_that_was_not_tried_yet_is_tried_to_the_end(clock: Clock) -> None:
    one, two = connection("a"), connection("b")
    going = search(one, two)
    going.failed(going.candidate(), REFUSED)
    clock.now += 0.99
    assert going.candidate() is two
    clock.now += 0.02
    with pytest.raises(Unreachable, match="a: connection refused"):
        going.candidate()

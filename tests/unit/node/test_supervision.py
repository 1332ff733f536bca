"""Loops that fail are run again, and say so; what one of several works fails with, all of them fail with."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable

import pytest

from tortie.health.health import Health
from tortie.model.errors import TortieError, UsageError
from tortie.node import supervision
from tortie.node.log import Log
from tortie.node.supervision import Loop, Supervision, together

pytestmark = pytest.mark.timeout(60)


class World:
    def __init__(self, *, debug: bool = False) -> None:
        self.health = Health(time.monotonic)
        self.written = io.StringIO()
        self.supervision = Supervision(self.health, Log(self.written), debug=debug)
        self.ended = 0

    def end(self) -> None:
        self.ended += 1

    def reasons(self) -> dict[str, str]:
        return {cause.name: cause.trouble.why for cause in self.health.report().not_ready}

    async def play(self, run: Callable[[], Awaitable[None]], is_so: Callable[[], bool]) -> None:
        keeping = asyncio.create_task(self.supervision.keep(Loop("pods", run, self.end)))
        while not is_so():
            assert not keeping.done()
            await asyncio.sleep(0.005)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


FAILURES = [
    (KeyError("kind"), "KeyError: 'kind'"),
    (TortieError("no store", "it is away"), "no store: it is away"),
    (UsageError("too much"), "too much"),
    (RecursionError(), "RecursionError: "),
    (None, "it ended without a reason"),
]


@pytest.mark.parametrize(("error", "why"), FAILURES)
def test_a_loop_that_fails_is_run_again_until_it_runs(
    error: Exception | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "A_WHILE_S", 0.2)
    world, runs, told = World(), 0, list[dict[str, str]]()

    async def run() -> None:
        nonlocal runs
        runs += 1
        told.append(world.reasons())
        if runs < 3:
            if error is not None:
                raise error
            return
        await asyncio.Event().wait()

    asyncio.run(world.play(run, lambda: runs == 3 and "loop-pods" not in world.reasons()))
    assert told[1]["loop-pods"] == told[2]["loop-pods"] == why
    log = world.written.getvalue()
    assert log.count("[ERROR]") == log.count(f"the loop pods has failed: {why}") == 1
    assert "The loop pods runs again" in log
    assert "Traceback" not in log
    assert world.ended == 1


def test_where_it_failed_is_shown_to_those_who_ask() -> None:
    world = World(debug=True)

    async def run() -> None:
        raise KeyError("kind")

    asyncio.run(world.play(run, lambda: "Traceback" in world.written.getvalue()))
    assert "test_supervision.py" in world.written.getvalue()


def test_an_end_while_it_pauses_is_an_end() -> None:
    world = World()

    async def run() -> None:
        raise KeyError("kind")

    asyncio.run(world.play(run, lambda: "loop-pods" in world.reasons()))
    assert world.ended == 1


def test_works_fail_together() -> None:
    ended: list[str] = []

    async def patient() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("patient")

    async def hasty() -> None:
        await asyncio.sleep(0)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(together(patient(), hasty()))
    assert ended == ["patient"]

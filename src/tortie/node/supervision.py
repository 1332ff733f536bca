"""The agent's loops, each kept running: what goes wrong in one of them never ends the others, nor the process.

Whatever a loop fails with, it is told by the log and the health page, and the loop is run again, soon at first, then
less and less often. A loop that is made of several works fails with the first of them, so that nothing stops unseen.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, NamedTuple

from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.model.errors import TortieError
from tortie.node.log import Log
from tortie.node.patience import pause_s

# Who has run for so long has got over it; until then the node is not ready.
A_WHILE_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 10.0
_DEFECT: Final = "this is a defect of Tortie, perhaps met by a damaged record; TORTIE_DEBUG=1 shows where it is"


def _nothing() -> None:
    return None


class Loop(NamedTuple):
    """`run` never ends by itself, and may be called again after it has failed."""

    name: str  # for the log and the health page
    run: Callable[[], Awaitable[None]]
    end: Callable[[], None] = _nothing  # once, when it is not run again

    @property
    def need(self) -> str:
        """Its own name for what a node needs: those of the loops' work are the loops' business."""
        return f"loop-{self.name}"


async def together(*works: Coroutine[Any, Any, None]) -> None:
    """Until the first of them fails or ends, which is the end of all."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Supervision:
    def __init__(self, health: Health, log: Log, *, debug: bool = False) -> None:
        """`debug`: the log shows where a loop has failed."""
        self._health = health
        self._log = log
        self._debug = debug

    async def keep(self, loop: Loop) -> None:
        """For ever."""
        attempt, told = 0, ""
        try:
            while True:
                began = time.monotonic()
                error = await self._run(loop, told)
                over_it = time.monotonic() - began >= A_WHILE_S
                attempt, told = (0, "") if over_it else (attempt + 1, told)
                trouble = trouble_of(f"the loop {loop.name} has failed", error)
                self._health.need(loop.need, trouble)
                if told != trouble.why:
                    told = trouble.why
                    self._log.error(f"{trouble.what}: {trouble.why}. It is run again.")
                    self.show(error)
                await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))
        finally:
            loop.end()

    def show(self, error: Exception | None) -> None:
        """Where it came from, for those who look for a defect."""
        if self._debug and error is not None:
            self._log.error("".join(traceback.format_exception(error)).rstrip())

    async def _run(self, loop: Loop, told: str) -> Exception | None:
        """What it failed with; None if it ended, which it should not."""
        settled = asyncio.get_running_loop().call_later(A_WHILE_S, self._settled, loop, told)
        try:
            await loop.run()
        except Exception as error:
            return error
        finally:
            settled.cancel()
        return None

    def _settled(self, loop: Loop, told: str) -> None:
        self._health.met(loop.need)
        if told:
            self._log.info(f"The loop {loop.name} runs again")


def trouble_of(what: str, error: Exception | None) -> Trouble:
    if isinstance(error, TortieError):
        return Trouble(what, str(error), error.fix or _DEFECT, "this node")
    why = f"{type(error).__name__}: {error}" if error is not None else "it ended without a reason"
    return Trouble(what, why, _DEFECT, "this node")

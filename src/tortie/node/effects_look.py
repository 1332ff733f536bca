"""Looks what is stored without effect, when somebody asks: `tortie node status`, or a person at the health page.

Nothing is watched for it and nothing is read unasked. A look is two requests at once, whatever there is; who asks gets
what the last one found, and may come again for the next.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tortie.health.health import Health
from tortie.health.message import JSON, Request, Response
from tortie.health.routes import Routes
from tortie.model.effects.notes import Told
from tortie.model.errors import TortieError
from tortie.node import effects
from tortie.store.contract import CountingStore

REMARK: Final = "without effect"
_LOOK_S: Final = 5.0
_APART_S: Final = 60.0  # of looks that the health page asks for: a probe may be verbose, too


class Seen(NamedTuple):
    looks: int = 0  # how many have ended
    stored: tuple[Told, ...] = ()
    error: str = ""  # why the last one found nothing out
    at: float | None = None  # when the last one found something out


class EffectsLook:
    def __init__(
        self,
        name: str,
        store: CountingStore,
        health: Health,
        *,
        own_dataplane: bool,
        environment: Sequence[Told] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`environment`: what is known from the start, and stands beside whatever is found."""
        self.seen = Seen()
        self._name = name
        self._store = store
        self._health = health
        self._own_dataplane = own_dataplane
        self._environment = tuple(environment)
        self._clock = clock
        self._bell = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked_at: float | None = None
        health.remark(REMARK, tuple(_told(each) for each in self._environment))

    async def run(self) -> None:
        """For ever."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._bell.wait()
            self._bell.clear()
            await self._look()

    def ask(self) -> None:
        """From any thread; returns at once."""
        self._asked_at = self._clock()
        if self._loop is None:
            self._bell.set()  # nobody waits for it yet
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._bell.set)

    def ask_sometimes(self) -> None:
        """The same, unless it was asked not long ago."""
        if self._asked_at is None or self._clock() - self._asked_at >= _APART_S:
            self.ask()

    def routes(self) -> Routes:
        return {"/effects": self._answer}

    def _answer(self, request: Request) -> Response:
        """With ?look it also asks for the next look, which is over when `looks` has grown."""
        seen = self.seen
        if "look" in request.query:
            self.ask()
        return Response(200, json.dumps(self._as_json(seen), ensure_ascii=False) + "\n", JSON)

    def _as_json(self, seen: Seen) -> dict[str, Any]:
        return {
            "looks": seen.looks,
            "age_s": None if seen.at is None else round(self._clock() - seen.at, 3),
            "error": seen.error or None,
            "notes": [{**each.as_json(), "which": each.which} for each in (*seen.stored, *self._environment)],
        }

    async def _look(self) -> None:
        try:
            snapshot, tallies = await asyncio.gather(
                self._store.snapshot(effects.keys(self._name), effects.PREFIXES, timeout_s=_LOOK_S),
                self._store.tally(effects.TALLIED, first=effects.FIRST, timeout_s=_LOOK_S),
            )
        except TortieError as error:
            self.seen = self.seen._replace(looks=self.seen.looks + 1, error=str(error.what))
            return
        stored = tuple(effects.found(snapshot, tallies, own_dataplane=self._own_dataplane))
        self._health.remark(REMARK, tuple(_told(each) for each in (*stored, *self._environment)))
        self.seen = Seen(self.seen.looks + 1, stored, at=self._clock())


def _told(told: Told) -> str:
    return f"{told.what} ({told.which})" if told.which else told.what

"""One look and what follows from it: read everything once, decide, carry it out. The heavy part runs beside the event
loop, because a lease that is not renewed in time is lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from tortie.controllers.cleaning import Cleaner
from tortie.controllers.deeds import Outcome
from tortie.controllers.metrics import UNKNOWN_NODE, Figures, Place, count
from tortie.controllers.narrating import Narrator
from tortie.controllers.plan import Memory, Patience, Plan, forgotten, plan_of
from tortie.controllers.speaking import Speaker
from tortie.ipam.census import KEYS, PREFIXES, census_of
from tortie.store.contract import Snapshot, Store

_TIMEOUT_S: Final = 120.0


class Looked(NamedTuple):
    plan: Plan
    figures: Figures


class Lookout:
    """Keeps what has to be remembered between two looks."""

    def __init__(
        self,
        store: Store,
        log: Speaker,
        *,
        clock: Callable[[], float],
        today: Callable[[], datetime],
        require: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._log = log
        self._clock = clock
        self._today = today
        self._require = require
        self._memory = Memory()
        self._narrator = Narrator(log)
        self.reclaimed: Counter[Place] = Counter()
        self.figures = Figures()
        self.plan = Plan()

    def forget(self) -> None:
        """Somebody else may have led meanwhile: what was seen before says nothing about the time between."""
        self._memory = Memory()
        self.plan = Plan()

    async def look(self, patience: Patience) -> Plan:
        snapshot = await self._store.snapshot(KEYS, PREFIXES, timeout_s=_TIMEOUT_S)
        before = self._memory
        looked = await asyncio.to_thread(_judge, snapshot, before, self._clock(), self._today(), patience)
        self.plan, self.figures = looked
        self._memory = looked.plan.memory
        self._narrator.tell(looked.plan)
        return looked.plan

    async def clean(self, plan: Plan) -> Outcome:
        """What was done is counted, even if it could not be finished."""
        cleaner = Cleaner(self._store, self._log, today=self._today, require=self._require)
        try:
            outcome = await cleaner.carry_out(plan)
        finally:
            self._count(plan, cleaner.so_far())
        finished = () if outcome.unfinished else tuple(plan.gone)
        stuck = {each.node for each in plan.stuck}
        self._memory = forgotten(self._memory, tuple(node for node in finished if node not in stuck))
        return outcome

    def _count(self, plan: Plan, outcome: Outcome) -> None:
        places = {str(leak.ip): leak for leak in plan.leaks.confirmed}
        for deed in outcome.deeds:
            if deed.kind == "address released" and (leak := places.get(deed.what)):
                self.reclaimed[self.figures.pool_of(leak.block), leak.node or UNKNOWN_NODE] += 1


def _judge(snapshot: Snapshot, memory: Memory, now: float, today: datetime, patience: Patience) -> Looked:
    census = census_of(snapshot)
    plan = plan_of(census, memory, now, today, patience)
    return Looked(plan, count(census, (*plan.leaks.candidates, *plan.leaks.confirmed)))

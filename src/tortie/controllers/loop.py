"""The controllers at work: stand by until this instance leads, then look whenever it is time, until told to stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any, Final

from tortie.controllers.config import Config, read_config
from tortie.controllers.deeds import Outcome
from tortie.controllers.keeping import CONFIGURATION, keep
from tortie.controllers.leading import Leading, NotLeading
from tortie.controllers.looking import Lookout
from tortie.controllers.plan import GONE_S, Patience
from tortie.controllers.readiness import DATASTORE, NODE_CONTROLLER, STARTUP, Standing
from tortie.controllers.speaking import Speaker
from tortie.ipam.census import CLUSTER, NODES
from tortie.model.errors import TortieError
from tortie.model.wire import Document, Undecodable, decode
from tortie.store.contract import Change, Store
from tortie.store.follow import follow_all

_FOLLOWED: Final = (NODES, CONFIGURATION, CLUSTER)

_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 30.0
_A_LITTLE_LATER_S: Final = 0.02
_STANDBY_S: Final = 0.5
_SETTLE_S: Final = 0.2  # nodes are often deleted in a row
_VERIFY_S, _VERIFY_ILL_S, _VERIFY_TIMEOUT_S, _VERIFY_TIMEOUT_MAX_S = 10.0, 2.0, 4.0, 16.0


class Controllers:
    def __init__(
        self,
        store: Store,
        log: Speaker,
        *,
        me: str,
        environment: Mapping[str, str],
        grace: str | None,
        lease_s: float,
        clock: Callable[[], float],
        today: Callable[[], datetime],
        apply: Callable[[Config], None],
        tell: Callable[[Mapping[str, Standing], str], None],
        chance: Callable[[], float] = random.random,
        new_uid: Callable[[], str],
    ) -> None:
        """`clock` also goes on while the machine sleeps. `apply` is told every configuration, `tell` every change of
        how this instance stands and of the part it plays.
        """
        self._store = store
        self._log = log
        self._environment = environment
        self._grace = grace
        self._clock = clock
        self._today = today
        self._apply = apply
        self._tell = tell
        self._chance = chance
        self._new_uid = new_uid
        self.config = read_config(environment, None, grace)
        self.leading = Leading(store, me, log, duration_s=lease_s, clock=clock, today=lambda: _spoken(today()))
        self.lookout = Lookout(store, log, clock=clock, today=today, require=self.leading.require)
        self._wanted = asyncio.Event()  # somebody wants a look now
        self._standings: dict[str, Standing] = {STARTUP: Standing(False, "the configuration has not been read yet")}
        self._last: Document = {}
        self._spec: Document | None = None  # of the resource; None: there is none, or none that can be read
        self._untold = asyncio.Event()  # the resource does not yet say what is in force

    async def run(self) -> None:
        """Until it is cancelled; then the lease is given back."""
        works: tuple[Callable[[], Awaitable[None]], ...] = (
            *(self._listen, self._verify, self.leading.run, self._work),
            self._keep,
        )
        tasks = [asyncio.ensure_future(work()) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.leading.give_back()

    # What is heard from the store

    async def _listen(self) -> None:
        attempt = 0
        while True:
            try:
                async with aclosing(follow_all(self._store, _FOLLOWED)) as news:
                    first = True
                    async for each in news:
                        attempt = 0
                        self._hear(each.changes, first=first)
                        first = False
            except TortieError as error:
                self._log.debug(f"Following the datastore failed, trying again: {error}")
            await asyncio.sleep(self._pause_s(attempt))
            attempt += 1

    def _hear(self, changes: tuple[Change, ...], *, first: bool) -> None:
        configured = {change.key: change for change in changes}.get(CONFIGURATION)
        if configured or (first and STARTUP in self._standings and not self._standings[STARTUP].ready):
            self._configure(configured.value if configured else None)
        if any(change.value is None and change.key.startswith(NODES) for change in changes) and not first:
            self._wanted.set()
        if any(change.key == CLUSTER for change in changes) and not first:
            self._wanted.set()
            self._untold.set()  # the datastore may have been locked
        self._stand(STARTUP, Standing(True))

    def _configure(self, value: bytes | None) -> None:
        spec: Any = None
        if value is not None:
            try:
                spec = decode(value, CONFIGURATION).get("spec")
            except Undecodable as error:
                self._log.error(f"KubeControllersConfiguration default is passed over: {error}")
        spec = spec if isinstance(spec, dict) else None
        if spec is None or spec != self._spec:  # a change of the status alone is our own, or that of Calico's
            self._untold.set()
        self._spec = spec
        config = read_config(self._environment, spec, self._grace)
        if config == self.config and self._standings[STARTUP].ready:
            return
        for warning in config.warnings:
            self._log.warning(warning)
        for each in config.unheeded:
            (self._log.warning if each.asked else self._log.info)(each.text)
        self.config = config
        self._apply(config)
        self._log.info(
            "Configuration",
            leakGracePeriod=f"{config.grace_s:g}s",
            scanEvery=f"{config.scan_every_s:g}s",
            nodeController=config.node,
            nothingToDo=",".join(config.idle),
        )
        self._wanted.set()

    async def _keep(self) -> None:
        """The leader makes the resource if there is none, and tells in it what is in force."""
        attempt = 0
        while True:
            await self._untold.wait()
            if not self.leading.leads:
                await asyncio.sleep(_STANDBY_S)
                continue
            self._untold.clear()
            try:
                await keep(self._store, self._environment, today=self._today, new_uid=self._new_uid)
            except TortieError as error:
                self._log.debug(f"KubeControllersConfiguration default could not be written, will retry: {error}")
                self._untold.set()
                await asyncio.sleep(self._pause_s(attempt + 10))
                attempt += 1
            else:
                attempt = 0

    async def _verify(self) -> None:
        """Whether the datastore answers; a question that writes nothing."""
        timeout_s = _VERIFY_TIMEOUT_S
        while True:
            try:
                await self._store.get(CLUSTER, timeout_s=timeout_s)
            except TortieError as error:
                if self._standings.get(DATASTORE, Standing(True)).ready:
                    self._log.error(f"Failed to verify datastore: {error}")
                self._stand(DATASTORE, Standing(False, f"Error verifying datastore: {error}"))
                timeout_s = min(timeout_s * 2, _VERIFY_TIMEOUT_MAX_S)
                await asyncio.sleep(_VERIFY_ILL_S)
            else:
                self._stand(DATASTORE, Standing(True))
                timeout_s = _VERIFY_TIMEOUT_S
                await asyncio.sleep(_VERIFY_S)

    # What the leader does

    async def _work(self) -> None:
        attempt, due = 0, self._clock()
        led = False
        while True:
            if not (self.leading.leads and self.config.node and self._standings[STARTUP].ready):
                led = False
                self._wanted.clear()
                self._stand(NODE_CONTROLLER, Standing(True))
                await self._sleep(_STANDBY_S)
                continue
            if not led:
                led, due = True, self._clock()
                self.lookout.forget()
            await self._sleep(due - self._clock())
            if self._clock() < due and not self._wanted.is_set():
                continue
            if self._wanted.is_set():
                self._wanted.clear()
                await asyncio.sleep(_SETTLE_S)
            try:
                outcome = await self._pass()
            except NotLeading as error:
                self._log.warning(str(error))
                continue
            except TortieError as error:
                self._log.error(f"Error during IPAM sync, will retry: {error}")
                self._stand(NODE_CONTROLLER, Standing(False, f"IPAM sync fails: {error}"))
                due = self._clock() + self._pause_s(attempt)
                attempt += 1
                continue
            self._stand(NODE_CONTROLLER, Standing(True))
            attempt = attempt + 1 if outcome.unfinished else 0
            due = self._clock() + self._pause_s(attempt) if outcome.unfinished else self._next()

    async def _pass(self) -> Outcome:
        self._log.debug("Synchronizing IPAM data")
        plan = await self.lookout.look(self.patience)
        outcome = Outcome()
        if not plan.locked and not plan.is_idle:
            outcome = await self.lookout.clean(plan)
            self._remember(outcome)
            left = len(plan.stuck), len(plan.leaks.confirmed) if outcome.unfinished else 0
            if any(left):
                self._log.info(f"work remaining: {left[0]} nodes, {left[1]} confirmed leaks")
            elif outcome.deeds:
                self._log.info("Node and IPAM data is in sync")
        self.leading.tell({"lastScan": _spoken(self._today()), **self._last})
        return outcome

    @property
    def patience(self) -> Patience:
        grace_s = self.config.grace_s
        return Patience(grace_s, min(GONE_S, grace_s) if grace_s > 0 else GONE_S)

    def _next(self) -> float:
        """When the next look is due: regularly, and as soon as something is ripe."""
        usual = self._clock() + self.config.scan_every_s
        ripe = self.lookout.plan.next_due(self._clock(), self.patience)
        return usual if ripe is None else min(usual, ripe + _A_LITTLE_LATER_S)

    def _remember(self, outcome: Outcome) -> None:
        if outcome.deeds:
            done: dict[str, int] = {}
            for deed in outcome.deeds:
                done[deed.kind] = done.get(deed.kind, 0) + 1
            self._last = {"lastWork": {"at": _spoken(self._today()), **done}}

    async def _sleep(self, seconds: float) -> None:
        """Less, if somebody wants a look or the lease changes hands."""
        if seconds <= 0:
            return
        waits = [asyncio.ensure_future(self._wanted.wait()), asyncio.ensure_future(self.leading.changed.wait())]
        try:
            with suppress(TimeoutError):
                await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self.leading.changed.clear()
        self._stand(STARTUP, self._standings[STARTUP])

    def _pause_s(self, attempt: int) -> float:
        longest = min(_FIRST_PAUSE_S * 2.0 ** min(attempt, 20), _LONGEST_PAUSE_S)
        return longest * (0.5 + self._chance() / 2)

    def _stand(self, name: str, standing: Standing) -> None:
        self._standings[name] = standing
        self._tell(self._standings, "leader" if self.leading.leads else "standby")


def _spoken(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

"""Requests that come at the same time, served together: what waits while one commit is under way goes into the next.

Whoever finds nobody at work does the work, for all that wait, until its own request is served; then another goes on.
So a single caller needs no event loop and no second task, and a hundred need a few commits. Knowledge is kept in a
`View`; a conflict tells what stands there now, so the next attempt needs no read for it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from tortie.ipam.block import HOST
from tortie.ipam.draft import Draft, Missing, TooMuch, Trial
from tortie.ipam.facts import NODES
from tortie.ipam.job import Job, Plan
from tortie.ipam.records import parse_affinity_key
from tortie.ipam.releasing import plan_release_handle
from tortie.ipam.steps import carry_out
from tortie.ipam.view import FACTS, Need, View
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import IP
from tortie.store.contract import OPERATIONS_MAX, Absent, Change, Conflict, Revision, Store, Unreachable
from tortie.store.retry import pause_for, random_chance

_FIRST_PAUSE_S: Final = 0.002
_LONGEST_PAUSE_S: Final = 0.25
_TROUBLE_PAUSE_S: Final = 0.1
_FACTS_AGE_S: Final = 1.0  # of what nobody watches, while there is always somebody at work
_COMPENSATION_S: Final = 30.0


class Gatherer:
    def __init__(
        self,
        store: Store,
        owner: str,
        *,
        clock: Callable[[], datetime],
        chance: Callable[[], float] | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
        atomic: bool = True,
        keep: bool = False,
    ) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock
        self._chance = chance or random_chance
        self._pause = pause or pause_for
        self._atomic = atomic
        self._keep = keep
        self.blind = False  # whoever should tell us of changes has lost the store
        self._news = 0  # the newest revision that changed what people set up
        self._writing: frozenset[str] = frozenset()  # keys of the commit that is under way
        self._heard: list[Change] = []  # of these, meanwhile
        self.view = View()
        self._since = -1  # since which request nothing older is known
        self._facts_at = 0.0
        self._facts_used = False
        self._jobs: list[Job] = []
        self._count = 0
        self._driving = False
        self._driver: object | None = None

    async def run(self, plan: Plan, what: str, timeout_s: float, *, giving: str = "") -> Any:
        self._count += 1
        job = Job(plan, what, self._count, time.monotonic(), timeout_s, giving=giving)
        if giving:
            self._take_over(job)
        self._jobs.append(job)
        try:
            if not self._driving:
                await self._drive(job)
            else:
                await self._wait(job)
        except BaseException:
            job.over = True
            raise
        return job.outcome()

    def begin_hearing(self, revision: Revision) -> None:
        """From that revision on, which may be lower than before: a store can be set back."""
        self._news = revision
        self.view.forget_facts()
        self.blind = False

    def hear(self, changes: Iterable[Change]) -> None:
        """Of what is watched. Our own writes are heard of as well, perhaps before the store has answered us: these are
        judged when it has.
        """
        self._heard += [change for change in changes if change.key in self._writing]
        self._judge([change for change in changes if change.key not in self._writing])

    def _judge(self, changes: Sequence[Change]) -> None:
        if any(self._matters(change) for change in changes):
            self._news = max(self._news, *(change.revision for change in changes))
            self.view.forget_facts()

    def _matters(self, change: Change) -> bool:
        if change.key.startswith(NODES):
            return change.key == NODES + self._owner[len(HOST) :]
        affinity = parse_affinity_key(change.key)
        if affinity is None:
            return True
        known = self.view.rows.get(self._owner, {}).get(affinity.cidr)
        return known is None or change.revision > known.revision

    async def _wait(self, job: Job) -> None:
        import asyncio

        job.future = asyncio.get_running_loop().create_future()
        await job.future

    async def _drive(self, mine: Job | None = None) -> None:
        self._driving = True
        try:
            if not self._keep or self.blind:
                self._forget()
            else:
                self.view.age(self._owner)
            while self._jobs and not (mine and mine.over and not any(job.is_ours for job in self._jobs)):
                await self._round()
        except BaseException as error:
            # Whoever is cancelled bears it alone, the others go on below. Anything else is a fault of this program.
            for job in self._jobs:
                if mine is None or isinstance(error, Exception):
                    job.fail(error)
            if mine:
                mine.over = True
            raise
        finally:
            self._driving = False
            self._jobs = [job for job in self._jobs if not job.over]
            if self._jobs:
                self._hand_over()

    def _hand_over(self) -> None:
        import asyncio

        self._driving = True
        self._driver = asyncio.get_running_loop().create_task(self._drive())

    def _forget(self) -> None:
        self.view.forget()
        self._since = self._count

    async def _round(self) -> None:
        now = time.monotonic()
        for job in self._jobs:
            if not job.over and job.until <= now:
                job.expire(now)
        unwatched = not self._keep or self.blind
        # What was read serves one attempt at least, however long the rest took to read: a slow machine gets on, too.
        if unwatched and self.view.facts and self._facts_used and now - self._facts_at > _FACTS_AGE_S:
            self.view.forget_facts()
        self.view.tick = self._count
        draft = Draft(self.view, self._clock(), optimistic=self._keep, atomic=self._atomic)
        ready, need, outdated = self._planned(draft)
        if ready:
            await self._write(draft, ready)
        elif need:
            await self._read(need, [job for job in self._jobs if not job.over])
        if outdated:
            self._forget()
        self._make_up()
        self._jobs = [job for job in self._jobs if not job.over]

    def _planned(self, draft: Draft) -> tuple[list[tuple[Job, Trial, Any]], Need | None, bool]:
        ready: list[tuple[Job, Trial, Any]] = []
        need: Need | None = None
        outdated = False
        for job in self._jobs:
            if job.over or (job.alone and ready):
                continue
            try:
                trial, result = job.plan(draft)
                draft.take(trial)
            except Missing as missing:
                need = need | missing.need if need else missing.need
            except TooMuch:
                break
            except Exception as error:
                # Only what was looked at after the request came may refuse it.
                if self._since >= job.tick or not isinstance(error, TortieError):
                    job.fail(error)
                else:
                    outdated = True
            else:
                ready.append((job, trial, result))
                if job.alone or not self._atomic:
                    break
        return ready, need, outdated

    async def _write(self, draft: Draft, ready: list[tuple[Job, Trial, Any]]) -> None:
        jobs = [job for job, _, _ in ready]
        timeout_s = self._remaining_s(jobs)
        self._facts_used = True
        keys: list[str] = []
        try:
            if self._atomic:
                operations = draft.operations()
                keys = [operation.key for operation in operations]
                self._writing = frozenset(keys)
                if operations:
                    draft.learn(await self._store.commit(operations, timeout_s=timeout_s))
                finished = True
            else:
                (job, trial, _) = ready[0]
                keys = trial.keys()
                self._writing = frozenset(keys)
                finished = await carry_out(self._store, self.view, job, trial, timeout_s)
        except Conflict as conflict:
            await self._conflicted(conflict, ready)
        except Unreachable as error:
            self.view.doubt(keys)
            await self._troubled(jobs, error)
        except UsageError as error:
            # Too much for one commit, or one of them wants something impossible: each for itself.
            for job in jobs:
                if job.alone or len(jobs) == 1:
                    job.fail(error)
                job.alone = True
        except TortieError as error:
            for job in jobs:
                job.fail(error)
        except BaseException:
            self.view.doubt(keys)
            raise
        else:
            if finished:
                for job, _, result in ready:
                    job.settle(result)
                    self._is_given(job.giving)
        finally:
            heard, self._heard, self._writing = self._heard, [], frozenset()
            self._judge(heard)

    async def _conflicted(self, conflict: Conflict, ready: list[tuple[Job, Trial, Any]]) -> None:
        found = conflict.found
        attempts, now = 0, time.monotonic()
        for job, trial, _ in ready:
            if job.stumbled(trial, conflict.key, found.value if found else None):
                job.fail(conflict)
            job.overtaken(conflict.key, now)
            attempts = max(attempts, job.attempts)
        self.view.learn_entry(conflict.key, found)
        if isinstance(conflict.expecting, Absent):
            self.view.learn_obstacle(conflict.key)
        await self._pause(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempts) * (0.5 + self._chance()))

    async def _read(self, need: Need, jobs: list[Job]) -> None:
        try:
            for portion in need.portions(OPERATIONS_MAX):
                snapshot = await self._store.snapshot(
                    sorted(portion.keys), sorted(portion.prefixes), timeout_s=self._remaining_s(jobs)
                )
                if portion.prefixes and snapshot.revision < self._news:
                    return  # meanwhile it has changed; the next round reads again
                if FACTS.prefixes <= portion.prefixes:
                    self._facts_at, self._facts_used = time.monotonic(), False
                self.view.learn(portion, snapshot)
        except Unreachable as error:
            await self._troubled(jobs, error)
        except TortieError as error:
            for job in jobs:
                job.fail(error)

    async def _troubled(self, jobs: list[Job], error: Unreachable) -> None:
        for job in jobs:
            job.trouble = error
        rest = min(_TROUBLE_PAUSE_S, self._remaining_s(jobs))
        await self._pause(rest * (0.5 + self._chance() / 2))

    def _remaining_s(self, jobs: list[Job]) -> float:
        now = time.monotonic()
        return max(0.01, min(job.until - now for job in jobs))

    def _make_up(self) -> None:
        """Step by step, a request that ended half-way has left its handle: it is set right, and addresses are freed.

        Unless somebody has asked for the handle again: then it is theirs, and what is left of it, too.
        """
        for job in self._jobs:
            if job.over and job.written is not None:
                written, job.written = frozenset(job.written), None
                heir = next((other for other in self._jobs if other.giving == job.giving and not other.over), None)
                if heir:
                    heir.written = (heir.written or set()) | written
                else:
                    self._count += 1
                    self._jobs.append(self._compensation(job.giving, written))

    def _take_over(self, job: Job) -> None:
        """Who asks again gets what was written for the first request; it must not be taken back meanwhile."""
        for other in self._jobs:
            if other.makes_up and other.makes_up[0] == job.giving and not other.over:
                other.over = True
                job.written = (job.written or set()) | other.makes_up[1]

    def _is_given(self, handle: str) -> None:
        """What was written for another request with this handle is not for that one to take back any more."""
        for other in self._jobs:
            if handle and other.giving == handle:
                other.written = None

    def _compensation(self, handle: str, written: frozenset[IP]) -> Job:
        def plan(draft: Draft) -> tuple[Trial, Any]:
            return plan_release_handle(draft, handle, only=written)

        what = f"taking back what {handle} did not need"
        job = Job(plan, what, self._count, time.monotonic(), _COMPENSATION_S)
        job.makes_up = (handle, written)
        return job

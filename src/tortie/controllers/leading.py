"""Taking and keeping the lease: reads, writes and waits as `lease` decides, and gives the lease back at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final

from tortie.controllers.lease import KEY, Candidate
from tortie.controllers.speaking import Speaker
from tortie.model.errors import TortieError
from tortie.model.wire import Document
from tortie.store.contract import Compacted, Conflict, Delete, Put, Store, Unreachable

_WATCH_AGAIN_S: Final = 1.0
_GIVE_BACK_S: Final = 5.0


class NotLeading(TortieError):
    """Another instance may lead by now: what was begun is for it to finish."""

    code = "not-leading"

    def __init__(self) -> None:
        super().__init__(
            "this instance does not lead any more",
            "the lease could not be renewed in time, or somebody else has it",
            "nothing is to be done: whoever leads goes on",
        )


class Leading:
    """`clock` must also go on while the machine sleeps; `today` is for people."""

    def __init__(
        self,
        store: Store,
        me: str,
        log: Speaker,
        *,
        duration_s: float,
        clock: Callable[[], float],
        today: Callable[[], str],
    ) -> None:
        self._store = store
        self._log = log
        self._clock = clock
        self._today = today
        self._candidate = Candidate(me, duration_s)
        self._stirred = asyncio.Event()
        self.changed = asyncio.Event()  # this instance began to lead, or does not any more
        self.trouble: TortieError | None = None
        self._told: tuple[bool, str] | None = None

    @property
    def leads(self) -> bool:
        return self._candidate.leads(self._clock())

    @property
    def holder(self) -> str:
        return self._candidate.holder

    def require(self) -> None:
        """Before every write of a clean-up."""
        if not self.leads:
            raise NotLeading

    def tell(self, doing: Document) -> None:
        """What is shown beside the holder's name, from its next renewal on."""
        self._candidate = self._candidate._replace(doing=doing)

    async def run(self) -> None:
        """For ever."""
        watching = asyncio.create_task(self._listen())
        try:
            while True:
                await self._turn()
                self._notice()
                self._stirred.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._patience_s()):
                        await self._stirred.wait()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def _patience_s(self) -> float:
        """Not beyond the end of our own term: whoever leads no more has to notice then."""
        now = self._clock()
        left = self._candidate.valid_until - now
        wait = self._candidate.look_again_s(now)
        return min(wait, left) if left > 0 else wait

    async def _turn(self) -> None:
        limit_s = self._candidate.duration_s / 3
        try:
            entry = await self._store.get(KEY, timeout_s=limit_s)
            self._candidate = self._candidate.observed(self._clock(), entry)
            attempt = self._candidate.attempt(self._clock(), self._today())
            if attempt:
                sent = self._clock()
                revision = await self._store.commit(
                    [Put(KEY, attempt.record.encoded(), attempt.expecting)], timeout_s=limit_s
                )
                self._candidate = self._candidate.wrote(sent, attempt, revision)
            self.trouble = None
        except Conflict as conflict:
            self._candidate = self._candidate.observed(self._clock(), conflict.found)
        except Unreachable as error:
            self.trouble = error  # the next look shows whether it was written nevertheless
        except TortieError as error:
            self.trouble = error

    def _notice(self) -> None:
        now = (self.leads, self._candidate.holder)
        if now == self._told:
            return
        before, self._told = self._told, now
        if now[0] and not (before and before[0]):
            self._log.info("This instance leads now", holder=now[1])
        elif before and before[0] and not now[0]:
            self._log.warning("This instance does not lead any more", holder=now[1])
        elif now[1] and not now[0]:
            self._log.info("Another instance leads, standing by", holder=now[1])
        self.changed.set()

    async def _listen(self) -> None:
        """So that a lease that is given back is taken at once. Without the watch it would only take longer."""
        while True:
            with suppress(TortieError, Compacted):
                revision = (await self._store.scan(KEY)).revision
                async with aclosing(self._store.watch(KEY, after=revision)) as changes:
                    async for change in changes:
                        if change.revision != (self._candidate.seen.revision if self._candidate.seen else None):
                            self._stirred.set()
            await asyncio.sleep(_WATCH_AGAIN_S)

    async def give_back(self) -> None:
        """So that the next one need not wait. Only what is still ours is given back."""
        seen = self._candidate.seen
        if seen is None or seen.record is None or seen.record.holder != self._candidate.me or seen.revision is None:
            return
        self._candidate = self._candidate._replace(sent=float("-inf"))
        try:
            await self._store.commit([Delete(KEY, seen.revision)], timeout_s=_GIVE_BACK_S)
            self._log.info("Gave the lease back", holder=self._candidate.me)
        except TortieError as error:
            self._log.warning(f"The lease could not be given back, the next one has to wait for its end: {error}")

"""One request on its way: its plan, how long it may take, how often it was overtaken, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tortie.ipam.draft import Draft, Trial
from tortie.ipam.errors import TooContended
from tortie.model.errors import TortieError
from tortie.model.network import IP
from tortie.store.contract import Put

if TYPE_CHECKING:
    import asyncio

# Pure, and called once per attempt.
Plan = Callable[[Draft], tuple[Trial, Any]]

ATTEMPTS_MAX = 50


class Job:
    def __init__(self, plan: Plan, what: str, tick: int, now: float, timeout_s: float, *, giving: str = "") -> None:
        self._plan = plan
        self.what = what
        self.tick = tick
        self.began = now
        self.until = now + timeout_s
        self.giving = giving  # the handle, if addresses are given out; else they are taken back
        self.attempts = 0
        self.last = ""  # where it was overtaken
        self.trouble: TortieError | None = None  # of the store
        self.alone = False
        self.makes_up: tuple[str, frozenset[IP]] | None = None  # for one that failed: its handle, what it had written
        self.over = False
        self.future: asyncio.Future[None] | None = None
        self.written: set[IP] | None = None  # step by step: what is given out already; None: not even the handle
        self._result: Any = None
        self._error: BaseException | None = None
        self._done_along: set[str] = set()

    def plan(self, draft: Draft) -> tuple[Trial, Any]:
        draft.tick = self.tick
        trial, result = self._plan(draft)
        if self._done_along:
            trial.along = [operation for operation in trial.along if operation.key not in self._done_along]
        return trial, result

    def settle(self, result: Any) -> None:
        self._result = result
        self._end()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._end()

    def _end(self) -> None:
        self.over = True
        if self.future and not self.future.done():
            self.future.set_result(None)

    @property
    def is_ours(self) -> bool:
        """Nobody waits for it, but it has to be done."""
        return self.makes_up is not None

    def outcome(self) -> Any:
        if self._error:
            raise self._error
        return self._result

    def overtaken(self, key: str, now: float) -> None:
        self.attempts += 1
        self.last = key
        if self.attempts >= ATTEMPTS_MAX:
            self.fail(TooContended(self.what, self.attempts, now - self.began, key))

    def expire(self, now: float) -> None:
        """Its time is up."""
        if self.trouble:
            self.fail(self.trouble)
        else:
            last = self.last or "the queue of this node's requests"
            self.fail(TooContended(self.what, self.attempts, now - self.began, last))

    def stumbled(self, trial: Trial, key: str, found: bytes | None) -> bool:
        """Whether a conflict is at what the request itself wanted written along, and is not its own earlier write."""
        for operation in trial.along:
            if operation.key == key:
                if isinstance(operation, Put) and operation.value == found:
                    self._done_along.add(key)
                    return False
                return True
        return False

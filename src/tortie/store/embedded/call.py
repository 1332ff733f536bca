"""One call's patience: how long it may wait, and whether anybody still waits for its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

# Work that only waits ends at its deadline, with a reason; what takes longer is a disk that hangs.
GRACE_S = 0.25


class GivenUp(BaseException):
    """Ends work whose caller is gone; nobody is left to see it, so nothing may mistake it for an error."""


class Overdue(Exception):
    """The work did not end in time, and nobody knows when it will."""


class Call:
    """Belongs to one call of the store and travels with it into whatever thread does the work."""

    def __init__(self, doing: str, timeout_s: float) -> None:
        self.doing = doing
        self.timeout_s = timeout_s
        self._until = time.monotonic() + timeout_s
        self._given_up = False
        self._woken = threading.Event()

    def remaining_s(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def wait(self) -> None:
        """Returns when somebody calls `wake`, when the caller gave up, or when time is up."""
        self._woken.wait(self.remaining_s())
        self.check()

    def wake(self) -> None:
        self._woken.set()

    def give_up(self) -> None:
        self._given_up = True
        self._woken.set()

    def check(self) -> None:
        if self._given_up:
            raise GivenUp


def outcome_of(work: Callable[[], Result]) -> Callable[[], Result]:
    """Does the work; what came of it is taken, or raised, where the result is called."""
    try:
        result = work()
    except (Exception, GivenUp) as error:
        failure = error

        def fail() -> Result:
            raise failure

        return fail
    return lambda: result

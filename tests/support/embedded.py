"""Driving the embedded store from tests: without an event loop, and until something is so."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

DEADLINE_S = 60.0


def finish(call: Coroutine[Any, Any, Result]) -> Result:
    """Ends a call of an inline store, which never suspends."""
    try:
        call.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("an inline call suspended")


def eventually(check: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not check():
        assert time.monotonic() < until, f"not within {DEADLINE_S} s: {what}"
        time.sleep(0.01)

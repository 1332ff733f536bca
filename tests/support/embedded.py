"""Waiting in tests, with a deadline, until something is so."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 60.0


def eventually(check: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not check():
        assert time.monotonic() < until, f"not within {DEADLINE_S} s: {what}"
        time.sleep(0.01)

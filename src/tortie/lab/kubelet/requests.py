"""Requests to the runtime that are under way, while kubelet goes on with everything else."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from tortie.lab.kubelet.runtime_client import Asking, RuntimeFailure

Then = Callable[[dict[str, Any] | RuntimeFailure], None]


class _Open(NamedTuple):
    asking: Asking
    descriptor: int
    then: Then


class Requests:
    def __init__(self, selector: selectors.BaseSelector, runtime: str) -> None:
        self._selector = selector
        self._runtime = runtime
        self._open: list[_Open] = []

    def ask(self, do: str, timeout_s: float, then: Then, /, **fields: object) -> None:
        """`then` hears the answer, or why there is none; at once when nobody listens."""
        try:
            asking = Asking(self._runtime, do, timeout_s, **fields)
        except RuntimeFailure as failure:
            then(failure)
            return
        self._selector.register(asking, selectors.EVENT_READ, asking)
        self._open.append(_Open(asking, asking.fileno(), then))

    def step(self) -> None:
        """Hands out what has come."""
        for each in list(self._open):
            answer: dict[str, Any] | RuntimeFailure | None
            try:
                answer = each.asking.answer()
            except RuntimeFailure as failure:
                answer = failure
            if answer is not None:
                self._open.remove(each)
                with suppress(KeyError, ValueError):
                    self._selector.unregister(each.descriptor)
                each.then(answer)

    def deadline(self) -> float | None:
        return min((each.asking.deadline for each in self._open), default=None)

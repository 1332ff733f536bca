"""How an attempt is told while it goes on: the phases of a start with their bounds, and what stands in its way."""

from __future__ import annotations

from typing import Final

from tortie.addressing.choice import Message
from tortie.health.health import Health
from tortie.health.state import Fault, Trouble

# Every call of the datastore ends within this; a phase that has not moved for three of them is stuck.
CALL_S: Final = 15.0
BOUND_S: Final = 3 * CALL_S


class Blocked(Exception):
    """Nothing more can be done until something changes; `trouble` says what, and whose fault it looks like."""

    def __init__(self, trouble: Trouble, need: str, *, messages: tuple[Message, ...] = ()) -> None:
        super().__init__(trouble.what)
        self.trouble = trouble
        self.need = need
        self.messages = messages


class Phases:
    """The start's phases as the health page shows them; once the start is over they pass unnoticed."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self.over = False

    def begin(self, name: str, doing: str, waits_for: Fault = "this node") -> None:
        if not self.over:
            self._health.begin(name, BOUND_S, doing, waits_for)

    def progress(self, doing: str) -> None:
        if not self.over:
            self._health.progress(doing)

"""What `break` and `heal` show while they work, to somebody at a terminal; and the lab's lock that they hold."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tortie.cli.lab.talk import Talk, say_aside
from tortie.lab.failures import LabFailure
from tortie.lab.faults.engine import Healed
from tortie.lab.faults.proof import shown
from tortie.lab.faults.words import tell
from tortie.lab.registry import LabFolder, locked
from tortie.model.measure import columns, cut_to_columns

_LOCK_S: Final = 30.0
_NAMES_MAX: Final = 3


class Line:
    """One line on standard error that is written over and over; nothing without a terminal."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not talk.json
        self._last = ""

    def show(self, step: str, facts: dict[str, Any]) -> None:
        if not self._shown:
            return
        if "missing" in facts:
            names = facts["missing"]
            more = ", …" if len(names) > _NAMES_MAX else ""
            facts = {"missing": ", ".join(names[:_NAMES_MAX]) + more}
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except OSError:
            self._shown = False
            return
        text = cut_to_columns(" " + tell(self._talk.language, f"progress.{step}", **facts), width - 1)
        say_aside(f"\r{text}{' ' * max(0, columns(self._last) - columns(text))}")
        self._last = text

    def clear(self) -> None:
        if self._last:
            say_aside("\r" + " " * columns(self._last) + "\r")
            self._last = ""


def refuse_unhealed(talk: Talk, folder: LabFolder, healed: Healed, seconds: float) -> None:
    if healed.remains:
        raise LabFailure("heal-remains", name=folder.name, what=shown(talk.language, healed.remains))
    if healed.unready:
        names = ", ".join(healed.unready)
        raise LabFailure("heal-not-ready", name=folder.name, seconds=f"{seconds:.0f}", what=names)


@contextmanager
def at_work(talk: Talk, folder: LabFolder, line: Line) -> Iterator[None]:
    """Nobody else brings the lab up or down, breaks or heals it meanwhile."""
    try:
        with locked(folder, time.monotonic() + _LOCK_S, lambda: line.show("busy", {})):
            yield
    except FileNotFoundError:
        if os.path.isdir(folder.path):
            raise
        raise LabFailure("no-lab", name=folder.name, folder=folder.path) from None
    del talk

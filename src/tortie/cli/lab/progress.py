"""What `tortie lab up` shows while it works, to somebody at a terminal, and what it says at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tortie.cli.lab.talk import Talk, say_aside
from tortie.lab.raising import Raised
from tortie.lab.status import LabStatus, Pair
from tortie.model.measure import columns, cut_to_columns, plain

_EACH_NODE_MAX: Final = 4  # more than that, and nobody would read them
_NAMES_MAX: Final = 5
_STEPS: Final = ("fabric", "store")


class Live:
    """One line on standard error that is written over and over; nothing without a terminal."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not talk.json
        self._last = ""
        self._began = time.monotonic()
        self._done: list[str] = []
        self._now = ""

    def report(self, step: str, facts: Mapping[str, Any]) -> None:
        if not self._shown:
            return
        if step in _STEPS:
            self._done.append(f"{self._talk.tick()} {self._talk.say(f'step.{step}')}")
        elif step == "waiting":
            self._now = self._talk.say("up.busy")
        elif step == "status":
            self._now = self._status(facts["status"])
        self._write()

    def _status(self, status: LabStatus) -> str:
        ready = sum(node.ready for node in status.nodes)
        text = self._talk.say("up.progress", ready=ready, nodes=len(status.nodes))
        return f"{text}  {sessions_text(self._talk, status)}" if status.pairs else text

    def _write(self) -> None:
        seconds = self._talk.say("up.seconds", seconds=f"{time.monotonic() - self._began:.1f}")
        try:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except OSError:  # it has been closed meanwhile
            self._shown = False
            return
        text = cut_to_columns(" " + "  ".join((*self._done, self._now, seconds)), width - 1)
        blank = " " * max(0, columns(self._last) - columns(text))
        say_aside(f"\r{text}{blank}")
        self._last = text

    def clear(self) -> None:
        if self._last:
            say_aside("\r" + " " * columns(self._last) + "\r")
            self._last = ""


def sessions_text(talk: Talk, status: LabStatus) -> str:
    key = "up.mesh" if all(pair.kind == "mesh" for pair in status.pairs) else "up.sessions"
    return talk.say(key, up=status.sessions_up, expected=len(status.pairs))


def summary(talk: Talk, raised: Raised) -> str:
    """The last line: what was done, what is there, and how long it took."""
    status = raised.status
    parts = [talk.say(f"step.{step}") for step in _STEPS] if raised.fresh else changed_texts(talk, raised.changed)
    if not parts:
        parts = [talk.say("up.already", name=status.name)]
    if len(status.nodes) <= _EACH_NODE_MAX:
        parts += [talk.say("up.node", name=node.name, address=node.address) for node in status.nodes]
    else:
        parts.append(talk.say("up.nodes", count=len(status.nodes)))
    if status.pairs:
        parts.append(sessions_text(talk, status))
    marks = [talk.colour(talk.tick(), "good")] * len(parts)
    if status.missing:
        marks[-1] = talk.colour(talk.cross(), "bad")
    seconds = talk.say("up.seconds", seconds=f"{raised.seconds['total']:.1f}")
    return " " + "  ".join(f"{mark} {part}" for mark, part in zip(marks, parts, strict=True)) + f"   {seconds}"


def missing_lines(talk: Talk, missing: Sequence[Pair]) -> list[str]:
    """Sessions that are not established, a few of them with what BIRD says."""
    lines = []
    for pair in missing[:_NAMES_MAX]:
        key = "up.missing.detail" if pair.detail else "up.missing"
        state = talk.say(f"session.{pair.state}", a=pair.a)
        lines.append(talk.say(key, a=pair.a, b=pair.b, state=state, detail=plain(pair.detail)))
    more = len(missing) - _NAMES_MAX
    return [*lines, talk.say("up.missing.more", more=more)] if more > 0 else lines


def changed_texts(talk: Talk, changed: Mapping[str, Sequence[str]]) -> list[str]:
    """What a lab that was up has got, lost, or had restarted. What is new was started, too; once is enough."""
    told = {kind: list(changed.get(kind, ())) for kind in ("added", "removed", "rebuilt", "changed", "started")}
    known = {*told["added"], *told["rebuilt"], *told["changed"]}
    told["started"] = [name for name in told["started"] if name not in known]
    return [talk.say(f"up.{kind}", names=short_list(talk, names)) for kind, names in told.items() if names]


def short_list(talk: Talk, names: Iterable[str]) -> str:
    names = list(names)
    text = ", ".join(names[:_NAMES_MAX])
    more = len(names) - _NAMES_MAX
    return talk.say("up.names.more", names=text, more=more) if more > 0 else text

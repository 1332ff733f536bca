"""The log of classic mode: the form of its lines in the release that is played.

v2 printed bare text for people beside logrus's own lines, and by default only errors of the latter; v3 has Calico's
form, with the component's name from v3.14 on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, TextIO

from tortie.node.classic.places import place_of
from tortie.node.classic.release import SAYING, Release
from tortie.node.classic.words_of_go import Line
from tortie.node.classic.words_of_v2 import bare_lines
from tortie.node.log import LEVELS, Log

# What our own tunnels are called there.
_TYPES: Final = {"IPIP": "ipipTunnelAddress", "VXLAN": "vxlanTunnelAddress", "VXLAN v6": "vxlanV6TunnelAddress"}


class ClassicLog(Log):
    """`part` gives the same log for another component. Without a release's place, a line shows our own."""

    def __init__(
        self,
        stream: TextIO,
        release: Release,
        *,
        level: str = "info",
        component: str = "startup",
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(stream, level=level, component=component, clock=clock)
        self.release = release

    def part(self, component: str, *, level: str = "") -> ClassicLog:
        return ClassicLog(self._stream, self.release, level=level or self.level, component=component, clock=self._clock)

    def introduce(self) -> None:
        """That this is no Calico: the first line of all."""
        text = f"Classic mode: this is Tortie, starting as Calico {self.release} does, {SAYING}"
        if self.release.bare:
            self.plain(f"WARNING: {text}")
        else:
            self._write("warning", text, {})

    def tell(self, lines: Iterable[Line]) -> None:
        """What a decision says, line by line."""
        for line in lines:
            self._write(line.level, line.text, dict(line.fields))

    def plain(self, line: str) -> None:
        """What the container's scripts print."""
        self._put(line)

    def _write(self, level: str, message: str, fields: dict[str, object], above: int = 0) -> None:
        if self.release.bare and self.component == "startup":
            self._write_like_v2(level, message, fields)
            return
        if LEVELS.index(level) < LEVELS.index(self.level):
            return
        place = place_of(message, self.release) or self._caller(3 + above)
        component = self.component if self.release.component else ""
        self._put(self._line(level, component, place, message, _named_as_there(fields)))

    def _write_like_v2(self, level: str, message: str, fields: dict[str, object]) -> None:
        bare = bare_lines(message, fields)
        if bare is not None:
            for line in bare:
                self._put(line)
        elif LEVELS.index(level) >= LEVELS.index(self.level):
            when = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            tail = "".join(f" {name}={value}" for name, value in sorted(fields.items()))
            self._put(f'time="{when}" level={level} msg="{message}"{tail} ')

    @staticmethod
    def _caller(depth: int) -> tuple[str, int]:
        caller = sys._getframe(depth)
        return caller.f_code.co_filename.rpartition("/")[2], caller.f_lineno


def _named_as_there(fields: dict[str, object]) -> dict[str, object]:
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return fields
    renamed = {**fields, "type": _TYPES[kind]}
    return renamed if renamed.get("IP", "x") else {name: value for name, value in renamed.items() if name != "IP"}

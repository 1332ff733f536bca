"""The agent's log: Calico's line format, so that what people know how to read stays readable, or JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

LEVELS: Final = ("trace", "debug", "info", "warning", "error", "fatal", "panic")


class Log:
    """One line per call. `component` is the prefix people know from Calico: startup, monitor-addresses, shutdown."""

    def __init__(
        self,
        stream: TextIO,
        *,
        level: str = "info",
        form: str = "calico",
        component: str = "startup",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.level = level
        self.component = component
        self._stream = stream
        self._form = form
        self._clock = clock
        self._pid = os.getpid()

    def debug(self, message: str, **fields: object) -> None:
        self._write("debug", message, fields)

    def info(self, message: str, **fields: object) -> None:
        self._write("info", message, fields)

    def warning(self, message: str, **fields: object) -> None:
        self._write("warning", message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._write("error", message, fields)

    def at(self, level: str, message: str, *, above: int = 0, **fields: object) -> None:
        """`above`: how many callers up the place is that the line shall name."""
        self._write(level, message, fields, above)

    def of_child(self, name: str, level: str, message: str) -> None:
        """What a program of ours says: as Calico's log has it, its name and its words."""
        if self._form == "json":
            self._put(_as_json(self._clock(), level, self._pid, name, ("", 0), message, {}))
        else:
            self._put(f"{name}: {message}")

    def _write(self, level: str, message: str, fields: dict[str, object], above: int = 0) -> None:
        if LEVELS.index(level) < LEVELS.index(self.level):
            return
        caller = sys._getframe(2 + above)
        place = os.path.basename(caller.f_code.co_filename), caller.f_lineno
        self._put(self._line(level, self.component, place, message, fields))

    def _line(self, level: str, component: str, place: tuple[str, int], message: str, fields: dict[str, object]) -> str:
        render = _as_json if self._form == "json" else _as_calico
        return render(self._clock(), level, self._pid, component, place, message, fields)

    def _put(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads any more. A node that runs pods does not end because its log does.
            return


def _as_calico(
    now: float, level: str, pid: int, component: str, place: tuple[str, int], message: str, fields: dict[str, object]
) -> str:
    when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    tail = "".join(f" {name}={_quoted(value)}" for name, value in sorted(fields.items()))
    one_line = message.replace("\n", "; ")
    prefix = f"{component}/" if component else ""  # Calico before v3.14 has none
    return f"{when} [{level.upper()}][{pid}] {prefix}{place[0]} {place[1]}: {one_line}{tail}"


def _as_json(
    now: float, level: str, pid: int, component: str, place: tuple[str, int], message: str, fields: dict[str, object]
) -> str:
    when = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = {"time": when, "level": level, "pid": pid, "component": component, "file": f"{place[0]}:{place[1]}"}
    rest = {name: value if isinstance(value, int | float | bool) else str(value) for name, value in fields.items()}
    return json.dumps({**head, "message": message, **rest}, ensure_ascii=False)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)

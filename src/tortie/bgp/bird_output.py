"""What BIRD says on its standard error, line by line, for the node's own log."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_LINE: Final = re.compile(r"\S+(?: \S+)? <(\w+)> (.*)")
_LEVELS: Final = {"DEBUG": "debug", "TRACE": "debug", "INFO": "info", "REMOTE": "info", "AUTH": "warning"} | {
    "WARN": "warning",
    "ERR": "error",
    "RMT": "info",
    "BUG": "error",
    "FATAL": "fatal",
}
_CHUNK: Final = 65536
_LINE_MAX: Final = 8192


class Output:
    """A pipe that never holds BIRD up: what does not fit, because we are busy or stopped, is lost."""

    def __init__(self, pass_on: Callable[[str, str], None]) -> None:
        self._pass_on = pass_on
        self._descriptor: int | None = None
        self._rest = b""

    @contextmanager
    def writing(self) -> Iterator[int]:
        """The end for BIRD, which is closed here once BIRD has it."""
        self.close()
        self._descriptor, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
            yield writer
        finally:
            os.close(writer)

    def close(self) -> None:
        if self._descriptor is None:
            return
        with suppress(OSError):
            self._take(os.read(self._descriptor, _CHUNK))
        self._end()

    def _read(self) -> None:
        assert self._descriptor is not None
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self._end()

    def _end(self) -> None:
        if self._descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._rest:
            self._take(b"\n")

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_MAX:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            if line.strip():
                self._pass_on(*told(line.decode(errors="replace").rstrip()))


def told(line: str) -> tuple[str, str]:
    """The level and the words of a line, without the time that BIRD puts before them."""
    match = _LINE.fullmatch(line)
    return (_LEVELS.get(match[1], "info"), match[2]) if match else ("info", line)

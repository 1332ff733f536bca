"""Signals as something to wait for, in the loop of a process that forks and has no threads."""

from __future__ import annotations

import signal
import socket
from contextlib import suppress
from typing import Final

_ENDS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Bell:
    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        for number in (signal.SIGCHLD, *_ENDS):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self._ours.fileno()

    def rung(self) -> bool:
        """Whether one of those that came says that it is time to end."""
        numbers: set[int] = set()
        with suppress(BlockingIOError):
            while data := self._ours.recv(4096):
                numbers |= set(data)
        return bool(numbers & _ENDS)

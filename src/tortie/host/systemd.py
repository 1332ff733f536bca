"""News for systemd, or whoever speaks its protocol: ready, status, watchdog. Without a socket nothing happens.

One datagram for each piece of news. Nothing here may hurt the agent: what cannot be delivered is dropped.
"""

from __future__ import annotations

import _socket
import os
import time
from collections.abc import Mapping

_PATIENCE_S = 0.1  # systemd reads its socket at once; if it does not, the event loop must not wait for it


class Notifier:
    def __init__(self, environment: Mapping[str, str], pid: int | None = None) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self.watchdog_interval_s = _half_of_watchdog(environment, os.getpid() if pid is None else pid)

    def ready(self, status: str = "") -> bool:
        """The start is over. All methods say whether the news was delivered."""
        return self._tell("READY=1", *_status(status))

    def status(self, text: str) -> bool:
        return self._tell(*_status(text))

    def stopping(self, status: str = "") -> bool:
        return self._tell("STOPPING=1", *_status(status))

    def reloading(self) -> bool:
        """Followed by `ready()` when it is done. The time is what Type=notify-reload asks for."""
        return self._tell("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def watchdog(self) -> bool:
        """To be sent every `watchdog_interval_s`, from the event loop, so that one that hangs is noticed."""
        return self._tell("WATCHDOG=1")

    def extend(self, seconds: float) -> bool:
        """Start-up or stopping makes progress and may take this much longer from now on."""
        return self._tell(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _tell(self, *lines: str) -> bool:
        if not self._address or not lines:
            return False
        try:
            socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
            try:
                socket.settimeout(_PATIENCE_S)
                socket.sendto("\n".join(lines).encode(errors="replace"), self._address)
            finally:
                socket.close()
        except OSError:
            return False
        return True


def _address(text: str) -> bytes | None:
    """A path, or a name in the abstract space, which is written with an at sign instead of the null byte."""
    if text.startswith("@"):
        return b"\0" + os.fsencode(text[1:])
    return os.fsencode(text) if text.startswith("/") else None


def _status(text: str) -> tuple[str, ...]:
    return ("STATUS=" + " ".join(text.split()),) if text else ()


def _half_of_watchdog(environment: Mapping[str, str], pid: int) -> float | None:
    """Half, as systemd advises: one that comes late is no reason to be killed. None: nobody watches this process."""
    usec = environment.get("WATCHDOG_USEC", "")
    watched = environment.get("WATCHDOG_PID", "")
    if not (usec.isascii() and usec.isdigit()) or int(usec) == 0 or (watched and watched != str(pid)):
        return None
    return int(usec) / 2_000_000

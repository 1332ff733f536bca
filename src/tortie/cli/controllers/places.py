"""Where an instance of the controllers keeps what others read of it, and whether its writer still lives."""

from __future__ import annotations

import os

from tortie.controllers.readiness import Writer


def status_file(root: str) -> str:
    return os.path.join(root or "/", "run/tortie/controllers-status.json")


def this_process() -> Writer:
    return Writer(os.getpid(), _started(os.getpid()) or "")


def is_running(writer: Writer) -> bool:
    return _started(writer.pid) == writer.started


def _started(pid: int) -> str | None:
    """In ticks since the machine started: no two processes with the same number have the same."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()

"""Where an instance of the controllers keeps what others read of it, and whether its writer still lives."""

from __future__ import annotations

import os

from tortie.controllers.readiness import Writer
from tortie.host.processes import stat_of


def status_file(root: str) -> str:
    return os.path.join(root or "/", "run/tortie/controllers-status.json")


def this_process() -> Writer:
    return Writer(os.getpid(), _started(os.getpid()) or "")


def is_running(writer: Writer) -> bool:
    return _started(writer.pid) == writer.started


def _started(pid: int) -> str | None:
    """In ticks since the machine started: no two processes with the same number have the same."""
    stat = stat_of(pid)
    return None if stat is None or stat.state in ("Z", "X") else str(stat.started)

"""Takes a lab down, and makes sure that nothing of it is left, whoever of its processes is still alive."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, Final, NamedTuple

from tortie.host.namespaces import Mark
from tortie.host.processes import is_running
from tortie.lab.cgroups import remove as remove_cgroups
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.registry import LabFolder, Record, locked, remove
from tortie.lab.traces import Remains, remains

_DOWN_S: Final = 10.0  # a keeper that is alive needs far less, also for a thousand machines
_KILL_S: Final = 5.0
_STEP_S: Final = 0.01
_SHOWN_MAX: Final = 10


class Gone(NamedTuple):
    """How much there was of what is not there any more."""

    namespaces: int = 0
    processes: int = 0
    links: int = 0
    folders: int = 0


def take_down(folder: LabFolder, on_wait: Callable[[], None]) -> Gone | None:
    """None when there is no such lab. Raises what remains in spite of everything."""
    if not os.path.isdir(folder.path):
        return None
    record = folder.read() or {}
    there = _there(folder, record)
    _end_keeper(folder)

    def wait() -> None:
        on_wait()
        _end_keeper(folder)  # somebody who brings it up at this moment may have started one meanwhile

    try:
        with locked(folder, time.monotonic() + _DOWN_S, wait):
            record = folder.read() or record
            sweep(folder)
            remove_cgroups(folder.path)
            remove(folder)
    except FileNotFoundError:
        pass  # somebody else was faster
    left = _left(folder, record)
    if left:
        raise LabFailure("remains", name=folder.name, what=_listed(left))
    return there


def sweep(folder: LabFolder) -> None:
    """Ends all processes of a lab that has no keeper (any more): those in its machines, and a keeper that is lost."""
    record = folder.read()
    if not record:
        return
    keeper = int(record.get("pid", 0))
    if keeper != os.getpid() and _keeper_lives(record):
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGKILL)
    deadline = time.monotonic() + _KILL_S
    while (inside := _inside(folder, record)) and time.monotonic() < deadline:
        for pid in inside:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_STEP_S)


def _end_keeper(folder: LabFolder) -> None:
    keeper = KeeperClient.connect(folder)
    if keeper:
        with closing(keeper):
            try:
                keeper.ask("down", deadline=time.monotonic() + _DOWN_S)
            except LabFailure:
                keeper.kill(_KILL_S)  # it hangs, or somebody else ends it
            if not keeper.wait_end(_KILL_S):
                keeper.kill(_KILL_S)


def marks_of(record: Record) -> list[Mark]:
    return [Mark(*each) for each in record.get("namespaces", ())]


def _inside(folder: LabFolder, record: Record) -> list[int]:
    found = remains(folder.path, marks_of(record)).processes
    return [int(text.removeprefix("pid ").partition(",")[0]) for text in found]


def _there(folder: LabFolder, record: Record) -> Gone:
    marks = marks_of(record)
    processes = set(_inside(folder, record)) | ({int(record["pid"])} if _keeper_lives(record) else set())
    links = _links(record.get("plan") or {}) + 2 * len(record.get("pods", ()))
    return Gone(len(marks), len(processes), links, 1)


def _keeper_lives(record: Record) -> bool:
    return is_running(int(record.get("pid", 0)), "tortie\0lab\0keep")


def _links(plan: dict[str, Any]) -> int:
    """Both ends of every cable, the switches, and bridges inside machines."""
    machines = plan.get("machines", ())
    inside = sum(2 * len(machine["nics"]) + len(machine["bridges"]) for machine in machines)
    return inside + len(plan.get("segments", ()))


def _left(folder: LabFolder, record: Record) -> Remains:
    """Processes take a moment to die, and namespaces go with the last of them."""
    deadline = time.monotonic() + _KILL_S
    while True:
        left = remains(folder.path, marks_of(record))
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(_STEP_S)


def _listed(left: Remains) -> str:
    found = [text for kind in left for text in kind]
    more = f"\n… {len(found) - _SHOWN_MAX} more" if len(found) > _SHOWN_MAX else ""
    return "\n".join(found[:_SHOWN_MAX]) + more

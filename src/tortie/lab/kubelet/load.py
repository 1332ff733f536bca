"""A node's own load average, counted as the kernel counts that of a machine, in a file that is mounted over
/proc/loadavg of the node: `uptime` in there tells of the node, not of the machine that runs the lab.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from tortie.host.processes import stat_of
from tortie.lab.kubelet.jobs import LoadJob, Paths
from tortie.lab.title import show_as

PERIOD_S: Final = 5.0
_ONE: Final = 1 << 11  # the kernel's fixed point
_DECAYS: Final = (1884, 2014, 2037)  # e to the -5s/1min, 5min, 15min


class Load(NamedTuple):
    """Averages over 1, 5 and 15 minutes, in the kernel's fixed point."""

    averages: tuple[int, int, int] = (0, 0, 0)

    def after(self, active: int) -> Load:
        """Five seconds later, with so many tasks that run or wait for the disk."""
        one, five, fifteen = (
            _calc(average, decay, active * _ONE) for average, decay in zip(self.averages, _DECAYS, strict=True)
        )
        return Load((one, five, fifteen))

    def text(self, running: int, tasks: int, newest: int) -> str:
        shown = " ".join(_shown(average + _ONE // 200) for average in self.averages)
        return f"{shown} {running}/{tasks} {newest}\n"


def _calc(average: int, decay: int, active: int) -> int:
    following = average * decay + active * (_ONE - decay)
    return (following + _ONE - 1 if active >= average else following) // _ONE


def _shown(average: int) -> str:
    return f"{average // _ONE}.{average % _ONE * 100 // _ONE:02d}"


class Count(NamedTuple):
    active: int
    running: int
    tasks: int
    newest: int


def count(states: Iterable[str], pids: Iterable[int]) -> Count:
    every = list(states)
    running = every.count("R")
    return Count(running + every.count("D"), running, len(every), max(pids, default=0))


def members(cgroup: str) -> list[int]:
    """The node's processes: those in the network namespace that this process is in, and those of its cgroup."""
    ours = os.stat("/proc/self/ns/net").st_ino
    found = {pid for pid in _all_pids() if _namespace(pid) == ours}
    if cgroup:
        with suppress(OSError), open(os.path.join(cgroup, "cgroup.procs"), encoding="ascii") as file:
            found |= {int(line) for line in file if line.strip() != "0"}
    return sorted(found)


def _all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _namespace(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return 0


def states(pids: Iterable[int]) -> Iterator[str]:
    """Of every thread, one letter."""
    for pid in pids:
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                if stat := stat_of(pid, task):
                    yield stat.state


def prepare_load(root: str) -> str:
    """The file, for whoever mounts it; its path."""
    path = Paths(root).loadavg
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="ascii") as file:
        if file.tell() == 0:
            file.write(Load().text(0, 1, 1))
    return path


def run_load(job: LoadJob) -> int:
    """The life of the worker `node-1/load`: ends with the keeper."""
    show_as(("tortie", "lab", "load", job.root))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    load = Load()
    with open(prepare_load(job.root), "r+b", buffering=0) as file:
        while True:
            pids = [pid for pid in members(job.cgroup) if pid != os.getpid()]
            now = count(states(pids), pids)
            load = load.after(now.active)
            text = load.text(now.running, now.tasks, now.newest).encode()
            # The mount shows this very file: it is never replaced.
            with suppress(OSError):
                os.pwrite(file.fileno(), text, 0)
                os.truncate(file.fileno(), len(text))
            time.sleep(PERIOD_S)

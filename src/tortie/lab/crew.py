"""The processes of a lab: one for each machine that runs something, and how each of them ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.lab.launch import Life, fork_all

_STEP_S: Final = 0.01


class Ended(NamedTuple):
    code: int | None  # None: by a signal
    signal: int | None

    @classmethod
    def of(cls, status: int) -> Ended:
        code = os.waitstatus_to_exitcode(status)
        return cls(code, None) if code >= 0 else cls(None, -code)


class Worker:
    def __init__(self, machine: str, pid: int, clock: float) -> None:
        self.machine = machine
        self.pid = pid
        self.began = clock
        self.ended: Ended | None = None
        self.ended_at = 0.0

    @property
    def running(self) -> bool:
        return self.ended is None

    def as_json(self, now: float) -> dict[str, Any]:
        told: dict[str, Any] = {"pid": self.pid, "running": self.running, "age_s": round(now - self.began, 3)}
        if self.ended:
            told |= {"exit_code": self.ended.code, "signal": self.ended.signal}
            told["ended_s"] = round(now - self.ended_at, 3)
        return told


class Crew:
    """All are children of this process, so a number is theirs until `reap` has taken note of the end."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._errands: dict[int, Ended | None] = {}

    def get(self, machine: str) -> Worker | None:
        return self._workers.get(machine)

    def names(self) -> list[str]:
        return list(self._workers)

    def runs(self, machine: str) -> bool:
        worker = self._workers.get(machine)
        return worker is not None and worker.running

    def start(self, lives: Mapping[str, Life]) -> None:
        """By machine; none of them may run."""
        assert not any(self.runs(machine) for machine in lives)
        pids = fork_all(tuple(lives.values()))
        for machine, pid in zip(lives, pids, strict=True):
            self._workers[machine] = Worker(machine, pid, time.monotonic())

    def send(self, life: Life) -> int:
        """A child that does something and ends; see `errand`."""
        (pid,) = fork_all((life,))
        self._errands[pid] = None
        return pid

    def errand(self, pid: int) -> Ended | None:
        """How it ended, None while it runs. To be forgotten with `drop`."""
        return self._errands[pid]

    def drop(self, pid: int) -> None:
        if self._errands.pop(pid, None) is None:
            _kill_family(pid)

    def end_errand(self, pid: int) -> None:
        """With all that it has started; whoever waits for it hears of the end."""
        if pid in self._errands and self._errands[pid] is None:
            _kill_family(pid)

    def reap(self) -> None:
        """Takes note of all that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ended = Ended.of(status)
            if pid in self._errands:
                self._errands[pid] = ended
            for worker in self._workers.values():
                if worker.pid == pid and worker.running:
                    worker.ended, worker.ended_at = ended, time.monotonic()

    def signal(self, machine: str, number: int) -> None:
        worker = self._workers.get(machine)
        if worker and worker.running:
            _signal(worker.pid, number)

    def forget(self, machine: str) -> None:
        self._workers.pop(machine, None)

    def kill(self, machines: Iterable[str], timeout_s: float) -> list[str]:
        """At once; what they started dies with them. Returns those that the kernel did not let die in time."""
        left = [machine for machine in machines if self.runs(machine)]
        for machine in left:
            self.signal(machine, signal.SIGKILL)
        return self.wait_end(left, timeout_s)

    def wait_end(self, machines: Iterable[str], timeout_s: float) -> list[str]:
        """Returns those that are still there when time is up."""
        left = [machine for machine in machines if self.runs(machine)]
        deadline = time.monotonic() + timeout_s
        while left and time.monotonic() < deadline:
            self.reap()
            left = [machine for machine in left if self.runs(machine)]
            if left:
                time.sleep(_STEP_S)
        return left

    def kill_all(self, timeout_s: float) -> list[str]:
        for pid, ended in list(self._errands.items()):
            if ended is None:
                _kill_family(pid)
        return self.kill(list(self._workers), timeout_s)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _kill_family(pid: int) -> None:
    """A child leads a process group of its own, except in its very first moments."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)

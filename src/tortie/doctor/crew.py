"""Work shared among processes: jobs go out, results come back in the order of the jobs.

Workers are forked, so they know everything that was loaded before. A worker that dies or fails costs nothing but time:
what it was to do is done here instead, where an error shows itself. Nobody is left behind: workers end when told, when
we stop listening, and when we are gone.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, Generic, TypeVar, cast

J = TypeVar("J")
R = TypeVar("R")

AHEAD: Final = 2  # jobs that a worker has at a time: one to do, one to begin with afterwards
WINDOW: Final = 8  # results for each worker that may wait for an earlier one


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def shared_work(work: Callable[[J], R], jobs: Iterable[J], workers: int) -> Iterator[R]:
    """`work(job)` of each job in turn, done by so many processes; with fewer than two, or with threads around, here."""
    threading = sys.modules.get("threading")
    if workers < 2 or (threading and threading.active_count() > 1):
        return map(work, jobs)
    return _Crew(work, jobs).run(workers)


class _Worker:
    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid, self.channel = pid, channel
        self.has: list[int] = []  # numbers of its jobs, in the order they were sent


class _Crew(Generic[J, R]):
    def __init__(self, work: Callable[[J], R], jobs: Iterable[J]) -> None:
        self._work = work
        self._jobs = enumerate(jobs)
        self._open: dict[int, J] = {}  # sent out, or to be done here
        self._results: dict[int, R] = {}
        self._workers: list[_Worker] = []
        self._next = 0

    def run(self, count: int) -> Iterator[R]:
        try:
            for _ in range(count):
                self._hire()
            self._send_out()
            while self._open or self._results:
                while self._next not in self._results:
                    self._wait()
                result = self._results.pop(self._next)
                self._next += 1
                self._send_out()
                yield result
        finally:
            for worker in self._workers:
                self._dismiss(worker)

    def _hire(self) -> None:
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            try:
                # An interrupt reaches the whole group; we are told what becomes of it by the end of our channel.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                ours.close()
                for other in self._workers:
                    other.channel.close()
                _serve(theirs, self._work)
            finally:
                os._exit(0)
        theirs.close()
        self._workers.append(_Worker(pid, ours))

    def _dismiss(self, worker: _Worker) -> None:
        worker.channel.close()
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(worker.pid, 0)

    def _send_out(self) -> None:
        """Gives every worker something to do. Without workers, one job is taken to be done here."""
        for worker in sorted(self._workers, key=lambda worker: len(worker.has)):
            while len(worker.has) < AHEAD and len(self._open) + len(self._results) < WINDOW * len(self._workers):
                number = self._take()
                if number is None:
                    return
                try:
                    _send(worker.channel, self._open[number])
                except OSError:
                    self._lost(worker)
                    break
                worker.has.append(number)
        if not self._workers and not self._open:
            self._take()

    def _take(self) -> int | None:
        for number, job in self._jobs:
            self._open[number] = job
            return number
        return None

    def _wait(self) -> None:
        """For one more result; a job that nobody has any more is done here."""
        busy = {worker.channel: worker for worker in self._workers if worker.has}
        if not any(self._next in worker.has for worker in busy.values()):
            self._results[self._next] = self._work(self._open.pop(self._next))
            return
        for channel in select.select(list(busy), [], [])[0]:
            worker = busy[channel]
            try:
                answer = cast("tuple[R] | None", _received(channel))
            except (OSError, EOFError):
                self._lost(worker)
                continue
            number = worker.has.pop(0)
            if answer is not None:  # else it failed, and will be done here when its turn comes
                self._results[number] = answer[0]
                del self._open[number]
        self._send_out()

    def _lost(self, worker: _Worker) -> None:
        self._dismiss(worker)
        self._workers.remove(worker)


def _serve(channel: socket.socket, work: Callable[[J], R]) -> None:
    with suppress(OSError, EOFError):
        while True:
            job = cast("J", _received(channel))
            answer: tuple[R] | None = None
            with suppress(Exception):  # it will happen again where it can be told
                answer = (work(job),)
            _send(channel, answer)


def _send(channel: socket.socket, value: object) -> None:
    content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    channel.sendall(len(content).to_bytes(8, "little") + content)


def _received(channel: socket.socket) -> object:  # what is read was written by ourselves
    return pickle.loads(_exactly(channel, int.from_bytes(_exactly(channel, 8), "little")))


def _exactly(channel: socket.socket, count: int) -> bytearray:
    content = bytearray(count)
    view, at = memoryview(content), 0
    while at < count:
        got = channel.recv_into(view[at:])
        if not got:
            raise EOFError
        at += got
    return content

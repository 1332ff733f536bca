"""Whose turn it is to write: a fair queue between processes, with a deadline.

SQLite's own lock lets a busy writer overtake the others for seconds, and so does a single kernel lock: whoever runs
takes it again before the one it was meant for wakes up. So there are two on one file, the entrance and the turn, and
who has the entrance keeps it until the turn is his. Whoever comes back queues up behind all that wait there.

A blocked lock cannot be interrupted, so it waits in a thread of its own, which then does the work, too: handing the
lock over would only keep the others waiting. There is at most one such thread, whoever waits in this process shares
it, and it ends when nobody is left.
"""

from __future__ import annotations

import _thread
import fcntl
import os
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from tortie.store.embedded.call import GRACE_S, Call, Overdue, outcome_of

Result = TypeVar("Result")

# struct flock: type, whence, start, length (0: all of it), pid (0: the lock belongs to the open file)
_FLOCK = struct.Struct("hhqqi4x")
_ENTRANCE = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
_LET_IN = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)


# The lock file, open: one descriptor has the lock, and the last one is open for writing, so that closing it rings.
_Turn = tuple[int, ...]


class TookTooLong(Exception):
    """The turn did not come in time."""


class _Place(Generic[Result]):
    """One waiter's place in the queue of this process."""

    def __init__(self, call: Call, work: Callable[[], Result]) -> None:
        self.call = call
        self.work = work
        self.outcome: Callable[[], Result] | None = None
        self._under_way = _thread.allocate_lock()
        self._under_way.acquire()

    def finish(self) -> None:
        self._under_way.release()
        self.call.wake()

    def wait(self) -> None:
        """Once the turn has come it is too late to leave. Only a disk that hangs takes longer than the call may."""
        self._under_way.acquire(timeout=self.call.remaining_s() + GRACE_S)

    def result(self) -> Result:
        self.wait()
        if self.outcome is None:
            raise Overdue
        return self.outcome()


class Turns:
    def __init__(self, path: str) -> None:
        self.path = path
        self._mutex = _thread.allocate_lock()
        self._queue: deque[_Place[object]] = deque()
        self._serving = False
        self._open: set[int] = set()

    def take(self, call: Call, work: Callable[[], Result]) -> Result:
        """Does the work while nobody else writes. Afterwards the lock file is closed, which rings every bell."""
        call.check()
        if not self._queue and (turn := self._try()):
            try:
                return work()
            finally:
                self._end(turn)
        place = _Place(call, work)
        self._enter(place)
        try:
            call.wait()
        except BaseException:
            if not self._leave(place):
                place.wait()
            raise
        if self._leave(place):
            raise TookTooLong
        return place.result()

    def forget(self) -> None:
        """In a forked child: lets go of the parent's lock files, or its lock would outlive it in us."""
        for lock in self._open:
            with suppress(OSError):
                os.close(lock)

    def _enter(self, place: _Place[Result]) -> None:
        with self._mutex:
            self._queue.append(place)  # type: ignore[arg-type]
            if not self._serving:
                self._serving = True
                _thread.start_new_thread(self._serve, ())

    def _leave(self, place: _Place[Result]) -> bool:
        """False if the turn has come already."""
        with self._mutex, suppress(ValueError):
            self._queue.remove(place)  # type: ignore[arg-type]
            return True
        return False

    def _serve(self) -> None:
        """Gets the lock and does the work for one waiter after the other, until none is left."""
        while True:
            try:
                turn = self._wait()
            except OSError as error:
                self._serve_one((), error)
            else:
                self._serve_one(turn, None)
            with self._mutex:
                self._serving = bool(self._queue)
                if not self._serving:
                    return

    def _serve_one(self, turn: _Turn, trouble: OSError | None) -> None:
        with self._mutex:
            place = self._queue.popleft() if self._queue else None
        if place:
            place.outcome = outcome_of(place.work if trouble is None else _raising(trouble))
        self._end(turn)
        if place:
            place.finish()

    def _try(self) -> _Turn | None:
        """The turn, if nobody has it or waits for it. Trying in vain must not ring, hence read-only at first."""
        turn = self._opened(os.O_RDONLY)
        try:
            if _is_occupied(turn[0]):
                self._end(turn)
                return None
            fcntl.flock(turn[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            turn += self._opened(os.O_RDWR)
        except BlockingIOError:
            self._end(turn)
            return None
        except BaseException:
            self._end(turn)
            raise
        return turn

    def _wait(self) -> _Turn:
        turn = self._opened(os.O_RDWR)
        try:
            fcntl.fcntl(turn[0], fcntl.F_OFD_SETLKW, _ENTRANCE)
            fcntl.flock(turn[0], fcntl.LOCK_EX)
            fcntl.fcntl(turn[0], fcntl.F_OFD_SETLK, _LET_IN)
        except BaseException:
            self._end(turn)
            raise
        return turn

    def _opened(self, how: int) -> _Turn:
        descriptor = os.open(self.path, how | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._open.add(descriptor)
        return (descriptor,)

    def _end(self, turn: _Turn) -> None:
        moved = len(turn) > 0 and not self._is_in_place(turn[-1])
        for descriptor in turn:
            self._open.discard(descriptor)
            # Unlocked first: a child forked a moment ago may hold a copy of the descriptor until it execs.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)
        if moved:  # who began to watch since then listens to a new file
            with suppress(OSError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CLOEXEC))

    def _is_in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except OSError:
            return False


def _is_occupied(descriptor: int) -> bool:
    """Somebody is next."""
    kind: int = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _ENTRANCE))[0]
    return kind != fcntl.F_UNLCK


def _raising(error: OSError) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work

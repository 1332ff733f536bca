"""The bell that tells watchers of a commit: the kernel's note that somebody closed the lock file.

The kernel closes the file even for a writer that was killed, so no commit can go unnoticed, and there is one
note per commit, so nothing has to poll. A note says only "look again"; what changed stands in the database. Where many
watch, one looks for all of them: most commits are of no concern to most.
"""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Callable

from tortie.store.contract import Revision
from tortie.store.embedded.database import Touched

_CLOSE_WRITE, _DELETE_SELF, _MOVE_SELF, _IGNORED = 0x8, 0x400, 0x800, 0x8000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows


class Listener:
    """A watch that waits."""

    def __init__(self, prefix: str, seen: Revision, tell: Callable[[], None]) -> None:
        self._prefix = prefix
        self.seen = seen  # up to here nothing has happened below the prefix that the watch does not know
        self._tell = tell

    def hear(self, touched: Touched | None) -> None:
        if touched is None or touched.keys is None or any(key.startswith(self._prefix) for key in touched.keys):
            self._tell()
        else:
            self.seen = max(self.seen, touched.upto)  # a watch may wait for what is still to come


class Bell:
    """One inotify descriptor for all watches of a store in this process: the kernel grants a user only 128."""

    def __init__(self, path: str, look: Callable[[], Touched | None] = lambda: None) -> None:
        """`look`: what was committed since it was last called; None when everybody has to look for himself."""
        self.path = path
        self._look = look
        self.users = 0
        self.rings = 0
        self.broken: OSError | None = None
        self.listeners: list[Listener] = []
        self.descriptor = _inotify_open()
        try:
            self._listen()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def wait(self, timeout_s: float) -> None:
        """Blocks until the bell rings, or the time is up."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        if poll.poll(timeout_s * 1000):
            self.answer()

    def answer(self) -> None:
        """Takes the notes away. Whatever they say, even that some were lost, it counts as a ring."""
        try:
            notes = os.read(self.descriptor, 65536)
        except BlockingIOError:
            return
        place, seen = 0, 0
        while place < len(notes):
            _, mask, _, length = _EVENT.unpack_from(notes, place)
            seen |= mask
            place += _EVENT.size + length
        if seen & (_DELETE_SELF | _MOVE_SELF | _IGNORED):
            try:
                self._listen()  # writers will lock a new file
            except OSError as error:
                self.broken = error
        self.ring()

    def ring(self) -> None:
        self.rings += 1
        touched = self._look() if len(self.listeners) > 1 and not self.broken else None
        for listener in self.listeners:
            listener.hear(touched)

    def _listen(self) -> None:
        # Read-only: closing it again must not ring.
        os.close(os.open(self.path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _inotify_watch(self.descriptor, self.path, _CLOSE_WRITE | _DELETE_SELF | _MOVE_SELF)


def _inotify_open() -> int:
    return _call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)


def _inotify_watch(descriptor: int, path: str, mask: int) -> None:
    _call("inotify_add_watch", descriptor, os.fsencode(path), mask)


def _call(name: str, *arguments: int | bytes) -> int:
    import ctypes  # late: only who watches pays for it

    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), name)
    return result

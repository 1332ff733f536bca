"""host-local's folder on this machine: locked as host-local itself locks it, read, and in the end moved aside."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from typing import Final

from tortie.ipam.migration_files import CONTENT_MAX, LOCK, Found
from tortie.model.errors import TortieError

_ASIDE: Final = "migrated"


class HostLocalFolder:
    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/")
        self._lock: int | None = None

    def exists(self) -> bool:
        try:
            mode = os.stat(self.path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise self._trouble("cannot be looked at", error) from None
        if not stat.S_ISDIR(mode):
            what, why = f"{self.path} is not a folder", "host-local keeps its addresses in a folder of that name"
            raise TortieError(what, why, "move it away, or name the folder: --folder")
        return True

    def entries(self) -> tuple[Found, ...]:
        """Every name in it; nothing that is there makes this wait or fail."""
        try:
            names = sorted(os.listdir(self.path))
        except OSError as error:
            raise self._trouble("cannot be read", error) from None
        return tuple(map(self._found, names))

    def _found(self, name: str) -> Found:
        path = os.path.join(self.path, name)
        try:
            mode = os.lstat(path).st_mode
            if not stat.S_ISREG(mode):
                kind = "a folder" if stat.S_ISDIR(mode) else "a link" if stat.S_ISLNK(mode) else "no file"
                return Found(name, trouble=f"it is {kind}")
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return Found(name, os.read(descriptor, CONTENT_MAX))
            finally:
                os.close(descriptor)
        except OSError as error:
            return Found(name, trouble=f"it cannot be read: {error.strerror or error}")

    def try_lock(self) -> bool:
        """Never waits. Held until `unlock`, or until this process ends in whatever way."""
        path = os.path.join(self.path, LOCK)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._trouble("cannot be locked", error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise self._trouble("cannot be locked", error) from None
        self._lock = descriptor
        return True

    def is_ours(self) -> bool:
        """Whether the lock is that of the folder that is there now: another run may have moved it while we waited."""
        try:
            here = os.stat(os.path.join(self.path, LOCK))
        except OSError:
            return False
        return self._lock is not None and os.path.samestat(os.fstat(self._lock), here)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def holder(self) -> str:
        """Who has the lock, in a phrase."""
        with suppress(OSError):
            status = os.stat(os.path.join(self.path, LOCK))
            with open("/proc/locks", encoding="utf-8") as locks:
                for line in locks:
                    words = line.split()
                    if words[1:2] == ["FLOCK"] and words[5].rpartition(":")[2] == str(status.st_ino):
                        return _process(words[4])
        return "a process that cannot be seen from here"

    def remove_bookkeeping(self) -> None:
        """Only for a folder without addresses: what host-local keeps for itself, and the folder."""
        try:
            for name in os.listdir(self.path):
                os.unlink(os.path.join(self.path, name))
            os.rmdir(self.path)
        except OSError as error:
            raise self._trouble("cannot be removed", error) from None

    def move_aside(self) -> str:
        """In one step, with everything in it. Returns where it is now."""
        real = os.path.realpath(self.path)
        aside, number = f"{real}.{_ASIDE}", 1
        while os.path.lexists(aside):
            number += 1
            aside = f"{real}.{_ASIDE}.{number}"
        try:
            os.rename(real, aside)
            parent = os.open(os.path.dirname(real), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)
        except OSError as error:
            trouble = self._trouble("cannot be moved aside", error)
            trouble.why += "; every address is safely in the datastore, nothing else is left to do"
            raise trouble from None
        return aside

    def _trouble(self, what: str, error: OSError) -> TortieError:
        folder = os.path.dirname(self.path)
        fix = f"run as root, and see that {folder} is mounted writable: mount | grep {folder}; lsattr -d {self.path}"
        return TortieError(f"{self.path} {what}", error.strerror or str(error), fix)


def _process(pid: str) -> str:
    try:
        with open(f"/proc/{int(pid)}/cmdline", "rb") as file:
            command = file.read(200).decode(errors="replace").replace("\0", " ").strip()
    except (OSError, ValueError):
        return f"a process that cannot be seen from here (pid {pid})"
    return f"pid {pid}, {command}" if command else f"pid {pid}"

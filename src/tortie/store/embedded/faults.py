"""What went wrong with the file, in words a person can act on."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import suppress

from tortie.model.errors import TortieError
from tortie.store.contract import Damaged, Unauthorized


class Unwritable(TortieError):
    """The file system does not take what we write."""

    code = "unwritable"


def of_system(where: str, path: str, error: OSError) -> TortieError:
    name = error.filename if isinstance(error.filename, str) else path
    reason = f"{error.strerror or error} ({name})"
    match error.errno:
        case errno.EMFILE | errno.ENOSPC if name.startswith("inotify_"):
            limit = "instances" if error.errno == errno.EMFILE else "watches"
            return TortieError(
                f"cannot watch {where}",
                f"the kernel grants this user no more inotify {limit}",
                f"raise the limit, for example fourfold: sysctl fs.inotify.max_user_{limit}",
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _no_access(where, path, reason)
        case errno.ENOSPC | errno.EDQUOT:
            return _full(where, path, reason)
        case errno.EMFILE | errno.ENFILE:
            return TortieError(f"cannot open {where}", reason, "raise the limit of open files: ulimit -n")
        case _:
            return Unwritable(f"cannot use {where}", reason, "name another file in TORTIE_STORE")


def of_sqlite(where: str, path: str, error: sqlite3.Error) -> TortieError:
    reason = str(error)
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_NOTADB:
            return not_a_store(where, "the file is not an SQLite database")
        case sqlite3.SQLITE_FULL:
            return _full(where, path, reason)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _no_access(where, path, reason)
        case sqlite3.SQLITE_IOERR:
            return Unwritable(
                f"cannot read or write {where}", reason, "look for errors of the disk or a full file system: dmesg, df"
            )
        case _:
            return damaged(where, path, reason)


def damaged(where: str, path: str, reason: str) -> Damaged:
    return Damaged(
        f"{where} is damaged",
        reason,
        f"restore a copy, or save what can be read: sqlite3 {path} .recover | sqlite3 {path}.recovered",
    )


def not_a_store(where: str, reason: str) -> Damaged:
    return Damaged(f"{where} is not a Tortie store", reason, "name another file in TORTIE_STORE, or move this one away")


def too_new(where: str, theirs: int, ours: int) -> Damaged:
    return Damaged(
        f"{where} was written by a newer Tortie",
        f"it has format {theirs}, this version knows {ours}",
        "use the version of Tortie that wrote it, or a later one",
    )


def removed(where: str) -> Damaged:
    return Damaged(
        f"{where} is gone",
        "its file was removed or replaced while it was in use",
        "put it back, or start again with an empty store by repeating the command",
    )


def not_durable(where: str, error: OSError) -> Unwritable:
    return Unwritable(
        f"a write to {where} may get lost",
        f"it was made, but the disk did not confirm it: {error.strerror or error}",
        "look for errors of the disk: dmesg; then read before you repeat the write",
    )


def lock_holder(lock_path: str) -> tuple[str, str]:
    """Why the turn does not come and what to do, as far as the kernel tells who has it."""
    pid = _holder_pid(lock_path)
    if pid is None:
        return "another process holds its lock", f"find and end it: fuser -v {lock_path}"
    name, state = _process(pid)
    if state in ("T", "t"):
        return f"process {pid} ({name}) holds its lock and is stopped", f"let it go on: kill -CONT {pid}; or end it"
    return f"process {pid} ({name}) holds its lock", f"see what it does, or end it: kill {pid}"


def _holder_pid(lock_path: str) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        status = os.stat(lock_path)
        file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        with open("/proc/locks") as locks:
            for line in locks:
                fields = line.split()
                # 1: FLOCK ADVISORY WRITE pid device:inode 0 EOF; who waits has an arrow in the second place
                if fields[1] == "FLOCK" and fields[5] == file and int(fields[4]) > 0:
                    return int(fields[4])
    return None


def _process(pid: int) -> tuple[str, str]:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            head, _, tail = stat.read().rpartition(")")
        return head.partition("(")[2], tail.split()[0]
    except (OSError, IndexError):
        return "unknown", ""


def _full(where: str, path: str, reason: str) -> Unwritable:
    folder = os.path.dirname(path)
    return Unwritable(f"no room for {where}", reason, f"free some space, then repeat: df -h {folder}; df -i {folder}")


def _no_access(where: str, path: str, reason: str) -> TortieError:
    """SQLite does not tell a file that is not ours from a file system that takes no writes; the kernel does."""
    existing = _owned_part(path)
    with suppress(OSError):
        if os.statvfs(existing).f_flag & os.ST_RDONLY:
            fix = "remount it for writing, or name another file in TORTIE_STORE"
            return Unwritable(f"{where} is on a read-only file system", reason, fix)
    return Unauthorized(f"no access to {where}", reason, f"run as the owner of {existing}; readers write there, too")


def _owned_part(path: str) -> str:
    """The file, or what of its path exists."""
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path

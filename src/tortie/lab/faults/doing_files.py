"""Deeds to the files of a machine: written, set aside, covered, on a disk that is full.

All is done from inside: with its kubelet a node has mounts of its own, and what lies below its root is what it sees.
Mounts are made in the node's own namespace and end with it; the machine that the lab runs on has none of them.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from tortie.lab.faults.deeds import CoverFile, FillDisk, RemoveFile, SealFolder, WriteFile
from tortie.lab.faults.hands import Hands, refuse
from tortie.lab.faults.ledger import Memo

KEPT_MAX: Final = 1 << 20  # of a file whose content has to be kept in the ledger
_DISK_MAX: Final = 32 << 20  # of a folder that is copied to a small disk
_ROOM: Final = 64 << 10
_BIND, _READ_ONLY, _AGAIN, _DETACH = 0x1000, 1, 32, 2
_LOCKED: Final = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # numbers that mount(2) has, too
_FULL: Final = ".full"


class WriteDoer:
    def look(self, hands: Hands, _tag: str, deed: WriteFile) -> Memo:
        path = hands.path(deed.machine, deed.path)
        memo: Memo = hands.inside(deed.machine, lambda: _kept(path, f"{deed.machine}: {deed.path}"))
        return memo

    def do(self, hands: Hands, _tag: str, deed: WriteFile, _memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)
        hands.inside(deed.machine, lambda: _write(path, deed.text.encode(), deed.mode))

    def undo(self, hands: Hands, _tag: str, deed: WriteFile, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if memo["content"] is not None:
                _write(path, base64.b64decode(memo["content"]), memo["mode"])
                return
            with suppress(FileNotFoundError):
                os.unlink(path)
            for folder in memo["folders"]:
                for moved in _moved_aside(folder, memo):
                    _remove(moved)
                with suppress(OSError):
                    os.rmdir(folder)

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: WriteFile, memo: Memo) -> list[str]:
        path = hands.path(deed.machine, deed.path)
        now, moved = hands.inside(
            deed.machine,
            lambda: [_kept(path, deed.path), [each for made in memo["folders"] for each in _moved_aside(made, memo)]],
        )
        if now["content"] == memo["content"] and now["mode"] == memo["mode"]:
            return [f"{deed.machine}: {deed.path} was moved, and lies in {folder}" for folder in moved]
        what = "is still there" if memo["content"] is None else "is not as it was"
        return [f"{deed.machine}: {deed.path} {what}"]


class RemoveDoer:
    """Set aside in the lab's folder, and put back from there."""

    def look(self, hands: Hands, tag: str, deed: RemoveFile) -> Memo:
        path = hands.path(deed.machine, deed.path)
        digest = hands.inside(deed.machine, lambda: tree_digest(path))
        if digest is None:
            raise refuse(f"{deed.machine}: {deed.path}", "there is no such file")
        return {"aside": hands.aside(tag), "digest": digest}

    def do(self, hands: Hands, _tag: str, deed: RemoveFile, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if not os.path.lexists(memo["aside"]):
                shutil.move(path, memo["aside"])

        hands.inside(deed.machine, work)

    def undo(self, hands: Hands, _tag: str, deed: RemoveFile, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if not os.path.lexists(memo["aside"]):
                return
            if _is_socket(path) or _holds_socket(path):  # whoever listens has made a new one
                _remove(memo["aside"])
                return
            _remove(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.move(memo["aside"], path)

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: RemoveFile, memo: Memo) -> list[str]:
        path = hands.path(deed.machine, deed.path)
        kept, digest = hands.inside(deed.machine, lambda: [os.path.lexists(memo["aside"]), tree_digest(path)])
        if kept or digest is None:
            return [f"{deed.machine}: {deed.path} is not back"]
        return []


class CoverDoer:
    def look(self, hands: Hands, tag: str, deed: CoverFile) -> Memo:
        if not hands.inside(deed.machine, lambda: os.path.isfile(deed.path)):
            raise refuse(f"{deed.machine}: {deed.path}", "there is no such file")
        return {"source": hands.aside(f"cover-{tag}")}

    def do(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> None:
        def work() -> None:
            with open(memo["source"], "w", encoding="utf-8") as file:
                file.write(deed.text)
            os.chmod(memo["source"], 0o644)
            if not _mounted(deed.path, memo["source"]):
                _mount(memo["source"], deed.path)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> None:
        def work() -> None:
            while _mounted(deed.path, memo["source"]):
                _unmount(deed.path)
            with suppress(FileNotFoundError):
                os.unlink(memo["source"])

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> list[str]:
        covered = hands.inside(deed.machine, lambda: _mounted(deed.path, memo["source"]))
        return [f"{deed.machine}: {deed.path} is still covered"] if covered else []


class DiskDoer:
    """What programs write to the small disk while it is there is gone with it, as little as fits."""

    def look(self, hands: Hands, tag: str, deed: FillDisk) -> Memo:
        path = hands.path(deed.machine, deed.path)
        size = hands.inside(deed.machine, lambda: _size(path))
        if size is None:
            raise refuse(f"{deed.machine}: {deed.path}", "there is no such folder")
        if size > _DISK_MAX:
            raise refuse(f"{deed.machine}: {deed.path}", f"{size >> 20} MiB in it are too much for a small disk")
        return {"source": f"tortie-full-{tag}", "size": size + _ROOM, "stage": hands.aside(f"disk-{tag}")}

    def do(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if _mounted(path, memo["source"]):
                return
            stage = memo["stage"]
            os.makedirs(stage, exist_ok=True)
            _mount(memo["source"], stage, kind="tmpfs", data=f"size={memo['size']},mode=755")
            try:
                _copy(path, stage)
                _fill(os.path.join(stage, _FULL))
                _mount(stage, path)
            finally:
                _unmount(stage)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            for place in (memo["stage"], path):
                while _mounted(place, memo["source"]):
                    _unmount(place)
            with suppress(OSError):
                os.rmdir(memo["stage"])

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> list[str]:
        path = hands.path(deed.machine, deed.path)
        there = hands.inside(deed.machine, lambda: _mounted(path, memo["source"]))
        return [f"{deed.machine}: the small disk is still at {deed.path}"] if there else []


class SealDoer:
    """The folder in its own place, read-only."""

    def look(self, hands: Hands, _tag: str, deed: SealFolder) -> Memo:
        path = hands.path(deed.machine, deed.path)
        there, mounted = hands.inside(deed.machine, lambda: [os.path.isdir(path), _mounts_at(path)])
        if not there:
            raise refuse(f"{deed.machine}: {deed.path}", "there is no such folder")
        return {"mounted": mounted}

    def do(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if _mounts_at(path) == memo["mounted"]:
                _mount(path, path)
            kept = os.statvfs(path).f_flag & _LOCKED  # who is root only in a user namespace may not drop them
            _mount("none", path, flags=_BIND | _AGAIN | _READ_ONLY | kept)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            while _mounts_at(path) > memo["mounted"]:
                _unmount(path)

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> list[str]:
        path = hands.path(deed.machine, deed.path)
        sealed = hands.inside(deed.machine, lambda: _mounts_at(path)) > memo["mounted"]
        return [f"{deed.machine}: {deed.path} is still read-only"] if sealed else []


def _kept(path: str, what: str) -> dict[str, Any]:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        missing = list(_missing_folders(path))
        alike = [place for folder in missing for place in _named_alike(folder)]
        return {"content": None, "mode": None, "folders": missing, "alike": alike}
    if not stat.S_ISREG(status.st_mode):
        raise refuse(what, "it is no plain file, and could not be put back")
    if status.st_size > KEPT_MAX:
        raise refuse(what, f"{status.st_size:,} bytes are too many to be kept; at most {KEPT_MAX:,} are")
    with open(path, "rb") as file:
        content = base64.b64encode(file.read()).decode()
    return {"content": content, "mode": stat.S_IMODE(status.st_mode), "folders": []}


def _missing_folders(path: str) -> Iterator[str]:
    """The innermost first: in this order they can be removed again."""
    while (path := os.path.dirname(path)) and not os.path.isdir(path):
        yield path


def _moved_aside(folder: str, memo: Memo) -> list[str]:
    """What a program made of a folder that is not meant to be there: moved to a name that begins with its own."""
    return [place for place in _named_alike(folder) if place not in memo.get("alike", ())]


def _named_alike(folder: str) -> list[str]:
    parent, name = os.path.split(folder)
    with suppress(OSError):
        return sorted(os.path.join(parent, each) for each in os.listdir(parent) if each.startswith(f"{name}."))
    return []


def _write(path: str, data: bytes, mode: int) -> None:
    """In place if it is there: a file that is a mount, or that somebody holds open, stays the same file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def tree_digest(path: str) -> str | None:
    """Of everything below, with modes; None when there is nothing."""
    if not os.path.lexists(path):
        return None
    digest = hashlib.sha256()
    for place in sorted(
        [path, *(os.path.join(top, name) for top, dirs, files in os.walk(path) for name in dirs + files)]
    ):
        status = os.lstat(place)
        digest.update(f"{os.path.relpath(place, path)}\0{status.st_mode:o}\0".encode())
        if stat.S_ISREG(status.st_mode):
            with open(place, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        elif stat.S_ISLNK(status.st_mode):
            digest.update(os.readlink(place).encode())
    return digest.hexdigest()


def _holds_socket(path: str) -> bool:
    return os.path.isdir(path) and any(_is_socket(entry.path) for entry in os.scandir(path))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _size(folder: str) -> int | None:
    if not os.path.isdir(folder):
        return None
    page = 4096
    entries = (os.path.join(top, name) for top, dirs, files in os.walk(folder) for name in dirs + files)
    return sum(-(-os.lstat(entry).st_size // page) * page + page for entry in entries)


def _copy(source: str, target: str) -> None:
    """Without sockets: they belong to whoever listens at them."""
    for entry in os.scandir(source):
        place = os.path.join(target, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir():
            os.mkdir(place)
            _copy(entry.path, place)
            shutil.copystat(entry.path, place)
        elif entry.is_file():
            shutil.copy2(entry.path, place)


def _fill(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        for piece in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while os.write(descriptor, b"\0" * piece):
                    pass
    finally:
        os.close(descriptor)


def mounts() -> list[tuple[str, str, str]]:
    """Of the calling process's namespace: where, what of it (a bound file's own path), which source."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.split() for line in file]
    return [(line[4], line[3], line[line.index("-") + 2]) for line in lines]


def _mounted(path: str, source: str) -> bool:
    """A bound file is told by the end of its path: its file system may be mounted anywhere."""
    real = os.path.realpath(path)
    name = os.path.basename(source)
    return any(
        place == real and (origin == source or os.path.basename(root) == name) for place, root, origin in mounts()
    )


def _mounts_at(path: str) -> int:
    real = os.path.realpath(path)
    return sum(place == real for place, _, _ in mounts())


def _mount(source: str, target: str, *, kind: str = "", flags: int = _BIND, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    flags = 0 if kind else flags
    done = libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, data.encode() or None)
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def _unmount(target: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.path.realpath(target).encode(), _DETACH) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)

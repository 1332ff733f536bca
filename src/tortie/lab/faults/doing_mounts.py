"""Deeds to what a machine sees of its files: covered, on a disk that is full, read-only.

Mounts are made in the node's own namespace and end with it; the machine that the lab runs on has none of them.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import Final

from tortie.host.mounts import bind, mounted, mounts, seal, small_disk, unmount
from tortie.lab.failures import Phrase, at, phrase
from tortie.lab.faults.deed_forms import touched
from tortie.lab.faults.deeds import CoverFile, FillDisk, SealFolder
from tortie.lab.faults.hands import Hands, refuse
from tortie.lab.faults.ledger import Memo

_DISK_MAX: Final = 32 << 20  # of a folder that is copied to a small disk
_ROOM: Final = 64 << 10
_FULL: Final = ".full"


class CoverDoer:
    def look(self, hands: Hands, tag: str, deed: CoverFile) -> Memo:
        if not hands.inside(deed.machine, lambda: os.path.isfile(deed.path)):
            raise refuse(touched(deed), "no-file")
        return {"source": hands.aside(f"cover-{tag}")}

    def do(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> None:
        def work() -> None:
            with open(memo["source"], "w", encoding="utf-8") as file:
                file.write(deed.text)
            os.chmod(memo["source"], 0o644)
            if not _lies_at(deed.path, memo["source"]):
                bind(memo["source"], deed.path)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> None:
        def work() -> None:
            while _lies_at(deed.path, memo["source"]) and unmount(deed.path):
                pass
            with suppress(FileNotFoundError):
                os.unlink(memo["source"])

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: CoverFile, memo: Memo) -> list[Phrase]:
        covered = hands.inside(deed.machine, lambda: _lies_at(deed.path, memo["source"]))
        return [at(deed.machine, phrase("covered", path=deed.path))] if covered else []


class DiskDoer:
    """What programs write to the small disk while it is there is gone with it, as little as fits."""

    def look(self, hands: Hands, tag: str, deed: FillDisk) -> Memo:
        path = hands.path(deed.machine, deed.path)
        size = hands.inside(deed.machine, lambda: _size(path))
        if size is None:
            raise refuse(touched(deed), "no-folder")
        if size > _DISK_MAX:
            raise refuse(touched(deed), "too-much-for-disk", size=size >> 20)
        return {"source": f"tortie-full-{tag}", "size": size + _ROOM, "stage": hands.aside(f"disk-{tag}")}

    def do(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if _lies_at(path, memo["source"]):
                return
            stage = memo["stage"]
            os.makedirs(stage, exist_ok=True)
            small_disk(stage, memo["size"], memo["source"])
            try:
                _copy(path, stage)
                _fill(os.path.join(stage, _FULL))
                bind(stage, path)
            finally:
                unmount(stage)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            for place in (memo["stage"], path):
                while _lies_at(place, memo["source"]) and unmount(place):
                    pass
            with suppress(OSError):
                os.rmdir(memo["stage"])

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: FillDisk, memo: Memo) -> list[Phrase]:
        path = hands.path(deed.machine, deed.path)
        there = hands.inside(deed.machine, lambda: _lies_at(path, memo["source"]))
        return [at(deed.machine, phrase("small-disk", path=deed.path))] if there else []


class SealDoer:
    """The folder in its own place, read-only."""

    def look(self, hands: Hands, _tag: str, deed: SealFolder) -> Memo:
        path = hands.path(deed.machine, deed.path)
        there, count = hands.inside(deed.machine, lambda: [os.path.isdir(path), mounted(path)])
        if not there:
            raise refuse(touched(deed), "no-folder")
        return {"mounted": count}

    def do(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            if mounted(path) == memo["mounted"]:
                bind(path, path)
            seal(path)

        hands.inside(deed.machine, work, mounts=True)

    def undo(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> None:
        path = hands.path(deed.machine, deed.path)

        def work() -> None:
            while mounted(path) > memo["mounted"] and unmount(path):
                pass

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: SealFolder, memo: Memo) -> list[Phrase]:
        path = hands.path(deed.machine, deed.path)
        sealed = hands.inside(deed.machine, lambda: mounted(path)) > memo["mounted"]
        return [at(deed.machine, phrase("read-only", path=deed.path))] if sealed else []


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


def _lies_at(path: str, source: str) -> bool:
    """A bound file is told by the end of its path: its file system may be mounted anywhere."""
    real = os.path.realpath(path)
    name = os.path.basename(source)
    return any(
        mount.place == real and (mount.source == source or os.path.basename(mount.root) == name) for mount in mounts()
    )

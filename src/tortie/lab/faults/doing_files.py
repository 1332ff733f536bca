"""Deeds to the files of a machine: written, and set aside.

All is done from inside: with its kubelet a node has mounts of its own, and what lies below its root is what it sees.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from tortie.lab.failures import Phrase, Said, at, phrase
from tortie.lab.faults.deed_forms import touched
from tortie.lab.faults.deeds import RemoveFile, WriteFile
from tortie.lab.faults.hands import Hands, refuse
from tortie.lab.faults.ledger import Memo

KEPT_MAX: Final = 1 << 20  # of a file whose content has to be kept in the ledger


class WriteDoer:
    def look(self, hands: Hands, _tag: str, deed: WriteFile) -> Memo:
        path = hands.path(deed.machine, deed.path)
        memo: Memo = hands.inside(deed.machine, lambda: _kept(path, touched(deed)))
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

    def undone(self, hands: Hands, _tag: str, deed: WriteFile, memo: Memo) -> list[Phrase]:
        path = hands.path(deed.machine, deed.path)
        now, moved = hands.inside(
            deed.machine,
            lambda: [_kept(path, deed.path), [each for made in memo["folders"] for each in _moved_aside(made, memo)]],
        )
        if now["content"] == memo["content"] and now["mode"] == memo["mode"]:
            return [at(deed.machine, phrase("moved", what=deed.path, folder=folder)) for folder in moved]
        key = "still-there" if memo["content"] is None else "changed"
        return [at(deed.machine, phrase(key, what=deed.path))]


class RemoveDoer:
    """Set aside in the lab's folder, and put back from there."""

    def look(self, hands: Hands, tag: str, deed: RemoveFile) -> Memo:
        path = hands.path(deed.machine, deed.path)
        digest = hands.inside(deed.machine, lambda: tree_digest(path))
        if digest is None:
            raise refuse(touched(deed), "no-file")
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

    def undone(self, hands: Hands, _tag: str, deed: RemoveFile, memo: Memo) -> list[Phrase]:
        path = hands.path(deed.machine, deed.path)
        kept, digest = hands.inside(deed.machine, lambda: [os.path.lexists(memo["aside"]), tree_digest(path)])
        if kept or digest is None:
            return [at(deed.machine, phrase("not-back", what=deed.path))]
        return []


def _kept(path: str, what: Said) -> dict[str, Any]:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        missing = list(_missing_folders(path))
        alike = [place for folder in missing for place in _named_alike(folder)]
        return {"content": None, "mode": None, "folders": missing, "alike": alike}
    if not stat.S_ISREG(status.st_mode):
        raise refuse(what, "no-plain-file")
    if status.st_size > KEPT_MAX:
        raise refuse(what, "too-many-bytes", size=f"{status.st_size:,}", most=f"{KEPT_MAX:,}")
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

"""What a person names and is no file: pipes are read, within patience; devices and sockets are refused."""

from __future__ import annotations

import os
import select
import stat
from typing import BinaryIO, Final

from tortie.model.errors import UsageError

WRITER_WITHIN_S: Final = 10.0  # `<(kubectl …)` has a writer at once
_NAMES: Final = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a disk or another block device"),
    (stat.S_ISCHR, "a terminal or another device"),
)


def refuse_special(path: str, mode: int) -> None:
    """Raises for what has no end, or no content of its own; files, folders, pipes and the empty device are read."""
    if path == os.devnull:
        return
    for is_one, name in _NAMES:
        if is_one(mode):
            why = f"it is {name}, not a file, a folder or an archive"
            raise UsageError(f"{path} cannot be read", why, "save what it shows in a file, or pipe it in and name -")


def open_pipe(path: str, within_s: float | None = None) -> BinaryIO:
    """A named pipe, once something was written to it. Nobody may ever write to it: then it is given up."""
    within_s = WRITER_WITHIN_S if within_s is None else within_s
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(within_s * 1000):
            why = f"it is a pipe, and nothing was written to it for {within_s:g} s"
            fix = "start the program that writes to it first, or name a file"
            raise UsageError(f"{path} cannot be read", why, fix)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise

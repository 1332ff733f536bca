"""Settings of the kernel by their path below /proc/sys, so that names of links may have dots in them."""

from __future__ import annotations

import errno
import os
from typing import Final

from tortie.model.errors import TortieError

_FOLDER: Final = "/proc/sys"


def read_setting(path: str) -> str | None:
    """In the network namespace of the thread, for `net/...`; None when there is no such setting here."""
    try:
        with open(os.path.join(_FOLDER, path), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def write_setting(path: str, value: str) -> None:
    try:
        with open(os.path.join(_FOLDER, path), "w", encoding="ascii") as file:
            file.write(value)
    except OSError as error:
        fix = "do it as root"
        if error.errno == errno.EROFS:
            fix = "mount /proc/sys writable: containers get it so with --privileged"
        elif error.errno == errno.ENOENT:
            fix = "look whether the link is still there, and whether the kernel has this setting"
        raise TortieError(f"cannot set {path} to {value}", os.strerror(error.errno or 0), fix) from None

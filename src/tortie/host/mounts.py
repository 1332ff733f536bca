"""Mounts in a namespace of their own: a file or a folder of the machine, seen differently by those who are inside.

Nothing of it reaches the machine's own mounts, and all of it goes with the namespace.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Final

from tortie.model.errors import TortieError

_CLONE_NEWNS: Final = 0x20000
_MS_BIND: Final = 0x1000
_MS_REC_PRIVATE: Final = 0x4000 | 0x40000
_MNT_DETACH: Final = 2
_EINVAL: Final = 22

_libc: Final = ctypes.CDLL(None, use_errno=True)


def new_mount_namespace(furnish: Callable[[], None]) -> int:
    """A descriptor of a new one, furnished by a child that was the first inside. For processes without threads."""
    ready, told = os.pipe()
    leave, stay = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(ready)
            os.close(stay)
            _call(_libc.unshare, "make mounts of its own", _CLONE_NEWNS)
            _mount("none", "/", None, _MS_REC_PRIVATE, None)
            furnish()
            os.write(told, b"+")
            os.read(leave, 1)
            code = 0
        except BaseException as error:
            os.write(told, str(error).encode()[:500])
        finally:
            os._exit(code)
    os.close(told)
    os.close(leave)
    try:
        said = os.read(ready, 512)
        if said != b"+":
            why = said.decode(errors="replace") or "the process that was to make it ended"
            raise TortieError("a node cannot have mounts of its own", why, "run as root")
        return os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.close(stay)
        os.waitpid(pid, 0)


def bind(source: str, target: str) -> None:
    """`source` in the place of `target`: both files, or both folders."""
    _mount(source, target, None, _MS_BIND, None)


def small_disk(target: str, size: int) -> None:
    """An empty file system of so many bytes in the place of a folder."""
    _mount("tmpfs", target, "tmpfs", 0, f"size={size},mode=755")


def unmount(target: str) -> bool:
    """The uppermost mount there; whether there was one. Who still uses it keeps it until it is closed."""
    if _libc.umount2(target.encode(), _MNT_DETACH) == 0:
        return True
    number = ctypes.get_errno()
    if number == _EINVAL:
        return False
    raise TortieError(f"{target} cannot be unmounted", os.strerror(number), "run as root")


def mounted(path: str) -> int:
    """How many mounts lie exactly there, as this process sees it."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        wanted = path.replace("\\", "\\134").replace(" ", "\\040")
        return sum(line.split(" ")[4] == wanted for line in file)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    words = (source.encode(), target.encode(), kind.encode() if kind else None)
    _call(_libc.mount, f"mount {target}", *words, ctypes.c_ulong(flags), data.encode() if data else None)


def _call(function: Callable[..., int], what: str, *arguments: object) -> None:
    if function(*arguments) != 0:
        raise TortieError(f"cannot {what}", os.strerror(ctypes.get_errno()), "run as root")

"""Mounts in a namespace of their own: a file or a folder of the machine, seen differently by those who are inside.

Nothing of it reaches the machine's own mounts, and all of it goes with the namespace. What the machine unmounts is gone
in there, too: nobody is kept from taking a disk away.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tortie.model.errors import TortieError

_CLONE_NEWNS: Final = 0x20000
_MS_RDONLY: Final = 1
_MS_REMOUNT: Final = 0x20
_MS_BIND: Final = 0x1000
_MS_REC_SLAVE: Final = 0x4000 | 0x80000
_MNT_DETACH: Final = 2
_EINVAL: Final = 22
_LOCKED: Final = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC  # numbers that mount(2) has, too

_libc: Final = ctypes.CDLL(None, use_errno=True)


class Mount(NamedTuple):
    place: str
    device: str  # of the file system that is seen there
    root: str  # what of that file system: a bound file's own path in it
    source: str

    @classmethod
    def parse(cls, line: str) -> Mount:
        """A line of mountinfo; spaces and the like are written as numbers there."""
        words = line.split()
        return cls(_plain(words[4]), words[2], _plain(words[3]), _plain(words[words.index("-") + 2]))


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
            _mount("none", "/", None, _MS_REC_SLAVE, None)
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


def small_disk(target: str, size: int, name: str = "tmpfs") -> None:
    """An empty file system of so many bytes in the place of a folder; `name` is its source in lists."""
    _mount(name, target, "tmpfs", 0, f"size={size},mode=755")


def seal(target: str) -> None:
    """What is mounted there can be read only from now on."""
    kept = os.statvfs(target).f_flag & _LOCKED  # who is root only in a user namespace may not drop them
    _mount("none", target, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept, None)


def unmount(target: str) -> bool:
    """The uppermost mount there; whether there was one. Who still uses it keeps it until it is closed."""
    if _libc.umount2(os.path.realpath(target).encode(), _MNT_DETACH) == 0:
        return True
    number = ctypes.get_errno()
    if number == _EINVAL:
        return False
    raise TortieError(f"{target} cannot be unmounted", os.strerror(number), "run as root")


def mounts() -> list[Mount]:
    """All that this process sees, the uppermost last."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return [Mount.parse(line) for line in file]


def mounted(path: str) -> int:
    """How many mounts lie exactly there, as this process sees it."""
    real = os.path.realpath(path)
    return sum(mount.place == real for mount in mounts())


def of_folder(folder: str, seen: Sequence[Mount]) -> list[Mount]:
    """Those that lie in the folder, or show something of it elsewhere. Its own path has to be a real one."""
    below = [mount for mount in seen if _is_within(folder, mount.place)]
    holder = max(below, key=lambda mount: len(mount.place), default=None)  # of several in one place the uppermost
    if holder is None:
        return []
    origin = os.path.normpath(os.path.join(holder.root, os.path.relpath(folder, holder.place)))
    return [
        mount
        for mount in seen
        if _is_within(mount.place, folder) or (mount.device == holder.device and _is_within(mount.root, origin))
    ]


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _plain(written: str) -> str:
    for number, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        written = written.replace(number, character)
    return written


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None) -> None:
    words = (source.encode(), target.encode(), kind.encode() if kind else None)
    _call(_libc.mount, f"mount {target}", *words, ctypes.c_ulong(flags), data.encode() if data else None)


def _call(function: Callable[..., int], what: str, *arguments: object) -> None:
    if function(*arguments) != 0:
        raise TortieError(f"cannot {what}", os.strerror(ctypes.get_errno()), "run as root")

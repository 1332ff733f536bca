"""The state of this machine around a node: swap, memory, load, clock, folders, programs. Observed, never judged."""

from __future__ import annotations

import errno
import os
from typing import Final, NamedTuple

_PROGRAM_S: Final = 5.0
_MORE_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where not every user's PATH looks
_STA_UNSYNC: Final = 0x40


class SwapArea(NamedTuple):
    name: str
    kind: str  # partition or file
    kilobytes: int


class Memory(NamedTuple):
    total: int  # bytes
    available: int


class Load(NamedTuple):
    one: float
    five: float
    fifteen: float
    cores: int


class Clock(NamedTuple):
    now: float  # seconds since 1970
    synchronised: bool | None  # as the kernel believes; None when it may not be asked
    why: str = ""


class Folder(NamedTuple):
    """`trouble` is empty when something could be written there, or in the nearest folder that exists."""

    path: str
    exists: bool
    trouble: str
    read_only: bool
    tried: str  # where the attempt was made
    device: int  # which file system that is
    free: int | None  # bytes for us


class Program(NamedTuple):
    path: str
    output: str  # of the call, both streams
    failure: str = ""


def swap_areas() -> tuple[SwapArea, ...] | None:
    """None when the kernel does not tell, as in some containers."""
    text = _read("/proc/swaps")
    return None if text is None else parse_swaps(text)


def parse_swaps(text: str) -> tuple[SwapArea, ...]:
    """Blanks within a name are written as octal escapes, so columns can be split at blanks."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return tuple(SwapArea(_unescaped(row[0]), row[1], int(row[2])) for row in rows if len(row) >= 3)


def _unescaped(text: str) -> str:
    for sign in (" ", "\t", "\n", "\\"):
        text = text.replace(f"\\{ord(sign):03o}", sign)
    return text


def memory() -> Memory | None:
    sizes = {}
    for line in (_read("/proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        if rest:
            sizes[name] = int(rest.split()[0]) * 1024
    if "MemAvailable" not in sizes:
        return None  # a kernel before 3.14
    return Memory(sizes["MemTotal"], sizes["MemAvailable"])


def load() -> Load | None:
    try:
        one, five, fifteen = (float(word) for word in (_read("/proc/loadavg") or "").split()[:3])
    except ValueError:
        return None
    return Load(one, five, fifteen, cores=len(os.sched_getaffinity(0)))


def pressure() -> dict[str, dict[str, float]]:
    """Per resource, the share of the last minute in which some or all work waited for it; empty without PSI."""
    found = {}
    for resource in ("cpu", "memory", "io"):
        text = _read(f"/proc/pressure/{resource}")
        if text:
            found[resource] = parse_pressure(text)
    return found


def parse_pressure(text: str) -> dict[str, float]:
    shares = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        values = dict(pair.partition("=")[::2] for pair in rest.split())
        if "avg60" in values:
            shares[kind] = float(values["avg60"])
    return shares


def clock() -> Clock:
    import time

    synchronised, why = _kernel_clock()
    return Clock(time.time(), synchronised, why)


def _kernel_clock() -> tuple[bool | None, str]:
    """adjtimex with nothing to change; the start of its structure is all that we read."""
    import ctypes

    class Timex(ctypes.Structure):
        _fields_ = (
            ("modes", ctypes.c_uint),
            ("offset", ctypes.c_long),
            ("frequency", ctypes.c_long),
            ("error_max", ctypes.c_long),
            ("error_estimated", ctypes.c_long),
            ("status", ctypes.c_int),
            ("rest", ctypes.c_char * 512),  # more than any architecture has
        )

    libc = ctypes.CDLL(None, use_errno=True)
    timex = Timex()
    try:
        answer = libc.adjtimex(ctypes.byref(timex))
    except AttributeError:
        return None, "this C library cannot ask"
    if answer < 0:
        return None, f"the kernel may not be asked here: {os.strerror(ctypes.get_errno())}"
    return not timex.status & _STA_UNSYNC, ""


def modified(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def try_folder(path: str) -> Folder:
    """Writes a file that has no name in the folder, or where it would have to be made; nothing stays."""
    place = path = os.path.abspath(path)
    while not os.path.lexists(place) and place != "/":
        place = os.path.dirname(place)
    trouble, read_only = _trouble_writing(place)
    try:
        state, space = os.stat(place), os.statvfs(place)
    except OSError:
        return Folder(path, place == path, trouble, read_only, place, 0, None)
    return Folder(path, place == path, trouble, read_only, place, state.st_dev, space.f_bavail * space.f_frsize)


def _trouble_writing(folder: str) -> tuple[str, bool]:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".tortie-check-", buffering=0) as file:
            file.write(b"\0" * 4096)  # a full disk often still has room for an empty file
    except OSError as error:
        why = "not a folder" if error.errno == errno.ENOTDIR else error.strerror or str(error)
        return why, error.errno == errno.EROFS
    return "", False


def find_program(name: str, search: str) -> str | None:
    """`search` is a PATH; the folders of system programs are always added."""
    import shutil

    return shutil.which(name, path=os.pathsep.join((search, *_MORE_FOLDERS)))


def ask_program(path: str, *arguments: str) -> Program:
    import subprocess

    try:
        done = subprocess.run(
            [path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROGRAM_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Program(path, "", f"no answer within {_PROGRAM_S:g} s")
    except OSError as error:
        return Program(path, "", error.strerror or str(error))
    return Program(path, (done.stdout + done.stderr).decode(errors="replace").strip())


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None

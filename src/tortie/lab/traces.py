"""What is left of a lab: processes, descriptors and mounts that keep its namespaces alive, links, cgroups, files.

Looked for, not remembered: `down` proves with it that it left nothing. A namespace that no process is in, that nobody
holds and that is mounted nowhere is gone; the kernel shows it to nobody, so there is nothing else to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple
from zlib import crc32

from tortie.host.links import PATIENCE_S, links
from tortie.host.namespaces import Mark, mark
from tortie.model.errors import TortieError

_CGROUPS: Final = "/sys/fs/cgroup"
_NETWORK: Final = re.compile(r"net:\[(\d+)\]")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")  # how the kernel writes blanks in the path of a mount
_SHOWN_MAX: Final = 100  # of a command line


class Remains(NamedTuple):
    processes: tuple[str, ...] = ()  # in a network namespace of the lab
    holders: tuple[str, ...] = ()  # elsewhere, with such a namespace open
    mounts: tuple[str, ...] = ()  # of such a namespace, or below the lab's folder
    links: tuple[str, ...] = ()  # in our own network namespace, with a name from the lab
    cgroups: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # the lab's folder, and what is in it

    def __bool__(self) -> bool:
        return any(self)

    def counts(self) -> dict[str, int]:
        """How many of each; those that are not there, too."""
        return {kind: len(found) for kind, found in self._asdict().items()}


def remains(folder: str, marks: Collection[Mark] = (), link_names: Collection[str] = ()) -> Remains:
    """Of the lab in that folder, as far as we may look: everywhere as root, otherwise at what is our own."""
    wanted = {known.inode: known.cookie for known in marks}
    processes, holders = _processes(wanted, folder)
    return Remains(
        tuple(processes),
        tuple(holders),
        tuple(_mounts(wanted, folder)),
        tuple(link.name for link in links(PATIENCE_S) if link.name in link_names) if link_names else (),
        tuple(_cgroups(cgroup_name(folder))),
        tuple(_files(folder)),
    )


def cgroup_name(folder: str) -> str:
    """Of the lab in that folder: labs of several people may have the same name."""
    return f"tortie-lab-{os.path.basename(folder)}-{crc32(folder.encode()):08x}"


def _processes(wanted: Mapping[int, int], folder: str) -> tuple[list[str], list[str]]:
    """Those that are in one of the namespaces, and those that only hold one."""
    inside: list[str] = []
    holders: list[str] = []
    if not wanted:
        return inside, holders
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        with suppress(OSError):  # it has ended, or is somebody else's
            if _is_one(f"/proc/{pid}/ns/net", wanted, pid, folder):
                inside.append(f"pid {pid}, {_command(pid)}")
            elif any(_is_one(path, wanted, pid, folder) for path in _descriptors(pid)):
                holders.append(f"pid {pid}, {_command(pid)}")
    return inside, holders


def _descriptors(pid: str) -> list[str]:
    return [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]


def _is_one(path: str, wanted: Mapping[int, int], pid: str, folder: str) -> bool:
    """Whether it leads to one of the namespaces. In doubt it does if the process has to do with the lab's folder."""
    found = _NETWORK.fullmatch(_target(path))
    if found is None or int(found[1]) not in wanted:
        return False
    sure = _is_still(path, wanted)
    return _uses(pid, folder) if sure is None else sure


def _is_still(path: str, wanted: Mapping[int, int]) -> bool | None:
    """Its number is right; the cookie tells whether a new namespace has got that number. None: nobody can tell."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        known = mark(descriptor)
    except TortieError:
        return None
    finally:
        os.close(descriptor)
    cookie = wanted.get(known.inode)
    return None if 0 in (cookie, known.cookie) else cookie == known.cookie


def _uses(pid: str, folder: str) -> bool:
    """Whatever runs in a lab writes its log there, or was told where its machine is."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        told = f"={folder}/".encode() in file.read()
    return told or any(_target(path).startswith(f"{folder}/") for path in _descriptors(pid))


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except FileNotFoundError:  # closed meanwhile
        return ""


def _command(pid: str) -> str:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        line = file.read(_SHOWN_MAX * 4).rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
        if line:
            return line if len(line) <= _SHOWN_MAX else f"{line[: _SHOWN_MAX - 1]}…"
    return "which has ended"


def _mounts(wanted: Mapping[int, int], folder: str) -> Iterator[str]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            root, point = (_ESCAPED.sub(lambda code: chr(int(code[1], 8)), word) for word in line.split(" ")[3:5])
            found = _NETWORK.fullmatch(root)
            of_the_lab = found is not None and int(found[1]) in wanted and _is_still(point, wanted) is not False
            if of_the_lab or point == folder or point.startswith(f"{folder}/"):
                yield point


def _cgroups(name: str) -> Iterator[str]:
    for path, folders, _ in os.walk(_CGROUPS):
        if name in folders:
            yield os.path.join(path, name)


def _files(folder: str) -> Iterator[str]:
    if os.path.lexists(folder):
        yield folder
    for path, folders, files in os.walk(folder):
        yield from (os.path.join(path, name) for name in (*folders, *files))

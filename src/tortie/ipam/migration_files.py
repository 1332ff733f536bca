"""What the IPAM plugin host-local keeps in its folder: one file for each address. Pure.

A file is named after the address; its first line is the container's id, and newer versions have the interface on a
second one, with carriage returns before the ends of lines. `lock` and `last_reserved_ip.<n>` are for its own use.
Anything else is somebody's backup, an accident, or not meant for us: it is told, and never stops anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final, NamedTuple

from tortie.model.network import IP

LOCK: Final = "lock"
CONTENT_MAX: Final = 4096  # more is no lease, and need not be read

_CONTAINER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
_INTERFACE: Final = re.compile(r"[^\s/]{1,15}")


class Found(NamedTuple):
    """One name in the folder; `trouble` says why there is no content."""

    name: str
    content: bytes = b""
    trouble: str = ""


class Lease(NamedTuple):
    """An address that host-local gave to a container."""

    ip: IP
    name: str  # of the file
    container: str  # "" when the file does not tell
    interface: str = "eth0"
    trouble: str = ""  # why it does not tell


class Strange(NamedTuple):
    name: str
    why: str


class Folder(NamedTuple):
    leases: tuple[Lease, ...] = ()
    bookkeeping: tuple[str, ...] = ()
    strange: tuple[Strange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.leases and not self.strange


def read_folder(found: Iterable[Found]) -> Folder:
    leases: dict[IP, Lease] = {}
    bookkeeping, strange = [], []
    for each in sorted(found):
        ip = _address(each.name)
        if each.name == LOCK or each.name.startswith("last_reserved_ip"):
            bookkeeping.append(each.name)
        elif ip is None:
            strange.append(Strange(each.name, each.trouble or "its name is no address"))
        elif ip in leases:
            strange.append(Strange(each.name, f"it is the same address as {leases[ip].name}"))
        else:
            leases[ip] = _lease(ip, each)
    return Folder(tuple(sorted(leases.values(), key=_order)), tuple(bookkeeping), tuple(strange))


def _order(lease: Lease) -> tuple[int, int]:
    return lease.ip.version, int(lease.ip)


def _address(name: str) -> IP | None:
    """Where colons are not allowed in names, host-local writes underscores."""
    for spelled in (name, name.replace("_", ":")):
        try:
            return ip_address(spelled)
        except ValueError:
            continue
    return None


def _lease(ip: IP, found: Found) -> Lease:
    if found.trouble:
        return Lease(ip, found.name, "", trouble=found.trouble)
    try:
        lines = [line.strip() for line in found.content.decode().splitlines()]
    except UnicodeDecodeError:
        return Lease(ip, found.name, "", trouble="it is not text")
    if not any(lines):
        return Lease(ip, found.name, "", trouble="it is empty, as after a crash or on a full disk")
    if not _CONTAINER.fullmatch(lines[0]):
        return Lease(ip, found.name, "", trouble="its first line is no container's id")
    interface = lines[1] if len(lines) > 1 and _INTERFACE.fullmatch(lines[1]) else "eth0"
    return Lease(ip, found.name, lines[0], interface)

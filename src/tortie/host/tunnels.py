"""VXLAN devices and their forwarding entries: read from the kernel, and written as messages for it.

A forwarding entry says behind which machine a MAC is. A device that does not learn knows only what it is told here.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from tortie.host.links import (
    LINK_HEADER,
    LINK_MAC,
    LINK_MTU,
    LINK_NAME,
    NEW_LINK,
    UP,
)
from tortie.host.netlink import Message, Netlink, Request, attribute, attributes_in, number_in, text_in
from tortie.model.network import IP

_GET_LINK: Final = 18
_NEW_NEIGHBOUR, _DELETED_NEIGHBOUR, _GET_NEIGHBOUR = 28, 29, 30
_REPLACE, _EXCLUSIVE, _CREATE = 0x100, 0x200, 0x400

_LINK_INFO, _LINK_EXT_MASK, _INFO_KIND, _INFO_DATA = 18, 29, 1, 2
_WITHOUT_STATISTICS: Final = 1 << 3
_VNI, _GROUP, _PARENT, _LOCAL, _LEARNING, _L2_MISS, _PORT, _GROUP_6, _LOCAL_6 = 1, 2, 3, 4, 7, 13, 15, 16, 17
VXLAN: Final = "vxlan"

_NEIGHBOUR_HEADER: Final = struct.Struct("=BxxxiHBB")  # family, index, state, flags, kind
_TO, _MAC = 1, 2
_BRIDGE_FAMILY: Final = 7
_PERMANENT: Final = 0x80
_SELF: Final = 0x2  # the device's own table, not that of a bridge it may be a port of


class Vxlan(NamedTuple):
    """What makes one VXLAN device another one; it cannot be changed while it exists."""

    vni: int
    port: int
    local: IP | None = None
    parent: int | None = None  # index of the link that carries the packets
    learning: bool = False
    group: IP | None = None  # where packets for unknown MACs go
    asks: bool = False  # whether it tells of MACs that it does not know (l2miss)


class Forwarding(NamedTuple):
    index: int  # type: ignore[assignment] # of the device
    mac: str
    to: IP


def add_vxlan(name: str, device: Vxlan, *, mac: str = "", mtu: int = 0) -> Request:
    """It is up from the beginning, and without addresses."""
    data = attribute(_VNI, struct.pack("=I", device.vni))
    if device.parent:
        data += attribute(_PARENT, struct.pack("=I", device.parent))
    if device.local is not None:
        data += attribute(_LOCAL if device.local.version == 4 else _LOCAL_6, device.local.packed)
    data += attribute(_LEARNING, bytes((device.learning,))) + attribute(_PORT, struct.pack("!H", device.port))
    info = attribute(_INFO_KIND, VXLAN.encode()) + attribute(_INFO_DATA, data)
    body = (
        LINK_HEADER.pack(0, 0, 0, UP, UP)
        + attribute(LINK_NAME, name.encode() + b"\0")
        + (attribute(LINK_MAC, _packed(mac)) if mac else b"")
        + (attribute(LINK_MTU, struct.pack("=I", mtu)) if mtu else b"")
        + attribute(_LINK_INFO, info)
    )
    return Request(NEW_LINK, _CREATE | _EXCLUSIVE, body, f"add the VXLAN device {name}")


def vxlans(kernel: Netlink, deadline: float) -> dict[str, Vxlan]:
    """All of them, by name."""
    wanted = attribute(_LINK_INFO, attribute(_INFO_KIND, VXLAN.encode()))  # the kernel leaves out other kinds
    mask = attribute(_LINK_EXT_MASK, struct.pack("=I", _WITHOUT_STATISTICS))
    told = kernel.dump(_GET_LINK, LINK_HEADER.pack(0, 0, 0, 0, 0) + mask + wanted, "the VXLAN devices", deadline)
    return {found[0]: found[1] for message in told if (found := vxlan_in(message))}


def vxlan_in(message: Message) -> tuple[str, Vxlan] | None:
    if message.kind != NEW_LINK or len(message.body) < LINK_HEADER.size:
        return None
    found = attributes_in(message.body, LINK_HEADER.size)
    info = attributes_in(found.get(_LINK_INFO, b""))
    if text_in(info.get(_INFO_KIND)) != VXLAN:
        return None
    data = attributes_in(info.get(_INFO_DATA, b""))
    port = data.get(_PORT, b"")
    return text_in(found.get(LINK_NAME)), Vxlan(
        number_in(data.get(_VNI)) or 0,
        struct.unpack("!H", port)[0] if len(port) == 2 else 0,
        _ip(data.get(_LOCAL)) or _ip(data.get(_LOCAL_6)),
        number_in(data.get(_PARENT)) or None,
        _is_set(data.get(_LEARNING)),
        _ip(data.get(_GROUP)) or _ip(data.get(_GROUP_6)),
        _is_set(data.get(_L2_MISS)),
    )


def set_forwarding(entry: Forwarding) -> Request:
    """A permanent entry, in the place of any other for that MAC."""
    body = _head(entry.index, _PERMANENT) + attribute(_MAC, _packed(entry.mac)) + attribute(_TO, entry.to.packed)
    return Request(_NEW_NEIGHBOUR, _CREATE | _REPLACE, body, f"set that {entry.mac} is behind {entry.to}")


def delete_forwarding(entry: Forwarding) -> Request:
    body = _head(entry.index, 0) + attribute(_MAC, _packed(entry.mac)) + attribute(_TO, entry.to.packed)
    return Request(_DELETED_NEIGHBOUR, 0, body, f"delete that {entry.mac} is behind {entry.to}")


def forwardings(kernel: Netlink, deadline: float) -> tuple[Forwarding, ...]:
    """The permanent entries of all devices."""
    told = kernel.dump(_GET_NEIGHBOUR, _head(0, 0), "the forwarding entries", deadline)
    return tuple(entry for message in told if (entry := forwarding_in(message)))


def forwarding_in(message: Message) -> Forwarding | None:
    if message.kind != _NEW_NEIGHBOUR or len(message.body) < _NEIGHBOUR_HEADER.size:
        return None
    family, index, state, _, _ = _NEIGHBOUR_HEADER.unpack_from(message.body)
    found = attributes_in(message.body, _NEIGHBOUR_HEADER.size)
    to = _ip(found.get(_TO))
    if family != _BRIDGE_FAMILY or not state & _PERMANENT or to is None or len(found.get(_MAC, b"")) != 6:
        return None
    return Forwarding(index, found[_MAC].hex(":"), to)


def _head(index: int, state: int) -> bytes:
    return _NEIGHBOUR_HEADER.pack(_BRIDGE_FAMILY, index, state, _SELF if index else 0, 0)


def _is_set(value: bytes | None) -> bool:
    return bool(value and value[0])


def _ip(data: bytes | None) -> IP | None:
    """An address of zeroes is none."""
    if data is None or not any(data):
        return None
    if len(data) == 4:
        return IPv4Address(data)
    return IPv6Address(data) if len(data) == 16 else None


def _packed(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))

"""This machine's network as its kernel tells it: links, addresses and routes, in three questions whatever their number.

What is left out of the routes: the kernel's table of its own addresses (255) with everything of kind "local", which
repeats the addresses; and routes that the kernel only remembers, such as path MTUs that it learnt.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Final

from tortie.host.netlink import Message, Netlink, attribute, attributes_in, number_in, text_in
from tortie.model.network import CIDR, IP, Address, HostNetwork, Interface, Network, Route

TIMEOUT_S: Final = 2.0
# Of whoever makes and removes many namespaces: while the kernel ends one, nobody on the machine gets an answer.
PATIENCE_S: Final = 20.0

NEW_LINK, DELETED_LINK, _GET_LINK = 16, 17, 18
NEW_ADDRESS, DELETED_ADDRESS, _GET_ADDRESS = 20, 21, 22
NEW_ROUTE, DELETED_ROUTE, _GET_ROUTE = 24, 25, 26

LINK_HEADER: Final = struct.Struct("=BxHiII")  # family, hardware, index, flags, changed flags
ADDRESS_HEADER: Final = struct.Struct("=BBBBi")  # family, prefix length, flags, scope, index
ROUTE_HEADER: Final = struct.Struct("=BBBBBBBBI")  # family, lengths of both, TOS, table, protocol, scope, kind, flags
_NEXT_HOP: Final = struct.Struct("=HBBi")  # length, flags, hops, index

LINK_MAC, LINK_NAME, LINK_MTU, LINK_PARENT, LINK_MASTER, LINK_STATE = 1, 3, 4, 5, 10, 16
_LINK_INFO, _LINK_EXT_MASK, _LINK_PARENT_NAMESPACE, _LINK_INFO_KIND = 18, 29, 37, 1
_WITHOUT_STATISTICS: Final = 1 << 3  # half of the bytes of each link, and work for drivers that ask their hardware

ADDRESS_OTHER_END, ADDRESS_LOCAL, ADDRESS_FLAGS = 1, 2, 8
ROUTE_DESTINATION, _ROUTE_INTERFACE, _ROUTE_GATEWAY, ROUTE_METRIC, _ROUTE_SOURCE = 1, 4, 5, 6, 7
_ROUTE_NEXT_HOPS, ROUTE_TABLE, _ROUTE_VIA = 9, 15, 18
REMEMBERED: Final = 0x200  # of a route's flags: learnt on the way, nobody configured it
LOCAL_TABLE: Final = 255

UP: Final = 0x1
_RUNNING: Final = 0x40
_LINK_FLAGS: Final = {
    UP: "up",
    0x2: "broadcast",
    0x4: "debug",
    0x8: "loopback",
    0x10: "pointopoint",
    0x20: "notrailers",
    0x80: "noarp",
    0x100: "promisc",
    0x200: "allmulti",
    0x400: "master",
    0x800: "slave",
    0x1000: "multicast",
    0x2000: "portsel",
    0x4000: "automedia",
    0x8000: "dynamic",
    0x10000: "lower_up",
    0x20000: "dormant",
    0x40000: "echo",
}
_STATES: Final = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
# Hardware whose address is an IP: tunnels (ipip, ip6ip6, sit, gre, ip6gre).
_WITHOUT_MAC: Final = frozenset({768, 769, 776, 778, 823})

_ADDRESS_FLAGS: Final = {
    0x2: "nodad",
    0x8: "dadfailed",
    0x20: "deprecated",
    0x40: "tentative",
    0x80: "permanent",
    0x100: "mngtmpaddr",
    0x200: "noprefixroute",
}
_FIRST_FLAG: Final = {4: "secondary", 6: "temporary"}  # one bit, two meanings
_SCOPES: Final = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}

_ROUTE_KINDS: Final = (
    *("unspec", "unicast", "local", "broadcast", "anycast", "multicast"),
    *("blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve"),
)
_NOWHERE: Final = frozenset({"blackhole", "unreachable", "prohibit", "throw"})
# As /etc/iproute2/rt_protos names them; the file need not be there.
_PROTOCOLS: Final = {
    **{0: "unspec", 1: "redirect", 2: "kernel", 3: "boot", 4: "static", 8: "gated", 9: "ra", 10: "mrt", 11: "zebra"},
    **{12: "bird", 13: "dnrouted", 14: "xorp", 15: "ntk", 16: "dhcp", 18: "keepalived", 42: "babel", 99: "openr"},
    **{186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp"},
}


def observe(timeout_s: float = TIMEOUT_S) -> HostNetwork:
    """What is there now, in the network namespace of the calling thread. Needs no privilege.

    The three lists are read one after the other: what comes between two of them may show in one and not in the other.
    Whoever listens to the kernel's news hears of it.
    """
    deadline = time.monotonic() + timeout_s
    with Netlink() as kernel:
        return HostNetwork(addressed_links(kernel, deadline), _routes(kernel, deadline))


def addressed_links(kernel: Netlink, deadline: float) -> tuple[Interface, ...]:
    """The links with their addresses."""
    links = _links(kernel, deadline)
    addresses = kernel.dump(_GET_ADDRESS, ADDRESS_HEADER.pack(0, 0, 0, 0, 0), "the addresses", deadline)
    owned: dict[int, list[Address]] = {}
    for message in addresses:
        for index, address in addresses_in(message):
            owned.setdefault(index, []).append(address)
    return tuple(link._replace(addresses=tuple(owned.get(link.index, ()))) for link in links)


def routes(timeout_s: float = TIMEOUT_S) -> tuple[Route, ...]:
    """The routes alone."""
    with Netlink() as kernel:
        return _routes(kernel, time.monotonic() + timeout_s)


def links(timeout_s: float = TIMEOUT_S) -> tuple[Interface, ...]:
    """The links alone, without their addresses."""
    with Netlink() as kernel:
        return _links(kernel, time.monotonic() + timeout_s)


def _routes(kernel: Netlink, deadline: float) -> tuple[Route, ...]:
    messages = kernel.dump(_GET_ROUTE, ROUTE_HEADER.pack(0, 0, 0, 0, 0, 0, 0, 0, 0), "the routes", deadline)
    return tuple(route for message in messages for route in routes_in(message))


def _links(kernel: Netlink, deadline: float) -> tuple[Interface, ...]:
    mask = attribute(_LINK_EXT_MASK, struct.pack("=I", _WITHOUT_STATISTICS))
    messages = kernel.dump(_GET_LINK, LINK_HEADER.pack(0, 0, 0, 0, 0) + mask, "the links", deadline)
    found = {link.index: link for message in messages for link in interfaces_in(message)}
    return tuple(_with_parent(found[index], found) for index in sorted(found))


def interfaces_in(message: Message) -> Iterator[Interface]:
    if message.kind != NEW_LINK or len(message.body) < LINK_HEADER.size:
        return
    _, hardware, index, flags, _ = LINK_HEADER.unpack_from(message.body)
    found = attributes_in(message.body, LINK_HEADER.size)
    state = found.get(LINK_STATE, b"\0")
    parent = number_in(found.get(LINK_PARENT))
    yield Interface(
        index,
        text_in(found.get(LINK_NAME)),
        kind=text_in(attributes_in(found.get(_LINK_INFO, b"")).get(_LINK_INFO_KIND)),
        flags=_link_flags(flags),
        state=_STATES[state[0]] if state and state[0] < len(_STATES) else "unknown",
        mac="" if hardware in _WITHOUT_MAC else found.get(LINK_MAC, b"").hex(":"),
        mtu=number_in(found.get(LINK_MTU)) or 0,
        master=number_in(found.get(LINK_MASTER)),
        parent=parent or None,  # 0 is a tunnel that belongs to no link
        parent_elsewhere=bool(parent) and _LINK_PARENT_NAMESPACE in found,
    )


def _link_flags(flags: int) -> frozenset[str]:
    """The kernel tells that a link is running; people are told when it is up and yet not running."""
    names = {name for bit, name in _LINK_FLAGS.items() if flags & bit}
    if flags & UP and not flags & _RUNNING:
        names.add("no-carrier")
    return frozenset(names)


def _with_parent(link: Interface, others: dict[int, Interface]) -> Interface:
    """The index of a parent in another namespace means nothing here, or worse, another link."""
    if link.parent_elsewhere:
        return link._replace(parent=None)
    parent = others.get(link.parent or 0)
    if parent is not None and "up" not in parent.flags:
        return link._replace(flags=link.flags | {"m-down"})
    return link


def addresses_in(message: Message) -> Iterator[tuple[int, Address]]:
    if message.kind != NEW_ADDRESS or len(message.body) < ADDRESS_HEADER.size:
        return
    family, length, flags, scope, index = ADDRESS_HEADER.unpack_from(message.body)
    found = attributes_in(message.body, ADDRESS_HEADER.size)
    # On a point-to-point link the plain attribute is the other end's address.
    ip = _ip(family, found.get(ADDRESS_LOCAL, found.get(ADDRESS_OTHER_END)))
    if ip is None or length > ip.max_prefixlen:
        return
    wide = number_in(found.get(ADDRESS_FLAGS))  # the header has room for eight flags only
    flags = flags if wide is None else wide
    names = {name for bit, name in _ADDRESS_FLAGS.items() if flags & bit}
    if flags & 0x1:
        names.add(_FIRST_FLAG[ip.version])
    yield index, Address(_cidr(ip, length), _SCOPES.get(scope, str(scope)), frozenset(names))


def routes_in(message: Message) -> Iterator[Route]:
    """One for each next hop."""
    if message.kind != NEW_ROUTE or len(message.body) < ROUTE_HEADER.size:
        return
    family, length, _, _, table, protocol, _, kind_number, flags = ROUTE_HEADER.unpack_from(message.body)
    kind = _ROUTE_KINDS[kind_number] if kind_number < len(_ROUTE_KINDS) else str(kind_number)
    if table == LOCAL_TABLE or kind == "local" or flags & REMEMBERED:
        return
    found = attributes_in(message.body, ROUTE_HEADER.size)
    destination = _network(family, found.get(ROUTE_DESTINATION), length)
    if destination is None:
        return
    route = Route(
        destination,
        source=_ip(family, found.get(_ROUTE_SOURCE)),
        metric=number_in(found.get(ROUTE_METRIC)) or 0,
        table=number_in(found.get(ROUTE_TABLE)) or table,
        kind=kind,
        protocol=_PROTOCOLS.get(protocol, str(protocol)),
    )
    if kind in _NOWHERE:  # of IPv6 the kernel says that they lead to the loopback
        yield route
        return
    if _ROUTE_NEXT_HOPS not in found:
        yield route._replace(
            interface=number_in(found.get(_ROUTE_INTERFACE)),
            gateway=_gateway(family, found),
        )
    for index, hop in _next_hops(found.get(_ROUTE_NEXT_HOPS, b"")):
        yield route._replace(interface=index, gateway=_gateway(family, hop))


def _next_hops(data: bytes) -> Iterator[tuple[int, dict[int, bytes]]]:
    place = 0
    while place + _NEXT_HOP.size <= len(data):
        length, _, _, index = _NEXT_HOP.unpack_from(data, place)
        if length < _NEXT_HOP.size or place + length > len(data):
            return
        yield index, attributes_in(data[place : place + length], _NEXT_HOP.size)
        place += (length + 3) & ~3


def _gateway(family: int, found: dict[int, bytes]) -> IP | None:
    """A gateway of the other family is written with its family before it."""
    via = found.get(_ROUTE_VIA)
    if via is not None and len(via) > 2:
        return _ip(struct.unpack_from("=H", via)[0], via[2:])
    return _ip(family, found.get(_ROUTE_GATEWAY))


def _ip(family: int, data: bytes | None) -> IP | None:
    if data is None:
        return None
    if family == socket.AF_INET and len(data) == 4:
        return IPv4Address(data)
    if family == socket.AF_INET6 and len(data) == 16:
        return IPv6Address(data)
    return None


def _cidr(ip: IP, length: int) -> CIDR:
    return IPv4Interface((ip.packed, length)) if ip.version == 4 else IPv6Interface((ip.packed, length))


def _network(family: int, data: bytes | None, length: int) -> Network | None:
    """Without bytes it is the default route. Families other than IP (MPLS, multicast routing) are not ours."""
    if family == socket.AF_INET and length <= 32 and (data is None or len(data) == 4):
        return IPv4Network((data or bytes(4), length), strict=False)
    if family == socket.AF_INET6 and length <= 128 and (data is None or len(data) == 16):
        return IPv6Network((data or bytes(16), length), strict=False)
    return None

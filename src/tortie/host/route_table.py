"""Routes of the main table with everything that tells one from another: who wrote it, its scope, its metric.

`tortie.host.links` reads what people ask about; here is what a program needs that owns some of the routes. On a large
cluster nearly all routes are BIRD's, one for each block of pod addresses. Those are passed over after one glance.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Container, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, NamedTuple

from tortie.host.links import (
    DELETED_ROUTE,
    NEW_ROUTE,
    REMEMBERED,
    ROUTE_DESTINATION,
    ROUTE_HEADER,
    ROUTE_METRIC,
    ROUTE_TABLE,
)
from tortie.host.netlink import Message, Netlink, Request, attribute, attributes_in, number_in
from tortie.model.network import IP, MAIN_TABLE, Network

_GET_ROUTE: Final = 26
_REPLACE, _CREATE = 0x100, 0x400
_INTERFACE, _GATEWAY, _SOURCE, _NEXT_HOPS, _VIA = 4, 5, 7, 9, 18
_ON_LINK: Final = 4
_ANY_SCOPE: Final = 255

UNICAST, BLACKHOLE = 1, 6
EVERYWHERE, THIS_LINK = 0, 253  # scopes; IPv6 has none, and tells 0
KERNEL, BOOT, ADVERTISED, BIRD, FELIX = 2, 3, 9, 12, 80  # protocols


class TableRoute(NamedTuple):
    """One route. Its destination and its metric say which; a second one with the same cannot be."""

    destination: Network
    metric: int
    protocol: int
    kind: int = UNICAST
    scope: int = EVERYWHERE
    interface: int | None = None  # index; None where it leads nowhere
    gateway: IP | None = None
    on_link: bool = False  # the gateway is behind the link, whatever its network says
    source: IP | None = None
    several: bool = False  # it has several next hops, of which only the first is told


def table_routes(kernel: Netlink, deadline: float, *, without: Container[int] = (KERNEL, BIRD)) -> list[TableRoute]:
    """Those of the main table, except those written by these protocols."""
    head = ROUTE_HEADER.pack(0, 0, 0, 0, 0, 0, 0, 0, 0)
    told = kernel.dump(_GET_ROUTE, head, "the routes", deadline)
    return [route for message in told for route in route_in(message, without)]


def route_in(message: Message, without: Container[int] = ()) -> Iterator[TableRoute]:
    if message.kind != NEW_ROUTE or len(message.body) < ROUTE_HEADER.size:
        return
    family, length, _, _, table, protocol, scope, kind, flags = ROUTE_HEADER.unpack_from(message.body)
    if protocol in without or table != MAIN_TABLE or flags & REMEMBERED:
        return
    found = attributes_in(message.body, ROUTE_HEADER.size)
    destination = _network(family, found.get(ROUTE_DESTINATION), length)
    if destination is None or (number_in(found.get(ROUTE_TABLE)) or table) != MAIN_TABLE:
        return
    hops, first = found.get(_NEXT_HOPS), found
    interface = number_in(found.get(_INTERFACE))
    if hops is not None and len(hops) >= 8:
        first, interface = attributes_in(hops, 8), int(struct.unpack_from("=i", hops, 4)[0])
        flags |= hops[2]
    yield TableRoute(
        destination,
        number_in(found.get(ROUTE_METRIC)) or 0,
        protocol,
        kind,
        scope if family == socket.AF_INET else EVERYWHERE,
        interface if kind == UNICAST else None,  # of IPv6 the kernel says that others lead to the loopback
        _ip(family, first.get(_GATEWAY)),
        bool(flags & _ON_LINK),
        _ip(family, found.get(_SOURCE)),
        hops is not None or _VIA in first,
    )


def put_route(route: TableRoute) -> Request:
    """Instead of one to that destination with that metric, if there is one."""
    subject = f"set the route to {route.destination}" + (f" via {route.gateway}" if route.gateway else "")
    return Request(NEW_ROUTE, _CREATE | _REPLACE, _body(route, route.scope), subject)


def drop_route(route: TableRoute) -> Request:
    """Just this one, not another one to the same destination."""
    if route.several:
        route = route._replace(gateway=None, interface=None, on_link=False)
    return Request(DELETED_ROUTE, 0, _body(route, _ANY_SCOPE), f"delete the route to {route.destination}")


def _body(route: TableRoute, scope: int) -> bytes:
    destination = route.destination
    family = socket.AF_INET if destination.version == 4 else socket.AF_INET6
    flags = _ON_LINK if route.on_link else 0
    head = ROUTE_HEADER.pack(family, destination.prefixlen, 0, 0, MAIN_TABLE, route.protocol, scope, route.kind, flags)
    return (
        head
        + attribute(ROUTE_DESTINATION, destination.network_address.packed)
        + (attribute(_GATEWAY, route.gateway.packed) if route.gateway else b"")
        + (attribute(_INTERFACE, struct.pack("=I", route.interface)) if route.interface else b"")
        + (attribute(_SOURCE, route.source.packed) if route.source else b"")
        + (attribute(ROUTE_METRIC, struct.pack("=I", route.metric)) if route.metric else b"")
    )


def _ip(family: int, data: bytes | None) -> IP | None:
    if data is None:
        return None
    return IPv4Address(data) if family == socket.AF_INET else IPv6Address(data)


def _network(family: int, data: bytes | None, length: int) -> Network | None:
    if family == socket.AF_INET:
        return IPv4Network((data or bytes(4), length), strict=False)
    return IPv6Network((data or bytes(16), length), strict=False) if family == socket.AF_INET6 else None

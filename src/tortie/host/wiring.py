"""Changes of links, addresses, routes and neighbours, each written as a message for the kernel.

Nothing happens here: `Netlink.request_all` carries the messages out, many at once, in the network namespace of the
thread that opened that socket. A link is named by its index, or, where the kernel allows it, by its name.
"""

from __future__ import annotations

import errno
import socket
import struct
from functools import lru_cache
from typing import Final

from tortie.host.links import (
    ADDRESS_HEADER,
    ADDRESS_LOCAL,
    ADDRESS_OTHER_END,
    DELETED_ADDRESS,
    DELETED_LINK,
    DELETED_ROUTE,
    LINK_HEADER,
    LINK_MAC,
    LINK_MASTER,
    LINK_MTU,
    LINK_NAME,
    NEW_ADDRESS,
    NEW_LINK,
    NEW_ROUTE,
    ROUTE_DESTINATION,
    ROUTE_HEADER,
    ROUTE_METRIC,
    UP,
)
from tortie.host.netlink import Message, Netlink, Request, attribute, attributes_in
from tortie.model.network import CIDR, IP, MAIN_TABLE, Network

_NEW_NEIGHBOUR, _DELETED_NEIGHBOUR, _GET_NEIGHBOUR = 28, 29, 30

_REPLACE, _EXCLUSIVE, _CREATE = 0x100, 0x200, 0x400

_LINK_INFO, _LINK_NAMESPACE, _INFO_KIND, _INFO_DATA = 18, 28, 1, 2
_VETH_PEER: Final = 1
_BRIDGE_FORWARD_DELAY, _BRIDGE_STP = 1, 5

_NO_DUPLICATE_DETECTION: Final = 0x2  # of an address of IPv6: usable at once

_ROUTE_INTERFACE, _ROUTE_GATEWAY = 4, 5
_ON_LINK: Final = 4  # the gateway is behind the link, whatever its network says
_UNICAST, _BLACKHOLE = 1, 6
_EVERYWHERE, _THIS_LINK, _ANY_SCOPE = 0, 253, 255
STATIC: Final = 4  # a route's protocol: an administrator's

_NEIGHBOUR_HEADER: Final = struct.Struct("=BxxxiHBB")  # family, index, state, flags, kind
_NEIGHBOUR_IP, _NEIGHBOUR_MAC = 1, 2
_PERMANENT: Final = 0x80

# What the kernel says, for one thing or another, when it was there already, or was gone.
THERE: Final = (errno.EEXIST,)
GONE: Final = (errno.ENODEV, errno.ENOENT, errno.ESRCH, errno.EADDRNOTAVAIL)


def even_if_there(request: Request) -> Request:
    """The request is fulfilled, too, if such a thing exists, whatever it looks like."""
    return request._replace(tolerated=THERE)


def even_if_gone(request: Request) -> Request:
    return request._replace(tolerated=GONE)


def add_veth(
    name: str,
    peer: str,
    namespace: int,
    *,
    mac: str = "",
    peer_mac: str = "",
    mtu: int = 1500,
    master: int | None = None,
    up: bool = True,
) -> Request:
    """A cable from here into the namespace that the descriptor stands for. Without MACs the kernel makes them up.

    The other end is down, because the kernel cannot bring it up before both exist.
    """
    there = LINK_HEADER.pack(0, 0, 0, 0, 0) + _properties(name=peer, mac=peer_mac, mtu=mtu)
    there += attribute(_LINK_NAMESPACE, struct.pack("=I", namespace))
    here = _link_header(0, up or None) + _properties(name=name, mac=mac, mtu=mtu, master=master)
    body = here + _info("veth", attribute(_VETH_PEER, there))
    return Request(NEW_LINK, _CREATE | _EXCLUSIVE, body, f"add the cable from {name} to {peer}")


def add_bridge(name: str, *, up: bool = True) -> Request:
    """A switch that forwards at once: without spanning tree there is no loop that a port would have to listen for."""
    settings = attribute(_BRIDGE_FORWARD_DELAY, struct.pack("=I", 0)) + attribute(_BRIDGE_STP, struct.pack("=I", 0))
    body = _link_header(0, up or None) + _properties(name=name) + _info("bridge", settings)
    return Request(NEW_LINK, _CREATE | _EXCLUSIVE, body, f"add the bridge {name}")


def set_link(
    link: int | str, *, up: bool | None = None, name: str = "", master: int | None = None, mtu: int = 0
) -> Request:
    """Only what is given changes; a `master` of 0 sets the link free. A new name needs the link's index."""
    if isinstance(link, str):
        assert not name, "the kernel would take the new name for the one to look for"
        body = _link_header(0, up) + _properties(name=link, master=master, mtu=mtu)
    else:
        body = _link_header(link, up) + _properties(name=name, master=master, mtu=mtu)
    return Request(NEW_LINK, 0, body, f"change the link {link}")


def delete_link(link: int | str) -> Request:
    """The other end of a cable goes with it."""
    index, name = (0, _named(link)) if isinstance(link, str) else (link, b"")
    return Request(DELETED_LINK, 0, _link_header(index, None) + name, f"delete the link {link}")


def add_address(index: int, cidr: CIDR) -> Request:
    return Request(NEW_ADDRESS, _CREATE | _EXCLUSIVE, _address(index, cidr), f"add the address {cidr}")


def delete_address(index: int, cidr: CIDR) -> Request:
    return Request(DELETED_ADDRESS, 0, _address(index, cidr), f"delete the address {cidr}")


def add_route(
    destination: Network,
    *,
    via: IP | None = None,
    index: int | None = None,
    on_link: bool = False,
    metric: int = 0,
    protocol: int = STATIC,
    replace: bool = False,
) -> Request:
    """Without gateway and link it is a blackhole. `replace`: instead of one to that destination with that metric."""
    if via is None and index is None:
        kind, scope = _BLACKHOLE, _EVERYWHERE
    else:
        kind, scope = _UNICAST, _EVERYWHERE if via or destination.version == 6 else _THIS_LINK
    flags = _ON_LINK if on_link else 0
    body = _route(destination, kind, scope, protocol, flags, via, index, metric)
    done = "replace" if replace else "add"
    subject = f"{done} the route to {destination}" + (f" via {via}" if via else "")
    return Request(NEW_ROUTE, _CREATE | (_REPLACE if replace else _EXCLUSIVE), body, subject)


def delete_route(destination: Network, *, via: IP | None = None, index: int | None = None, metric: int = 0) -> Request:
    """The first one that fits what is given."""
    body = _route(destination, 0, _ANY_SCOPE, 0, 0, via, index, metric)
    return Request(DELETED_ROUTE, 0, body, f"delete the route to {destination}")


def set_neighbour(index: int, ip: IP, mac: str) -> Request:
    """A permanent entry, in the place of any other for that address.

    It never expires, and does not count towards the limit that all namespaces of a machine share.
    """
    family, attributes, subject = _neighbour(ip, mac)
    body = _NEIGHBOUR_HEADER.pack(family, index, _PERMANENT, 0, 0) + attributes
    return Request(_NEW_NEIGHBOUR, _CREATE | _REPLACE, body, subject)


def delete_neighbour(index: int, ip: IP) -> Request:
    body = _NEIGHBOUR_HEADER.pack(_family(ip), index, 0, 0, 0) + attribute(_NEIGHBOUR_IP, ip.packed)
    return Request(_DELETED_NEIGHBOUR, 0, body, f"delete the neighbour {ip}")


def permanent_neighbours(kernel: Netlink, deadline: float) -> frozenset[tuple[int, bytes, str]]:
    """Index of the link, packed address, MAC."""
    told = kernel.dump(_GET_NEIGHBOUR, _NEIGHBOUR_HEADER.pack(0, 0, 0, 0, 0), "the neighbours", deadline)
    return frozenset(entry for message in told if (entry := _neighbour_in(message)))


def _neighbour_in(message: Message) -> tuple[int, bytes, str] | None:
    if message.kind != _NEW_NEIGHBOUR or len(message.body) < _NEIGHBOUR_HEADER.size:
        return None
    family, index, state, _, _ = _NEIGHBOUR_HEADER.unpack_from(message.body)
    found = attributes_in(message.body, _NEIGHBOUR_HEADER.size)
    if family not in (socket.AF_INET, socket.AF_INET6) or not state & _PERMANENT or _NEIGHBOUR_IP not in found:
        return None
    return index, found[_NEIGHBOUR_IP], found.get(_NEIGHBOUR_MAC, b"").hex(":")


@lru_cache(maxsize=4096)
def _neighbour(ip: IP, mac: str) -> tuple[int, bytes, str]:
    """Remembered, because in a mesh every machine has the same neighbours."""
    attributes = attribute(_NEIGHBOUR_IP, ip.packed) + attribute(_NEIGHBOUR_MAC, _mac(mac))
    return _family(ip), attributes, f"set the neighbour {ip}"


def _link_header(index: int, up: bool | None) -> bytes:
    return LINK_HEADER.pack(0, 0, index, UP if up else 0, 0 if up is None else UP)


def _properties(*, name: str = "", mac: str = "", mtu: int = 0, master: int | None = None) -> bytes:
    return (
        (_named(name) if name else b"")
        + (attribute(LINK_MAC, _mac(mac)) if mac else b"")
        + (attribute(LINK_MTU, struct.pack("=I", mtu)) if mtu else b"")
        + (attribute(LINK_MASTER, struct.pack("=I", master)) if master is not None else b"")
    )


def _named(name: str) -> bytes:
    return attribute(LINK_NAME, name.encode() + b"\0")


def _info(kind: str, data: bytes) -> bytes:
    return attribute(_LINK_INFO, attribute(_INFO_KIND, kind.encode()) + attribute(_INFO_DATA, data))


def _address(index: int, cidr: CIDR) -> bytes:
    flags = _NO_DUPLICATE_DETECTION if cidr.version == 6 else 0
    head = ADDRESS_HEADER.pack(_family(cidr.ip), cidr.network.prefixlen, flags, _EVERYWHERE, index)
    return head + attribute(ADDRESS_LOCAL, cidr.ip.packed) + attribute(ADDRESS_OTHER_END, cidr.ip.packed)


def _route(
    destination: Network,
    kind: int,
    scope: int,
    protocol: int,
    flags: int,
    via: IP | None,
    index: int | None,
    metric: int,
) -> bytes:
    family = _family(destination.network_address)
    length = destination.prefixlen
    return (
        ROUTE_HEADER.pack(family, length, 0, 0, MAIN_TABLE, protocol, scope, kind, flags)
        + attribute(ROUTE_DESTINATION, destination.network_address.packed)
        + (attribute(_ROUTE_GATEWAY, via.packed) if via else b"")
        + (attribute(_ROUTE_INTERFACE, struct.pack("=I", index)) if index else b"")
        + (attribute(ROUTE_METRIC, struct.pack("=I", metric)) if metric else b"")
    )


def _family(ip: IP) -> int:
    return socket.AF_INET if ip.version == 4 else socket.AF_INET6


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))

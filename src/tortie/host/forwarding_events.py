"""News from the kernel for whoever keeps routes, neighbours, tunnels and NAT as they shall be: look again.

Besides all changes of links and addresses, these count:

* routes, unless written by BIRD, by the kernel itself or by a router's advertisement. BIRD writes thousands, and the
  kernel itself leaves news about them out, so that they wake nobody;
* neighbours and forwarding entries of the links that are being watched, if permanent or deleted.

`TableEvents` is the same for one table of nftables.
"""

from __future__ import annotations

import array
import socket
import struct
from collections.abc import Container
from typing import Final

from tortie.host.events import Events
from tortie.host.links import DELETED_ADDRESS, DELETED_LINK, DELETED_ROUTE, NEW_ADDRESS, NEW_LINK, NEW_ROUTE
from tortie.host.netlink import Message, Netlink
from tortie.host.nftables import NEWS_GROUP, concerns, open_netfilter
from tortie.host.route_table import ADVERTISED, BIRD, KERNEL

# links; neighbours; addresses and routes of IPv4; the same of IPv6
_GROUPS: Final = 0x1 | 0x4 | 0x10 | 0x40 | 0x100 | 0x400
_NEW_NEIGHBOUR, _DELETED_NEIGHBOUR = 28, 29
_NEIGHBOUR_HEADER: Final = struct.Struct("=BxxxiHBB")
_PERMANENT: Final = 0x80
_ATTACH_FILTER: Final = 26


class ForwardingEvents(Events):
    """`watched` holds the indexes of links; it may change at any time."""

    def __init__(self, watched: Container[int]) -> None:
        self._kernel = Netlink(_GROUPS)
        self._kernel.socket.setblocking(False)
        _leave_out(self._kernel.socket, (KERNEL, ADVERTISED, BIRD))
        self._told, self._told_routes = {}, {}
        self._watched = watched

    def _matters(self, message: Message) -> bool:
        if message.kind in (NEW_LINK, DELETED_LINK, NEW_ADDRESS, DELETED_ADDRESS):
            return super()._matters(message)
        if message.kind in (NEW_ROUTE, DELETED_ROUTE):
            return True
        if message.kind in (_NEW_NEIGHBOUR, _DELETED_NEIGHBOUR) and len(message.body) >= _NEIGHBOUR_HEADER.size:
            _, index, state, _, _ = _NEIGHBOUR_HEADER.unpack_from(message.body)
            return index in self._watched and (message.kind == _DELETED_NEIGHBOUR or bool(state & _PERMANENT))
        return False


class TableEvents(Events):
    """News about one table of nftables."""

    def __init__(self, table: str) -> None:
        self._kernel = open_netfilter(NEWS_GROUP)
        self._kernel.socket.setblocking(False)
        self._told, self._told_routes = {}, {}
        self._table = table

    def _matters(self, message: Message) -> bool:
        return concerns(message, self._table)


def _leave_out(listener: socket.socket, protocols: tuple[int, ...]) -> None:
    """A program of the kernel's packet filter. A saving only: without it the news are read, and count."""
    load_half, load_byte, equal, verdict = 0x28, 0x30, 0x15, 0x06
    kind_at, protocol_at = 4, 21  # in the message's header; in the route's
    steps = [
        (load_half, 0, 0, kind_at),
        (equal, 1, 0, socket.htons(NEW_ROUTE)),
        (equal, 0, 1 + len(protocols), socket.htons(DELETED_ROUTE)),
        (load_byte, 0, 0, protocol_at),
        *((equal, len(protocols) - place, 0, number) for place, number in enumerate(protocols)),
        (verdict, 0, 0, 0xFFFFFFFF),
        (verdict, 0, 0, 0),
    ]
    program = array.array("B", b"".join(struct.pack("=HBBI", *step) for step in steps))
    address, _ = program.buffer_info()
    try:
        listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(steps), address))
    except OSError:
        return

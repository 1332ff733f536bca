"""News from the kernel: something about links, addresses or default routes is not as it was.

News say only "look again"; what is there now, `tortie.host.links.observe` tells. What counts:

* every change of a link or an address. The same link told again with nothing changed does not count: bridges,
  wireless drivers and router advertisements that prolong an address repeat themselves all the time;
* default routes, because an address is chosen by them. No other route counts: a BGP daemon on a large cluster
  brings and takes thousands, one for each block of pod addresses, and none says where this machine's address is.
"""

from __future__ import annotations

import array
import errno
import select
import socket
import struct
import time
from collections.abc import Hashable
from types import TracebackType
from typing import Final

from tortie.host.links import (
    ADDRESS_FLAGS,
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
    LINK_PARENT,
    LINK_STATE,
    LOCAL_TABLE,
    NEW_ADDRESS,
    NEW_LINK,
    NEW_ROUTE,
    REMEMBERED,
    ROUTE_HEADER,
    ROUTE_METRIC,
    ROUTE_TABLE,
)
from tortie.host.netlink import Message, Netlink, NetlinkError, attributes_in, messages_in

_GROUPS: Final = 0x1 | 0x10 | 0x40 | 0x100 | 0x400  # links; addresses and routes of IPv4; the same of IPv6
_BUFFER: Final = 1 << 18
_DATAGRAMS_MAX: Final = 10_000  # at one go, so that a storm of news cannot keep an event loop from everything else
_ATTACH_FILTER: Final = 26

_WATCHING: Final = 0x100 | 0x200  # flags of a link that a packet capture sets and takes back
_LINK_FACTS: Final = (LINK_NAME, LINK_MAC, LINK_MTU, LINK_PARENT, LINK_MASTER, LINK_STATE)
_EXPIRY: Final = frozenset({12, 23})  # attributes of a route that only count the time


class Events:
    """A subscription, from now on. For an event loop: when `fileno()` is readable, call `drain()`."""

    def __init__(self) -> None:
        self._kernel = Netlink(_GROUPS)
        self._kernel.socket.setblocking(False)
        _leave_out_other_routes(self._kernel.socket)
        # What was last told of each thing. News about routes cannot be compared over a change of a link or an
        # address, which makes the kernel drop routes without a word.
        self._told: dict[Hashable, bytes] = {}
        self._told_routes: dict[Hashable, bytes] = {}

    def __enter__(self) -> Events:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._kernel.close()

    def fileno(self) -> int:
        return self._kernel.socket.fileno()

    def drain(self) -> bool:
        """Takes all news that are there, without waiting. Whether any of them could matter."""
        heard = False
        for _ in range(_DATAGRAMS_MAX):
            try:
                datagram, sender = self._kernel.socket.recvfrom(_BUFFER)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise _lost(error) from None
                # There were more news than room: any of them may have mattered, and what we were told is outdated.
                self._told.clear()
                self._told_routes.clear()
                heard = True
                continue
            if sender[0] == 0:
                for message in messages_in(datagram):
                    heard = self._matters(message) or heard
        return heard

    def wait(self, timeout_s: float) -> bool:
        """Blocks until something was heard that could matter, or the time is up. Whether something was."""
        deadline = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        while not self.drain():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            poll.poll(left * 1000)
        return True

    def _matters(self, message: Message) -> bool:
        if message.kind in (NEW_ROUTE, DELETED_ROUTE):
            return self._route_matters(message)
        if message.kind in (NEW_LINK, DELETED_LINK):
            told = _link_told(message)
        elif message.kind in (NEW_ADDRESS, DELETED_ADDRESS):
            told = _address_told(message)
        else:
            return False
        if told is None:
            return False
        thing, fact = told
        if message.kind in (DELETED_LINK, DELETED_ADDRESS):
            self._told.pop(thing, None)
        elif self._told.get(thing) == fact:
            return False
        else:
            self._told[thing] = fact
        self._told_routes.clear()
        return True

    def _route_matters(self, message: Message) -> bool:
        told = _default_route_told(message)
        if told is None:
            return False
        thing, fact = told
        if message.kind == DELETED_ROUTE:
            self._told_routes.pop(thing, None)
            return True
        known, self._told_routes[thing] = self._told_routes.get(thing), fact
        return known != fact


def _link_told(message: Message) -> tuple[Hashable, bytes] | None:
    """Which link, and what about it could matter."""
    if len(message.body) < LINK_HEADER.size:
        return None
    family, _, index, flags, _ = LINK_HEADER.unpack_from(message.body)
    if family != socket.AF_UNSPEC:  # what a bridge says about its ports: its own affairs
        return None
    found = attributes_in(message.body, LINK_HEADER.size)
    facts = [struct.pack("=I", flags & ~_WATCHING), *(found.get(kind, b"") for kind in _LINK_FACTS)]
    return ("link", index), b"|".join(facts)


def _address_told(message: Message) -> tuple[Hashable, bytes] | None:
    """Which address, and what about it could matter: all but how long it is still valid."""
    if len(message.body) < ADDRESS_HEADER.size:
        return None
    family, length, flags, scope, index = ADDRESS_HEADER.unpack_from(message.body)
    found = attributes_in(message.body, ADDRESS_HEADER.size)
    thing = ("address", index, family, length, found.get(ADDRESS_LOCAL), found.get(ADDRESS_OTHER_END))
    return thing, found.get(ADDRESS_FLAGS, b"") + bytes((flags, scope))


def _default_route_told(message: Message) -> tuple[Hashable, bytes] | None:
    """Which default route, and all about it; None for other routes."""
    if len(message.body) < ROUTE_HEADER.size:
        return None
    family, length, _, service, table, *_, flags = ROUTE_HEADER.unpack_from(message.body)
    if length or table == LOCAL_TABLE or flags & REMEMBERED:
        return None
    found = attributes_in(message.body, ROUTE_HEADER.size)
    thing = (family, service, found.get(ROUTE_TABLE), found.get(ROUTE_METRIC))
    facts = (struct.pack("=H", kind) + value for kind, value in sorted(found.items()) if kind not in _EXPIRY)
    return thing, message.body[: ROUTE_HEADER.size] + b"|".join(facts)


def _leave_out_other_routes(listener: socket.socket) -> None:
    """Lets the kernel itself drop news about routes that are not default routes, so that they wake nobody.

    A program of the kernel's packet filter. It is a saving only: without it the news are read and thrown away.
    """
    load_half, load_byte, equal, verdict = 0x28, 0x30, 0x15, 0x06
    kind_at, length_at = 4, 17  # in the message's header; in the route's: how long the destination's prefix is
    program = (
        (load_half, 0, 0, kind_at),
        (equal, 1, 0, socket.htons(NEW_ROUTE)),  # skip one step if equal, none if not
        (equal, 0, 2, socket.htons(DELETED_ROUTE)),
        (load_byte, 0, 0, length_at),
        (equal, 0, 1, 0),
        (verdict, 0, 0, 0xFFFFFFFF),
        (verdict, 0, 0, 0),
    )
    steps = array.array("B", b"".join(struct.pack("=HBBI", *step) for step in program))
    address, _ = steps.buffer_info()
    try:
        listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(program), address))
    except OSError:
        return


def _lost(error: OSError) -> NetlinkError:
    return NetlinkError(
        "cannot hear the kernel's news about its network",
        error.strerror or str(error),
        "restart the agent; it then listens anew",
    )

"""The kernel's nftables as far as we look at them ourselves: one table, its comment, and whether it was touched.

Tables are loaded by the program `nft`, which is the only one that knows their language. To find out whether a table is
still as it was loaded takes no language and no process: its chains, rules and sets are read as they are, and compared.
What rules have counted is left out of that.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from tortie.host.netlink import Message, Netlink, NetlinkError, attribute, attributes_in, text_in
from tortie.model.network import Family

_NETFILTER: Final = 12  # the protocol of the socket
_SUBSYSTEM: Final = 10 << 8
_GET_TABLE, _NEW_TABLE = _SUBSYSTEM | 1, _SUBSYSTEM | 0
_GET_CHAIN, _GET_RULE, _GET_SET, _GET_ELEMENTS = (_SUBSYSTEM | number for number in (4, 7, 10, 13))
_HEAD: Final = struct.Struct("=BBH")  # family, version, resource
_FAMILIES: Final[dict[Family, int]] = {4: socket.AF_INET, 6: socket.AF_INET6}

_TABLE_NAME, _TABLE_USERDATA = 1, 6
_CHAIN_TABLE, _CHAIN_HANDLE, _CHAIN_NAME, _CHAIN_HOOK, _CHAIN_POLICY = 1, 2, 3, 4, 5
_RULE_TABLE, _RULE_CHAIN, _RULE_HANDLE, _RULE_USERDATA = 1, 2, 3, 7
_SET_TABLE, _SET_NAME = 1, 2
_ELEMENTS_TABLE, _ELEMENTS_SET, _ELEMENTS = 1, 2, 3
_COMMENT: Final = 0  # in what nft keeps beside a table for itself

NEWS_GROUP: Final = 1 << 6  # nftables; the first group has the lowest bit


class Table(NamedTuple):
    """As it is in the kernel."""

    comment: str
    rules: int
    fingerprint: str  # another one as soon as somebody changes a chain, a rule or a set, or loads it again


def open_netfilter(groups: int = 0) -> Netlink:
    return Netlink(groups, _NETFILTER)


def read_table(kernel: Netlink, family: Family, name: str, deadline: float) -> Table | None:
    """None if there is no such table, or this kernel has no nftables at all."""
    head = _HEAD.pack(_FAMILIES[family], 0, 0)
    try:
        tables = kernel.dump(_GET_TABLE, head, "the nftables", deadline)
    except NetlinkError as error:
        if error.number in (errno.EOPNOTSUPP, errno.EINVAL, errno.EPROTONOSUPPORT):
            return None
        raise
    mine = [found for message in tables if text_in((found := _found(message)).get(_TABLE_NAME)) == name]
    if not mine:
        return None
    facts = list(_chains(kernel, head, name, deadline))
    rules = list(_rules(kernel, head, name, deadline))
    facts += rules
    facts += _sets(kernel, head, name, deadline)
    return Table(_comment(mine[0].get(_TABLE_USERDATA, b"")), len(rules), sha256(b"\n".join(facts)).hexdigest())


def concerns(message: Message, name: str) -> bool:
    """Whether news are about that table or something in it: all of them name it first."""
    return message.kind & ~0xFF == _SUBSYSTEM and text_in(_found(message).get(_TABLE_NAME)) == name


def _chains(kernel: Netlink, head: bytes, table: str, deadline: float) -> Iterator[bytes]:
    for message in kernel.dump(_GET_CHAIN, head, "the chains of nftables", deadline):
        found = _found(message)
        if text_in(found.get(_CHAIN_TABLE)) == table:
            yield b"chain" + b"|".join(
                found.get(kind, b"") for kind in (_CHAIN_NAME, _CHAIN_HANDLE, _CHAIN_HOOK, _CHAIN_POLICY)
            )


def _rules(kernel: Netlink, head: bytes, table: str, deadline: float) -> Iterator[bytes]:
    body = head + attribute(_RULE_TABLE, table.encode() + b"\0")
    for message in kernel.dump(_GET_RULE, body, "the rules of nftables", deadline):
        found = _found(message)
        if text_in(found.get(_RULE_TABLE)) == table:
            yield b"rule" + b"|".join(found.get(kind, b"") for kind in (_RULE_CHAIN, _RULE_HANDLE, _RULE_USERDATA))


def _sets(kernel: Netlink, head: bytes, table: str, deadline: float) -> Iterator[bytes]:
    named = attribute(_SET_TABLE, table.encode() + b"\0")
    for message in kernel.dump(_GET_SET, head + named, "the sets of nftables", deadline):
        found = _found(message)
        if text_in(found.get(_SET_TABLE)) != table:
            continue
        name = found.get(_SET_NAME, b"")
        yield b"set" + name
        body = head + attribute(_ELEMENTS_TABLE, table.encode() + b"\0") + attribute(_ELEMENTS_SET, name)
        for elements in kernel.dump(_GET_ELEMENTS, body, "a set of nftables", deadline):
            yield b"elements" + _found(elements).get(_ELEMENTS, b"")


def _found(message: Message) -> dict[int, bytes]:
    return attributes_in(message.body, _HEAD.size)


def _comment(userdata: bytes) -> str:
    """nft writes kind, length and text, one after the other, each kind and length in a byte."""
    place = 0
    while place + 2 <= len(userdata):
        kind, length = userdata[place], userdata[place + 1]
        if kind == _COMMENT:
            return text_in(userdata[place + 2 : place + 2 + length])
        place += 2 + length
    return ""

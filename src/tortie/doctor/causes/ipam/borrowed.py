"""Tunnel addresses that a node has out of another node's block, and how many blocks a pool has left.

A node without a block of its own borrows addresses. For pods that is mended by routes to single addresses; what is sent
to a borrowed tunnel address goes to the owner of the block, so that the node sends, and no answer finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.agent.counting import Count, answers
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Interface, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_TUNNELS: Final = ("tunl0", "vxlan.calico", "wireguard.cali")
_ANNOTATIONS: Final = (
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
)
_ROW: Final = lazily(
    r"^\| *([\d.]{7,15}) *\| *([\w.-]+) *\| *([\d./]{9,18}) *\| *([\w.-]+) *\| *([^|]{0,60})\|([^|]{0,90})"
)
_NOTED: Final = lazily(r"IPv4(?:VXLAN|IPIP)TunnelAddr\"?[:=] *\"?((?:\d{1,3}\.){3}\d{1,3})")
_NODE: Final = lazily(r"\s{0,40}(?:Name|\"?kubernetes\.io/hostname\"?)[:=]\s{0,40}\"?([a-z0-9][a-z0-9.-]{0,252})\"?,?$")
_LINES: Final = 400
_PLAIN: Final = lazily(r"\bget\s+(?:\S{1,60} )?blockaffinit\S*(?: -o wide)?$")


class Tunnel(NamedTuple):
    """A node's tunnel address, as a link or a record shows it."""

    address: str
    node: str
    place: Place


class Borrowed(NamedTuple):
    """A tunnel address, the block it is out of, and what shows whose that is."""

    address: str
    node: str
    block: str
    owner: str  # empty where only the way to it is shown
    places: tuple[Place, ...]


def tunnels(picture: Picture) -> list[Tunnel]:
    links = [link for link in picture.of(Interface) if link.name in _TUNNELS]
    found = [Tunnel(a.split("/")[0], link.host, link.place) for link in links for a in link.addresses if ":" not in a]
    for node in picture.nodes_now().values():
        noted = (node.annotation(key) for key in _ANNOTATIONS)
        found += [Tunnel(address, node.name, node.place) for address in noted if address]
    found += _greped(picture)
    return list({(one.address, one.node): one for one in reversed(found)}.values())[::-1]


def _greped(picture: Picture) -> Iterator[Tunnel]:
    """Nodes of which `grep` left the names and the tunnel addresses, one of each."""
    for exhibit in picture.exhibits:
        if exhibit.prose or "TunnelAddr" not in exhibit.text:
            continue
        lines = list(enumerate(exhibit.lines[:_LINES]))
        noted = [(index, match[1]) for index, line in lines if (match := _NOTED.search(line))]
        names = [match[1] for _, line in lines if (match := _NODE.match(line))]
        if len(names) == len(noted):
            yield from (Tunnel(a, name, exhibit.place(i)) for (i, a), name in zip(noted, names, strict=True))


def borrowed(picture: Picture, block_size: int) -> list[Borrowed]:
    known = tunnels(picture)
    return [*listed(picture), *_by_routes(picture, known), *_beside(known, block_size)]


def listed(picture: Picture, tunnels_only: bool = True) -> Iterator[Borrowed]:
    """Rows of `calicoctl ipam show --show-borrowed`, of tunnels or of pods."""
    for exhibit in picture.exhibits:
        if "BORROWING" not in exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines):
            row = _ROW.match(line.strip())
            tunnel = row is not None and "tunnel" in (row[5] + row[6]).lower()
            if row and tunnel == tunnels_only and row[2] != row[4]:
                yield Borrowed(row[1], row[2], row[3], row[4], (exhibit.place(index),))


def _by_routes(picture: Picture, known: list[Tunnel]) -> Iterator[Borrowed]:
    """Other nodes send the whole block to somebody else."""
    blocks = [r for r in picture.of(Route) if r.via and _is_block(r.destination) and not r.kind]
    for one in known:
        own = {one.address, picture.internal_ips().get(one.node, "")}
        links = [link for link in picture.of(Interface) if one.node and link.host == one.node]
        own |= {a.split("/")[0] for link in links for a in link.addresses}
        for route in blocks:
            if not inside(one.address, route.destination) or route.host == one.node or route.via in own:
                continue
            tunnelled = inside(route.via, route.destination)  # VXLAN leads to the owner's tunnel, BGP to its address
            if tunnelled or len(own - {"", one.address}) > 0:
                owner = next((other.node for other in known if other.address == route.via), "")
                yield Borrowed(one.address, one.node, route.destination, owner, (one.place, route.place))


def _beside(known: list[Tunnel], block_size: int) -> Iterator[Borrowed]:
    """Two nodes in one block: the lower address is its owner's, who took it when the block was new."""
    for one in known:
        for other in known:
            if not one.node or not other.node or one.node == other.node or one.address == other.address:
                continue
            if inside(one.address, f"{other.address}/{block_size}") and _last(one.address) > _last(other.address):
                block = f"{other.address}/{block_size}"
                yield Borrowed(one.address, one.node, block, other.node, (one.place, other.place))


def _last(address: str) -> int:
    return int(address.rpartition(".")[2])


def _is_block(destination: str) -> bool:
    length = destination.partition("/")[2]
    return length.isdecimal() and 20 <= int(length) <= 31 and ":" not in destination


def affinities(picture: Picture) -> Count | None:
    """How many blocks have an owner: counted, without the head of the table, or listed."""
    counts = [
        (command, count) for command, count in answers(picture) if "blockaffinit" in command and "comm " not in command
    ]
    for command, count in reversed(counts):
        headed = "wc -l" in command and not any(
            w in command for w in ("no-headers", "grep", "tail -n +2", "-o name", "NR>1")
        )
        headed = headed and "jsonpath" not in command and "custom-columns" not in command
        return Count(count.value - headed, count.place)
    for exhibit in picture.exhibits:
        if _PLAIN.search(exhibit.command):
            rows = [line for line in exhibit.lines if line.strip() and not line.startswith(("NAME", "No resources"))]
            return Count(len(rows), exhibit.place(0, len(exhibit.lines))) if rows else None
    return None

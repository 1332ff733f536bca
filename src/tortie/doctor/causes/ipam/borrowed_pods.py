"""Pods with addresses out of another node's block: that node drops what its own pods send to them.

Where a pool has no block left, a node takes single addresses out of the blocks of others. The owner of a block has a
black hole for all of it; only a route to the single address, longer than that of the block, leads past it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.ipam.borrowed import listed
from tortie.doctor.causes.ipam.cluster_ranges import network_of
from tortie.doctor.picture.facts import Route
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_ENDS: Final = ("blackhole", "unreachable")
_ASKED_FOR: Final = "cni.projectcalico.org/ipAddrs"  # somebody wanted that address on that node


class BorrowedPod(NamedTuple):
    """A pod's address, the block it is out of, and whether its node has any block of its own."""

    address: str
    node: str
    block: str
    owner: str
    homeless: bool
    places: tuple[Place, ...]
    dropped: bool = True  # the owner is seen to have a black hole, and no route to the address


def borrowed_pods(picture: Picture) -> list[BorrowedPod]:
    """As the tables of two machines show them, or as IPAM lists them: with routes of their own these are well."""
    rows = [BorrowedPod(r.address, r.node, r.block, r.owner, False, r.places, False) for r in listed(picture, False)]
    return _routed(picture) or rows


def _routed(picture: Picture) -> list[BorrowedPod]:
    routes = [route for route in picture.of(Route) if not route.host.startswith(OF_POD)]
    blocks = [route for route in routes if _is_block(route)]
    if not blocks or any(_ASKED_FOR in exhibit.text for exhibit in picture.exhibits):
        return []
    by_length: dict[str, dict[str, list[Route]]] = {}
    for block in blocks:
        network = network_of(block.destination)
        if network is not None:
            by_length.setdefault(str(network.prefixlen), {}).setdefault(str(network), []).append(block)
    return [one for route in routes if _of_a_pod(route) for one in _borrowed(picture, route, by_length, routes)]


def _is_block(route: Route) -> bool:
    length = route.destination.partition("/")[2]
    return route.kind in _ENDS and length.isdecimal() and 20 <= int(length) <= 30 and ":" not in route.destination


def _of_a_pod(route: Route) -> bool:
    single = "/" not in route.destination or route.destination.endswith("/32")
    return single and route.device.startswith("cali") and not route.via and ":" not in route.destination


def _borrowed(
    picture: Picture, route: Route, by_length: dict[str, dict[str, list[Route]]], routes: list[Route]
) -> Iterator[BorrowedPod]:
    """`by_length`: the blocks by the length of their networks and by these; a cluster has as many as nodes."""
    address = route.destination.partition("/")[0]
    around = [
        block
        for length, of_network in by_length.items()
        for block in of_network.get(str(network_of(f"{address}/{length}")), ())
    ]
    if not around or any(_one_table(picture, block, route) for block in around):
        return
    block = around[0]
    table = [other for other in routes if _one_table(picture, other, route)]
    owners = [other for other in routes if _one_table(picture, other, block)]
    if any(other.destination.partition("/")[0] == address for other in owners if other is not block):
        return  # a route of its own leads to it
    whole = any(other.destination == "default" or other.protocol == "kernel" for other in table)
    homeless = whole and not any(_is_block(other) for other in table)
    yield BorrowedPod(address, route.host, block.destination, block.host, homeless, (route.place, block.place))


def _one_table(picture: Picture, one: Route, other: Route) -> bool:
    """Of one machine; where nobody says whose a table is, at least of one list."""
    if one.host and other.host:
        return one.host == other.host
    return exhibit_at(picture, one.place) is exhibit_at(picture, other.place)

"""A machine's own network inside of a pool: Calico takes blocks out of it, and the machine loses whatever lies there.

A block is a route of its own, longer than that of the network: packets for the gateway, or for neighbours whose
addresses are in it, are dropped (`blackhole`) or go to pods and other nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Generic, TypeVar

from tortie.doctor.causes.ipam.cluster_ranges import network_of
from tortie.doctor.causes.underlay.traffic_evidence import leads, uplink
from tortie.doctor.picture.facts import Interface, Route
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

T = TypeVar("T")

_DEFAULT = ("default", "0.0.0.0/0", "::/0")
_BLOCKS = ("bird", "80")


class Swallowed(NamedTuple):
    """A block of pods' addresses inside of a machine's network."""

    block: Route
    other: str  # the gateway in the block, else the network that it lies in
    gateway: bool
    host: str
    place: Place  # what shows the gateway or the network


def swallowed(picture: Picture, ranges: list[str]) -> list[Swallowed]:
    """Those with the gateway first; `ranges` are of pools, since other programs have black holes, too."""
    routes = [route for route in picture.of(Route) if not route.host.startswith(OF_POD)]
    blocks = [route for route in routes if _is_block(route) and any(within(route.destination, r) for r in ranges)]
    if not blocks:
        return []
    gateways = ByHost((route.host, route) for route in routes if _is_gateway(route))
    networks = ByHost((host, (network, host, place)) for network, host, place in machine_networks(picture, routes))
    found = [one for block in blocks for one in _around(block, gateways, networks)]
    return sorted(found, key=lambda one: not one.gateway)


class ByHost(Generic[T]):
    """Things of machines: a cluster has as many machines as blocks, and each is looked at for each of the others."""

    def __init__(self, things: Iterable[tuple[str, T]]) -> None:
        self._all = list(things)
        self._places: dict[str, list[int]] = {}
        for place, (host, _) in enumerate(self._all):
            self._places.setdefault(host, []).append(place)

    def near(self, host: str) -> Iterator[T]:
        """Those of the machine, and those of which nobody knows whose they are; all where the machine is unknown."""
        if not host:
            return (thing for _, thing in self._all)
        places = sorted([*self._places.get(host, ()), *self._places.get("", ())])
        return (self._all[place][1] for place in places)


def _is_block(route: Route) -> bool:
    """What Felix and BIRD make of blocks and pods; the old tools show black holes as refused."""
    if route.kind in ("blackhole", "unreachable") or route.protocol in _BLOCKS:
        return "/" in route.destination
    return route.device.startswith("cali") and route.destination not in _DEFAULT


def _is_gateway(route: Route) -> bool:
    return route.destination in _DEFAULT and bool(route.via) and uplink(route.device)


def _around(block: Route, gateways: ByHost[Route], networks: ByHost[tuple[str, str, Place]]) -> Iterator[Swallowed]:
    for route in gateways.near(block.host):
        if leads(block, route.via):
            yield Swallowed(block, route.via, True, route.host or block.host, route.place)
    for network, host, place in networks.near(block.host):
        if within(block.destination, network):
            yield Swallowed(block, network, False, host or block.host, place)


def machine_networks(picture: Picture, routes: list[Route]) -> Iterator[tuple[str, str, Place]]:
    """The networks that machines are on, by their routes and by their links."""
    for route in routes:
        direct = route.device and not route.via and not route.kind and uplink(route.device)
        if (
            direct
            and route.protocol in ("kernel", "")
            and "/" in route.destination
            and route.destination not in _DEFAULT
        ):
            yield route.destination, route.host, route.place
    for link in picture.interfaces():
        yield from ((network, link.host, link.place) for network in _of_link(link))


def _of_link(link: Interface) -> Iterator[str]:
    for address in link.addresses if uplink(link.name) else ():
        plain, _, length = address.partition("/")
        if length.isdecimal() and not plain.lower().startswith("fe80") and int(length) < (127 if ":" in plain else 31):
            network = network_of(address)  # masked and mistyped addresses are none
            if network is not None:
                yield str(network)


def within(inner: str, outer: str) -> bool:
    """Whether all of a network, or an address, lies in another one that is larger."""
    first, second = _network(inner), _network(outer)
    if first is None or second is None or first.version != second.version or second.prefixlen == 0:
        return False
    return first.prefixlen >= second.prefixlen and first != second and first.network_address in second


@lru_cache(maxsize=65_536)  # each block stands in the table of every node
def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None

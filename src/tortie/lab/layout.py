"""Where everything of a lab stands: its segments, the rack of each node, and every NIC's addresses.

Total and deterministic: it gives an answer for any topology, and says where there was no room; `tortie.lab.rules`
turns that into problems. A node keeps its addresses when others come or go, as far as its name tells its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Final, NamedTuple

from tortie.lab.forms import LabNetwork, LabNic, Topology
from tortie.lab.plan import Segment
from tortie.model.network import CIDR, IP, Family, Network

FABRIC: Final = "fabric"  # the segment of a lab without racks
SERVICES: Final = "services"  # with racks: where the stores are
STORES_MAX: Final = 3
_SMALL_FABRIC: Final = 240  # nodes with the numbers 1 to 240 fit into a /24 with room to spare
_NUMBER_MAX: Final = 1000
_NUMBERED: Final = re.compile(r"node-([1-9][0-9]{0,3})")


class Spot(NamedTuple):
    """A NIC of a node: 0 is eth0, the others follow in the order of the file."""

    node: int
    nic: int


class Layout(NamedTuple):
    segments: tuple[Segment, ...]  # those that the router connects first
    routed: int  # how many of them the router connects
    racks: tuple[str, ...]
    rack_of: tuple[str, ...]  # by node
    numbers: tuple[int, ...]  # by node: what its addresses and its block are made of
    segment_of: dict[Spot, str]
    addresses: dict[Spot, tuple[CIDR, ...]]  # IPv4 first
    without_room: tuple[tuple[str, Family], ...]  # segments, where some NIC got no address

    def segment(self, name: str) -> Segment:
        return next(segment for segment in self.segments if segment.name == name)


def lay_out(topology: Topology) -> Layout:
    racks, rack_of = _racks(topology)
    numbers = _dealt([_number(node.name) for node in topology.nodes], taken=(), last=len(topology.nodes) + _NUMBER_MAX)
    numbered = [number or 0 for number in numbers]
    routed = _routed_segments(topology, racks, max([*numbered, len(topology.nodes)]))
    segments = [*routed, *_extra_segments(topology, routed)]
    segment_of: dict[Spot, str] = {}
    for index, node in enumerate(topology.nodes):
        segment_of[Spot(index, 0)] = rack_of[index] or (SERVICES if racks else FABRIC)
        for place, nic in enumerate(node.nics, 1):
            segment_of[Spot(index, place)] = _segment_of(nic, segments)
    addresses, without_room = _addresses(topology, segments, len(routed), segment_of, numbered)
    return Layout(
        tuple(segments),
        len(routed),
        racks,
        rack_of,
        tuple(numbered),
        segment_of,
        addresses,
        tuple(dict.fromkeys(without_room)),
    )


def gateway(network: Network) -> IP:
    """The router's address: .254 of a /24."""
    return network[-2] if network.version == 4 else network[0xFFFE]


def store_address(network: Network, member: int) -> IP:
    """Of the first, second or third member: .251, .252, .253 of a /24."""
    return network[-6 + member] if network.version == 4 else network[0xFFFA + member]


def _implicit_network(nic: LabNic) -> IPv4Network | None:
    """The network of a NIC that names none, when its address says how large it is."""
    for address in nic.given.values():
        if isinstance(address, IPv4Interface) and address.network.prefixlen < 32:
            return address.network
    return None


def _racks(topology: Topology) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The racks there are, and each node's. Nodes that all leave it open are dealt out, neighbours together."""
    said = tuple(str(node.rack) for node in topology.nodes)
    racks = tuple(dict.fromkeys(str(rack) for rack in (*topology.racks, *said) if rack))
    if racks and not any(said):
        return racks, tuple(racks[index * len(racks) // len(said)] for index in range(len(said)))
    return racks, said


def _number(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found and int(found[1]) <= _NUMBER_MAX else None


def _dealt(wanted: Sequence[int | None], taken: Iterable[int], last: int) -> list[int | None]:
    """To each the number that it wants, if it can have it; then to the others the free ones from 1 on, in order."""
    used = set(taken)
    dealt: list[int | None] = []
    for number in wanted:
        fits = number is not None and 0 < number <= last and number not in used
        dealt.append(number if fits else None)
        if fits and number is not None:
            used.add(number)
    candidate = 1
    for index, number in enumerate(dealt):
        if number is None:
            while candidate in used:
                candidate += 1
            if candidate > last:
                break
            dealt[index] = candidate
            used.add(candidate)
    return dealt


def _routed_segments(topology: Topology, racks: Sequence[str], highest: int) -> list[Segment]:
    names = [SERVICES, *racks] if racks else [FABRIC]
    said = {str(network.name): network for network in reversed(topology.networks)}
    segments = []
    for index, name in enumerate(names):
        length = 16 if not racks and highest > _SMALL_FABRIC else 24
        network6 = IPv6Network((0xFD77 << 112 | index << 64, 64)) if topology.ipv6 else None
        own = Segment(name, IPv4Network((0x0A4D0000 | (index % 256) << 8, length)), network6)
        segments.append(_with_said(own, said.get(name)))
    return segments


def _with_said(segment: Segment, said: LabNetwork | None) -> Segment:
    if said is None:
        return segment
    network6 = (said.cidr6 or segment.network6) if segment.network6 else None
    return Segment(segment.name, said.cidr or segment.network, network6, said.mtu)


def _extra_segments(topology: Topology, routed: Sequence[Segment]) -> list[Segment]:
    """The networks of the file, and those that NICs without one need."""
    known = {segment.name for segment in routed}
    extra: dict[str, Segment] = {}
    for said in topology.networks:
        if said.name not in known and said.cidr:
            extra.setdefault(said.name, Segment(said.name, said.cidr, said.cidr6, said.mtu))
    for nic in (nic for node in topology.nodes for nic in node.nics):
        network = _implicit_network(nic)
        if network and not _segment_of(nic, [*routed, *extra.values()]):
            name = f"net-{network}".replace("/", "-").replace(".", "-")
            extra[name] = Segment(name, network)
    return list(extra.values())


def _segment_of(nic: LabNic, segments: Iterable[Segment]) -> str:
    """Empty when there is none: the rules say why."""
    if nic.network:
        return next((segment.name for segment in segments if segment.name == nic.network), "")
    for segment in segments:
        if any(_contains(segment, address) for address in nic.given.values()):
            return segment.name
    return ""


def _contains(segment: Segment, address: CIDR) -> bool:
    network = network_of(segment, 4 if address.version == 4 else 6)
    return network is not None and address.ip in network


def network_of(segment: Segment, family: Family) -> Network | None:
    return segment.network if family == 4 else segment.network6


def _addresses(
    topology: Topology,
    segments: Sequence[Segment],
    routed: int,
    segment_of: dict[Spot, str],
    numbers: Sequence[int],
) -> tuple[dict[Spot, tuple[CIDR, ...]], list[tuple[str, Family]]]:
    found: dict[Spot, tuple[CIDR, ...]] = dict.fromkeys(segment_of, ())
    without_room: list[tuple[str, Family]] = []
    families: tuple[Family, ...] = (4, 6)
    for index, segment in enumerate(segments):
        # eth0 of every node first: what the nodes are known by is not to depend on a NIC beside it.
        spots = sorted((spot for spot, name in segment_of.items() if name == segment.name), key=lambda spot: spot.nic)
        for family in families:
            network = network_of(segment, family)
            if network is None:
                continue
            given = {spot: _given(topology, spot, network) for spot in spots}
            open_ones = [spot for spot in spots if not given[spot]]
            taken = {_number_in(network, cidr.ip) for cidrs in given.values() for cidr in cidrs}
            last = _last_number(network, routed=index < routed)
            dealt = _dealt([numbers[spot.node] for spot in open_ones], (number for number in taken if number), last)
            for spot, number in zip(open_ones, dealt, strict=True):
                if number is None:
                    without_room.append((segment.name, family))
                else:
                    given[spot] = (with_length(_host(network, number), network),)
            for spot in spots:
                found[spot] += given[spot]
    return found, without_room


def _given(topology: Topology, spot: Spot, network: Network) -> tuple[CIDR, ...]:
    """What the person wrote for this NIC, of the network's family, with the length of the network."""
    node = topology.nodes[spot.node]
    part = node.nics[spot.nic - 1] if spot.nic else node
    written = (address.ip for address in part.given.values() if address.version == network.version)
    return tuple(with_length(ip, network) for ip in written)


def with_length(ip: IP, network: Network) -> CIDR:
    return (
        IPv4Interface((ip, network.prefixlen))
        if isinstance(ip, IPv4Address)
        else IPv6Interface((ip, network.prefixlen))
    )


def _host(network: Network, number: int) -> IP:
    """IPv6 shows the number as people write it: the twelfth is ::12."""
    return network[number] if network.version == 4 else network[int(str(number), 16)]


def _number_in(network: Network, ip: IP) -> int | None:
    if ip not in network:
        return None
    offset = int(ip) - int(network.network_address)
    if isinstance(ip, IPv6Address):
        digits = f"{offset:x}"
        return int(digits) if digits.isdigit() and len(digits) <= 4 else None
    return offset


def _last_number(network: Network, *, routed: bool) -> int:
    """The highest number for which there is room, below the addresses of the stores and the router."""
    if network.version == 6:
        return 9999
    return network.num_addresses - 2 - (STORES_MAX + 1 if routed else 0)

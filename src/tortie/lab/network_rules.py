"""How networks and addresses of a topology have to go together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.lab.forms import Addressed, LabNetwork, Topology
from tortie.lab.layout import (
    FABRIC,
    SERVICES,
    Layout,
    Spot,
    gateway,
    network_of,
    store_address,
)
from tortie.lab.plan import Segment
from tortie.lab.pools import pools_of
from tortie.model.errors import Problem
from tortie.model.kinds import nearest
from tortie.model.network import CIDR, IP, Network

# From the largest network to the smallest that has room for two machines, and for router and stores if it has them.
_LENGTHS: Final = {4: range(8, 31), 6: range(16, 113)}
_ROUTED_MAX: Final = 28
_MTU: Final = range(1280, 65536)


def network_rules(topology: Topology, layout: Layout) -> Iterator[Problem]:
    problems = [*_said(topology, layout), *_overlaps(topology, layout)]
    yield from problems
    for _, part, where, spot in _spots(topology):
        yield from _nic_rules(topology, layout, part, where, spot)
    yield from _twice(topology, layout)
    if not problems:
        yield from _room(topology, layout)


def _said(topology: Topology, layout: Layout) -> Iterator[Problem]:
    seen: set[str] = set()
    routed = {segment.name for segment in layout.segments[: layout.routed]}
    for index, network in enumerate(topology.networks):
        where = f"networks[{index}]"
        if network.name in seen:
            yield Problem(f"{where}.name", network.name, "is there already", "another name")
        seen.add(network.name)
        if network.mtu not in _MTU:
            why = f"an MTU is from {_MTU[0]}, the least that IPv6 allows, to {_MTU[-1]}"
            yield Problem(f"{where}.mtu", network.mtu, why, "mtu: 1500")
        yield from _own_name(network, where, routed)
        for field, cidr in (("cidr", network.cidr), ("cidr6", network.cidr6)):
            if cidr:
                yield from _range(f"{where}.{field}", cidr, routed=network.name in routed)
        if network.name in routed and network.cidr6 and not topology.ipv6:
            yield Problem(f"{where}.cidr6", network.cidr6, "the lab has no IPv6", "ipv6: true")


def _own_name(network: LabNetwork, where: str, routed: set[str]) -> Iterator[Problem]:
    if network.name in routed:
        return
    if network.name in (FABRIC, SERVICES):
        why = "there is no such network " + ("in a lab with racks" if network.name == FABRIC else "without racks")
        yield Problem(f"{where}.name", network.name, why, "another name")
    elif network.cidr is None:
        yield Problem(f"{where}.cidr", "", "is required", "for example 10.0.0.0/24")


def _range(where: str, cidr: Network, *, routed: bool) -> Iterator[Problem]:
    lengths = _LENGTHS[cidr.version]
    last = min(_ROUTED_MAX, lengths[-1]) if routed and cidr.version == 4 else lengths[-1]
    if not lengths[0] <= cidr.prefixlen <= last:
        why = f"a network of a lab is from /{lengths[0]} to /{last}"
        yield Problem(where, cidr, why, "for example 10.0.0.0/24" if cidr.version == 4 else "for example fd00:1::/64")
    if cidr.is_loopback or cidr.is_multicast or cidr.is_unspecified or cidr.is_link_local:
        right = "for example 10.0.0.0/24" if cidr.version == 4 else "for example fd00:1::/64"
        yield Problem(where, cidr, "no machine can have an address there that others reach", right)


def _overlaps(topology: Topology, layout: Layout) -> Iterator[Problem]:
    """Of each pair that is told which the person wrote, rather than what the lab chose."""
    ranges = [(network, f"the network {segment.name}") for segment in layout.segments for network in _both(segment)]
    where = {f"the network {network.name}": f"networks[{index}]" for index, network in enumerate(topology.networks)}
    pools = [(pool.cidr, "the pool") for pool in pools_of(topology)]
    order = [*(each for each in ranges if each[1] not in where), *pools, *(each for each in ranges if each[1] in where)]
    where["the pool"] = "pool"
    for index, (network, name) in enumerate(order):
        for other, other_name in order[:index]:
            if network.version == other.version and network.overlaps(other):
                field = "cidr" if network.version == 4 else "cidr6"
                place = f"{where[name]}.{field}" if name in where else "nodes"
                yield Problem(place, network, f"overlaps with {other_name} ({other})", "a range of its own")
                break


def _both(segment: Segment) -> list[Network]:
    return [segment.network, *([segment.network6] if segment.network6 else [])]


def _spots(topology: Topology) -> Iterator[tuple[str, Addressed, str, Spot]]:
    """Every NIC: its node, the form with its addresses, the path of that form, and where it stands."""
    for index, node in enumerate(topology.nodes):
        yield node.name, node, f"nodes[{index}]", Spot(index, 0)
        for place, nic in enumerate(node.nics):
            yield node.name, nic, f"nodes[{index}].nics[{place}]", Spot(index, place + 1)


def _nic_rules(topology: Topology, layout: Layout, part: Addressed, where: str, spot: Spot) -> Iterator[Problem]:
    name = layout.segment_of[spot]
    if not name:
        nic = topology.nodes[spot.node].nics[spot.nic - 1]
        if nic.network:
            near = nearest(nic.network, [segment.name for segment in layout.segments])
            right = f"did you mean {near}?" if near else "add it to networks, with its cidr"
            yield Problem(f"{where}.network", nic.network, "there is no such network", right)
        elif nic.given:
            path, address = next(iter(nic.given.items()))
            why, right = "is in no network of the lab, and does not say how large its own is", f"{address.ip}/24"
            if address.version == 6:
                why, right = "is in no network of the lab, and a network has IPv4, too", "add it, with cidr and cidr6"
            yield Problem(f"{where}.{path}", _as_written(address), why, f"{right}, or network: NAME")
        else:
            yield Problem(f"{where}.network", "", "neither network nor address says where it leads", "network: NAME")
        return
    segment = layout.segment(name)
    routed = segment in layout.segments[: layout.routed]
    for path, address in part.given.items():
        yield from _address_rules(segment, f"{where}.{path}", address, routed=routed)


def _address_rules(segment: Segment, where: str, address: CIDR, *, routed: bool) -> Iterator[Problem]:
    network = network_of(segment, 4 if address.version == 4 else 6)
    shown = _as_written(address)
    if network is None:
        why = f"the network {segment.name} has no IPv6"
        yield Problem(where, shown, why, "ipv6: true" if routed else "cidr6 for that network")
    elif address.ip not in network:
        why = f"is not in the network {segment.name} ({network})"
        yield Problem(where, shown, why, f"for example {network[10 if network.num_addresses > 10 else 1]}")
    elif address.network.prefixlen not in (network.prefixlen, network.max_prefixlen):
        why = f"the network {segment.name} is {network}"
        yield Problem(where, address, why, f"{address.ip}/{network.prefixlen}")
    elif address.ip == network.network_address or (address.version == 4 and address.ip == network.broadcast_address):
        yield Problem(where, shown, f"is the first or the last address of {network}", "one between them")
    elif routed and (taken := _kept_for(network, address.ip)):
        yield Problem(where, shown, f"is kept for {taken}", "another address")


def _as_written(address: CIDR) -> str:
    """Without the length that stands for none."""
    return str(address.ip if address.network.prefixlen == address.max_prefixlen else address)


def _kept_for(network: Network, ip: IP) -> str:
    if network.version == 4 and network.prefixlen > _ROUTED_MAX:
        return ""
    if ip == gateway(network):
        return "the router"
    return "a member of etcd" if ip in [store_address(network, member) for member in (1, 2, 3)] else ""


def _twice(topology: Topology, layout: Layout) -> Iterator[Problem]:
    """Addresses that the lab chose avoid the others, so only a written one can be there twice."""
    owners: dict[IP, str] = {}
    for node, part, where, spot in _spots(topology):
        for path, address in part.given.items():
            if layout.segment_of[spot] and address.ip in owners:
                why = f"{owners[address.ip]} has the same address"
                yield Problem(f"{where}.{path}", _as_written(address), why, "another address")
            owners.setdefault(address.ip, node)


def _room(topology: Topology, layout: Layout) -> Iterator[Problem]:
    for name, family in layout.without_room:
        network = network_of(layout.segment(name), family)
        field = "cidr" if family == 4 else "cidr6"
        said = {str(each.name): f"networks[{index}].{field}" for index, each in enumerate(topology.networks)}
        count = sum(segment == name for segment in layout.segment_of.values())
        right = f"networks: [{{name: {name}, {field}: a larger one}}]" if name not in said else "a larger one"
        if name in layout.racks and name not in said:
            right = f"more racks, or {right}"
        yield Problem(said.get(name, "nodes"), network, f"the network {name} has no room for {count} nodes", right)

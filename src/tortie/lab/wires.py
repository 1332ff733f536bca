"""What the plan of a lab means for the network of each of its machines, and how that differs from what is there.

Pure: `tortie.lab.fabric` reads what is there, and makes up the difference. Nothing but what a plan has put there is
ever called obsolete; routes of BIRD, interfaces of pods and what people try out by hand are none of our business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar

from tortie.lab.plan import LabPlan, Machine, Neighbour
from tortie.model.network import CIDR, IP, MAIN_TABLE, HostNetwork, Interface, Network

Item = TypeVar("Item")

LOOPBACK: Final = "lo"
_NAME_MAX: Final = 15  # bytes of an interface's name


class Cable(NamedTuple):
    """A NIC as far as it cannot be changed without being made anew."""

    nic: str
    mac: str
    mtu: int
    segment: str


class Wires(NamedTuple):
    """What there is, shall be, is missing or is obsolete in one machine; each in the order in which it is made."""

    settings: tuple[tuple[str, str], ...] = ()  # sysctls; some count only for links that are made later
    cables: tuple[Cable, ...] = ()
    bridges: tuple[str, ...] = ()
    up: tuple[str, ...] = ()
    addresses: tuple[tuple[str, CIDR], ...] = ()
    routes: tuple[tuple[Network, IP], ...] = ()
    neighbours: tuple[Neighbour, ...] = ()


class Changed(NamedTuple):
    """A machine that was there and is not as it shall be."""

    machine: str
    obsolete: Wires
    missing: Wires


class Differences(NamedTuple):
    new_segments: tuple[str, ...] = ()
    obsolete_segments: tuple[str, ...] = ()
    new_machines: tuple[str, ...] = ()
    obsolete_machines: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()

    def __bool__(self) -> bool:
        return any(self)


class Observed(NamedTuple):
    segments: frozenset[str]
    machines: Mapping[str, Wires]


def wires(machine: Machine, *, ipv6: bool = True) -> Wires:
    """What shall be. `ipv6`: whether this kernel has it at all."""
    forwarding = "1" if machine.forwarding else "0"
    settings = [("net.ipv4.ip_forward", forwarding)]
    if ipv6:
        # No other machine can have the same addresses, so nobody needs to wait a second for that to be found out.
        settings += [("net.ipv6.conf.all.forwarding", forwarding), ("net.ipv6.conf.default.accept_dad", "0")]
    owners = [(nic.name, nic.addresses) for nic in machine.nics]
    owners += [(bridge.name, bridge.addresses) for bridge in machine.bridges]
    return Wires(
        tuple(settings),
        tuple(Cable(nic.name, nic.mac, nic.mtu, nic.segment) for nic in machine.nics),
        tuple(bridge.name for bridge in machine.bridges),
        (LOOPBACK, *(name for name, _ in owners)),
        tuple((name, address) for name, addresses in owners for address in addresses),
        machine.routes,
        machine.neighbours,
    )


def seen_wires(
    machine: str,
    network: HostNetwork,
    neighbours: Iterable[Neighbour],
    settings: Iterable[tuple[str, str]],
    ports: Mapping[str, str],
) -> Wires:
    """What is there. `ports` are the ports of all switches that carry traffic, and the segment of each."""
    return Wires(
        tuple(settings),
        tuple(cable for link in network.interfaces if (cable := _cable(machine, link, ports))),
        tuple(link.name for link in network.interfaces if link.kind == "bridge"),
        tuple(link.name for link in network.interfaces if "up" in link.flags),
        tuple((link.name, address.cidr) for link in network.interfaces for address in link.addresses),
        tuple(
            (route.destination, route.gateway)
            for route in network.routes
            if route.gateway and route.table == MAIN_TABLE
        ),
        tuple(neighbours),
    )


def _cable(machine: str, link: Interface, ports: Mapping[str, str]) -> Cable | None:
    segment = ports.get(port_name(machine, link.name))
    return Cable(link.name, link.mac, link.mtu, segment) if link.kind == "veth" and segment else None


def differences(plan: LabPlan, observed: Observed, before: Iterable[LabPlan] = (), *, ipv6: bool = True) -> Differences:
    """What to do so that `observed` becomes the plan; `before` are the plans by which it may have come about."""
    wanted = {machine.name: wires(machine, ipv6=ipv6) for machine in plan.machines}
    former: dict[str, list[Wires]] = {}
    for earlier in before:
        for machine in earlier.machines:
            former.setdefault(machine.name, []).append(wires(machine, ipv6=ipv6))
    changed = []
    for name, there in observed.machines.items():
        if name in wanted:
            obsolete = _obsolete(former.get(name, ()), wanted[name])
            missing = lacking(wanted[name], there)
            if any(obsolete) or any(missing):
                changed.append(Changed(name, obsolete, missing))
    segments = tuple(segment.name for segment in plan.segments)
    return Differences(
        _without(segments, observed.segments),
        tuple(sorted(observed.segments - set(segments))),
        tuple(name for name in wanted if name not in observed.machines),
        tuple(name for name in observed.machines if name not in wanted),
        tuple(changed),
    )


def lacking(wanted: Wires, there: Wires) -> Wires:
    """What of `wanted` is not there."""
    return Wires(
        _without(wanted.settings, there.settings),
        _without(wanted.cables, there.cables),
        _without(wanted.bridges, there.bridges),
        _without(wanted.up, there.up),
        _without(wanted.addresses, there.addresses),
        _without(wanted.routes, there.routes),
        _without(wanted.neighbours, there.neighbours),
    )


def _obsolete(former: Iterable[Wires], wanted: Wires) -> Wires:
    """A neighbour whose MAC alone has changed is not obsolete: the new entry takes the old one's place."""
    nics = {cable.nic for cable in wanted.cables}
    known = {(neighbour.nic, neighbour.address) for neighbour in wanted.neighbours}
    gone = [lacking(earlier, wanted) for earlier in former]
    return Wires(
        cables=_once(cable for each in gone for cable in each.cables if cable.nic not in nics),
        bridges=_once(bridge for each in gone for bridge in each.bridges),
        addresses=_once(address for each in gone for address in each.addresses),
        routes=_once(route for each in gone for route in each.routes),
        neighbours=_once(
            neighbour
            for each in gone
            for neighbour in each.neighbours
            if (neighbour.nic, neighbour.address) not in known
        ),
    )


def _without(wanted: tuple[Item, ...], there: Collection[Item]) -> tuple[Item, ...]:
    if not there or not wanted:
        return wanted
    known = frozenset(there)
    return tuple(item for item in wanted if item not in known)


def _once(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(items))


def port_name(machine: str, nic: str) -> str:
    """The switch's end of a NIC. Names of machines and segments have no underscore, so it is nobody else's name."""
    return _fitted(f"{machine}_{nic}")


def switch_name(segment: str) -> str:
    return _fitted(segment)


def link_names(plan: LabPlan) -> frozenset[str]:
    """Of all links in the switch namespace of a lab. Outside of it no link has such a name."""
    ports = (port_name(machine.name, nic.name) for machine in plan.machines for nic in machine.nics)
    return frozenset((*(switch_name(segment.name) for segment in plan.segments), *ports))


def _fitted(name: str) -> str:
    """The name, or, where it is too long for an interface, its beginning and what tells it from others alike."""
    if len(name.encode()) <= _NAME_MAX:
        return name
    import hashlib

    digest = hashlib.blake2s(name.encode(), digest_size=5).hexdigest()
    return f"{name.encode()[: _NAME_MAX - 11].decode(errors='ignore')}_{digest}"

"""The network of a lab: a namespace for each machine, one for the switches, and cables between them.

Whoever holds the fabric holds the lab. The namespaces hang on descriptors of this process and on the processes in
them, nothing else; every link is made inside of them, so the machine's own network sees none, not for a moment.
Applying a plan again reads what is there and makes up the difference; machines that are as planned notice nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from tortie.host import wiring
from tortie.host.links import PATIENCE_S, links, observe
from tortie.host.namespaces import (
    Inside,
    Mark,
    Namespaces,
    close,
    get_sysctl,
    mark,
    new_namespaces,
    set_hostname,
    set_sysctl,
)
from tortie.host.netlink import Netlink, Request
from tortie.lab.plan import LabPlan, Machine, Neighbour
from tortie.lab.wires import (
    Cable,
    Changed,
    Differences,
    Observed,
    Wires,
    differences,
    lacking,
    port_name,
    seen_wires,
    switch_name,
    wires,
)
from tortie.model.network import HostNetwork

TIMEOUT_S: Final = 60.0

# A switch only passes frames on: it shall neither have addresses nor talk to its neighbours.
_SWITCH_SETTINGS: Final = (("net.ipv6.conf.all.disable_ipv6", "1"), ("net.ipv6.conf.default.disable_ipv6", "1"))


class Place(NamedTuple):
    """Where a machine is."""

    namespaces: Namespaces  # its network and, except for the switches, its own hostname
    mark: Mark  # of its network


class Fabric:
    def __init__(self) -> None:
        self.places: dict[str, Place] = {}  # by machine
        self._switches: Place | None = None
        self._plans: list[LabPlan] = []  # the last that was carried out, and those that were begun since
        self._ipv6 = os.path.isdir("/proc/sys/net/ipv6")

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Of all network namespaces that belong to the lab."""
        places = (*([self._switches] if self._switches else []), *self.places.values())
        return tuple(place.mark for place in places)

    def place(self, name: str) -> Place:
        """Of a machine; `switch` is where all cables end."""
        if name == "switch" and self._switches:
            return self._switches
        return self.places[name]

    def close(self) -> None:
        """Lets go of everything. What no process is in any more, the kernel removes with all its links."""
        for place in (*([self._switches] if self._switches else []), *self.places.values()):
            close(place.namespaces)
        self.places.clear()
        self._switches = None
        self._plans.clear()

    def apply(self, plan: LabPlan, timeout_s: float = TIMEOUT_S) -> Differences:
        """Makes the network what the plan says; tells what had to be done.

        No process may be left in machines that the plan does not have any more. When it fails or is interrupted, it
        may be called again, with this or another plan.
        """
        deadline = time.monotonic() + timeout_s
        if self._switches is None:
            self._switches = self._new_switches()
        with Inside(self._switches.namespaces):
            kernel = Netlink()
        with kernel:
            found = differences(plan, self._observed(plan, timeout_s), self._plans, ipv6=self._ipv6)
            if found:
                self._carry_out(plan, found, kernel, deadline)
        self._plans = [plan]
        return found

    def _carry_out(self, plan: LabPlan, found: Differences, switches: Netlink, deadline: float) -> None:
        for name in found.obsolete_machines:
            self._remove(name, switches, deadline)
        self._plans.append(plan)
        machines = {machine.name: machine for machine in plan.machines}
        for name in found.new_machines:
            self.places[name] = self._new_place(machines[name])
        for changed in found.changed:
            self._take_away(changed, deadline)
        switches.request_all([wiring.add_bridge(switch_name(name)) for name in found.new_segments], deadline)
        cables = [(name, cable) for name in found.new_machines for cable in self._wanted(machines[name]).cables]
        cables += [(changed.machine, cable) for changed in found.changed for cable in changed.missing.cables]
        self._connect(cables, switches, deadline)
        switches.request_all(
            [wiring.even_if_gone(wiring.delete_link(switch_name(name))) for name in found.obsolete_segments], deadline
        )
        for name in found.new_machines:
            self._furnish(name, self._wanted(machines[name])._replace(settings=()), deadline)  # made with the place
        for changed in found.changed:
            missing = changed.missing
            if missing.cables or missing.bridges:  # made anew, and what belonged to them is gone
                missing = self._still_missing(machines[changed.machine])
            self._furnish(changed.machine, missing, deadline)

    def _wanted(self, machine: Machine) -> Wires:
        return wires(machine, ipv6=self._ipv6)

    def _new_switches(self) -> Place:
        namespaces = new_namespaces("net")
        try:
            with Inside(namespaces):
                for name, value in _SWITCH_SETTINGS if self._ipv6 else ():
                    set_sysctl(name, value)
            return Place(namespaces, mark(namespaces["net"]))
        except BaseException:
            close(namespaces)
            raise

    def _new_place(self, machine: Machine) -> Place:
        namespaces = new_namespaces("net", "uts")
        try:
            with Inside(namespaces):
                set_hostname(machine.name)
                for name, value in self._wanted(machine).settings:
                    set_sysctl(name, value)
            return Place(namespaces, mark(namespaces["net"]))
        except BaseException:
            close(namespaces)
            raise

    def _remove(self, name: str, switches: Netlink, deadline: float) -> None:
        """Its cables by hand: the kernel takes its time to remove a namespace, and the name may be wanted again."""
        machines = (machine for plan in self._plans for machine in plan.machines if machine.name == name)
        ports = {port_name(name, nic.name) for machine in machines for nic in machine.nics}
        switches.request_all([wiring.even_if_gone(wiring.delete_link(port)) for port in sorted(ports)], deadline)
        close(self.places.pop(name).namespaces)

    def _take_away(self, changed: Changed, deadline: float) -> None:
        """What is obsolete, and links that are there in another form than they shall be."""
        obsolete, missing = changed.obsolete, changed.missing
        unwanted = [cable.nic for cable in (*obsolete.cables, *missing.cables)] + [*obsolete.bridges, *missing.bridges]
        if not any(obsolete) and not unwanted:
            return
        kernel, indexes = self._door(changed.machine)
        requests = [wiring.delete_route(destination, via=via) for destination, via in obsolete.routes]
        requests += [
            wiring.delete_neighbour(indexes[neighbour.nic], neighbour.address)
            for neighbour in obsolete.neighbours
            if neighbour.nic in indexes
        ]
        requests += [wiring.delete_address(indexes[link], cidr) for link, cidr in obsolete.addresses if link in indexes]
        requests += [wiring.delete_link(link) for link in unwanted if link in indexes]
        with kernel:
            kernel.request_all([wiring.even_if_gone(request) for request in requests], deadline)

    def _door(self, machine: str) -> tuple[Netlink, dict[str, int]]:
        """A socket in the machine, and the indexes of its links."""
        with Inside(self.places[machine].namespaces):
            return Netlink(), {link.name: link.index for link in links(PATIENCE_S)}

    def _connect(self, cables: Iterable[tuple[str, Cable]], switches: Netlink, deadline: float) -> None:
        assert self._switches
        with Inside(self._switches.namespaces):
            indexes = {link.name: link.index for link in links(PATIENCE_S)}
        requests: list[Request] = []
        for machine, cable in cables:
            port = port_name(machine, cable.nic)
            if port in indexes:
                requests.append(wiring.even_if_gone(wiring.delete_link(port)))
            requests.append(
                wiring.add_veth(
                    port,
                    cable.nic,
                    self.places[machine].namespaces["net"],
                    peer_mac=cable.mac,
                    mtu=cable.mtu,
                    master=indexes[switch_name(cable.segment)],
                )
            )
        switches.request_all(requests, deadline)

    def _still_missing(self, machine: Machine) -> Wires:
        """Except for the cables, which have just been made."""
        wanted = self._wanted(machine)
        with Inside(self.places[machine.name].namespaces):
            return lacking(wanted, _observed_here(machine.name, observe(), {}, wanted))

    def _furnish(self, name: str, missing: Wires, deadline: float) -> None:
        """Everything but the cables."""
        if missing.settings:
            with Inside(self.places[name].namespaces):
                for setting, value in missing.settings:
                    set_sysctl(setting, value)
        if missing.bridges:
            kernel, _ = self._door(name)
            with kernel:
                kernel.request_all([wiring.add_bridge(bridge) for bridge in missing.bridges], deadline)
        if any(missing):
            kernel, indexes = self._door(name)
            with kernel:
                kernel.request_all(_requests(missing, indexes), deadline)

    def _observed(self, plan: LabPlan, timeout_s: float) -> Observed:
        """Nothing, and at no price, for a lab that is new."""
        assert self._switches
        if not self._plans:
            return Observed(frozenset(), {})
        names = {switch_name(each.name): each.name for known in (*self._plans, plan) for each in known.segments}
        with Inside(self._switches.namespaces):
            there = {link.index: link for link in links(timeout_s)}
        segments = {index: names[link.name] for index, link in there.items() if link.name in names}
        ports = {
            link.name: segments[link.master]
            for link in there.values()
            if link.master in segments and "up" in link.flags
        }
        machines = {machine.name: machine for known in (*self._plans, plan) for machine in known.machines}
        observed: dict[str, Wires] = {}
        for name, place in self.places.items():
            with Inside(place.namespaces):
                observed[name] = _observed_here(name, observe(timeout_s), ports, self._wanted(machines[name]))
        return Observed(frozenset(segments.values()), observed)


def _observed_here(name: str, network: HostNetwork, ports: Mapping[str, str], wanted: Wires) -> Wires:
    """In the namespace of the calling thread."""
    with Netlink() as kernel:
        entries = wiring.permanent_neighbours(kernel, time.monotonic() + TIMEOUT_S)
    names = {link.index: link.name for link in network.interfaces}
    neighbours = (
        Neighbour(names[index], IPv4Address(packed) if len(packed) == 4 else IPv6Address(packed), mac)
        for index, packed, mac in entries
        if index in names
    )
    settings = ((setting, value) for setting, _ in wanted.settings if (value := get_sysctl(setting)) is not None)
    return seen_wires(name, network, neighbours, settings, ports)


def _requests(missing: Wires, indexes: Mapping[str, int]) -> list[Request]:
    return [
        *(wiring.set_link(indexes[link], up=True) for link in missing.up),
        *(wiring.add_address(indexes[link], cidr) for link, cidr in missing.addresses),
        *(wiring.add_route(destination, via=via, replace=True) for destination, via in missing.routes),
        *(wiring.set_neighbour(indexes[each.nic], each.address, each.mac) for each in missing.neighbours),
    ]

"""Which way the kernel would send, and from which address: the main routing table, replayed.

For the votes of `agreed`, and for `can-reach=` where nobody could ask the kernel itself. Rules (`ip rule`) and other
tables are left out: an address that only a rule leads to is an address that somebody has to name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Network
from typing import Final, NamedTuple

from tortie.model.network import IP, MAIN_TABLE, Address, Family, HostNetwork, Interface, Route

# What connect() says at a route of that kind, in the words of the system.
_REFUSALS: Final = {
    "blackhole": "invalid argument",
    "unreachable": "no route to host",
    "prohibit": "permission denied",
}
UNREACHABLE: Final = "network is unreachable"
# From the policy table of RFC 6724: addresses of one label belong together.
_LABELS: Final = (
    (IPv6Network("fc00::/7"), 13),
    (IPv6Network("2002::/16"), 2),
    (IPv6Network("2001::/32"), 5),
    (IPv6Network("3ffe::/16"), 12),
    (IPv6Network("fec0::/10"), 11),
)


class Path(NamedTuple):
    interface: Interface  # that the packet leaves by; for our own addresses, the one that has it
    source: IP | None  # None where no address of the family is left to send from
    gateway: IP | None = None


class Router:
    """A host's routes of one family, indexed: a node may have one for every other node."""

    def __init__(self, network: HostNetwork, family: Family) -> None:
        self._family = family
        self._interfaces = {interface.index: interface for interface in network.interfaces}
        self._addresses = list(_addresses(network, family))
        # Two interfaces may have the same address; the kernel then means the first.
        self._own = {address.cidr.ip: (interface, address) for interface, address in reversed(self._addresses)}
        self._senders = [
            (interface, address)
            for interface, address in self._addresses
            if (family == 6 or address.scope != "host") and not address.flags & {"tentative", "dadfailed"}
        ]
        self._senders_by_interface: dict[int, list[tuple[Interface, Address]]] = defaultdict(list)
        for sender in self._senders:
            self._senders_by_interface[sender[0].index].append(sender)
        self._sources: dict[tuple[int, IP | None], IP | None] = {}  # kube-proxy may give a host thousands of addresses
        self._routes: dict[int, dict[int, Route]] = defaultdict(dict)
        for route in network.routes:
            if route.table == MAIN_TABLE and route.destination.version == family and self._is_usable(route):
                self._keep_best(route)
        self._lengths = sorted(self._routes, reverse=True)

    def path(self, destination: IP) -> Path | str:
        """Where a packet would go; or why it would not, as the system says it."""
        if own := self._own.get(destination):
            return Path(own[0], self._source_to_own(*own))
        if destination.is_loopback:
            return self._to_loopback()
        route = self._longest_match(destination)
        return UNREACHABLE if route is None else self._along(route, destination)

    def _along(self, route: Route, destination: IP) -> Path | str:
        interface = self._interfaces.get(route.interface) if route.interface is not None else None
        if route.kind != "unicast" or interface is None:
            return _REFUSALS.get(route.kind, UNREACHABLE)
        source = route.source or self._source(interface, route.gateway, destination)
        return Path(interface, source, route.gateway)

    def source(self, destination: IP) -> IP | str:
        """The address that a socket connected to the destination would have."""
        path = self.path(destination)
        if isinstance(path, str):
            return path
        if path.source is None:
            # An IPv4 socket connects nevertheless.
            return IPv4Address(0) if self._family == 4 else "cannot assign requested address"
        return path.source

    def _is_usable(self, route: Route) -> bool:
        """The kernel drops the routes of an interface that is switched off; one without a cable keeps them."""
        if route.kind != "unicast":
            return True
        interface = self._interfaces.get(route.interface) if route.interface is not None else None
        return interface is not None and "up" in interface.flags

    def _keep_best(self, route: Route) -> None:
        same_length = self._routes[route.destination.prefixlen]
        key = int(route.destination.network_address)
        known = same_length.get(key)
        if known is None or route.metric < known.metric:
            same_length[key] = route

    def _longest_match(self, destination: IP) -> Route | None:
        bits = destination.max_prefixlen
        for length in self._lengths:
            shift = bits - length
            if route := self._routes[length].get(int(destination) >> shift << shift):
                return route
        return None

    def _source_to_own(self, interface: Interface, address: Address) -> IP:
        """A host writes to its own secondary address from the primary one of the same network."""
        if self._family == 4 and "secondary" in address.flags:
            for other in interface.addresses:
                if "secondary" not in other.flags and other.cidr.network == address.cidr.network:
                    return other.cidr.ip
        return address.cidr.ip

    def _to_loopback(self) -> Path | str:
        for interface, address in self._addresses:
            if address.cidr.ip.is_loopback:
                return Path(interface, address.cidr.ip)
        return UNREACHABLE

    def _source(self, interface: Interface, gateway: IP | None, destination: IP) -> IP | None:
        if self._family == 6:
            return self._source_v6(interface, destination)
        key = interface.index, gateway
        if key not in self._sources:
            self._sources[key] = self._source_v4(interface, gateway)
        return self._sources[key]

    def _source_v4(self, interface: Interface, gateway: IP | None) -> IP | None:
        """The first address of the interface that shares a network with the gateway, else simply its first one."""
        scopes = {"global"} if gateway else {"global", "site", "link"}
        primary = [
            (owner, address)
            for owner, address in self._senders
            if "secondary" not in address.flags and address.scope in scopes
        ]
        here = [address.cidr for owner, address in primary if owner is interface]
        for cidr in here:
            if gateway is None or gateway in cidr.network:
                return cidr.ip
        # An interface without an address of its own borrows one, but not one that is only good on another link.
        borrowed = [address.cidr for owner, address in primary if owner is not interface and address.scope != "link"]
        return next((cidr.ip for cidr in (*here, *borrowed)), None)

    def _source_v6(self, interface: Interface, destination: IP) -> IP | None:
        """The rules of RFC 6724 in their order, as far as they can differ between addresses of one host."""
        wanted = _label(destination)

        def rank(sender: tuple[Interface, Address]) -> tuple[bool, bool, bool, bool, bool, int]:
            owner, address = sender
            ip = address.cidr.ip
            return (
                (ip.is_link_local or ip.is_loopback) != destination.is_link_local,
                "deprecated" in address.flags,
                owner is not interface,
                _label(ip) != wanted,
                "temporary" in address.flags,
                -min(_common_bits(ip, destination), address.cidr.network.prefixlen),
            )

        # The first three rules, decided at once where the interface has a good address of its own.
        own = [sender for sender in self._senders_by_interface[interface.index] if not any(rank(sender)[:3])]
        best = min(own or self._senders, key=rank, default=None)
        return best[1].cidr.ip if best else None


def _addresses(network: HostNetwork, family: Family) -> Iterator[tuple[Interface, Address]]:
    for interface in network.interfaces:
        for address in interface.addresses:
            if address.cidr.version == family:
                yield interface, address


def _label(ip: IP) -> int:
    return next((label for network, label in _LABELS if ip in network), 1)


def _common_bits(one: IP, other: IP) -> int:
    return one.max_prefixlen - (int(one) ^ int(other)).bit_length()

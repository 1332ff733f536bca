"""A machine's network as the kernel tells it: interfaces with their addresses, and routes.

Plain values. `tortie.host` reads them from this kernel; the doctor will read them from what people paste.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Final, Literal, NamedTuple

Family = Literal[4, 6]
IP = IPv4Address | IPv6Address
CIDR = IPv4Interface | IPv6Interface  # an address with the length of its network's prefix; host bits kept
Network = IPv4Network | IPv6Network

MAIN_TABLE: Final = 254


class Address(NamedTuple):
    cidr: CIDR
    scope: str = "global"  # global, site, link, host
    # of: secondary, temporary, deprecated, tentative, dadfailed, permanent, nodad, mngtmpaddr, noprefixroute
    flags: frozenset[str] = frozenset()


class Interface(NamedTuple):
    index: int  # type: ignore[assignment] # the kernel's word; nobody searches an interface as a tuple
    name: str
    kind: str = ""  # what `ip -d link` calls it: bridge, veth, bond, vlan, vxlan, dummy, tun, ...; "" for a real NIC
    flags: frozenset[str] = frozenset({"up", "lower_up"})  # as `ip link` spells them, in lower case
    state: str = "up"  # operational: up, down, lowerlayerdown, dormant, unknown, notpresent, testing
    mac: str = ""
    mtu: int = 1500
    master: int | None = None  # index of the bridge, bond or VRF that it is a port of
    parent: int | None = None  # index of the interface below a VLAN, macvlan or tunnel, or of a veth's other end
    parent_elsewhere: bool = False  # that one lives in another network namespace
    addresses: tuple[Address, ...] = ()  # in the kernel's order

    @property
    def is_up(self) -> bool:
        """Set up by its owner, and able to carry packets as far as the kernel can tell."""
        return "up" in self.flags and self.state in ("up", "unknown") and "no-carrier" not in self.flags


class Route(NamedTuple):
    destination: Network
    interface: int | None = None  # index; None for routes that lead nowhere
    gateway: IP | None = None
    source: IP | None = None  # the address the kernel is told to prefer
    metric: int = 0
    table: int = MAIN_TABLE
    kind: str = "unicast"  # unicast, blackhole, unreachable, prohibit, local, ...
    protocol: str = ""  # kernel, static, dhcp, bird, ...


class HostNetwork(NamedTuple):
    interfaces: tuple[Interface, ...] = ()  # in the kernel's order, which is by index
    routes: tuple[Route, ...] = ()  # of all tables

    def named(self, name: str) -> Interface | None:
        return next((interface for interface in self.interfaces if interface.name == name), None)

    def at(self, index: int | None) -> Interface | None:
        return next((interface for interface in self.interfaces if interface.index == index), None)

    def owner(self, ip: IP) -> tuple[Interface, Address] | None:
        """The interface that has the address, and how."""
        for interface in self.interfaces:
            for address in interface.addresses:
                if address.cidr.ip == ip:
                    return interface, address
        return None

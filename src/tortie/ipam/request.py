"""What is asked of IPAM, and what it answers. Plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv6Interface
from typing import Literal, NamedTuple

from tortie.model.network import CIDR, IP, Network
from tortie.store.contract import Operation

Use = Literal["Workload", "Tunnel", "LoadBalancer"]

# Further writes that shall happen together with the assignment, made from the addresses that were found.
Along = Callable[[Sequence[IP]], Sequence[Operation]]


def interface(ip: IP, cidr: Network) -> CIDR:
    """An address with the length of its block's prefix."""
    if isinstance(ip, IPv4Address):
        return IPv4Interface((int(ip), cidr.prefixlen))  # from an address it would be made by way of its text
    return IPv6Interface((int(ip), cidr.prefixlen))


class Request(NamedTuple):
    """Addresses for one owner on one node: so many of each family, or just these."""

    node: str
    handle: str
    attributes: Mapping[str, str]  # node, namespace, pod, type, timestamp: kept beside the address
    use: Use = "Workload"
    v4: int = 0
    v6: int = 0
    given: tuple[IP, ...] = ()  # just these addresses; then v4, v6 and pools say nothing
    pools4: tuple[str, ...] = ()  # names or CIDRs; none: all that the node may use
    pools6: tuple[str, ...] = ()
    namespace_labels: Mapping[str, str] | None = None
    blocks_max: int = 0  # of this node; 0: as the settings say
    along: Along | None = None


class Assigned(NamedTuple):
    """IPv4 first, with the length of their block's prefix."""

    addresses: tuple[CIDR, ...]
    again: bool = False  # the handle had them before: a request that was repeated

    @property
    def ips(self) -> tuple[IP, ...]:
        return tuple(address.ip for address in self.addresses)


class Expected(NamedTuple):
    """An address to release only if it is still held as it was seen."""

    ip: IP
    handle: str | None = None
    sequence: int | None = None


class Released(NamedTuple):
    released: tuple[IP, ...]
    not_held: tuple[IP, ...] = ()  # nobody held them: no error, it is as wanted
    kept: tuple[tuple[IP, str], ...] = ()  # somebody else's by now, and why that is known

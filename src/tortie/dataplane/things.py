"""What the dataplane is made of: devices, routes, neighbours, settings of the kernel, NAT. Plain values.

Links are called by name, because a wish may be older than the link. Why something is wished stands beside it, not in
it: two wishes for the same thing are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from tortie.model.network import CIDR, IP, Address, Family, Network

VXLAN_4: Final = "vxlan.calico"
VXLAN_6: Final = "vxlan-v6.calico"
TUNNELS: Final[dict[Family, str]] = {4: VXLAN_4, 6: VXLAN_6}

# Who wrote a route, as the kernel keeps it.
KERNEL, BOOT, BIRD, FELIX = 2, 3, 12, 80


class Device(NamedTuple):
    """A VXLAN device. All but the MTU belong to its making: another value means another device."""

    name: str
    vni: int
    port: int
    local: IP | None
    parent: str  # the link that carries its packets
    mac: str
    mtu: int
    learning: bool = False
    group: IP | None = None
    asks: bool = False  # whether it tells of MACs that it does not know


class SeenDevice(NamedTuple):
    device: Device
    up: bool
    addresses: tuple[Address, ...] = ()


class DeviceAddress(NamedTuple):
    device: str
    cidr: CIDR


class Route(NamedTuple):
    destination: Network
    metric: int
    protocol: int
    device: str = ""  # "" for a blackhole
    gateway: IP | None = None
    on_link: bool = False
    this_link: bool = False  # the kernel's scope "link"; IPv6 has no scopes
    source: IP | None = None
    odd: bool = False  # of a kind that is never wished: unreachable, several next hops, ...

    @property
    def slot(self) -> tuple[Network, int]:
        """The kernel has room for one route in each."""
        return self.destination, self.metric

    def __str__(self) -> str:
        if not self.device:
            return f"blackhole {self.destination}"
        via = f" via {self.gateway}" if self.gateway else ""
        return f"{self.destination}{via} dev {self.device}"


class Neighbour(NamedTuple):
    """A permanent entry: which MAC an address has on a link."""

    device: str
    ip: IP
    mac: str

    def __str__(self) -> str:
        return f"neighbour {self.ip} at {self.mac} dev {self.device}"


class Forwarding(NamedTuple):
    """A permanent entry: behind which machine a MAC is."""

    device: str
    mac: str
    to: IP

    def __str__(self) -> str:
        return f"forwarding of {self.mac} to {self.to} dev {self.device}"


class Setting(NamedTuple):
    path: str  # below /proc/sys
    value: str

    def __str__(self) -> str:
        return f"{self.path}={self.value}"


class NatTable(NamedTuple):
    """A whole table of nftables, as `nft -f` takes it, with the mark by which it is known again."""

    family: Family
    text: str = ""  # "" for the table's absence
    mark: str = ""
    rules: int = 0

    def __str__(self) -> str:
        return f"nftables table {'ip' if self.family == 4 else 'ip6'} calico"


class SeenTable(NamedTuple):
    mark: str  # the table's comment
    rules: int
    fingerprint: str


class PodMtu(NamedTuple):
    mtu: int

    def __str__(self) -> str:
        return f"MTU {self.mtu} for pods"


Thing = Device | DeviceAddress | Route | Neighbour | Forwarding | Setting | NatTable | PodMtu


class Concern(NamedTuple):
    """What was asked for and cannot be done."""

    what: str
    why: str
    fix: str


class Desired(NamedTuple):
    """How the kernel shall be, each thing with its reason."""

    devices: Mapping[str, Device] = {}
    left_alone: frozenset[str] = frozenset()  # tunnels about which nothing can be decided now
    addresses: Mapping[DeviceAddress, str] = {}
    routes: Mapping[Route, str] = {}
    neighbours: Mapping[Neighbour, str] = {}
    forwardings: Mapping[Forwarding, str] = {}
    settings: Mapping[Setting, str] = {}
    tables: tuple[NatTable, ...] = ()
    mtu: int | None = None
    workload_prefix: str = "cali"
    workloads: frozenset[str] = frozenset()  # links of this node's endpoints, whatever they are called
    protocols: frozenset[int] = frozenset({BOOT, FELIX})
    external_removed: bool = True  # whether routes of others on links of pods are taken away
    waiting: Mapping[str, str] = {}  # endpoints whose link is not there, and what is waited for
    concerns: tuple[Concern, ...] = ()


class Observed(NamedTuple):
    """How it is. Only what could be ours: no routes of the kernel's own and of BIRD."""

    devices: Mapping[str, SeenDevice] = {}
    routes: frozenset[Route] = frozenset()
    neighbours: frozenset[Neighbour] = frozenset()
    forwardings: frozenset[Forwarding] = frozenset()
    settings: Mapping[str, str | None] = {}  # those that were looked at; None where there is no such setting
    tables: Mapping[Family, SeenTable | None] = {}  # those that were looked at
    mtu: str | None = None


Verb = Literal["add", "change", "delete"]

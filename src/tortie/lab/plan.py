"""Everything that is decided about a lab before anything is made: machines, NICs, addresses, the store, the pool.

Plain values. `tortie.lab.planning.plan` makes them from a topology; the fabric, the keeper and the texts read them.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Literal, NamedTuple

from tortie.model.network import CIDR, IP, Network

Role = Literal["node", "store", "router"]
StoreKind = Literal["embedded", "etcd"]
Mode = Literal["Never", "CrossSubnet", "Always"]


class Nic(NamedTuple):
    """One end of a veth; the other end is a port of the segment's switch."""

    name: str
    mac: str
    addresses: tuple[CIDR, ...]  # IPv4 first
    segment: str
    mtu: int = 1500


class Bridge(NamedTuple):
    """A bridge inside a machine, as Docker makes them; it has no ports."""

    name: str
    addresses: tuple[CIDR, ...]


class Neighbour(NamedTuple):
    """A permanent entry of the neighbour table: machines of a lab never have to ask who has an address."""

    nic: str
    address: IP
    mac: str


class Machine(NamedTuple):
    """A network namespace with a name of its own."""

    name: str
    role: Role
    rack: str  # "" without racks, and for machines that stand in none
    nics: tuple[Nic, ...]  # the first is the one that the routes go through
    bridges: tuple[Bridge, ...] = ()
    routes: tuple[tuple[Network, IP], ...] = ()  # destination, gateway
    neighbours: tuple[Neighbour, ...] = ()
    forwarding: bool = False  # between its interfaces, in its own namespace
    settings: dict[str, str] = {}  # noqa: RUF012 # the environment of its agent; the keeper adds folders and store
    labels: dict[str, str] = {}  # noqa: RUF012 # of its Node resource
    blocks: tuple[Network, ...] = ()  # the lab gives a node one of each of the pool's families

    @property
    def address(self) -> IP:
        """Where the other machines reach it."""
        return self.nics[0].addresses[0].ip


class Segment(NamedTuple):
    """A switch: a bridge in the lab's own switch namespace."""

    name: str
    network: IPv4Network
    network6: IPv6Network | None = None
    mtu: int = 1500


class StorePlan(NamedTuple):
    kind: StoreKind
    members: tuple[str, ...] = ()  # names of the machines that run etcd; none for the embedded store
    tls: bool = False


class PoolPlan(NamedTuple):
    """An IPPool that exists before the first node starts."""

    name: str
    cidr: Network
    block_size: int
    ipip: Mode = "Never"
    vxlan: Mode = "Never"
    nat_outgoing: bool = True


class LabPlan(NamedTuple):
    name: str
    segments: tuple[Segment, ...]
    machines: tuple[Machine, ...]  # nodes first, in the topology's order; then stores; then the router
    store: StorePlan
    pools: tuple[PoolPlan, ...]
    racks: tuple[str, ...] = ()
    as_number: int = 64512
    classic: str = ""  # a release of Calico: the nodes start the way that one does
    hurry: int = 0  # how many times faster than usual the kubelets' clocks tick; 0: there are no kubelets

    @property
    def nodes(self) -> tuple[Machine, ...]:
        return tuple(machine for machine in self.machines if machine.role == "node")

    @property
    def stores(self) -> tuple[Machine, ...]:
        return tuple(machine for machine in self.machines if machine.role == "store")

    @property
    def router(self) -> Machine:
        return next(machine for machine in self.machines if machine.role == "router")

    @property
    def router_learns(self) -> bool:
        """Whether packets with addresses of pods pass the router, so that it has to know the blocks."""
        return bool(self.racks) and any(pool.vxlan == "Never" for pool in self.pools)

    def machine(self, name: str) -> Machine | None:
        return next((machine for machine in self.machines if machine.name == name), None)

    def segment(self, name: str) -> Segment:
        return next(segment for segment in self.segments if segment.name == name)

"""What a node's BGP shall be: its sessions, what it originates, what it accepts and what goes into the kernel.

Values only. `tortie.bgp.sessions` decides them, `tortie.bgp.bird_text` writes them down for BIRD.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Final, Literal, NamedTuple

from tortie.model.network import CIDR, IP, Family, Network
from tortie.model.resources.bgp import BGPFilterSpec

BGP_PORT: Final = 179
DEFAULT_AS: Final = 64512

SessionKind = Literal["mesh", "node", "global"]
PREFIX_OF: Final[dict[SessionKind, str]] = {"mesh": "Mesh", "node": "Node", "global": "Global"}
Encapsulation = Literal["none", "ipip", "vxlan"]


class Secret(NamedTuple):
    """A password that does not show itself, wherever the value that holds it is printed."""

    text: str

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return repr(self)


class Session(NamedTuple):
    """One neighbour of this node."""

    name: str  # of BIRD's protocol, as Calico names it: Mesh_10_0_0_2, Global_10_0_0_9_port_1790
    kind: SessionKind
    peer: IP
    peer_as: int
    local_as: int
    peer_node: str = ""  # if the neighbour is a node of this cluster
    resource: str = ""  # the BGPPeer it comes from; "" for the mesh
    peer_port: int = BGP_PORT
    source: IP | None = None  # the address to speak from; None: the kernel's choice
    passive: bool = False  # wait for the neighbour to call
    password: Secret | None = None
    reflects_as: IPv4Address | None = None  # this node reflects routes to that client, with this cluster id
    next_hop: Literal["auto", "self", "keep"] = "auto"
    ttl_security: int | None = None  # how many hops away the neighbour may be, checked by TTL
    restart_time_s: int | None = None  # graceful restart: how long the neighbour shall keep our routes
    keepalive_s: int | None = None
    allowed_local_as: int | None = None  # how often our own AS may stand in a path
    reachable_by: IP | None = None  # a gateway to the neighbour
    filters: tuple[str, ...] = ()  # names of BGPFilters, in order; all exist in `Plan.filters`

    @property
    def family(self) -> Family:
        return self.peer.version

    @property
    def internal(self) -> bool:
        return self.peer_as == self.local_as


class Pool(NamedTuple):
    """An IPPool as far as routes are concerned."""

    name: str
    cidr: Network
    encapsulation: Encapsulation = "none"
    cross_subnet: bool = False  # encapsulated only towards nodes of other networks
    exported: bool = True


class Advertisement(NamedTuple):
    """Routes inside `cidr` carry these communities, as texts `65000:100` or `65000:1:2`."""

    cidr: Network
    communities: tuple[str, ...]


class Refusal(NamedTuple):
    """What was asked for and is not done: a session without its password, a pool this kernel cannot serve."""

    what: str
    why: str
    fix: str
    subject: Literal["session", "pool", "resource"] = "session"  # what is missing because of it


class Plan(NamedTuple):
    node: str
    router_id: IPv4Address
    as_number: int
    networks: tuple[CIDR, ...]  # this node's own addresses with their networks, at most one of each family
    listen_port: int = BGP_PORT
    bind_to_node: bool = False  # listen on the node's addresses only (bindMode NodeIP)
    log_level: str = "info"  # none, debug, info: how much BIRD says about its protocols
    sessions: tuple[Session, ...] = ()  # by name
    blocks: tuple[Network, ...] = ()  # originated by this node
    services: tuple[Network, ...] = ()  # service ranges that every node advertises
    pools: tuple[Pool, ...] = ()  # by CIDR
    advertisements: tuple[Advertisement, ...] = ()
    filters: Mapping[str, BGPFilterSpec] = {}  # those that sessions name
    ignored_interfaces: tuple[str, ...] = ()
    normal_priority: Mapping[Family, int] = {4: 1024, 6: 1024}
    reflects: bool = False  # this node is a route reflector
    refusals: tuple[Refusal, ...] = ()

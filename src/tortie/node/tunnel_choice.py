"""Which addresses this node's tunnels shall have: kept, taken, taken anew or given back, as Calico decides it. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Final, Literal, NamedTuple

from tortie.ipam.block import Block, block_cidr
from tortie.ipam.records import TUNNEL_HANDLES
from tortie.model.network import IP, Family, Network
from tortie.model.resource import stored_value
from tortie.model.selector import Selector, SelectorError, parse
from tortie.model.wire import Document

_BLOCK_SIZES: Final[dict[Family, int]] = {4: 26, 6: 122}


class Kind(NamedTuple):
    """A kind of tunnel, and the names that Calico has for its address."""

    name: str
    family: Family
    mode: str  # the field of a pool that asks for it
    attribute: str  # the type that IPAM notes
    field: tuple[str, ...]  # of a Node's spec

    @property
    def handle(self) -> str:
        """Followed by the node's name."""
        return TUNNEL_HANDLES[self.attribute]


IPIP: Final = Kind("IPIP", 4, "ipipMode", "ipipTunnelAddress", ("bgp", "ipv4IPIPTunnelAddr"))
VXLAN: Final = Kind("VXLAN", 4, "vxlanMode", "vxlanTunnelAddress", ("ipv4VXLANTunnelAddr",))
VXLAN_6: Final = Kind("VXLAN v6", 6, "vxlanMode", "vxlanV6TunnelAddress", ("ipv6VXLANTunnelAddr",))
KINDS: Final = (IPIP, VXLAN, VXLAN_6)

Action = Literal["nothing", "keep", "assign", "reassign", "adopt", "release"]


class Choice(NamedTuple):
    action: Action
    said: str = ""  # what Calico logs


class Pool(NamedTuple):
    """As much of an IPPool as matters here."""

    network: Network
    block_size: int
    modes: Mapping[str, str]
    for_tunnels: bool
    selector: Selector


def read_pool(pool: Document) -> Pool:
    """ValueError says why it makes no sense: it may be anything that somebody has written there."""
    spec, metadata = pool.get("spec"), pool.get("metadata")
    if not isinstance(spec, dict) or not isinstance(metadata, dict | None):
        raise ValueError("its spec or its metadata is not an object")
    uses = spec.get("allowedUses") or ["Workload", "Tunnel"]
    if not isinstance(uses, list):
        raise ValueError("its allowedUses are not a list")
    network = ip_network(str(spec.get("cidr")), strict=False)
    size = spec.get("blockSize") or _BLOCK_SIZES[network.version]
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= network.max_prefixlen:
        raise ValueError(f"its blockSize is {size!r}")
    try:
        selector = parse(str(spec.get("nodeSelector") or "all()"))
    except (SelectorError, RecursionError) as error:
        raise ValueError(f"its nodeSelector: {error}") from None
    modes = {kind.mode: str(spec.get(kind.mode) or "") for kind in KINDS}
    leaving = bool(spec.get("disabled") or (metadata or {}).get("deletionTimestamp"))
    return Pool(network, size, modes, not leaving and "Tunnel" in uses, selector)


def usable_pools(kind: Kind, pools: Mapping[str, Pool], labels: Mapping[str, str]) -> dict[str, Network]:
    """Pools with such tunnels that may give this node an address for its own, by name."""
    return {name: pool.network for name, pool in sorted(pools.items()) if _usable(kind, pool, labels)}


def _usable(kind: Kind, pool: Pool, labels: Mapping[str, str]) -> bool:
    if not pool.for_tunnels or pool.network.version != kind.family:
        return False
    return pool.modes[kind.mode] in ("Always", "CrossSubnet") and pool.selector.matches(dict(labels))


def why_not_readable(node: Document) -> str:
    """Why a Node record cannot be worked with; "" when it can. Such a record is left to whoever registers the node."""
    spec, metadata = node.get("spec"), node.get("metadata")
    if node.get("kind") != "Node" or not isinstance(metadata, dict):
        return "it is no Node"
    if not isinstance(spec, dict) or not isinstance(spec.get("bgp"), dict | None):
        return "its spec is not one of a Node"
    labels = metadata.get("labels")
    if not isinstance(labels, dict | None) or not all(isinstance(value, str) for value in (labels or {}).values()):
        return "its labels are not texts by name"
    return ""


def labels_of(node: Document) -> Mapping[str, str]:
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    return labels


def current_address(kind: Kind, node: Document) -> IP | None:
    part: object = node.get("spec") or {}
    for field in kind.field:
        part = part.get(field) if isinstance(part, dict) else None
    try:
        return ip_address(part) if isinstance(part, str) and part else None
    except ValueError:
        return None


def home_of(ip: IP, pools: Mapping[str, Pool]) -> Network | None:
    """The block that an address would be in; None if it is in no pool."""
    for pool in pools.values():
        if ip.version == pool.network.version and ip in pool.network:
            return block_cidr(ip, pool.block_size)
    return None


def choose(kind: Kind, node: str, current: IP | None, usable: Sequence[Network], block: Block | None) -> Choice:
    """`block` is the one that the current address is in, if there is one."""
    if not usable:
        return Choice("release") if current else Choice("nothing")
    if current is None:
        return Choice("assign", "Assign a new tunnel address")
    if not any(current in network for network in usable):
        return Choice("reassign", "Current address is not in a valid pool, release it and reassign")
    holding = block.holding(current) if block else None
    if holding is None or holding.attribute.released_at:
        return Choice("assign", "Current address is not assigned, assign a new one")
    told = holding.attribute.secondary or {}
    if not told and not holding.attribute.handle:
        return Choice("adopt", "Updated tunnel address with allocation attributes")
    if told.get("type") == kind.attribute and told.get("node") == node:
        return Choice("keep", "Current address is still valid, do nothing")
    return Choice("assign", "Current address is occupied, assign a new one")


def with_address(kind: Kind, node: Document, ip: IP | None) -> bytes:
    """The Node record, one that can be worked with, with that address, or without any, as Calico would write it."""
    document = copy.deepcopy(node)
    part = document["spec"]
    for field in kind.field[:-1]:
        if part.get(field) is None:
            part[field] = {}
        part = part[field]
    if ip is None:
        part.pop(kind.field[-1], None)
    else:
        part[kind.field[-1]] = str(ip)
    return stored_value(document)

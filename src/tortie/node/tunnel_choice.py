"""Which addresses this node's tunnels shall have: kept, taken, taken anew or given back, as Calico decides it. Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Final, Literal, NamedTuple

from tortie.ipam.block import Block, block_cidr
from tortie.ipam.records import TUNNEL_HANDLES
from tortie.model.network import IP, Family, Network
from tortie.model.resource import stored_form, validate
from tortie.model.selector.errors import SelectorError
from tortie.model.selector.parser import parse
from tortie.model.wire import Document, encode

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


def usable_pools(kind: Kind, pools: Mapping[str, Document], labels: Mapping[str, str]) -> dict[str, Network]:
    """Pools with such tunnels that may give this node an address for its own, by name."""
    return {name: network for name, pool in sorted(pools.items()) if (network := _usable(kind, pool, labels))}


def _usable(kind: Kind, pool: Document, labels: Mapping[str, str]) -> Network | None:
    spec, metadata = pool.get("spec") or {}, pool.get("metadata") or {}
    uses = spec.get("allowedUses") or ["Workload", "Tunnel"]
    if spec.get("disabled") or metadata.get("deletionTimestamp") or "Tunnel" not in uses:
        return None
    if spec.get(kind.mode) not in ("Always", "CrossSubnet"):
        return None
    try:
        network = ip_network(str(spec.get("cidr")), strict=False)
        selected = parse(str(spec.get("nodeSelector") or "all()")).matches(dict(labels))
    except (ValueError, SelectorError):
        return None
    return network if selected and network.version == kind.family else None


def current_address(kind: Kind, node: Document) -> IP | None:
    part: object = node.get("spec") or {}
    for field in kind.field:
        part = part.get(field) if isinstance(part, dict) else None
    try:
        return ip_address(str(part)) if part else None
    except ValueError:
        return None


def home_of(ip: IP, pools: Mapping[str, Document]) -> Network | None:
    """The block that an address would be in; None if it is in no pool."""
    for pool in pools.values():
        spec = pool.get("spec") or {}
        try:
            network = ip_network(str(spec.get("cidr")), strict=False)
        except ValueError:
            continue
        if ip.version == network.version and ip in network:
            return block_cidr(ip, int(spec.get("blockSize") or _BLOCK_SIZES[ip.version]))
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
    """The Node record with that address, or without any, as Calico would write it."""
    document = copy.deepcopy(node)
    part = document.setdefault("spec", {})
    for field in kind.field[:-1]:
        part = part.setdefault(field, {})
    if ip is None:
        part.pop(kind.field[-1], None)
    else:
        part[kind.field[-1]] = str(ip)
    # What breaks other rules stays as somebody left it.
    return encode(document if validate(document, stored=document) else stored_form(document))

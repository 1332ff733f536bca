"""Blocks, affinities, handles and the settings of IPAM from the bytes that Calico keeps; what their keys say.

What a newer Calico writes beside the fields that we know is kept. A `TortieError` is raised for what makes no sense,
wrong types among it, as Calico itself would not read them; it never takes anything else with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

import msgspec

from tortie.ipam.block import Attribute, Block
from tortie.ipam.encoding import block_document as block_document
from tortie.ipam.encoding import write_affinity as write_affinity
from tortie.ipam.encoding import write_block as write_block
from tortie.ipam.encoding import write_handle as write_handle
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM
from tortie.model.network import Network
from tortie.model.wire import Document, decode

BLOCKS: Final = f"{IPAM}assignment/"
HOSTS: Final = f"{IPAM}host/"
VIRTUALS: Final = f"{IPAM}virtual/"
HANDLES: Final = f"{IPAM}handle/"

# What Calico notes as the type of a tunnel's address, and the beginning of the handle, which ends in the node's name.
TUNNEL_HANDLES: Final[Mapping[str, str]] = {
    "ipipTunnelAddress": "ipip-tunnel-addr-",
    "vxlanTunnelAddress": "vxlan-tunnel-addr-",
    "vxlanV6TunnelAddress": "vxlan-v6-tunnel-addr-",
    "wireguardTunnelAddress": "wireguard-tunnel-addr-",
    "wireguardV6TunnelAddress": "wireguard-v6-tunnel-addr-",
}

T = TypeVar("T")

State = Literal["", "pending", "confirmed", "pendingDeletion"]

# Both 0 and unset mean this many.
MAX_BLOCKS_PER_HOST: Final = 20


class NotReadable(TortieError):
    """A record of IPAM that makes no sense."""

    code = "damaged"

    def __init__(self, key: str, why: str) -> None:
        self.key = key
        super().__init__(
            f"the value of {key} cannot be read",
            why,
            "`tortie datastore export` shows it as it is; `tortie ipam check` tells what depends on it",
        )


class Affinity(NamedTuple):
    """Which host claims a block. Only what is confirmed may be used; the block itself has the last word."""

    owner: str  # a node, or for virtual ones their name
    cidr: Network
    state: State = "confirmed"
    deleted: bool = False
    virtual: bool = False
    rest: Mapping[str, Any] = {}

    @property
    def is_confirmed(self) -> bool:
        return self.state in ("", "confirmed") and not self.deleted


class Handle(NamedTuple):
    """How many addresses one owner has, block by block."""

    handle: str
    blocks: Mapping[str, int]  # by CIDR
    deleted: bool = False
    rest: Mapping[str, Any] = {}

    def with_added(self, cidr: Network, count: int) -> Handle:
        """With none left in a block, the block is not mentioned any more; `count` may be negative."""
        left = self.blocks.get(str(cidr), 0) + count
        others = {name: number for name, number in self.blocks.items() if name != str(cidr)}
        return self._replace(blocks={**others, str(cidr): left} if left > 0 else others)

    @property
    def is_empty(self) -> bool:
        return not self.blocks

    def networks(self) -> list[Network]:
        """The blocks, as far as their names make sense."""
        return [cidr for name in self.blocks if (cidr := _network(name))]


class IpamSettings(NamedTuple):
    """With the key absent: these defaults. Where it is there, a boolean that is left out is false."""

    strict_affinity: bool = False
    auto_allocate_blocks: bool = True
    max_blocks_per_host: int = 0
    cooldown_s: int = 0
    rest: Mapping[str, Any] = {}

    def blocks_max(self, asked: int = 0) -> int:
        limits = [limit for limit in (asked, self.max_blocks_per_host) if limit > 0]
        return min(limits) if limits else MAX_BLOCKS_PER_HOST


def read_block(key: str, value: bytes) -> Block:
    document = _decoded(value, key)
    try:
        block = _block(document)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NotReadable(key, f"it is no block: {type(error).__name__}: {error}") from None
    named = parse_block_key(key)
    if named is not None and named != block.cidr:
        raise NotReadable(key, f"it says that it is {block.cidr}, but stands under the key of {named}")
    return block


def _decoded(value: bytes, key: str) -> Document:
    """The fast way, and the thorough one for what it does not understand."""
    try:
        document = _DECODER.decode(value)
    except (ValueError, RecursionError):
        return decode(value, key)
    return document if isinstance(document, dict) else decode(value, key)


_DECODER: Final = msgspec.json.Decoder()


def _block(document: Document) -> Block:
    rest = {name: value for name, value in document.items() if name not in _BLOCK_FIELDS}
    attributes = tuple([_attribute(raw) for raw in document.get("attributes") or ()])
    allocations, unallocated = tuple(document["allocations"]), tuple(document.get("unallocated") or ())
    cidr = _network(document["cidr"]) if isinstance(document["cidr"], str) else None
    if cidr is None:
        raise ValueError(f"no CIDR: {document['cidr']}")
    if len(allocations) != cidr.num_addresses:
        raise ValueError(f"{len(allocations)} allocations for {cidr.num_addresses} addresses")
    if not {*map(type, allocations)} <= _INDEXES or not {*map(type, unallocated)} <= {int}:
        raise ValueError("what is given out and what is free are not told by numbers")
    used = set(allocations) - {None}
    if used and (min(used) < 0 or max(used) >= len(attributes)):
        raise ValueError(f"attributes {min(used)} to {max(used)} of {len(attributes)}")
    affinity, host = _of(document, "affinity", str), _of(document, "hostAffinity", str)
    numbers = _of(document, "sequenceNumberForAllocation", dict) or {}
    if not {*map(type, numbers.values())} <= {int}:
        raise ValueError("sequenceNumberForAllocation has what is no number")
    return Block(
        cidr,
        affinity or (f"host:{host}" if host else None),
        _of(document, "affinity_claim_time", str),
        allocations,
        unallocated,
        attributes,
        _of(document, "sequenceNumber", int) or 0,
        {int(ordinal): number for ordinal, number in numbers.items()},
        bool(document.get("deleted")),
        rest,
    )


_INDEXES: Final = {int, type(None)}


def _of(document: Document, field: str, kind: type[T]) -> T | None:
    """None where it is not set. What is of another type is refused, and never made to fit."""
    value = document.get(field)
    if value is None or type(value) is kind:
        return value
    raise ValueError(f"{field} is {value!r:.40}, which is no {_CALLED[kind]}")


_CALLED: Final[Mapping[type, str]] = {str: "text", int: "number", bool: "truth value", dict: "map"}


_BLOCK_FIELDS: Final = frozenset(
    {
        *("cidr", "affinity", "affinity_claim_time", "allocations", "unallocated", "attributes"),
        *("sequenceNumber", "sequenceNumberForAllocation", "deleted", "hostAffinity"),
    }
)
_ATTRIBUTE_FIELDS: Final = frozenset({"handle_id", "secondary", "releasedAt"})


def _attribute(raw: Document) -> Attribute:
    if type(raw) is not dict:
        raise ValueError(f"an attribute is {raw!r:.40}")
    known = ("handle_id" in raw) + ("secondary" in raw) + ("releasedAt" in raw)
    rest = _NOTHING if known == len(raw) else {name: raw[name] for name in raw if name not in _ATTRIBUTE_FIELDS}
    secondary = _of(raw, "secondary", dict)
    if secondary and not {*map(type, secondary.values())} <= {str}:
        raise ValueError("a field of an attribute is no text")
    return Attribute(_of(raw, "handle_id", str), secondary, _of(raw, "releasedAt", str), rest)


_NOTHING: Final[Mapping[str, Any]] = {}


def read_affinity(key: str, value: bytes) -> Affinity:
    parsed = parse_affinity_key(key)
    if parsed is None:
        raise NotReadable(key, "its key is not that of an affinity")
    if value == _CONFIRMED:
        return parsed
    document = decode(value, key) if value else {}  # very old data has no value at all
    rest = {name: item for name, item in document.items() if name not in ("state", "deleted")}
    state, deleted = document.get("state") or "", document.get("deleted") in (True, "true")
    if state not in ("", "pending", "confirmed", "pendingDeletion"):
        raise NotReadable(key, f"no such state: {state!r}")
    return parsed._replace(state=cast(State, state), deleted=deleted, rest=rest)


_CONFIRMED: Final = b'{"state":"confirmed","deleted":false}'  # as nearly all are


def read_handle(key: str, value: bytes) -> Handle:
    document = _decoded(value, key)
    blocks = document.get("block") or {}
    if not isinstance(blocks, dict) or not all(type(count) is int for count in blocks.values()):
        raise NotReadable(key, "its counts of addresses are no numbers")
    rest = {name: item for name, item in document.items() if name not in ("block", "deleted")}
    return Handle(key.removeprefix(HANDLES), blocks, bool(document.get("deleted")), rest)


def read_settings(key: str, value: bytes) -> IpamSettings:
    document = decode(value, key)
    try:
        settings = IpamSettings(
            _of(document, "strict_affinity", bool) or False,
            _of(document, "auto_allocate_blocks", bool) or False,
            _of(document, "maxBlocksPerHost", int) or 0,
            _of(document, "ipCooldownSeconds", int) or 0,
            {name: item for name, item in document.items() if name not in _SETTINGS_FIELDS},
        )
    except ValueError as error:
        raise NotReadable(key, str(error)) from None
    return settings


_SETTINGS_FIELDS: Final = frozenset(
    {"strict_affinity", "auto_allocate_blocks", "maxBlocksPerHost", "ipCooldownSeconds"}
)


def parse_block_key(key: str) -> Network | None:
    """`/calico/ipam/v2/assignment/ipv4/block/10.244.0.0-26`; None for other keys."""
    if not key.startswith(BLOCKS):
        return None
    return _cidr(key[len(BLOCKS) :].partition("/block/")[2])


def parse_affinity_key(key: str) -> Affinity | None:
    """`/calico/ipam/v2/host/node1/ipv4/block/10.244.0.0-26`; None for other keys, a host's own mark among them."""
    for prefix, virtual in ((HOSTS, False), (VIRTUALS, True)):
        if key.startswith(prefix):
            owner, _, rest = key[len(prefix) :].partition("/")
            cidr = _cidr(rest.partition("/block/")[2])
            return Affinity(owner, cidr, virtual=virtual) if owner and cidr else None
    return None


@lru_cache(maxsize=4096)
def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


def _cidr(segment: str) -> IPv4Network | IPv6Network | None:
    return _network(segment.replace("-", "/", 1)) if segment else None

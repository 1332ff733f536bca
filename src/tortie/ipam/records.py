"""Blocks, affinities, handles and the settings of IPAM to and from the bytes that Calico keeps; what their keys say.

What a newer Calico writes beside the fields that we know is kept. `NotReadable` is raised for what makes no sense; it
never takes anything else with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from operator import is_
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from tortie.ipam.block import Attribute, Block
from tortie.model.errors import TortieError
from tortie.model.keys import IPAM
from tortie.model.network import Network
from tortie.model.wire import Document, decode, encode

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
        return _block(document)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise NotReadable(key, f"it is no block: {type(error).__name__}: {error}") from None


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
    allocations = tuple(document["allocations"])
    cidr = _network(document["cidr"])
    if cidr is None:
        raise ValueError(f"no CIDR: {document['cidr']}")
    if len(allocations) != cidr.num_addresses:
        raise ValueError(f"{len(allocations)} allocations for {cidr.num_addresses} addresses")
    used = set(allocations) - {None}
    if used and (min(used) < 0 or max(used) >= len(attributes)):
        raise ValueError(f"attributes {min(used)} to {max(used)} of {len(attributes)}")
    return Block(
        cidr,
        document.get("affinity") or (f"host:{document['hostAffinity']}" if document.get("hostAffinity") else None),
        document.get("affinity_claim_time"),
        allocations,
        tuple(document.get("unallocated") or ()),
        attributes,
        int(document.get("sequenceNumber") or 0),
        {int(ordinal): int(number) for ordinal, number in (document.get("sequenceNumberForAllocation") or {}).items()},
        bool(document.get("deleted")),
        rest,
    )


_BLOCK_FIELDS: Final = frozenset(
    {
        *("cidr", "affinity", "affinity_claim_time", "allocations", "unallocated", "attributes"),
        *("sequenceNumber", "sequenceNumberForAllocation", "deleted", "hostAffinity"),
    }
)
_ATTRIBUTE_FIELDS: Final = frozenset({"handle_id", "secondary", "releasedAt"})


def _attribute(raw: Document) -> Attribute:
    known = ("handle_id" in raw) + ("secondary" in raw) + ("releasedAt" in raw)
    rest = _NOTHING if known == len(raw) else {name: raw[name] for name in raw if name not in _ATTRIBUTE_FIELDS}
    return Attribute(raw.get("handle_id"), raw.get("secondary"), raw.get("releasedAt"), rest)


_NOTHING: Final[Mapping[str, Any]] = {}


def write_block(block: Block) -> bytes:
    """As Go writes it: its order of fields, maps by key.

    Put together from its parts, because this is done for every address that is given out, and most of a block is
    attributes that are the same as last time.
    """
    if block.rest:
        return encode(block_document(block))
    try:
        numbers = _numbers(_by_text(block.sequences, block.size))
        allocations, unallocated = _numbers(block.allocations), _numbers(block.unallocated)
    except OverflowError:  # a number that no program of Calico's has written
        return encode(block_document(block))
    claimed = b',"affinity_claim_time":' + _text(block.claim_time) if block.claim_time is not None else b""
    return b"".join(
        (
            b'{"cidr":"%b","affinity":%b%b' % (str(block.cidr).encode(), _text(block.affinity), claimed),
            b',"allocations":%b,"unallocated":%b,"attributes":[' % (allocations, unallocated),
            _attributes_text(block.attributes),
            b'],"sequenceNumber":%d,"sequenceNumberForAllocation":%b' % (block.sequence, numbers),
            b',"deleted":true}' if block.deleted else b',"deleted":false}',
        )
    )


_numbers: Final = msgspec.json.Encoder().encode


def _by_text(sequences: Mapping[int, int], size: int) -> Mapping[int, int]:
    """As Go orders the keys of a map: 1, 10, 11, 2."""
    if len(sequences) > 1:
        ordered = {ordinal: sequences[ordinal] for ordinal in _ordinals(size) if ordinal in sequences}
        if len(ordered) < len(sequences):  # of addresses that the block does not have
            ordered = {ordinal: sequences[ordinal] for ordinal in sorted(sequences, key=str)}
        return ordered
    return sequences


@lru_cache(maxsize=16)
def _ordinals(size: int) -> tuple[int, ...]:
    return tuple(sorted(range(size), key=str))


@lru_cache(maxsize=1024)
def _text(value: str | None) -> bytes:
    """As JSON, spelled as Go does."""
    return encode({"": value})[4:-1]


_attribute_texts: dict[str | None, tuple[Attribute, bytes]] = {}
_ATTRIBUTES_KEPT: Final = 8192
_joined: dict[str | None, tuple[tuple[Attribute, ...], bytes]] = {}  # of whole blocks, by the first one's handle
_JOINED_KEPT: Final = 64


def _attributes_text(attributes: tuple[Attribute, ...]) -> bytes:
    """Mostly those of last time and one more."""
    if not attributes:
        return b""
    first, rest = attributes[0].handle, attributes[:-1]
    before = _joined.get(first)
    if before is not None and len(before[0]) == len(rest) and all(map(is_, before[0], rest)):
        text = before[1] + b"," + _attribute_text(attributes[-1])
    else:
        text = b",".join(map(_attribute_text, attributes))
    if len(_joined) >= _JOINED_KEPT and first not in _joined:
        _joined.clear()
    _joined[first] = (attributes, text)
    return text


def _attribute_text(attribute: Attribute) -> bytes:
    known = _attribute_texts.get(attribute.handle)
    if known is not None and known[0] is attribute:
        return known[1]
    text = encode(_attribute_document(attribute))
    if len(_attribute_texts) >= _ATTRIBUTES_KEPT:
        _attribute_texts.clear()
    _attribute_texts[attribute.handle] = (attribute, text)
    return text


def block_document(block: Block) -> Document:
    document: Document = {"cidr": str(block.cidr), "affinity": block.affinity}
    if block.claim_time is not None:
        document["affinity_claim_time"] = block.claim_time
    sequences = sorted((str(ordinal), number) for ordinal, number in block.sequences.items())
    return document | {
        "allocations": list(block.allocations),
        "unallocated": list(block.unallocated),
        "attributes": [_attribute_document(attribute) for attribute in block.attributes],
        "sequenceNumber": block.sequence,
        "sequenceNumberForAllocation": dict(sequences),
        "deleted": block.deleted,
        **block.rest,
    }


def _attribute_document(attribute: Attribute) -> Document:
    """Go leaves out what is empty."""
    document: Document = {}
    if attribute.handle is not None:
        document["handle_id"] = attribute.handle
    if attribute.secondary:
        document["secondary"] = dict(sorted(attribute.secondary.items()))
    document |= attribute.rest
    return document | ({"releasedAt": attribute.released_at} if attribute.released_at else {})


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


def write_affinity(affinity: Affinity) -> bytes:
    return encode({"state": affinity.state, "deleted": affinity.deleted, **affinity.rest})


def read_handle(key: str, value: bytes) -> Handle:
    document = _decoded(value, key)
    blocks = document.get("block") or {}
    if not isinstance(blocks, dict) or not all(isinstance(count, int) for count in blocks.values()):
        raise NotReadable(key, "its counts of addresses are no numbers")
    rest = {name: item for name, item in document.items() if name not in ("block", "deleted")}
    return Handle(key.removeprefix(HANDLES), blocks, bool(document.get("deleted")), rest)


def write_handle(handle: Handle) -> bytes:
    if len(handle.blocks) == 1 and not handle.rest and not handle.deleted:
        ((cidr, count),) = handle.blocks.items()
        return b'{"block":{%b:%d},"deleted":false}' % (_text(cidr), count)
    return encode({"block": dict(sorted(handle.blocks.items())), "deleted": handle.deleted, **handle.rest})


def read_settings(key: str, value: bytes) -> IpamSettings:
    document = decode(value, key)
    known = ("strict_affinity", "auto_allocate_blocks", "maxBlocksPerHost", "ipCooldownSeconds")
    return IpamSettings(
        bool(document.get("strict_affinity")),
        bool(document.get("auto_allocate_blocks")),
        int(document.get("maxBlocksPerHost") or 0),
        int(document.get("ipCooldownSeconds") or 0),
        {name: item for name, item in document.items() if name not in known},
    )


def write_settings(settings: IpamSettings) -> bytes:
    """Go leaves out what is false or 0."""
    fields = {
        "strict_affinity": settings.strict_affinity,
        "auto_allocate_blocks": settings.auto_allocate_blocks,
        "maxBlocksPerHost": settings.max_blocks_per_host,
        "ipCooldownSeconds": settings.cooldown_s,
    }
    return encode({**{name: value for name, value in fields.items() if value}, **settings.rest})


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

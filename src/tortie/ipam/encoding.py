"""Blocks, affinities and handles as the bytes that Calico keeps, spelled as Go does. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, Final

import msgspec

from tortie.ipam.block import Attribute, Block
from tortie.model.wire import Document, encode

if TYPE_CHECKING:
    from tortie.ipam.records import Affinity, Handle


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


def write_affinity(affinity: Affinity) -> bytes:
    return encode({"state": affinity.state, "deleted": affinity.deleted, **affinity.rest})


def write_handle(handle: Handle) -> bytes:
    if len(handle.blocks) == 1 and not handle.rest and not handle.deleted:
        ((cidr, count),) = handle.blocks.items()
        return b'{"block":{%b:%d},"deleted":false}' % (_text(cidr), count)
    return encode({"block": dict(sorted(handle.blocks.items())), "deleted": handle.deleted, **handle.rest})

"""Whether blocks are sound: each by itself, among each other, and in the pools. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from tortie.ipam.block import Block
from tortie.ipam.census import Census
from tortie.ipam.problems import Problem
from tortie.model.network import IP, Network
from tortie.model.resources.ippool import IPPoolSpec

_REWRITTEN = "the next write of the block sets it right"
_BY_HAND = "compare the block with the pods of its node, then put it right by export, edit and import"
_CLOCK = "check the clocks of the nodes; it is free at the latest when that time has come"


class Pools:
    """Finds the pool of an address by one look-up for each length of prefix, however many pools there are."""

    def __init__(self, pools: Mapping[str, IPPoolSpec], *, active_only: bool = False) -> None:
        self._by_start: dict[tuple[int, int, int], tuple[str, IPPoolSpec]] = {}
        for name, spec in pools.items():
            if not (active_only and spec.disabled):
                cidr = spec.cidr
                self._by_start[cidr.version, cidr.prefixlen, int(cidr.network_address)] = (name, spec)
        lengths = {(version, length) for version, length, _ in self._by_start}
        self._lengths = {
            family: sorted((length for version, length in lengths if version == family), reverse=True)
            for family in (4, 6)
        }

    def of(self, ip: IP, longest: int = 128) -> tuple[str, IPPoolSpec] | None:
        number, bits = int(ip), ip.max_prefixlen
        for length in self._lengths[ip.version]:
            start = number >> (bits - length) << (bits - length)
            if length <= longest and (found := self._by_start.get((ip.version, length, start))):
                return found
        return None

    def of_block(self, cidr: Network) -> tuple[str, IPPoolSpec] | None:
        return self.of(cidr.network_address, cidr.prefixlen)


def block_problems(census: Census, now: datetime) -> Iterator[Problem]:
    pools = Pools(census.pools)
    for block in census.blocks.values():
        yield from structure_problems(block, now)
        yield from _place_problems(block, pools)
    yield from _overlaps(census.blocks)


def structure_problems(block: Block, now: datetime) -> Iterator[Problem]:
    """Calico's rules for what stands within one block. That indexes are in range is asked when it is read."""
    cidr, allocations, waiting = str(block.cidr), block.allocations, block.unallocated
    if block.deleted:
        yield Problem("tombstone", "warning", cidr, "the block is marked as deleted but still there", _BY_HAND)
    used = set(allocations)
    for index, attribute in enumerate(block.attributes):
        if index not in used:
            why = f"no address refers to attribute {index} (handle {attribute.handle})"
            yield Problem("attribute-unused", "warning", cidr, why, _REWRITTEN)
        if attribute.released_at and (why := _not_yet(attribute.released_at, now)):
            yield Problem("released-in-future", "warning", cidr, why, _CLOCK)
    free = set(waiting)
    if len(free) != len(waiting):
        repeated = sorted({ordinal for ordinal in waiting if waiting.count(ordinal) > 1})
        why = f"the queue of free addresses has {_listed(block, repeated)} more than once: it would be given out twice"
        yield Problem("queue-repeats", "error", cidr, why, _BY_HAND)
    if outside := sorted(ordinal for ordinal in free if not 0 <= ordinal < block.size):
        why = f"the queue of free addresses has the numbers {outside[:5]}, but there are only {block.size} addresses"
        yield Problem("queue-range", "error", cidr, why, _BY_HAND)
        free.difference_update(outside)
    if held := sorted(ordinal for ordinal in free if allocations[ordinal] is not None):
        why = f"{_listed(block, held)} is held, but waits in the queue of free addresses, too"
        yield Problem("queue-held", "error", cidr, why, _BY_HAND)
    if lost := [ordinal for ordinal, index in enumerate(allocations) if index is None and ordinal not in free]:
        why = f"{_listed(block, lost)} is held by nobody, but does not wait in the queue of free addresses either"
        yield Problem("queue-missing", "error", cidr, why, _BY_HAND)


def _place_problems(block: Block, pools: Pools) -> Iterator[Problem]:
    found = pools.of_block(block.cidr)
    if found is None:
        held = block.size - block.free
        what = f"{held} addresses in it are still held" if held else "nobody holds an address in it"
        yield Problem(
            "block-outside-pools",
            "warning",
            str(block.cidr),
            f"no pool has this block; {what}",
            "create the pool again, or delete the pods that have these addresses; empty, the block goes",
        )
    elif found[1].block_size != block.cidr.prefixlen:
        name, spec = found
        why = f"a /{block.cidr.prefixlen} in the pool {name}, whose blocks are /{spec.block_size}"
        yield Problem("block-size", "warning", str(block.cidr), why, f"move its pods, or split the pool {name}")


def _overlaps(blocks: Mapping[Network, Block]) -> Iterator[Problem]:
    """In order of addresses a block overlaps at most those that are still open, so that one pass is enough."""
    still_open: list[Block] = []
    for block in sorted(blocks.values(), key=lambda block: _place(block.cidr)):
        still_open = [other for other in still_open if _contains(other.cidr, block.cidr)]
        for other in still_open:
            why = f"lies within the block {other.cidr}: the same addresses could be given out by both"
            cure = f"move the pods of one of them to another block; of which pool were {block.cidr} and {other.cidr}?"
            yield Problem("blocks-overlap", "error", str(block.cidr), why, cure)
            yield from _twice(block, other)
        still_open.append(block)


def _twice(inner: Block, outer: Block) -> Iterator[Problem]:
    for holding in inner.holdings():
        if other := outer.holding(holding.ip):
            why = (
                f"is held in {inner.cidr} by {holding.attribute.handle} and in {outer.cidr} by {other.attribute.handle}"
            )
            yield Problem("address-twice", "error", str(holding.ip), why, "delete one of the two pods, it gets another")


def _contains(outer: Network, inner: Network) -> bool:
    return outer.version == inner.version and int(inner.network_address) <= int(outer.broadcast_address)


def _place(cidr: Network) -> tuple[int, int, int]:
    return cidr.version, int(cidr.network_address), cidr.prefixlen


def _not_yet(released_at: str, now: datetime) -> str:
    try:
        since = datetime.fromisoformat(released_at)
    except ValueError:
        return f"an address cools down since {released_at!r}, which is no time"
    if since.tzinfo is None or since <= now:
        return ""
    return f"an address cools down since {released_at}, which is yet to come"


def _listed(block: Block, ordinals: Iterable[int]) -> str:
    ips = [str(block.ip(ordinal)) if 0 <= ordinal < block.size else str(ordinal) for ordinal in ordinals]
    return ", ".join(ips[:5]) + (f" and {len(ips) - 5} more" if len(ips) > 5 else "")

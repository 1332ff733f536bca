"""How full pools and blocks are, and which addresses nodes borrow from each other. Pure.

In use is what is not in the queue of free addresses, so that what cools down counts as used, as Calico counts it.
Reserved are addresses that nobody has and nobody may get.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import NamedTuple

from tortie.ipam.block import Block
from tortie.ipam.census import Census
from tortie.ipam.check_blocks import Pools
from tortie.model.network import IP, Network


class Figures(NamedTuple):
    cidr: Network
    total: int
    used: int
    reserved: int

    @property
    def free(self) -> int:
        return self.total - self.used - self.reserved


class PoolFigures(NamedTuple):
    name: str
    disabled: bool
    whole: Figures
    blocks: tuple[tuple[Figures, str | None], ...]  # each with its affinity, in the order of addresses


class Utilization(NamedTuple):
    pools: tuple[PoolFigures, ...]
    orphans: tuple[tuple[Figures, str | None], ...]  # blocks of no pool
    has_reservations: bool


class Borrowed(NamedTuple):
    ip: IP
    node: str  # that has it
    block: Network
    owner: str  # of the block; "" if nobody owns it
    type: str
    allocated_to: str


def utilization(census: Census) -> Utilization:
    reserved = _Reserved(cidr for cidrs in census.reservations.values() for cidr in cidrs)
    pools = Pools(census.pools)
    by_pool: dict[str, list[Block]] = {name: [] for name in census.pools}
    orphans: list[Block] = []
    for block in sorted(census.blocks.values(), key=lambda block: _place(block.cidr)):
        found = pools.of_block(block.cidr)
        (by_pool[found[0]] if found else orphans).append(block)
    rows = []
    for name, blocks in by_pool.items():
        spec = census.pools[name]
        each = tuple((_of_block(block, reserved), block.affinity) for block in blocks)
        used = sum(figures.used for figures, _ in each)
        # Of what is reserved, that which somebody has nevertheless counts as used.
        had = sum(
            reserved.within(block.cidr) - figures.reserved for block, (figures, _) in zip(blocks, each, strict=True)
        )
        whole = Figures(spec.cidr, spec.cidr.num_addresses, used, reserved.within(spec.cidr) - had)
        rows.append(PoolFigures(name, spec.disabled, whole, each))
    lost = tuple((_of_block(block, reserved), block.affinity) for block in orphans)
    return Utilization(tuple(rows), lost, bool(reserved))


def borrowed(census: Census) -> tuple[list[Borrowed], int]:
    """And of how many addresses nobody can tell, because no node was noted with them."""
    found: list[Borrowed] = []
    unknown = 0
    for block in sorted(census.blocks.values(), key=lambda block: _place(block.cidr)):
        owner = (block.affinity or "").partition(":")[2]
        for holding in block.holdings():
            attribute = holding.attribute
            secondary = attribute.secondary or {}
            if attribute.released_at:
                continue
            if "node" not in secondary:
                unknown += 1
            elif secondary["node"] != owner:
                kind = "pod" if "pod" in secondary else secondary.get("type", "")
                to = f"{secondary.get('namespace', '')}/{secondary['pod']}" if "pod" in secondary else ""
                found.append(Borrowed(holding.ip, secondary["node"], block.cidr, owner, kind, to))
    return found, unknown


def _of_block(block: Block, reserved: _Reserved) -> Figures:
    # A queue that is out of order must not make more free than there are; the check tells of it.
    free = len({ordinal for ordinal in block.unallocated if 0 <= ordinal < block.size})
    within = reserved.within(block.cidr)
    if within:
        within = sum(reserved.has(block.ip(ordinal)) for ordinal in set(block.unallocated) if 0 <= ordinal < block.size)
    return Figures(block.cidr, block.size, block.size - free, within)


class _Reserved:
    """Reserved networks without overlaps, in order, so that one search finds those that matter."""

    def __init__(self, cidrs: Iterable[Network]) -> None:
        given = list(cidrs)
        v4 = collapse_addresses(cidr for cidr in given if isinstance(cidr, IPv4Network))
        v6 = collapse_addresses(cidr for cidr in given if isinstance(cidr, IPv6Network))
        self._ranges = {
            4: [(int(cidr.network_address), int(cidr.broadcast_address)) for cidr in v4],
            6: [(int(cidr.network_address), int(cidr.broadcast_address)) for cidr in v6],
        }

    def __bool__(self) -> bool:
        return any(self._ranges.values())

    def within(self, cidr: Network) -> int:
        first, last = int(cidr.network_address), int(cidr.broadcast_address)
        ranges = self._ranges[cidr.version]
        count = 0
        for start, end in ranges[max(0, bisect_left(ranges, (first, 0)) - 1) :]:
            if start > last:
                break
            count += max(0, min(end, last) - max(start, first) + 1)
        return count

    def has(self, ip: IP) -> bool:
        ranges, number = self._ranges[ip.version], int(ip)
        at = bisect_left(ranges, (number + 1, 0)) - 1
        return at >= 0 and number <= ranges[at][1]


def _place(cidr: Network) -> tuple[int, int, int]:
    return cidr.version, int(cidr.network_address), cidr.prefixlen

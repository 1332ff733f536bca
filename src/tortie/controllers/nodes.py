"""What is left of nodes that are gone, and other things nobody needs any more. Pure.

A node that exists is never touched, however little it does. One whose record cannot be read exists. And since an agent
that runs puts its record back within moments when somebody deletes it, a node counts as gone only after it has been
missing for a while.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from tortie.controllers.ripening import ripe, seen_again
from tortie.ipam.block import Block, clean_handle
from tortie.ipam.census import NODES, Census, Endpoint
from tortie.ipam.records import write_block
from tortie.ipam.usage import held_for
from tortie.model.keys import block_key, host_affinity_key
from tortie.model.network import Network
from tortie.store.contract import Delete, Operation, Put, Revision


class EmptyBlock(NamedTuple):
    """At one state of the block: whoever takes an address from it meanwhile makes it another one."""

    cidr: Network
    node: str
    revision: Revision


class Orphan(NamedTuple):
    """A handle that no address has."""

    handle: str
    revision: Revision


def existing_nodes(census: Census) -> set[str]:
    """Those whose record is there, readable or not."""
    unreadable = {key.removeprefix(NODES) for key, _ in census.unreadable if key.startswith(NODES)}
    return set(census.nodes) | unreadable


def mentioned_nodes(census: Census) -> set[str]:
    """Those that something in the store belongs to."""
    names = {affinity.owner for affinity, _ in census.affinities.values() if not affinity.virtual}
    names |= {endpoint.node for endpoint in census.endpoints}
    for cidr, block in census.blocks.items():
        if block.host:
            names.add(block.host)
        for attribute in block.attributes:
            held = held_for(cidr.network_address, attribute)
            if held.kind in ("pod", "tunnel", "unknown"):
                names.add(held.node)
    names.discard("")
    return names


def missing_nodes(census: Census, known: Collection[str]) -> set[str]:
    """`known`: those that were there some time ago."""
    return (mentioned_nodes(census) | set(known)) - existing_nodes(census)


def stale_endpoints(census: Census, gone: Collection[str]) -> list[Endpoint]:
    return [endpoint for endpoint in census.endpoints if endpoint.node in gone]


def claimants(census: Census) -> set[str]:
    return {affinity.owner for affinity, _ in census.affinities.values() if not affinity.virtual}


def unclaimed_blocks(census: Census, nodes: Collection[str]) -> Iterator[tuple[Network, Operation]]:
    """Blocks of these nodes that have no affinity any more, as a crash may leave them, and the writes to free them."""
    for cidr, block in census.blocks.items():
        if block.host in nodes and host_affinity_key(block.host or "", str(cidr)) not in census.affinities:
            key, revision = block_key(str(cidr)), census.block_revisions[cidr]
            freed = block.without_affinity().next_write()
            yield cidr, Delete(key, revision) if block.is_empty else Put(key, write_block(freed), revision)


def empty_blocks(census: Census, present: Collection[str]) -> list[EmptyBlock]:
    """Of nodes that exist and have more than one block, of one family; they may all be empty."""
    owned: dict[tuple[str, int], list[Network]] = defaultdict(list)
    for cidr, block in census.blocks.items():
        if block.host in present and block.host:
            owned[block.host, cidr.version].append(cidr)
    return [
        EmptyBlock(cidr, node, census.block_revisions[cidr])
        for (node, _), cidrs in owned.items()
        if len(cidrs) > 1
        for cidr in cidrs
        if _is_unused(census.blocks[cidr])
    ]


def _is_unused(block: Block) -> bool:
    """What Windows reserves makes a block no less empty, but it goes with its node, not before."""
    return not any(index is not None for index in block.allocations)


def superfluous(
    census: Census, since: Mapping[EmptyBlock, float], now: float, grace_s: float
) -> list[tuple[EmptyBlock, int]]:
    """Which of the empty blocks go, each with how many its node has. The last block of a node stays with it."""
    total: dict[tuple[str, int], int] = defaultdict(int)
    for cidr, block in census.blocks.items():
        if block.host:
            total[block.host, cidr.version] += 1
    chosen = []
    left = dict(total)
    for found in sorted(ripe(since, now, grace_s), key=lambda each: (since[each], str(each.cidr))):
        of = found.node, found.cidr.version
        if left[of] > 1:
            left[of] -= 1
            chosen.append((found, total[of]))
    return chosen


def giving_up(census: Census, found: EmptyBlock) -> list[Operation]:
    """The block and its affinity go together, and only as they were seen."""
    operations: list[Operation] = [Delete(block_key(str(found.cidr)), found.revision)]
    key = host_affinity_key(found.node, str(found.cidr))
    if key in census.affinities:
        operations.append(Delete(key, census.affinities[key][1]))
    return operations


def ownerless_empty(census: Census) -> list[tuple[Network, Revision]]:
    """Blocks that are nobody's and hold nothing: the last release from them did not get so far."""
    claimed = {affinity.cidr for affinity, _ in census.affinities.values()}
    return [
        (cidr, census.block_revisions[cidr])
        for cidr, block in census.blocks.items()
        if not block.affinity and cidr not in claimed and _is_unused(block)
    ]


def orphans(census: Census) -> list[Orphan]:
    """Handles whose addresses nobody holds. What cannot be read may be a block that has them."""
    used = {
        clean_handle(attribute.handle)
        for block in census.blocks.values()
        for attribute in block.attributes
        if attribute.handle
    }
    unreadable = {key for key, _ in census.unreadable}
    return [
        Orphan(name, revision)
        for name, (handle, revision) in census.handles.items()
        if clean_handle(name) not in used and not any(block_key(cidr) in unreadable for cidr in handle.blocks)
    ]


def cooled_down(census: Census, today: datetime) -> Iterator[tuple[Network, Operation]]:
    """Blocks with addresses that have cooled down long enough, and the write that makes them free again."""
    for cidr, block in census.blocks.items():
        settled = block.settled(today, census.settings.cooldown_s)
        if settled is not block:
            revision = census.block_revisions[cidr]
            if settled.affinity is None and _is_unused(settled):
                yield cidr, Delete(block_key(str(cidr)), revision)
            else:
                yield cidr, Put(block_key(str(cidr)), write_block(settled.next_write()), revision)


def gone_nodes(
    before: Mapping[str, float], missing: Collection[str], now: float, after_s: float
) -> tuple[list[str], Mapping[str, float]]:
    """Those that have been missing long enough, and since when each has been."""
    since = seen_again(before, missing, now)
    return sorted(ripe(since, now, after_s)), since

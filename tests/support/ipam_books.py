"""The books of IPAM, read straight from the store and audited: do blocks, affinities and handles agree?

It shares nothing with the code that keeps them but the reading of bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_interface
from itertools import pairwise
from typing import NamedTuple

from tortie.ipam.block import Block
from tortie.ipam.records import (
    BLOCKS,
    HANDLES,
    HOSTS,
    Affinity,
    Handle,
    parse_affinity_key,
    read_affinity,
    read_block,
    read_handle,
)
from tortie.model.keys import resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.network import IP
from tortie.store.contract import Store

_ENDPOINTS = resource_prefix(BY_NAME["WorkloadEndpoint"])


class Books(NamedTuple):
    blocks: tuple[Block, ...]
    affinities: tuple[Affinity, ...]
    handles: tuple[Handle, ...]
    endpoints: dict[IP, str]  # whose pod says that it has it, by its container

    @property
    def holders(self) -> dict[IP, str]:
        """Cooling addresses are nobody's."""
        return {
            holding.ip: holding.attribute.handle or ""
            for block in self.blocks
            for holding in block.holdings()
            if holding.attribute.released_at is None
        }

    @property
    def held(self) -> dict[str, set[IP]]:
        found: dict[str, set[IP]] = {}
        for ip, handle in self.holders.items():
            found.setdefault(handle, set()).add(ip)
        return found


async def opened(store: Store) -> Books:
    read = await store.snapshot((), [BLOCKS, HOSTS, HANDLES, _ENDPOINTS])
    endpoints: dict[IP, str] = {}
    for entry in read.listings[_ENDPOINTS]:
        spec = json.loads(entry.value)["spec"]
        for text in spec["ipNetworks"]:
            ip = ip_interface(text).ip
            assert ip not in endpoints, f"two pods say that they have {ip}: {spec['pod']} and {endpoints[ip]}"
            endpoints[ip] = spec["containerID"]
    return Books(
        tuple(read_block(entry.key, entry.value) for entry in read.listings[BLOCKS]),
        tuple(read_affinity(entry.key, entry.value) for entry in read.listings[HOSTS] if parse_affinity_key(entry.key)),
        tuple(read_handle(entry.key, entry.value) for entry in read.listings[HANDLES]),
        endpoints,
    )


def disorder(books: Books) -> Iterator[str]:
    """What is wrong at any time, also between the two writes of somebody who can do but one at a time."""
    yield from _overlaps(books)
    for block in books.blocks:
        yield from _disorder_of(block)
    counts = _counts(books)
    rows = {row.handle: row for row in books.handles}
    for (handle, cidr), count in counts.items():
        noted = rows[handle].blocks.get(cidr, 0) if handle in rows else 0
        if noted < count:
            yield f"{handle} holds {count} in {cidr}, but its row says {noted}: who releases by it would miss some"


def _overlaps(books: Books) -> Iterator[str]:
    ordered = sorted(books.blocks, key=lambda block: (block.cidr.version, int(block.cidr.network_address)))
    for one, other in pairwise(ordered):
        if one.cidr.overlaps(other.cidr):
            yield f"the blocks {one.cidr} and {other.cidr} overlap"


def _disorder_of(block: Block) -> Iterator[str]:
    free = block.unallocated
    used = {ordinal for ordinal, index in enumerate(block.allocations) if index is not None}
    if len(free) + len(used) != block.cidr.num_addresses or used & set(free) or len(set(free)) != len(free):
        yield f"{block.cidr}: {len(free)} free and {len(used)} used do not make {block.cidr.num_addresses}"
    referred = {index for index in block.allocations if index is not None}
    if referred != set(range(len(block.attributes))):
        yield f"{block.cidr}: {len(block.attributes)} attributes, referred to are {sorted(referred)}"
    named = {ordinal for ordinal in used if not block.attributes[block.allocations[ordinal] or 0].released_at}
    if set(block.sequences) != named:
        yield f"{block.cidr}: sequence numbers of {sorted(block.sequences)}, held are {sorted(named)}"
    if any(number >= block.sequence for number in block.sequences.values()):
        yield f"{block.cidr}: an address has a sequence number that the block has not reached"


def disagreement(books: Books) -> Iterator[str]:
    """What must not be found where everything that belongs together is written together, or once it was collected."""
    counts = _counts(books)
    for row in books.handles:
        if row.is_empty:
            yield f"the row of {row.handle} says nothing"
        for cidr, noted in row.blocks.items():
            if noted != counts.get((row.handle, cidr), 0):
                yield f"{row.handle} has {counts.get((row.handle, cidr), 0)} in {cidr}, its row says {noted}"
    rows = {(row.owner, str(row.cidr)) for row in books.affinities if row.is_confirmed}
    blocks = {(block.host, str(block.cidr)) for block in books.blocks if block.host is not None}
    for owner, cidr in rows - blocks:
        yield f"{owner} has an affinity to {cidr}, whose block does not say so"
    for host, cidr in blocks - rows:
        yield f"the block {cidr} is {host}'s, which has no confirmed affinity to it"
    for affinity in books.affinities:
        if not affinity.is_confirmed:
            yield f"the affinity of {affinity.owner} to {affinity.cidr} is left {affinity.state or 'deleted'}"
    for block in books.blocks:
        if block.affinity is None and block.is_empty and not any(a.released_at for a in block.attributes):
            yield f"the block {block.cidr} is empty and nobody's"
    for ip, container in books.endpoints.items():
        if not books.holders.get(ip, "").endswith(f".{container}"):
            yield f"the pod {container} says that it has {ip}, which {books.holders.get(ip, 'nobody')} holds"


def _counts(books: Books) -> Counter[tuple[str, str]]:
    return Counter(
        (holding.attribute.handle or "", str(block.cidr))
        for block in books.blocks
        for holding in block.holdings()
        if holding.attribute.released_at is None
    )

"""A small world for tests of address allocation: pools and nodes in a store, requests, and an audit of what is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tortie.ipam.block import HOST
from tortie.ipam.records import (
    BLOCKS,
    HANDLES,
    HOSTS,
    VIRTUALS,
    parse_affinity_key,
    read_affinity,
    read_block,
    read_handle,
)
from tortie.ipam.request import Request
from tortie.ipam.view import NODES, POOLS, RESERVATIONS
from tortie.model.keys import IPAM_CONFIG
from tortie.model.wire import encode
from tortie.store.contract import TIMEOUT_S, Change, Delete, Entry, Listing, Operation, Put, Revision, Snapshot, Store

ROOT = "/calico/"


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def pool(name: str, cidr: str, **spec: Any) -> Put:
    document = {"kind": "IPPool", "apiVersion": "projectcalico.org/v3", "metadata": {"name": name}}
    return Put(POOLS + name, encode({**document, "spec": {"cidr": cidr, **spec}}))


def node(name: str, **labels: str) -> Put:
    document = {"kind": "Node", "apiVersion": "projectcalico.org/v3", "metadata": {"name": name, "labels": labels}}
    return Put(NODES + name, encode({**document, "spec": {}}))


def reservation(name: str, *cidrs: str) -> Put:
    document = {"kind": "IPReservation", "apiVersion": "projectcalico.org/v3", "metadata": {"name": name}}
    return Put(RESERVATIONS + name, encode({**document, "spec": {"reservedCIDRs": list(cidrs)}}))


def settings(**fields: Any) -> Put:
    return Put(IPAM_CONFIG, encode({"auto_allocate_blocks": True, **fields}))


def request(handle: str, on: str = "node1", **fields: Any) -> Request:
    if not {"v4", "v6", "given"} & fields.keys():
        fields["v4"] = 1
    return Request(on, handle, {"node": on, "pod": handle, "namespace": "default"}, **fields)


async def clear(store: Store) -> None:
    keys = [entry.key for entry in (await store.scan(ROOT)).entries]
    for start in range(0, len(keys), 100):
        await store.commit([Delete(key) for key in keys[start : start + 100]])


async def set_up(store: Store, *operations: Operation) -> None:
    await clear(store)
    await store.commit(operations or [pool("default", "10.0.0.0/24", blockSize=28), node("node1"), node("node2")])


async def held(store: Store) -> dict[str, list[str]]:
    """The addresses of each handle, as the blocks tell."""
    found: dict[str, list[str]] = {}
    for entry in (await store.scan(BLOCKS)).entries:
        for holding in read_block(entry.key, entry.value).holdings():
            found.setdefault(holding.attribute.handle or "", []).append(str(holding.ip))
    return found


async def faults(store: Store) -> list[str]:
    """What is wrong in the store; after a cut some of it may be, until the request is repeated."""
    problems: list[str] = []
    seen: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    owners: dict[str, str | None] = {}
    for entry in (await store.scan(BLOCKS)).entries:
        block = read_block(entry.key, entry.value)
        owners[str(block.cidr)] = block.affinity
        free, used = set(block.unallocated), {o for o, index in enumerate(block.allocations) if index is not None}
        if len(free) != block.free or free & used or len(free | used) != block.size:
            problems.append(f"{block.cidr}: free and used addresses do not add up")
        if {index for index in block.allocations if index is not None} != set(range(len(block.attributes))):
            problems.append(f"{block.cidr}: attributes that nobody refers to")
        for holding in block.holdings():
            seen[str(holding.ip)] += 1
            if holding.attribute.handle:
                counts[holding.attribute.handle, str(block.cidr)] += 1
    problems += [f"{ip} twice" for ip, times in seen.items() if times > 1]
    rows: Counter[tuple[str, str]] = Counter()
    for entry in (await store.scan(HANDLES)).entries:
        handle = read_handle(entry.key, entry.value)
        rows.update({(handle.handle, cidr): count for cidr, count in handle.blocks.items()})
    if rows != counts:
        problems.append(f"handles count {dict(rows - counts)} too much and {dict(counts - rows)} too little")
    affinities: dict[str, str] = {}
    for prefix in (HOSTS, VIRTUALS):
        for entry in (await store.scan(prefix)).entries:
            if parse_affinity_key(entry.key) is None:
                continue
            row = read_affinity(entry.key, entry.value)
            owner = "virtual:load-balancer" if row.virtual else HOST + row.owner
            affinities[str(row.cidr)] = owner
            if not row.is_confirmed:
                problems.append(f"the affinity of {owner} for {row.cidr} is {row.state}")
            if owners.get(str(row.cidr)) != owner:
                problems.append(f"{owner} has an affinity for {row.cidr}, whose owner is {owners.get(str(row.cidr))}")
    problems += [f"{cidr}: no affinity row" for cidr, owner in owners.items() if owner and cidr not in affinities]
    return problems


class Cut(BaseException):
    """The process ends here."""


class CutStore:
    """Lets so many commits happen; the next one happens as well, or not, and then the process is gone."""

    def __init__(self, store: Store, commits: int, *, after: bool) -> None:
        self.where = store.where
        self._store = store
        self._left = commits
        self._after = after

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        if self._left:
            self._left -= 1
            return await self._store.commit(operations, timeout_s=timeout_s)
        if self._after:
            await self._store.commit(operations, timeout_s=timeout_s)
        raise Cut

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        return await self._store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        return await self._store.scan(prefix, timeout_s=timeout_s)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        return self._store.watch(prefix, after=after, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._store.close()

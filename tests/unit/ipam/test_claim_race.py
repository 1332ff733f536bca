"""A node's blocks are given up while it assigns from them: what it claims anew has its affinity again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
from tests.support import ipam_world as world
from tests.support.ipam_books import disagreement, opened
from tests.support.ipam_faults import FaultyStore

from tortie.ipam.affinity import claim_block, release_node
from tortie.ipam.allocator import Allocator
from tortie.ipam.block import new_block
from tortie.ipam.errors import WrongNode
from tortie.ipam.records import Affinity, write_affinity, write_block
from tortie.model.keys import block_key, host_affinity_key
from tortie.store.contract import TIMEOUT_S, Operation, Put, Revision, Store
from tortie.store.embedded import EmbeddedStore, inline


def now() -> datetime:
    return datetime.now(UTC)


class Overtaken(FaultyStore):
    """Just before the first write, somebody else does something."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(store, lambda: 0.0)
        self._meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile:
            await meanwhile()
        return await super().commit(operations, timeout_s=timeout_s)


def test_a_block_that_was_given_up_meanwhile_comes_back_with_its_affinity(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db", durable=False, offload=inline)
        await store.commit([world.pool("one", "10.0.0.0/28", 30), world.node("north")])
        await claim_block(store, "north", ip_network("10.0.0.0/30"), clock=now)
        overtaken = Overtaken(store, lambda: release_node(store, "north", clock=now))
        await Allocator(overtaken, "north", clock=now).assign(world.pod_request("north", "web"))
        assert list(disagreement(await opened(store))) == []
        await store.close()

    asyncio.run(scenario())


def test_who_claims_a_block_that_another_node_takes_meanwhile_leaves_no_affinity_behind(tmp_path: Path) -> None:
    cidr = ip_network("10.0.0.0/30")
    place = block_key(str(cidr))

    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db", durable=False, offload=inline)
        await store.commit([world.pool("one", "10.0.0.0/28", 30), world.node("north"), world.node("south")])
        await store.commit([Put(place, write_block(new_block(cidr, "host:north", now())))])  # no affinity tells of it

        async def taken() -> None:
            theirs = write_affinity(Affinity("south", cidr))
            block = write_block(new_block(cidr, "host:south", now()))
            await store.commit([Put(place, block), Put(host_affinity_key("south", str(cidr)), theirs)])

        with pytest.raises(WrongNode):
            await claim_block(Overtaken(store, taken), "north", cidr, clock=now)
        assert list(disagreement(await opened(store))) == []
        await store.close()

    asyncio.run(scenario())

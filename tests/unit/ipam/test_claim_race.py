"""A node's blocks are given up while it assigns from them: what it claims anew has its affinity again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

from tests.support import ipam_world as world
from tests.support.ipam_books import disagreement, opened
from tests.support.ipam_faults import FaultyStore

from tortie.ipam.affinity import claim_block, release_node
from tortie.ipam.allocator import Allocator
from tortie.store.contract import TIMEOUT_S, Operation, Revision, Store
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

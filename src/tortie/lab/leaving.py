"""What the store forgets of nodes that have left a lab: their pods' endpoints and addresses, their tunnels', their
blocks.

The lab knows for sure that they are gone, with all that was in them, so nothing has to be waited for, as controllers
would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime

from tortie.ipam.affinity import release_node
from tortie.ipam.allocator import Allocator
from tortie.ipam.census import take_census
from tortie.store.contract import Delete, Operation, Store


async def forget_nodes(store: Store, names: Collection[str], timeout_s: float) -> None:
    census = await take_census(store, timeout_s=timeout_s)
    held = {
        holding.attribute.handle
        for block in census.blocks.values()
        for holding in block.holdings()
        if holding.attribute.handle and holding.attribute.node in names
    }
    endpoints: list[Operation] = [Delete(each.key) for each in census.endpoints if each.node in names]
    for start in range(0, len(endpoints), 100):
        await store.commit(endpoints[start : start + 100], timeout_s=timeout_s)
    allocator = Allocator(store, sorted(names)[0], clock=_now)
    await asyncio.gather(*(allocator.release_handle(handle, timeout_s=timeout_s) for handle in sorted(held)))
    for name in sorted(names):
        await release_node(store, name, clock=_now, timeout_s=timeout_s)


def _now() -> datetime:
    return datetime.now(UTC)

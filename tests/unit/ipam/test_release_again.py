"""A release whose answer got lost is planned again; meanwhile the address may be somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.support import ipam_world as world
from tests.support.ipam_books import opened
from tests.support.ipam_faults import FaultyStore

from tortie.ipam.allocator import Allocator
from tortie.ipam.request import Expected, Released
from tortie.store.contract import TIMEOUT_S, Operation, Revision, Store, Unreachable
from tortie.store.embedded import EmbeddedStore, inline


def now() -> datetime:
    return datetime.now(UTC)


class LosesAnAnswer(FaultyStore):
    """The first write is done, but nobody is told; and before the connection is back, somebody else does something."""

    def __init__(self, store: Store, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(store, lambda: 0.0)
        self._meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        revision = await super().commit(operations, timeout_s=timeout_s)
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile:
            await meanwhile()
            raise Unreachable(self.where, "commit", 0.1, "the connection broke", "try again", uncertain=True)
        return revision


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_an_address_that_was_given_out_again_meanwhile_stays_its_new_holders(
    tmp_path: Path, atomic: bool, keep: bool
) -> None:
    ip = ip_address("10.0.0.1")

    async def scenario() -> tuple[Released, str | None]:
        store = EmbeddedStore(tmp_path / "store.db", durable=False, offload=inline)
        await store.commit([world.pool("one", "10.0.0.0/28", 30), world.node("north")])
        others = Allocator(store, "north", clock=now)
        await others.assign(world.pod_request("north", "old", v4=0, given=(ip,)))
        await store.commit(world.pod_leaves("north", "old"))
        news = world.pod_request("north", "new", v4=0, given=(ip,))
        losing = LosesAnAnswer(store, lambda: others.assign(news))
        released = await Allocator(losing, "north", clock=now, atomic=atomic, keep=keep).release_ips([Expected(ip)])
        holder = (await opened(store)).holders.get(ip)
        await store.close()
        return released, holder

    released, holder = asyncio.run(scenario())
    assert holder == world.pod_handle("new")
    assert released == Released((), not_held=(ip,))

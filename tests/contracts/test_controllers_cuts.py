"""A clean-up that ends between any two of its writes and is begun again comes to the same end; so do two at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.address_world import ROOT, World
from tests.support.stores import CompactableStore, Play

from tortie.controllers.departure import empty_node
from tortie.controllers.looking import Lookout
from tortie.controllers.plan import Patience
from tortie.controllers.speaking import Silence
from tortie.store.contract import Delete, Operation, Revision, Store

pytestmark = pytest.mark.timeout(300)

PATIENCE = Patience(grace_s=10.0, gone_s=10.0)


class Cut(Exception):
    """The process ends here."""


class Ending:
    """A store whose user is killed: before its write of that number, or right after it, without hearing so."""

    def __init__(self, store: Store, writes: int, *, after: bool) -> None:
        self._store = store
        self.left = writes
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, operations: Sequence[Operation], **options: Any) -> Revision:
        self.left -= 1
        if self.left < 0 and not self._after:
            raise Cut
        revision = await self._store.commit(operations, **options)
        if self.left < 0:
            raise Cut
        return revision


def world() -> World:
    it = World()
    it.node("n1")
    it.block("10.244.0.0/26", "n1")
    it.block("10.244.1.0/26", "n2")
    it.block("10.244.2.0/26", "n2")
    it.block("10.244.3.0/26", "n1")
    it.pod("web", "n1", "10.244.0.1")
    it.pod("lost", "n1", "10.244.0.2", endpoint=False)
    it.pod("guest", "n1", "10.244.1.7")
    it.pod("db", "n2", "10.244.1.1", "10.244.2.1")
    it.pod("dead", "n2", "10.244.2.3", endpoint=False)
    it.hold("10.244.1.2", "vxlan-tunnel-addr-n2", node="n2", type="vxlanTunnelAddress")
    it.handles["k8s-pod-network.nobody"] = it.handles["k8s-pod-network.c-web"]._replace(handle="k8s-pod-network.nobody")
    it.resource("felixconfigurations", "node.n2", {})
    it.resource("caliconodestatuses", "n2", {"node": "n2"})
    return it


def lookout(store: Store) -> tuple[Lookout, Callable[[], None]]:
    now = [0.0]
    it = Lookout(store, Silence(), clock=lambda: now[0], today=lambda: datetime.now(UTC))

    def later() -> None:
        now[0] += 20.0

    return it, later


async def clean(store: Store) -> None:
    """Two looks with the grace period between them, and a third, for what the second made possible."""
    it, later = lookout(store)
    await it.look(PATIENCE)
    for _ in range(3):
        later()
        await it.clean(await it.look(PATIENCE))


async def content(store: Store) -> dict[str, bytes]:
    """All but what counts writes: a block's sequence goes on with every one."""
    import re

    listing = await store.scan("/calico/")
    return {entry.key: re.sub(rb'"sequenceNumber":\d+', b"", entry.value) for entry in listing.entries}


async def reset(store: Store, it: World) -> None:
    listing = await store.scan("/calico/")
    if listing.entries:
        await store.commit([Delete(entry.key) for entry in listing.entries])
    await it.fill(store)


async def _cut_everywhere(store: Store, it: World, work: Callable[[Store], Awaitable[object]]) -> None:
    await reset(store, it)
    await work(store)
    end = await content(store)
    for after in (False, True):
        writes = 0
        while True:
            await reset(store, it)
            ending = Ending(store, writes, after=after)
            try:
                await work(ending)
            except Cut:
                pass
            else:
                break
            await work(store)
            assert await content(store) == end, f"cut {'after' if after else 'before'} write {writes}"
            writes += 1
        assert writes >= 4


def test_a_clean_up_may_be_cut_anywhere(play: Play) -> None:
    async def scenario(store: CompactableStore, _prefix: str) -> None:
        await _cut_everywhere(store, world(), clean)
        left = await content(store)
        gone = ("n2", "c-db", "c-dead", "c-lost", "nobody")
        assert [key for key in left if any(name in key for name in gone)] == []
        blocks = sorted(key.rpartition("/")[2] for key in left if "/assignment/" in key)
        assert blocks == ["10.244.0.0-26", "10.244.1.0-26"]  # n1's, and the one with n1's guest in it

    play(scenario)


def test_deleting_a_node_may_be_cut_anywhere(play: Play) -> None:
    async def take_away(store: Store) -> None:
        await empty_node(store, "n2", today=lambda: datetime.now(UTC))

    async def scenario(store: CompactableStore, _prefix: str) -> None:
        it = world()
        it.node("n2")
        await _cut_everywhere(store, it, take_away)
        left = await content(store)
        of_it = [key for key in left if "n2" in key and key.startswith("/calico/ipam/")]
        assert of_it == []
        assert f"{ROOT}nodes/n2" in left  # that is the last to go, by whoever asked for it
        assert "/calico/ipam/v2/handle/k8s-pod-network.c-lost" in left

    play(scenario)


def test_two_who_both_believe_to_lead_do_no_harm(play: Play) -> None:
    async def scenario(store: CompactableStore, _prefix: str) -> None:
        await reset(store, world())
        await clean(store)
        end = await content(store)
        await reset(store, world())
        pairs = [lookout(store), lookout(store)]
        for it, _ in pairs:
            await it.look(PATIENCE)
        for _ in range(3):
            for _, later in pairs:
                later()
            plans = [await it.look(PATIENCE) for it, _ in pairs]
            await asyncio.gather(*(it.clean(plan) for (it, _), plan in zip(pairs, plans, strict=True)))
        assert await content(store) == end

    play(scenario)

"""What a node's dataplane knows of the cluster: only whole pictures, also while the datastore comes and goes."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

from tests.support.dataplane import key, resource

from tortie.dataplane.known import State
from tortie.health.health import Health
from tortie.ipam.block import new_block
from tortie.ipam.records import write_block
from tortie.model.keys import block_key
from tortie.model.wire import decode, encode
from tortie.node.dataplane_source import DataplaneSource
from tortie.node.log import Log
from tortie.store.contract import TIMEOUT_S, Change, Delete, Put, Revision, Snapshot, Unreachable
from tortie.store.embedded import EmbeddedStore

DEADLINE_S = 60.0
PLAIN = {"cidr": "10.244.0.0/16"}
VXLAN = {**PLAIN, "vxlanMode": "Always"}
NODES = tuple(resource("Node", name, {"bgp": {"ipv4Address": f"10.0.0.{n}/24"}}) for n, name in enumerate("ab", 1))


def block(cidr: str, host: str) -> Put:
    return Put(block_key(cidr), write_block(new_block(ip_network(cidr), f"host:{host}", datetime.now(UTC))))


class Datastore(EmbeddedStore):
    """While it is gone nobody gets an answer, and whoever watches learns of that."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gone = False
        self.asked: list[tuple[str, ...]] = []

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        if self.gone:
            raise _away()
        self.asked.append(tuple(prefixes))
        return await super().snapshot(keys, prefixes, timeout_s=timeout_s)

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        async with aclosing(super().watch(prefix, after=after, timeout_s=timeout_s)) as changes:
            async for change in changes:
                if self.gone:
                    raise _away()
                yield change


def _away() -> Unreachable:
    return Unreachable("etcd", "watch", 10.0, "connection refused", "start it")


class World:
    def __init__(self, path: Path) -> None:
        self.store = Datastore(path)
        self.news = asyncio.Event()
        self.written = _Heard(self.news)
        self.pictures: list[State] = []
        self.different: list[bool] = []
        health = Health(time.monotonic)
        self.source = DataplaneSource("a", self.store, health, Log(self.written), self._heard)

    def _heard(self, different: bool) -> None:
        self.pictures.append(self.source.known.state({}))
        self.different.append(different)
        self.news.set()

    async def wait(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self.news.wait()
            self.news.clear()

    async def until(self, is_so: Callable[[State], bool]) -> State:
        await self.wait(lambda: bool(self.pictures) and is_so(self.pictures[-1]))
        return self.pictures[-1]


class _Heard(io.StringIO):
    """A log that wakes whoever waits for a line of it."""

    def __init__(self, news: asyncio.Event) -> None:
        super().__init__()
        self._news = news

    def write(self, text: str) -> int:
        self._news.set()
        return super().write(text)


def play(path: Path, scenario: Callable[[World], Awaitable[None]], *first: Put) -> None:
    """The store has `first` in it when the source begins to follow it."""

    async def whole() -> None:
        world = World(path)
        async with asyncio.timeout(DEADLINE_S):
            await world.store.commit([*NODES, *first])
            following = asyncio.create_task(world.source.run())
            try:
                await scenario(world)
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                await world.store.close()

    asyncio.run(whole())


def test_the_first_picture_has_the_blocks_if_a_pool_needs_them(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        state = await world.until(lambda _: True)
        assert [str(each.cidr) for each in state.blocks] == ["10.244.0.0/26"]
        assert len(world.pictures) == 1

    play(tmp_path / "store.db", scenario, resource("IPPool", "p", VXLAN), block("10.244.0.0/26", "a"))


def test_blocks_are_read_while_a_pool_needs_them_and_no_longer(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.until(lambda state: len(state.pools) == 1)
        assert not any("assignment" in prefix for prefix in world.store.asked[-1])
        await world.store.commit([resource("IPPool", "p", VXLAN)])
        await world.until(lambda state: len(state.blocks) == 1)
        # In no picture a pool has tunnels whose blocks have not been read.
        assert all(state.blocks for state in world.pictures if state.pools[0].vxlan)
        await world.store.commit([resource("IPPool", "p", PLAIN)])
        await world.until(lambda state: not state.pools[0].vxlan)
        assert not any("assignment" in prefix for prefix in world.store.asked[-1])

    play(tmp_path / "store.db", scenario, resource("IPPool", "p", PLAIN), block("10.244.0.0/26", "a"))


def test_what_goes_while_the_datastore_is_away_is_known_to_be_gone_afterwards(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.until(lambda state: len(state.nodes) == 2)
        world.store.gone = True
        await world.store.commit([Delete(key("Node", "b"))])
        await world.wait(lambda: "stay as they are" in world.written.getvalue())
        assert len(world.pictures[-1].nodes) == 2
        world.store.gone = False
        state = await world.until(lambda state: len(state.nodes) == 1)
        assert list(state.nodes) == ["a"]
        assert "The dataplane hears the datastore again" in world.written.getvalue()

    play(tmp_path / "store.db", scenario)


def test_news_that_change_nothing_are_told_as_such(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.until(lambda state: len(state.nodes) == 2)
        spec = {"bgp": {"ipv4Address": "10.0.0.2/24"}, "orchRefs": [{"orchestrator": "k8s", "nodeName": "b"}]}
        await world.store.commit([resource("Node", "b", spec)])
        await world.wait(lambda: len(world.pictures) == 2)
        assert world.different == [True, False]

    play(tmp_path / "store.db", scenario)


def test_a_block_with_more_addresses_than_it_has_spoils_nothing_else(tmp_path: Path) -> None:
    attribute = {"handle_id": "h", "secondary": {"node": "b"}}
    whole = new_block(ip_network("255.255.255.192/26"), "host:a", datetime.now(UTC))
    document = {**decode(write_block(whole), ""), "allocations": [0] * 200, "attributes": [attribute]}

    async def scenario(world: World) -> None:
        await world.until(lambda state: len(state.pools) == 1)
        await world.store.commit([Put(block_key("255.255.255.192/26"), encode(document))])
        state = await world.until(lambda state: bool(state.notes))
        assert "200 allocations for 64 addresses" in state.notes[0]
        await world.store.commit([Delete(block_key("255.255.255.192/26"))])
        await world.until(lambda state: not state.notes)
        await world.store.commit([block("10.244.0.0/26", "b")])
        await world.until(lambda state: [str(each.cidr) for each in state.blocks] == ["10.244.0.0/26"])

    play(tmp_path / "store.db", scenario, resource("IPPool", "p", VXLAN))

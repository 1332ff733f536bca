"""What a node knows of the cluster, while the datastore comes and goes."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from tests.support.speakers import StoreEntry, node, peer

from tortie.health.health import Health
from tortie.model.wire import encode
from tortie.node.log import Log
from tortie.node.mesh_source import MeshSource
from tortie.store.contract import TIMEOUT_S, Change, Delete, Put, Revision, Snapshot, Unreachable
from tortie.store.embedded import EmbeddedStore

DEADLINE_S = 60.0
NODES = (node("node-1", "10.0.0.1/24"), node("node-2", "10.0.0.2/24"), node("node-3", "10.0.0.3/24"))


class Datastore(EmbeddedStore):
    """While it is gone nobody gets an answer, and whoever watches learns of that."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gone = asyncio.Event()

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        if self.gone.is_set():
            raise _away()
        return await super().snapshot(keys, prefixes, timeout_s=timeout_s)

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        changes = super().watch(prefix, after=after, timeout_s=timeout_s)
        async with aclosing(changes):
            await self.gone.wait()
            raise _away()
            yield  # what makes this a generator


def _away() -> Unreachable:
    return Unreachable("etcd", "watch", 10.0, "connection refused", "start it")


class World:
    def __init__(self, path: Path) -> None:
        self.store = Datastore(path)
        self.health = Health(time.monotonic)
        self.written = io.StringIO()
        self.heard: list[tuple[str, ...]] = []
        self.news = asyncio.Event()
        self.source = MeshSource("node-1", self.store, self.health, Log(self.written), self._hear)

    def _hear(self, keys: tuple[str, ...]) -> None:
        self.heard.append(keys)
        self.news.set()

    async def next_news(self) -> tuple[str, ...]:
        async with asyncio.timeout(DEADLINE_S):
            await self.news.wait()
        self.news.clear()
        return self.heard[-1]

    async def out_of_reach(self) -> None:
        self.store.gone.set()
        deadline = time.monotonic() + DEADLINE_S
        while not ((last := self.health.report().last) and last.times > 1):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    def component(self) -> str | None:
        return next((row.detail for row in self.health.report().components if row.name == "datastore"), None)

    def speakers(self) -> list[str]:
        return list(self.source.known.cluster().speakers)


def play(folder: Path, story: Callable[[World], Awaitable[None]], *entries: StoreEntry) -> None:
    async def tell() -> None:
        world = World(folder / "store.db")
        await world.store.commit([Put(key, value) for key, value in entries if value is not None])
        running = asyncio.create_task(world.source.run())
        try:
            await world.next_news()
            await story(world)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await world.store.close()

    asyncio.run(tell())


def test_what_was_deleted_during_an_outage_is_noticed_afterwards(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        assert world.speakers() == ["node-1", "node-2", "node-3"]
        await world.out_of_reach()
        await world.store.commit([Delete(NODES[2][0])])
        world.store.gone.clear()
        assert await world.next_news() == (NODES[2][0],)
        assert world.speakers() == ["node-1", "node-2"]

    play(tmp_path, story, *NODES)


def test_an_outage_changes_nothing_that_is_known_and_is_told_once_each_way(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        await world.out_of_reach()
        assert world.component() == "out of reach, BGP goes on with what is known: connection refused"
        assert world.speakers() == ["node-1", "node-2", "node-3"]
        report = world.health.report()
        assert (report.live, "datastore" in {cause.name for cause in report.not_ready}) == (True, False)
        world.store.gone.clear()
        assert await world.next_news() == ()
        assert world.component() is None
        assert world.health.report().last is None
        told = world.written.getvalue()
        assert told.count("connection refused. Fix: start it. BGP goes on with what is known.") == 1
        assert told.count("The datastore answers again") == 1

    play(tmp_path, story, *NODES)


def test_a_slip_that_was_made_during_an_outage_leaves_what_was_said_before_in_force(tmp_path: Path) -> None:
    key, written = peer("tor", peerIP="10.0.0.9", asNumber=65000)

    async def story(world: World) -> None:
        await world.out_of_reach()
        await world.store.commit([Put(key, encode({"spec": {"peerIP": "nonsense"}}))])
        world.store.gone.clear()
        assert await world.next_news() == (key,)
        cluster = world.source.known.cluster()
        assert [(entry.name, entry.kept) for entry in cluster.unreadable] == [("tor", True)]
        assert "tor" in cluster.peers

    play(tmp_path, story, *NODES, (key, written))

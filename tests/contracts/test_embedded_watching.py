"""Many watches of one process: one of them looks for all, and each is told of what concerns it, and of all of that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.support.embedded import DEADLINE_S

from tortie.store.contract import ABSENT, Change, Compacted, Conflict, Delete, Put, Revision, put
from tortie.store.embedded import EmbeddedStore
from tortie.store.embedded.database import Database, Portion


class Reads:
    """Counts how often watches read, by prefix."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.prefixes: list[str] = []
        read = Database.changes

        def changes(database: Database, prefix: str, after: int) -> Portion:
            self.prefixes.append(prefix)
            return read(database, prefix, after)

        monkeypatch.setattr(Database, "changes", changes)


async def waiting(store: EmbeddedStore, *prefixes: str) -> list[asyncio.Future[Change]]:
    """Watches from now on that have nothing to tell yet, and wait."""
    revision = await put(store, "/elsewhere/begin", b"")
    tasks: list[asyncio.Future[Change]] = [
        asyncio.ensure_future(anext(store.watch(prefix, after=revision))) for prefix in prefixes
    ]
    await until(lambda: store._bell is not None and len(store._bell.listeners) == len(tasks))
    return tasks


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def looked_at(store: EmbeddedStore, revision: Revision) -> None:
    await until(lambda: store._looked == revision)


async def soon(task: asyncio.Future[Change]) -> Change:
    async with asyncio.timeout(DEADLINE_S):
        return await task


async def stop(*tasks: asyncio.Future[Change]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_commit_makes_only_those_read_whom_it_concerns(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        store, other = EmbeddedStore(store_path), EmbeddedStore(store_path)
        apples, pears, plums = await waiting(store, "/apples/", "/pears/", "/plums/")
        await looked_at(store, await put(other, "/elsewhere/x", b"for nobody"))
        reads = Reads(monkeypatch)
        await put(other, "/pears/1", b"ripe")
        assert (await soon(pears)).key == "/pears/1"
        assert reads.prefixes == ["/pears/"]
        await stop(apples, plums)
        await store.close()
        await other.close()

    asyncio.run(scenario())


def test_who_was_of_no_concern_for_long_misses_nothing(store_path: Path) -> None:
    """Neither because the history before it was forgotten, nor because it is many commits behind."""

    async def scenario() -> None:
        store, other = EmbeddedStore(store_path), EmbeddedStore(store_path)
        apples, pears = await waiting(store, "/apples/", "/pears/")
        for number in range(300):
            revision = await put(other, f"/elsewhere/{number % 7}", b"x")
        await looked_at(store, revision)
        await other.compact(revision)
        await other.commit([Put("/apples/1", b"a"), Put("/pears/1", b"p")])
        assert (await soon(apples)).value == b"a"
        assert (await soon(pears)).value == b"p"
        await store.close()
        await other.close()

    asyncio.run(scenario())


def test_what_was_forgotten_unseen_is_told_as_such(store_path: Path) -> None:
    """A whole burst, with a deletion that compacting removes, comes between two turns of the event loop."""

    async def scenario() -> None:
        store, other = EmbeddedStore(store_path), EmbeddedStore(store_path)
        await put(store, "/apples/1", b"a")
        apples, pears = await waiting(store, "/apples/", "/pears/")
        await looked_at(store, await put(other, "/elsewhere/x", b""))

        def burst() -> None:
            async def write() -> None:
                await other.commit([Delete("/apples/1")])
                await other.compact(await put(other, "/elsewhere/y", b""))

            asyncio.run(write())

        thread = threading.Thread(target=burst)
        thread.start()
        thread.join()  # the loop stands still meanwhile
        with pytest.raises(Compacted):
            await soon(apples)
        await stop(pears)
        await store.close()
        await other.close()

    asyncio.run(scenario())


def test_a_watch_among_others_tells_every_change_in_order(store_path: Path) -> None:
    async def scenario() -> None:
        store, other = EmbeddedStore(store_path), EmbeddedStore(store_path)
        (pears,) = await waiting(store, "/pears/")
        told: list[bytes | None] = []

        async def collect() -> None:
            async with aclosing(store.watch("/apples/", after=1)) as changes:
                async for change in changes:
                    told.append(change.value)
                    if len(told) == 200:
                        return

        collecting = asyncio.create_task(collect())
        for number in range(200):
            await other.commit([Put("/apples/1", str(number).encode()), Put(f"/elsewhere/{number}", b"")])
        async with asyncio.timeout(DEADLINE_S):
            await collecting
        assert told == [str(number).encode() for number in range(200)]
        await stop(pears)
        await store.close()
        await other.close()

    asyncio.run(scenario())


def test_a_watch_for_what_is_still_to_come_is_not_called_back_by_a_commit_that_failed(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = EmbeddedStore(tmp_path / "store.db", durable=False)
        revision = await put(store, "/a/old", b"")
        later = asyncio.ensure_future(anext(store.watch("/a/", after=revision + 1)))
        other = asyncio.ensure_future(anext(store.watch("/b/", after=revision)))
        await until(lambda: store._bell is not None and len(store._bell.listeners) == 2)
        with pytest.raises(Conflict):
            await put(store, "/a/old", b"again", expecting=ABSENT)  # rings, and changes nothing
        await put(store, "/a/too-early", b"")
        wanted = await put(store, "/a/wanted", b"")
        assert await soon(later) == Change("/a/wanted", b"", wanted)
        await stop(other)
        await store.close()

    asyncio.run(scenario())

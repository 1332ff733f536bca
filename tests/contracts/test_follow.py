"""Whoever follows a prefix ends up with what the store holds, even when history is lost on the way."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tortie.store.contract import (
    TIMEOUT_S,
    Change,
    Compacted,
    Delete,
    Entry,
    Listing,
    Operation,
    Put,
    Revision,
    Snapshot,
    Store,
    delete,
    put,
)
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.follow import News, follow, follow_all

DEADLINE_S = 120.0


@pytest.fixture(params=["embedded", "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EmbeddedStore | EtcdStore:
    if request.param == "embedded":
        return EmbeddedStore(tmp_path / "store.db")
    return EtcdStore(EtcdConfig(endpoints=(request.getfixturevalue("etcd_endpoint"),)))


def following(store: Store, prefix: str) -> Any:
    return aclosing(follow(store, prefix))


def apply(news: News, picture: dict[str, tuple[bytes, Revision]]) -> None:
    for change in news.changes:
        if change.value is None:
            assert change.key in picture, "only what was told of can be gone"
            del picture[change.key]
        else:
            assert picture.get(change.key, (b"", 0))[1] < change.revision, "nothing is told twice"
            picture[change.key] = (change.value, change.revision)


def test_first_comes_what_is_there_then_every_change(store: EmbeddedStore | EtcdStore) -> None:
    async def scenario() -> None:
        prefix = f"/{uuid.uuid4().hex}/"
        await put(store, prefix + "b", b"1")
        start = await put(store, prefix + "a", b"2")
        async with following(store, prefix) as news:
            snapshot = await anext(news)
            assert snapshot.revision == start
            assert set(snapshot.changes) == {Change(prefix + "b", b"1", start - 1), Change(prefix + "a", b"2", start)}
            await put(store, prefix + "c", b"3")
            await delete(store, prefix + "b")
            assert await anext(news) == News((Change(prefix + "c", b"3", start + 1),), start + 1)
            assert await anext(news) == News((Change(prefix + "b", None, start + 2),), start + 2)

    play(store, scenario())


def test_an_empty_prefix_is_told_as_such(store: EmbeddedStore | EtcdStore) -> None:
    """Who follows must learn that it has seen everything, even if that is nothing."""

    async def scenario() -> None:
        prefix = f"/{uuid.uuid4().hex}/"
        async with following(store, prefix) as news:
            assert (await anext(news)).changes == ()
            revision = await put(store, prefix + "a", b"1")
            assert await anext(news) == News((Change(prefix + "a", b"1", revision),), revision)

    play(store, scenario())


def test_lost_history_is_made_up_for_by_exactly_the_differences(store: EmbeddedStore | EtcdStore) -> None:
    async def scenario() -> None:
        prefix = f"/{uuid.uuid4().hex}/"
        for name in ("same", "changed", "gone", "reborn"):
            await put(store, prefix + name, b"old")
        async with following(store, prefix) as news:
            picture: dict[str, tuple[bytes, Revision]] = {}
            apply(await anext(news), picture)
            changed = await put(store, prefix + "changed", b"old")
            await delete(store, prefix + "gone")
            await delete(store, prefix + "reborn")
            reborn = await put(store, prefix + "reborn", b"old")
            await put(store, prefix + "passing", b"new")
            await delete(store, prefix + "passing")
            new = await put(store, prefix + "new", b"new")
            await store.compact(new)
            difference = await anext(news)
            assert difference.revision == new
            assert difference.changes[:2] == (
                Change(prefix + "changed", b"old", changed),
                Change(prefix + "reborn", b"old", reborn),
            )
            assert set(difference.changes[2:]) == {
                Change(prefix + "gone", None, new),
                Change(prefix + "new", b"new", new),
            }
            last = await put(store, prefix + "same", b"new")
            assert await anext(news) == News((Change(prefix + "same", b"new", last),), last)

    play(store, scenario())


def test_several_prefixes_begin_at_one_revision_and_go_on_together(store: EmbeddedStore | EtcdStore) -> None:
    async def scenario() -> None:
        root = f"/{uuid.uuid4().hex}"
        first, second, other = f"{root}/a/", f"{root}/b/", f"{root}/c/"
        await put(store, first + "x", b"1")
        start = await put(store, second + "y", b"2")
        async with aclosing(follow_all(store, (first, second))) as news:
            snapshot = await anext(news)
            assert snapshot.revision >= start
            assert {change.key for change in snapshot.changes} == {first + "x", second + "y"}
            picture = {change.key: change.value for change in snapshot.changes}
            await put(store, other + "z", b"none of ours")
            await put(store, second + "y", b"3")
            await put(store, first + "w", b"4")
            last = await delete(store, first + "x")
            revision = 0
            while revision < last or len(picture) != 2:
                each = await anext(news)
                revision = max(revision, each.revision)
                for change in each.changes:
                    if change.value is None:
                        del picture[change.key]
                    else:
                        picture[change.key] = change.value
            assert picture == {second + "y": b"3", first + "w": b"4"}

    play(store, scenario())


def test_several_prefixes_survive_lost_history(store: EmbeddedStore | EtcdStore) -> None:
    async def scenario() -> None:
        root = f"/{uuid.uuid4().hex}"
        first, second = f"{root}/a/", f"{root}/b/"
        await put(store, first + "gone", b"1")
        async with aclosing(follow_all(store, (first, second))) as news:
            picture: dict[str, tuple[bytes, Revision]] = {}
            apply(await anext(news), picture)
            await delete(store, first + "gone")
            new = await put(store, second + "new", b"2")
            await store.compact(new)
            while set(picture) != {second + "new"}:
                apply(await anext(news), picture)

    play(store, scenario())


class Forgetful:
    """A store whose history is compacted under its watches, at moments that chance decides."""

    def __init__(self, store: EmbeddedStore, chance: random.Random) -> None:
        self.where = store.where
        self._store = store
        self._chance = chance
        self.compactions = 0

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        return await self._store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        return await self._store.scan(prefix, timeout_s=timeout_s)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        return await self._store.commit(operations, timeout_s=timeout_s)

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        changes = self._store.watch(prefix, after=after, timeout_s=timeout_s)
        async with aclosing(changes):
            async for change in changes:
                if self._chance.random() < 0.2:
                    self.compactions += 1
                    raise Compacted(after, change.revision + 1)
                yield change

    async def close(self) -> None:
        await self._store.close()


@pytest.mark.parametrize("seed", range(5))
def test_the_picture_converges_whenever_history_is_lost(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = Forgetful(EmbeddedStore(tmp_path / "store.db", durable=False), chance)

    async def write() -> None:
        number = 0
        while number < 150 or store.compactions <= 3:  # until enough is lost, however seldom the other side reads
            number += 1
            keys = chance.sample(range(8), chance.randrange(1, 4))
            await store.commit(
                [Delete(f"/{key}") if chance.random() < 0.4 else Put(f"/{key}", b"%d" % number) for key in keys]
            )
            await asyncio.sleep(chance.choice((0, 0, 0.001)))
        await put(store, "/end", b"")

    async def scenario() -> None:
        picture: dict[str, tuple[bytes, Revision]] = {}
        writing = asyncio.create_task(write())
        async with following(store, "/") as news:
            async for one in news:
                apply(one, picture)
                if "/end" in picture:
                    break
        await writing
        listing = await store.scan("/")
        assert picture == {entry.key: (entry.value, entry.revision) for entry in listing.entries}
        assert store.compactions > 3

    play(store, scenario())


def play(store: Store, scenario: Any) -> None:
    async def whole() -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                await scenario
        finally:
            await store.close()

    asyncio.run(whole())

"""The promises about watching and compaction, held by every back end; see `test_store.py` for the rest."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.stores import CompactableStore, Open, Play, first, revision_of

from tortie.store.contract import (
    Change,
    Compacted,
    Delete,
    Put,
    Store,
    delete,
    put,
)

# Watches


def test_a_watch_gives_the_past_after_its_revision_and_then_the_present(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        await put(store, prefix + "before", b"")
        start = await revision_of(store, prefix)
        await put(store, prefix + "a", b"1")
        await put(store, prefix + "a", b"2")
        changes = store.watch(prefix, after=start)
        past = [await anext(changes), await anext(changes)]
        waiting = asyncio.ensure_future(anext(changes))
        await delete(store, prefix + "a")
        assert [*past, await waiting] == [
            Change(prefix + "a", b"1", start + 1),
            Change(prefix + "a", b"2", start + 2),
            Change(prefix + "a", None, start + 3),
        ]
        await changes.aclose()

    play(scenario)


def test_a_watch_shows_one_commit_in_order_and_only_below_its_prefix(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await put(store, prefix + "in/gone", b"")
        names = ["in/z", "out/y", "in/b", "in/a", "in", "inside"]
        await store.commit([Put(prefix + name, b"") for name in names] + [Delete(prefix + "in/gone")])
        await delete(store, prefix + "in/never")
        await put(store, prefix + "out/x", b"")
        end = await put(store, prefix + "in/end", b"")
        assert await first(5, store.watch(prefix + "in/", after=start)) == [
            Change(prefix + "in/z", b"", start + 1),
            Change(prefix + "in/b", b"", start + 1),
            Change(prefix + "in/a", b"", start + 1),
            Change(prefix + "in/gone", None, start + 1),
            Change(prefix + "in/end", b"", end),
        ]

    play(scenario)


def test_a_watch_after_a_revision_still_to_come_begins_there(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        watching = asyncio.create_task(first(1, store.watch(prefix, after=start + 2)))
        for number in range(4):
            await put(store, prefix + str(number), b"")
        assert await watching == [Change(prefix + "2", b"", start + 3)]

    play(scenario)


def test_watches_see_every_revision_once_while_many_write(open_store: Open, play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        clients = [open_store() for _ in range(4)]
        start = await revision_of(store, prefix)
        count = 4 * 50

        async def write(number: int, client: Store) -> None:
            for turn in range(50):
                await put(client, f"{prefix}{number}/{turn}", b"%d" % turn)

        watchers = [asyncio.create_task(first(count, store.watch(prefix, after=start))) for _ in range(3)]
        watchers += [asyncio.create_task(first(count, clients[0].watch(prefix, after=start)))]
        try:
            await asyncio.gather(*(write(number, client) for number, client in enumerate(clients)))
            streams = await asyncio.gather(*watchers)
        finally:
            for client in clients:
                await client.close()
        assert [change.revision for change in streams[0]] == list(range(start + 1, start + count + 1))
        assert all(stream == streams[0] for stream in streams)
        for number in range(4):
            mine = [change.value for change in streams[0] if change.key.startswith(f"{prefix}{number}/")]
            assert mine == [b"%d" % turn for turn in range(50)], "one writer's order is kept"

    play(scenario)


def test_a_slow_reader_of_a_watch_misses_nothing(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        changes = store.watch(prefix, after=start)
        await put(store, prefix + "a", b"x" * 1000)
        seen = [(await anext(changes)).revision]
        for _ in range(600):
            await put(store, prefix + "a", b"x" * 1000)
        seen += [(await anext(changes)).revision for _ in range(600)]
        assert seen == list(range(start + 1, start + 602))
        await changes.aclose()

    play(scenario)


# Compaction


def test_watching_from_before_the_kept_history_raises_compacted(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        for number in range(10):
            await put(store, prefix + str(number % 3), b"%d" % number)
        await store.compact(start + 6)
        with pytest.raises(Compacted) as caught:
            await first(1, store.watch(prefix, after=start + 1))
        assert (caught.value.after, caught.value.oldest) == (start + 1, start + 6)
        assert caught.value.fix
        kept = await first(4, store.watch(prefix, after=start + 6))
        assert [change.revision for change in kept] == [start + 7, start + 8, start + 9, start + 10]

    play(scenario)


def test_compaction_leaves_what_is_current(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        for number in range(5):
            await put(store, prefix + "often", b"%d" % number)
        await put(store, prefix + "once", b"")
        await put(store, prefix + "gone", b"")
        await delete(store, prefix + "gone")
        before = await store.scan(prefix)
        await store.compact(before.revision)
        assert await store.scan(prefix) == before
        assert await store.get(prefix + "once") == before.entries[1]
        changed = await put(store, prefix + "once", b"again", expecting=before.entries[1].revision)
        assert changed == before.revision + 1
        await store.compact(before.revision)

    play(scenario)


def test_a_watch_that_keeps_up_does_not_mind_compaction(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        changes = store.watch(prefix, after=start)
        for number in range(5):
            revision = await put(store, prefix + "a", b"%d" % number)
            assert (await anext(changes)).revision == revision
            await store.compact(revision)
        await changes.aclose()

    play(scenario)


def test_a_cancelled_watch_leaves_the_store_usable(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        for _ in range(5):
            watching = asyncio.create_task(first(1, store.watch(prefix, after=start)))
            await asyncio.sleep(0)
            watching.cancel()
            await asyncio.wait([watching])
        revision = await put(store, prefix + "a", b"")
        assert await first(1, store.watch(prefix, after=start)) == [Change(prefix + "a", b"", revision)]

    play(scenario)

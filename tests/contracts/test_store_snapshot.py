"""Several keys and prefixes read at once: everything at one moment, whatever there is, on every back end."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest
from tests.support.stores import CompactableStore, Open, Play, revision_of

from tortie.model.errors import UsageError
from tortie.store.contract import OPERATIONS_MAX, Entry, Listing, Put, Snapshot, delete, put

pytestmark = pytest.mark.parametrize("open_store", ["embedded", "etcd", "etcd-command"], indirect=True)


def test_a_snapshot_holds_what_was_asked_for_and_nothing_else(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        first = await store.commit([Put(prefix + name, name.encode()) for name in ("a", "b", "nodes/2", "nodes/1")])
        second = await put(store, prefix + "pools/1", b"")
        await put(store, prefix + "beside", b"")
        snapshot = await store.snapshot([prefix + "a", prefix + "gone"], [prefix + "nodes/", prefix + "pools/"])
        assert snapshot == Snapshot(
            {prefix + "a": Entry(prefix + "a", b"a", first)},
            {
                prefix + "nodes/": (
                    Entry(prefix + "nodes/1", b"nodes/1", first),
                    Entry(prefix + "nodes/2", b"nodes/2", first),
                ),
                prefix + "pools/": (Entry(prefix + "pools/1", b"", second),),
            },
            second + 1,
        )

    play(scenario)


def test_a_snapshot_says_what_get_and_scan_would_have_said(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        names = ["\uffff", "\U0001f431", "~", "ä", "z", "a/b", "a"]
        await store.commit([Put(prefix + name, name.encode()) for name in names])
        await delete(store, prefix + "z")
        snapshot = await store.snapshot([prefix + name for name in names], [prefix, prefix + "a", prefix + "nothing"])
        for name in names:
            assert snapshot.get(prefix + name) == await store.get(prefix + name)
        for asked in (prefix, prefix + "a", prefix + "nothing"):
            assert snapshot.listing(asked) == await store.scan(asked)

    play(scenario)


@pytest.mark.parametrize("stem", ["a", "a/", "\x7f", "\u07ff", "\uffff", "\U0010ffff", "é"])
def test_a_prefix_takes_in_all_that_begins_with_it_and_nothing_else(play: Play, stem: str) -> None:
    """The stems end in bytes whose successor is no valid text."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        inside = [stem, stem + "\x01", stem + "0", stem + "\U0010ffff", stem + "/" + stem]
        outside = [stem[:-1] + chr(ord(stem[-1]) - 1), stem[:-1] + "\x01", "zzz" if stem < "zzz" else "b"]
        await store.commit([Put(prefix + name, b"") for name in inside + outside])
        found = (await store.snapshot([], [prefix + stem])).listings[prefix + stem]
        assert [entry.key for entry in found] == sorted((prefix + name for name in inside), key=str.encode)

    play(scenario)


def test_a_store_that_holds_nothing_gives_an_empty_snapshot(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        snapshot = await store.snapshot([prefix + "a"], [prefix])
        assert (snapshot.entries, snapshot.listings) == ({}, {prefix: ()})
        assert snapshot.get(prefix + "a") is None
        assert snapshot.listing(prefix) == Listing((), await revision_of(store, prefix))
        assert snapshot.revision >= 1, "where a watch may begin"

    play(scenario)


def test_keys_and_prefixes_may_repeat_each_other(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        await put(store, prefix + "a", b"1")
        entry = await store.get(prefix + "a")
        snapshot = await store.snapshot([prefix + "a"] * 2, [prefix, prefix, prefix + "a"])
        assert snapshot.entries == {prefix + "a": entry}
        assert snapshot.listings == {prefix: (entry,), prefix + "a": (entry,)}

    play(scenario)


def test_the_empty_prefix_takes_in_everything(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        keys = {prefix.strip("/"), prefix, "\U0010ffff" + prefix, "\x01" + prefix}
        await store.commit([Put(key, b"") for key in keys])
        assert keys <= {entry.key for entry in (await store.snapshot([], [""])).listings[""]}

    play(scenario)


def test_a_snapshot_is_one_moment_even_while_others_write(open_store: Open, play: Play) -> None:
    """All keys are always written together, so no snapshot may show two of them with different values."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        writer = open_store()
        done = asyncio.Event()
        keys = [f"{prefix}{group}/{number:02}" for group in ("a", "b") for number in range(30)]
        await writer.commit([Put(key, b"begin") for key in keys])

        async def write() -> None:
            for number in range(60):
                await writer.commit([Put(key, b"%d" % number) for key in keys])
            done.set()

        writing = asyncio.create_task(write())
        revisions = set()
        try:
            last = 0
            while not done.is_set():
                snapshot = await store.snapshot(keys[::7], [prefix + "b/", prefix + "a/"])
                below = [entry for entries in snapshot.listings.values() for entry in entries]
                assert len(below) == len(keys)
                seen = {(entry.value, entry.revision) for entry in [*snapshot.entries.values(), *below]}
                assert len(seen) == 1
                assert seen.pop()[1] <= snapshot.revision
                assert snapshot.revision >= last
                last = snapshot.revision
                revisions.add(last)
        finally:
            await writing
            await writer.close()
        assert len(revisions) > 1, "nothing happened meanwhile"

    play(scenario)


def test_what_one_client_wrote_every_client_finds_in_its_snapshot(open_store: Open, play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        other = open_store()
        try:
            for number in range(20):
                revision = await put(store, prefix + "a", b"%d" % number)
                snapshot = await other.snapshot([prefix + "a"], [prefix])
                assert snapshot.get(prefix + "a") == Entry(prefix + "a", b"%d" % number, revision)
                assert snapshot.revision >= revision
        finally:
            await other.close()

    play(scenario)


def test_a_watch_goes_on_where_a_snapshot_stood(open_store: Open, play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        other = open_store()
        try:
            await put(store, prefix + "a", b"before")
            snapshot = await store.snapshot([], [prefix])
            await put(other, prefix + "a", b"after")
            changes = store.watch(prefix, after=snapshot.revision)
            async with contextlib.aclosing(changes):
                change = await anext(changes)
            assert (change.key, change.value) == (prefix + "a", b"after")
        finally:
            await other.close()

    play(scenario)


def test_a_snapshot_at_the_limit_is_taken_and_above_it_refused(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        keys = [f"{prefix}{number:03}" for number in range(OPERATIONS_MAX)]
        await store.commit([Put(key, b"") for key in keys])
        assert list((await store.snapshot(keys)).entries) == keys
        assert len((await store.snapshot(keys[1:], [prefix])).listings[prefix]) == OPERATIONS_MAX
        with pytest.raises(UsageError, match="at most 128"):
            await store.snapshot(keys, [prefix])

    play(scenario)


@pytest.mark.parametrize(
    ("keys", "prefixes"),
    [([], []), ([""], []), (["a", "a\0b"], []), (["\ud800"], ["a"]), ([], ["a\0b"]), (["a"], ["\ud800"])],
    ids=["nothing", "empty key", "NUL", "surrogate", "NUL in a prefix", "surrogate in a prefix"],
)
def test_what_is_no_key_or_prefix_is_refused(play: Play, keys: list[str], prefixes: list[str]) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:  # noqa: ARG001
        with pytest.raises(UsageError):
            await store.snapshot(keys, prefixes)

    play(scenario)


def test_a_cancelled_snapshot_leaves_the_store_as_it_was(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        keys = [f"{prefix}{number:03}" for number in range(OPERATIONS_MAX)]
        await store.commit([Put(key, random.randbytes(1_000)) for key in keys])
        for number in range(40):
            task = asyncio.create_task(store.snapshot(keys[:-1], [prefix]))
            await asyncio.sleep(number * 0.0001)
            task.cancel()
            await asyncio.wait([task])
        assert [entry.key for entry in (await store.snapshot([], [prefix])).listings[prefix]] == keys
        await put(store, prefix + "end", b"")

    play(scenario)

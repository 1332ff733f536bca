"""Every promise of the store contract, held by every back end.

A test gets a function that opens stores on the same data, and a prefix of its own: etcd is shared by the session, so
nothing may rest on absolute revisions, nor on what other tests keep beside the prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.support.stores import CompactableStore, Open, Play, first, revision_of

from tortie.model.errors import UsageError
from tortie.store.contract import (
    ABSENT,
    COMMIT_BYTES_MAX,
    OPERATIONS_MAX,
    Absent,
    Conflict,
    Delete,
    Entry,
    Operation,
    Put,
    Revision,
    Store,
    delete,
    put,
)

pytestmark = pytest.mark.parametrize("open_store", ["embedded", "etcd", "etcd-command"], indirect=True)


# Keys, values, entries


def test_what_was_put_is_what_one_gets(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        values = {"text": b"hello", "empty": b"", "binary": bytes(range(256)), "big": b"x" * 1_000_000}
        for name, value in values.items():
            revision = await put(store, prefix + name, value)
            assert await store.get(prefix + name) == Entry(prefix + name, value, revision)

    play(scenario)


def test_a_key_never_written_is_not_there(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        assert await store.get(prefix + "nothing") is None
        assert (await store.scan(prefix)).entries == ()

    play(scenario)


def test_keys_are_ordered_as_their_utf8_bytes(play: Play) -> None:
    """Code points beyond the basic plane sort behind U+FFFF in UTF-8, but before it in UTF-16."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        names = [
            "a",
            "B",
            "ä",
            "zz",
            "z",
            "\uffff",
            "\U0001f431",
            "~",
            "\x01",
            "\x7f",
            "\x80",
            "日本",
            "é",
            "a/b",
            "a b",
        ]
        await store.commit([Put(prefix + name, name.encode()) for name in names])
        listing = await store.scan(prefix)
        assert [entry.key for entry in listing.entries] == sorted((prefix + name for name in names), key=str.encode)
        assert [entry.value.decode() for entry in listing.entries] == [
            entry.key.removeprefix(prefix) for entry in listing.entries
        ]

    play(scenario)


@pytest.mark.parametrize("stem", ["a", "a/", "\x7f", "\u07ff", "\uffff", "\U0010ffff", "é"])
def test_a_prefix_takes_in_all_that_begins_with_it_and_nothing_else(play: Play, stem: str) -> None:
    """The stems end in bytes whose successor is no valid text."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        inside = [stem, stem + "\x01", stem + "0", stem + "\U0010ffff", stem + "/" + stem]
        outside = [stem[:-1] + chr(ord(stem[-1]) - 1), stem[:-1] + "\x01", "zzz" if stem < "zzz" else "b"]
        await store.commit([Put(prefix + name, b"") for name in inside + outside])
        assert {entry.key for entry in (await store.scan(prefix + stem)).entries} == {prefix + name for name in inside}

    play(scenario)


def test_the_empty_prefix_takes_in_everything(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        keys = {prefix.strip("/"), prefix, "\U0010ffff" + prefix, "\x01" + prefix}
        await store.commit([Put(key, b"") for key in keys])
        assert keys <= {entry.key for entry in (await store.scan("")).entries}

    play(scenario)


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800"])
def test_a_key_that_is_no_text_is_refused(play: Play, key: str) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:  # noqa: ARG001
        for attempt in (store.get(key), put(store, key, b""), delete(store, key)):
            with pytest.raises(UsageError):
                await attempt

    play(scenario)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_prefix_that_is_no_text_is_refused(play: Play, name: str) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        with pytest.raises(UsageError):
            await store.scan(prefix + name)
        with pytest.raises(UsageError):
            await first(1, store.watch(prefix + name, after=0))

    play(scenario)


# Revisions


def test_every_commit_that_changes_something_is_the_next_revision(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await revision_of(store, prefix)
        assert await put(store, prefix + "a", b"1") == start + 1
        assert await put(store, prefix + "a", b"1") == start + 2, "the same value again is a change, too"
        assert await store.commit([Put(prefix + "b", b""), Put(prefix + "c", b"")]) == start + 3
        assert await delete(store, prefix + "a") == start + 4
        listing = await store.scan(prefix)
        assert listing.revision == start + 4
        assert listing.entries == (Entry(prefix + "b", b"", start + 3), Entry(prefix + "c", b"", start + 3))

    play(scenario)


def test_deleting_what_is_not_there_changes_nothing(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await put(store, prefix + "a", b"")
        assert await delete(store, prefix + "nothing") == start
        assert await store.commit([Delete(prefix + "nothing"), Delete(prefix + "nor this")]) == start
        assert await revision_of(store, prefix) == start
        assert await store.commit([Delete(prefix + "nothing"), Put(prefix + "b", b"")]) == start + 1

    play(scenario)


def test_a_key_written_after_its_deletion_starts_anew(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        key = prefix + "a"
        old = await put(store, key, b"old")
        await delete(store, key)
        new = await put(store, key, b"new", expecting=ABSENT)
        assert await store.get(key) == Entry(key, b"new", new)
        with pytest.raises(Conflict):
            await put(store, key, b"", expecting=old)

    play(scenario)


def test_a_failed_commit_takes_no_revision(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await put(store, prefix + "a", b"")
        with pytest.raises(Conflict):
            await put(store, prefix + "a", b"", expecting=ABSENT)
        assert await revision_of(store, prefix) == start

    play(scenario)


# Expectations


@pytest.mark.parametrize("verb", ["put", "delete"])
def test_expecting_the_right_revision_succeeds(play: Play, verb: str) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        key = prefix + "a"
        revision = await put(store, key, b"1", expecting=ABSENT)
        operation: Operation = Put(key, b"2", revision) if verb == "put" else Delete(key, revision)
        after = await store.commit([operation])
        assert await store.get(key) == (Entry(key, b"2", after) if verb == "put" else None)

    play(scenario)


def test_a_conflict_tells_what_stands_there(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        key, missing = prefix + "a", prefix + "missing"
        first_revision = await put(store, key, b"1")
        revision = await put(store, key, b"2")
        there = Entry(key, b"2", revision)
        cases: list[tuple[Operation, Revision | Absent, Entry | None]] = [
            (Put(key, b"3", ABSENT), ABSENT, there),
            (Put(key, b"3", first_revision), first_revision, there),
            (Put(key, b"3", revision + 1), revision + 1, there),
            (Delete(key, first_revision), first_revision, there),
            (Put(missing, b"3", revision), revision, None),
            (Delete(missing, revision), revision, None),
        ]
        for operation, expecting, found in cases:
            with pytest.raises(Conflict) as caught:
                await store.commit([operation])
            error = caught.value
            assert (error.key, error.expecting, error.found) == (operation.key, expecting, found)
            assert operation.key in str(error)
            assert error.fix
        assert await store.get(key) == there
        assert await store.get(missing) is None

    play(scenario)


def test_one_failed_expectation_undoes_the_whole_commit(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        old = await put(store, prefix + "old", b"")
        present = await put(store, prefix + "present", b"")
        with pytest.raises(Conflict) as caught:
            await store.commit(
                [
                    Put(prefix + "new", b""),
                    Delete(prefix + "old", old),
                    Put(prefix + "present", b"", present - 1),
                    Put(prefix + "other", b"", present),
                ]
            )
        assert caught.value.key == prefix + "present", "the first that fails is named"
        assert [entry.key for entry in (await store.scan(prefix)).entries] == [prefix + "old", prefix + "present"]

    play(scenario)


def test_of_writers_that_race_for_a_key_exactly_one_wins_each_round(open_store: Open, play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        rivals = [open_store() for _ in range(4)]
        key = prefix + "counter"
        await put(store, key, b"0")

        async def count(rival: Store) -> int:
            conflicts = 0
            for _ in range(10):
                while True:
                    entry = await rival.get(key)
                    assert entry
                    try:
                        await put(rival, key, str(int(entry.value) + 1).encode(), expecting=entry.revision)
                        break
                    except Conflict:
                        conflicts += 1
            return conflicts

        try:
            await asyncio.gather(*map(count, rivals))
        finally:
            for rival in rivals:
                await rival.close()
        entry = await store.get(key)
        assert entry
        assert entry.value == b"40"

    play(scenario)


# Limits


def test_a_commit_at_the_limits_is_taken_and_above_them_refused(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        most: list[Operation] = [Put(f"{prefix}{number}", b"") for number in range(OPERATIONS_MAX)]
        await store.commit(most)
        assert len((await store.scan(prefix)).entries) == OPERATIONS_MAX
        biggest = Put(prefix + "big", b"x" * (COMMIT_BYTES_MAX - len(prefix) - 3))
        await store.commit([biggest])
        entry = await store.get(prefix + "big")
        assert entry
        assert entry.value == biggest.value
        before = await revision_of(store, prefix)
        refused: list[list[Operation]] = [
            [],
            [*most, Delete(prefix + "one more")],
            [Put(prefix + "big", biggest.value + b"x")],
            [Put(prefix + "twice", b""), Delete(prefix + "twice")],
        ]
        for operations in refused:
            with pytest.raises(UsageError):
                await store.commit(operations)
        assert await revision_of(store, prefix) == before

    play(scenario)


# Scans


def test_a_scan_is_one_moment_even_while_others_write(open_store: Open, play: Play) -> None:
    """Two keys are always written together, so no snapshot may show them with different values."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        writer = open_store()
        done = asyncio.Event()

        async def write() -> None:
            for number in range(60):
                await writer.commit([Put(f"{prefix}{name}", b"%d" % number) for name in range(50)])
            done.set()

        writing = asyncio.create_task(write())
        try:
            last = 0
            while not done.is_set():
                listing = await store.scan(prefix)
                assert len({(entry.value, entry.revision) for entry in listing.entries}) <= 1
                assert listing.revision >= last
                assert all(entry.revision <= listing.revision for entry in listing.entries)
                last = listing.revision
        finally:
            await writing
            await writer.close()

    play(scenario)


def test_what_one_client_wrote_every_client_reads(open_store: Open, play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        other = open_store()
        try:
            for number in range(20):
                revision = await put(store, prefix + "a", b"%d" % number)
                assert await other.get(prefix + "a") == Entry(prefix + "a", b"%d" % number, revision)
        finally:
            await other.close()

    play(scenario)


# Cancellation


def test_a_cancelled_commit_has_happened_or_has_not(play: Play) -> None:
    """Cancelled at many moments: the keys of a commit are there all or none, and the store goes on."""

    async def scenario(store: CompactableStore, prefix: str) -> None:
        await put(store, prefix + "warm", b"")
        for number in range(40):
            keys = [f"{prefix}{number}/{name}" for name in range(8)]
            commit: Coroutine[Any, Any, Revision] = store.commit([Put(key, b"") for key in keys])
            task = asyncio.create_task(commit)
            await asyncio.sleep(number * 0.00005)
            task.cancel()
            await asyncio.wait([task])
            written = {entry.key for entry in (await store.scan(f"{prefix}{number}/")).entries}
            assert written in (set(), set(keys))
            if not task.cancelled():
                assert written == set(keys)
        assert await put(store, prefix + "end", b"") == await revision_of(store, prefix)

    play(scenario)

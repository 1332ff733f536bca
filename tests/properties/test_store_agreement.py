"""The embedded store and a real etcd, side by side through the same generated life, must tell the same story.

Revisions are compared relative to each store's at the beginning, so both can be used for one example after the other.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.etcd_server import running_etcd

from tortie.store.contract import (
    ABSENT,
    Absent,
    Compacted,
    Conflict,
    Delete,
    Entry,
    Expectation,
    Operation,
    Put,
    Revision,
)
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore

DEADLINE_S = 30.0
AnyStore = EmbeddedStore | EtcdStore

# Names with shared beginnings, and some whose order differs between text and UTF-8.
NAMES = ("a", "a/", "a/b", "ab", "b", "ä", "\uffff", "\U0001f431")
PREFIXES = ("", "a", "a/", "b", "\uffff", "nothing")


class Known(NamedTuple):
    """Expects the key's revision as it was so many writes ago; 0 is the right one."""

    writes_ago: int


class Write(NamedTuple):
    name: str
    value: bytes | None  # None deletes
    expecting: Known | Absent | None


class Commit(NamedTuple):
    writes: tuple[Write, ...]


class Get(NamedTuple):
    name: str


class Scan(NamedTuple):
    prefix: str


class Look(NamedTuple):
    """Several keys and prefixes in one snapshot."""

    names: tuple[str, ...]
    prefixes: tuple[str, ...]


class Watch(NamedTuple):
    prefix: str
    commits_ago: int  # where it starts; negative: still to come


Step = Commit | Get | Scan | Look | Watch

known = st.builds(Known, st.sampled_from((0, 0, 0, 1, 2)))
writes = st.one_of(
    st.builds(Write, st.sampled_from(NAMES), st.binary(max_size=3), st.one_of(st.none(), st.just(ABSENT), known)),
    st.builds(Write, st.sampled_from(NAMES), st.none(), st.one_of(st.none(), known)),
)
commits = st.builds(
    Commit, st.lists(writes, min_size=1, max_size=4, unique_by=lambda write: write.name).map(lambda some: tuple(some))
)
looks = st.builds(
    Look,
    st.lists(st.sampled_from(NAMES), max_size=4).map(lambda some: tuple(some)),
    st.lists(st.sampled_from(PREFIXES), min_size=1, max_size=3).map(lambda some: tuple(some)),
)
steps = st.lists(
    st.one_of(
        commits,
        commits,
        commits,
        st.builds(Get, st.sampled_from(NAMES)),
        st.builds(Scan, st.sampled_from(PREFIXES)),
        looks,
        st.builds(Watch, st.sampled_from(PREFIXES), st.integers(-2, 8)),
    ),
    min_size=1,
    max_size=25,
)


class Life:
    """One store living through the steps; what it says is translated to the beginning's revision and no prefix."""

    def __init__(self, store: AnyStore, prefix: str, start: Revision) -> None:
        self._store = store
        self._prefix = prefix
        self._start = start
        self._revision = start
        self._written: dict[str, list[Revision]] = {name: [start] for name in NAMES}
        self._watches: list[asyncio.Task[object]] = []

    async def through(self, story: list[Step], compact_commits_ago: int) -> list[object]:
        said = [await self._step(step) for step in story]
        for name in ("nearly", "almost", "end"):  # behind where any watch starts, and below every prefix
            last = [Put(self._prefix + prefix + name, b"") for prefix in PREFIXES]
            self._revision = await self._store.commit(last)
        said += await asyncio.gather(*self._watches)
        return said + await self._forget(self._revision - compact_commits_ago)

    async def _step(self, step: Step) -> object:
        match step:
            case Commit(some):
                return await self._commit(some)
            case Get(name):
                return self._entry(await self._store.get(self._prefix + name))
            case Scan(prefix):
                listing = await self._store.scan(self._prefix + prefix)
                return [self._entry(entry) for entry in listing.entries], listing.revision - self._start
            case Look(names, prefixes):
                return await self._look(names, prefixes)
            case Watch(prefix, commits_ago):
                after = max(self._start, self._revision - commits_ago)
                self._watches.append(asyncio.create_task(self._watch(prefix, after)))
                return None

    async def _look(self, names: tuple[str, ...], prefixes: tuple[str, ...]) -> object:
        keys = [self._prefix + name for name in names]
        snapshot = await self._store.snapshot(keys, [self._prefix + prefix for prefix in prefixes])
        for key in keys:
            assert snapshot.get(key) == await self._store.get(key), "nobody wrote in between"
        for prefix in prefixes:
            assert snapshot.listing(self._prefix + prefix) == await self._store.scan(self._prefix + prefix)
        found = {name: self._entry(snapshot.get(self._prefix + name)) for name in names}
        below = {
            prefix: [self._entry(entry) for entry in snapshot.listings[self._prefix + prefix]] for prefix in prefixes
        }
        return found, below, snapshot.revision - self._start

    async def _commit(self, some: tuple[Write, ...]) -> object:
        try:
            self._revision = await self._store.commit([self._operation(write) for write in some])
        except Conflict as conflict:
            expecting = conflict.expecting
            wanted = "absent" if isinstance(expecting, Absent) else expecting - self._start
            return "conflict", conflict.key.removeprefix(self._prefix), wanted, self._entry(conflict.found)
        for write in some:
            self._written[write.name].append(self._revision)
        return "committed", self._revision - self._start

    def _operation(self, write: Write) -> Operation:
        expecting: Expectation = None
        if isinstance(write.expecting, Known):
            written = self._written[write.name]
            expecting = written[max(0, len(written) - 1 - write.expecting.writes_ago)]
        elif write.expecting is not None:
            expecting = ABSENT
        key = self._prefix + write.name
        if write.value is not None:
            return Put(key, write.value, expecting)
        return Delete(key, None if isinstance(expecting, Absent) else expecting)

    def _entry(self, entry: Entry | None) -> object:
        return entry and (entry.key.removeprefix(self._prefix), entry.value, entry.revision - self._start)

    async def _watch(self, prefix: str, after: Revision) -> object:
        """What a watch tells until the last commit."""
        seen: list[object] = []
        changes = self._store.watch(self._prefix + prefix, after=after)
        try:
            async with aclosing(changes):
                async for change in changes:
                    name = change.key.removeprefix(self._prefix)
                    seen.append((name, change.value, change.revision - self._start))
                    if name == prefix + "end":
                        return seen
        except Compacted as compacted:
            return "compacted", compacted.after - self._start, compacted.oldest - self._start
        raise AssertionError("a watch ended by itself")

    async def _forget(self, oldest: Revision) -> list[object]:
        """After compaction, from which revisions can still be watched? At the border either answer is right."""
        if oldest <= self._start:
            return []
        await self._store.compact(oldest)
        starts = [after for after in range(self._start, self._revision) if after != oldest - 1]
        return [await self._watch("", after) for after in starts]


@pytest.fixture(scope="module")
def etcd_endpoint() -> Iterator[str]:
    with running_etcd() as etcd:
        yield etcd.endpoint


@pytest.fixture(scope="module")
def embedded_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agreement") / "store.db"


_examples = itertools.count()


@settings(deadline=None, max_examples=80, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=steps, compact_commits_ago=st.integers(0, 12))
def test_embedded_and_etcd_tell_the_same_story(
    etcd_endpoint: str, embedded_path: Path, story: list[Step], compact_commits_ago: int
) -> None:
    async def live(store: AnyStore, prefix: str) -> list[object]:
        try:
            async with asyncio.timeout(DEADLINE_S):
                start = (await store.scan(prefix)).revision
                return await Life(store, prefix, start).through(story, compact_commits_ago)
        finally:
            await store.close()

    async def both() -> None:
        prefix = f"/{next(_examples)}/"
        embedded = await live(EmbeddedStore(embedded_path, durable=False), prefix)
        etcd = await live(EtcdStore(EtcdConfig(endpoints=(etcd_endpoint,))), prefix)
        assert embedded == etcd

    asyncio.run(both())

"""Several commits at once: each for itself, and each is told what became of it, on every back end."""

from __future__ import annotations

import pytest
from tests.support.etcd_requests import requests_served, requests_since
from tests.support.stores import AsCommand, CompactableStore, Play

from tortie.model.errors import UsageError
from tortie.store.contract import ABSENT, Conflict, Delete, Operation, Put, Unreachable, put
from tortie.store.etcd import EtcdConfig
from tortie.store.side_by_side import commit_each

pytestmark = pytest.mark.parametrize("open_store", ["embedded", "etcd", "etcd-command"], indirect=True)


def test_each_commit_happens_for_itself_and_has_its_own_revision(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        start = await put(store, prefix + "there", b"old")
        names = [f"{prefix}{number:03}" for number in range(300)]
        commits: list[list[Operation]] = [[Put(name, name.encode(), ABSENT)] for name in names]
        found = await commit_each(store, [*commits, [Put(prefix + "there", b"new", start), Put(prefix + "too", b"")]])
        assert sorted(revision for revision in found if isinstance(revision, int)) == list(
            range(start + 1, start + 302)
        )
        entries = {entry.key: entry for entry in (await store.scan(prefix)).entries}
        assert {name: entries[name].value for name in names} == {name: name.encode() for name in names}
        assert [entries[name].revision for name in names] == found[:-1]
        assert entries[prefix + "there"].revision == entries[prefix + "too"].revision == found[-1]

    play(scenario)


def test_a_conflict_stands_in_its_place_and_hinders_nobody(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        revision = await put(store, prefix + "b", b"1")
        commits: list[list[Operation]] = [
            [Put(prefix + "a", b"", ABSENT)],
            [Put(prefix + "b", b"2", ABSENT), Put(prefix + "with-b", b"")],
            [Delete(prefix + "gone", revision)],
            [Put(prefix + "c", b"")],
        ]
        first, second, third, last = await commit_each(store, commits)
        assert isinstance(first, int)
        assert isinstance(last, int)
        assert isinstance(second, Conflict)
        assert (second.key, second.found and second.found.value) == (prefix + "b", b"1")
        assert isinstance(third, Conflict)
        assert third.found is None
        assert [entry.key for entry in (await store.scan(prefix)).entries] == [prefix + name for name in "abc"]

    play(scenario)


def test_who_writes_one_key_twice_is_told_before_anything_happens(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        commits: list[list[Operation]] = [[Put(prefix + "a", b"")], [Put(prefix + "b", b"")], [Delete(prefix + "a")]]
        with pytest.raises(UsageError, match="in two commits side by side"):
            await commit_each(store, commits)
        assert (await store.scan(prefix)).entries == ()
        assert await commit_each(store, []) == []

    play(scenario)


def test_etcd_is_asked_once_for_each_and_not_more(play: Play, etcd_endpoint: str) -> None:
    async def scenario(_store: CompactableStore, prefix: str) -> None:
        store = AsCommand(EtcdConfig(endpoints=(etcd_endpoint,)))
        port = int(etcd_endpoint.rpartition(":")[2])
        try:
            await store.get(prefix)
            before = requests_served(port)
            await commit_each(store, [[Put(f"{prefix}{number}", b"x" * 3000)] for number in range(500)])
            assert requests_since(before, port) == {"Txn": 500}
        finally:
            await store.close()

    play(scenario)


def test_of_a_store_that_is_out_of_reach_each_is_told_for_itself(play: Play) -> None:
    async def scenario(_store: CompactableStore, prefix: str) -> None:
        store = AsCommand(EtcdConfig(endpoints=("http://127.0.0.1:1",)))
        try:
            found = await commit_each(store, [[Put(prefix + name, b"")] for name in "ab"], timeout_s=0.5)
        finally:
            await store.close()
        assert all(isinstance(each, Unreachable) and not each.uncertain for each in found)

    play(scenario)

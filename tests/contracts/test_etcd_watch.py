"""A watch on etcd outlives its connections, and says so when it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.support.etcd_server import EtcdServer, running_cluster, running_etcd

from tortie.store.contract import Change, Compacted, Put, Unreachable, delete, put
from tortie.store.etcd import EtcdConfig, EtcdStore


def opened(*endpoints: str) -> EtcdStore:
    return EtcdStore(EtcdConfig(endpoints=endpoints))


async def up_to(changes: AsyncIterator[Change], key: str) -> list[Change]:
    seen = []
    async with asyncio.timeout(30):
        async for change in changes:
            seen.append(change)
            if change.key == key:
                break
    return seen


def test_a_watch_goes_on_behind_a_restart_without_gap_or_repetition() -> None:
    async def scenario() -> None:
        watcher, writer = opened(etcd.endpoint), opened(etcd.endpoint)
        try:
            watching = asyncio.create_task(up_to(watcher.watch("/", after=0), "/end"))
            for round_number in range(3):
                for number in range(20):
                    await put(writer, f"/{round_number}/{number}", b"x")
                await asyncio.to_thread(restart, etcd)
            await put(writer, "/end", b"")
            keys = [change.key for change in await watching]
            assert keys == [f"/{round_number}/{number}" for round_number in range(3) for number in range(20)] + ["/end"]
        finally:
            await watcher.close()
            await writer.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def restart(etcd: EtcdServer) -> None:
    etcd.stop()
    etcd.start()


def test_all_writes_of_one_commit_arrive_with_one_revision_and_in_whole() -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            revision = await store.commit([Put(f"/{number:03}", b"x" * 10_000) for number in range(128)])
            seen = await up_to(store.watch("/", after=0), "/127")
            assert [change.key for change in seen] == [f"/{number:03}" for number in range(128)]
            assert {change.revision for change in seen} == {revision}
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_watch_from_compacted_history_raises_compacted_with_the_oldest_revision() -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            first = await put(store, "/a", b"1")
            for number in range(5):
                last = await put(store, "/a", str(number).encode())
            await store.compact(last)
            with pytest.raises(Compacted) as caught:
                await up_to(store.watch("/", after=first), "/a")
            assert (caught.value.after, caught.value.oldest) == (first, last)
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_deletion_at_the_compacted_revision_itself_is_not_silently_skipped() -> None:
    """etcd lets such a watch begin, but the deletion is no longer in its history: the watcher would never know."""

    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            seen_up_to = await put(store, "/a", b"1")
            deleted = await delete(store, "/a")
            await store.compact(deleted)
            await put(store, "/end", b"")
            with pytest.raises(Compacted):
                await up_to(store.watch("/", after=seen_up_to), "/end")
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_watch_that_lost_its_connection_while_history_was_compacted_says_so() -> None:
    async def scenario() -> None:
        watcher, writer = opened(etcd.endpoint), opened(etcd.endpoint)
        try:
            first = await put(writer, "/a", b"1")
            changes = watcher.watch("/", after=0)
            assert (await anext(changes)).revision == first
            for number in range(5):
                last = await put(writer, "/b", str(number).encode())
            await writer.compact(last)
            await asyncio.to_thread(restart, etcd)
            with pytest.raises(Compacted) as caught:
                await up_to(changes, "/b")
            assert (caught.value.after, caught.value.oldest) == (first, last)
        finally:
            await watcher.close()
            await writer.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_watch_moves_on_to_a_living_member() -> None:
    async def scenario() -> None:
        leader = cluster.leader()
        doomed, other = (member for member in cluster.members if member is not leader)
        store = opened(doomed.endpoint, other.endpoint, leader.endpoint)
        try:
            watching = asyncio.create_task(up_to(store.watch("/", after=0), "/end"))
            await put(store, "/a", b"1")
            cluster.kill(doomed)
            try:
                await put(store, "/end", b"", timeout_s=20)
            except Unreachable as error:  # it was on its way to the member that died
                if not error.uncertain:
                    raise
                await put(store, "/end", b"", timeout_s=20)
            assert [change.key for change in await watching] == ["/a", "/end"]
        finally:
            await store.close()

    with running_cluster(members=3) as cluster:
        asyncio.run(scenario())


def test_a_watch_on_a_member_cut_off_from_the_leader_does_not_stay_silent() -> None:
    """Two of three members hang: the third still holds the connection, but nothing new reaches it."""

    async def scenario() -> None:
        lonely, *others = cluster.members
        store = opened(lonely.endpoint)
        try:
            changes = store.watch("/", after=0, timeout_s=6)  # etcd itself takes a while to miss its leader
            await put(store, "/a", b"1")
            assert (await anext(changes)).key == "/a"
            for member in others:
                member.pause()
            with pytest.raises(Unreachable, match="no leader"):
                async with asyncio.timeout(60):
                    await anext(changes)
        finally:
            await store.close()

    with running_cluster(members=3) as cluster:
        asyncio.run(scenario())


def test_a_quiet_watch_notices_a_server_that_hangs() -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            changes = store.watch("/", after=0, timeout_s=4)  # also for a busy etcd before it hangs
            await put(store, "/a", b"1")
            assert (await anext(changes)).key == "/a"
            etcd.pause()
            with pytest.raises(Unreachable) as caught:
                async with asyncio.timeout(60):
                    await anext(changes)
            assert caught.value.what.endswith("gave no answer to watch / within 4.0 s")
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())


def test_a_quiet_watch_outlasts_its_own_timeout_as_long_as_the_server_lives() -> None:
    async def scenario() -> None:
        store = opened(etcd.endpoint)
        try:
            # A busy etcd must be able to say in time that it lives.
            watching = asyncio.create_task(up_to(store.watch("/", after=0, timeout_s=2), "/a"))
            await asyncio.sleep(5)
            await put(store, "/a", b"1")
            assert len(await watching) == 1
        finally:
            await store.close()

    with running_etcd() as etcd:
        asyncio.run(scenario())

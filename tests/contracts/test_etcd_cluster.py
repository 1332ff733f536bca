"""A cluster whose leader is killed again and again loses nothing it has acknowledged, and hides no conflict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from tests.support.etcd_server import EtcdCluster, running_cluster
from tests.support.stores import CompactableStore

from tortie.store.contract import ABSENT, Change, Conflict, Entry, Put, Revision, Unreachable, put
from tortie.store.etcd import EtcdConfig
from tortie.store.retry import GaveUp, update

Client = Callable[[EtcdConfig], CompactableStore]

KILLS = 4
WRITERS = 3
COUNTER = "/counter"
PATIENCE_S = 2


class Diary:
    """What the writers were told."""

    def __init__(self) -> None:
        self.increments = 0
        self.commits: dict[Revision, tuple[str, bytes]] = {}
        self.won: dict[str, list[bytes]] = {}
        self.conflicts = 0
        self.acknowledged = asyncio.Semaphore(0)
        self.over = asyncio.Event()


def opened(client: Client, cluster: EtcdCluster, shift: int = 0) -> CompactableStore:
    endpoints = cluster.endpoints[shift:] + cluster.endpoints[:shift]
    return client(EtcdConfig(endpoints=endpoints))


async def count(store: CompactableStore, diary: Diary) -> None:
    while not diary.over.is_set():
        try:
            await update(store, COUNTER, lambda present: str(int(present or b"0") + 1).encode(), timeout_s=PATIENCE_S)
        except (Unreachable, GaveUp):
            continue
        diary.increments += 1


async def claim(store: CompactableStore, name: bytes, diary: Diary) -> None:
    """Each tries to be the first to create the next key, together with one that only it writes."""
    number = 0
    while not diary.over.is_set():
        contested, own = f"/contested/{number:06}", f"/own/{name.decode()}/{number:06}"
        try:
            revision = await store.commit([Put(contested, name, ABSENT), Put(own, name)], timeout_s=PATIENCE_S)
        except Conflict:
            diary.conflicts += 1
        except Unreachable:
            pass
        else:
            assert revision not in diary.commits
            diary.commits[revision] = (own, name)
            diary.won.setdefault(contested, []).append(name)
            diary.acknowledged.release()
        number += 1


async def note(store: CompactableStore, name: str, diary: Diary) -> None:
    """Without any expectation: a store that repeats a write of unknown outcome writes these twice."""
    number = 0
    while not diary.over.is_set():
        key = f"/noted/{name}/{number:06}"
        with suppress(Unreachable):
            diary.commits[await put(store, key, name.encode(), timeout_s=PATIENCE_S)] = (key, name.encode())
        number += 1


async def kill_leaders(cluster: EtcdCluster, diary: Diary) -> None:
    for _ in range(KILLS):
        leader = await asyncio.to_thread(cluster.leader)
        cluster.kill(leader)
        await asyncio.to_thread(cluster.leader)
        diary.acknowledged = asyncio.Semaphore(0)
        for _ in range(20):  # the others work on without it
            await diary.acknowledged.acquire()
        await asyncio.to_thread(leader.start)
    diary.over.set()


async def collect(store: CompactableStore, seen: list[Change]) -> None:
    async for change in store.watch("/", after=0, timeout_s=30):
        seen.append(change)
        if change.key == "/end":
            return


async def scenario(client: Client, cluster: EtcdCluster) -> None:
    stores = [opened(client, cluster, shift) for shift in range(WRITERS)]
    diary, seen = Diary(), list[Change]()
    try:
        async with asyncio.timeout(200), asyncio.TaskGroup() as tasks:
            tasks.create_task(collect(stores[0], seen))
            async with asyncio.TaskGroup() as writers:
                for number, store in enumerate(stores):
                    writers.create_task(count(store, diary))
                    writers.create_task(claim(store, f"writer{number}".encode(), diary))
                    writers.create_task(note(store, f"writer{number}", diary))
                writers.create_task(kill_leaders(cluster, diary))
            await put(stores[1], "/end", b"", timeout_s=30)
        standing = {entry.key: entry for entry in (await stores[2].scan("/")).entries}
    finally:
        for store in stores:
            await store.close()
    check_counter(diary, seen, int(standing[COUNTER].value))
    check_commits(diary, seen, standing)


def check_counter(diary: Diary, seen: list[Change], value: int) -> None:
    values = [int(change.value or b"0") for change in seen if change.key == COUNTER]
    assert values == list(range(1, value + 1)), "an increment was lost, repeated or overwritten"
    assert value >= diary.increments > 0


def check_commits(diary: Diary, seen: list[Change], standing: dict[str, Entry]) -> None:
    assert [change.revision for change in seen] == sorted(change.revision for change in seen)
    times = Counter((change.key, change.revision) for change in seen)
    assert set(times.values()) == {1}
    noted = Counter(change.key for change in seen if change.key.startswith("/noted/"))
    assert set(noted.values()) == {1}, "a write was made twice"
    written = {(change.revision, change.key): change.value for change in seen}
    for revision, (key, name) in diary.commits.items():
        assert written[revision, key] == name
        assert standing[key].revision == revision
    for contested, winners in diary.won.items():
        assert winners == [standing[contested].value], f"{contested} was given to {winners}"
    assert diary.conflicts > 0


def test_a_cluster_that_loses_its_leader_again_and_again_loses_no_acknowledged_write(etcd_client: Client) -> None:
    with running_cluster(members=3) as cluster:
        asyncio.run(scenario(etcd_client, cluster))

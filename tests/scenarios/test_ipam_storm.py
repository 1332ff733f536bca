"""Eight processes on four nodes give out and take back 20,000 addresses while nothing around them holds still.

The leader of a three-member etcd is killed and started again, and so are the processes, all the time. Afterwards their
histories prove that no address was ever two pods', and, once what was forgotten is collected, the books hold exactly
the pods that run.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.support import ipam_world as world
from tests.support.cli import Tortie
from tests.support.etcd_server import EtcdCluster, running_cluster
from tests.support.ipam_books import disagreement, disorder, opened
from tests.support.ipam_collect import collected
from tests.support.ipam_history import Account, judge, read_history
from tests.support.ipam_worker import Order

from tortie.ipam.allocator import Allocator
from tortie.ipam.census import take_census
from tortie.store.contract import Store
from tortie.store.etcd import EtcdConfig, EtcdStore

ADDRESSES = 20_000
NODES = ("north", "east", "south", "west")
WORKERS = 8
SLOW = "west"  # can write but one key at a time, so that its pods cost eight times as many commits
SLOW_SHARE = 300
SHARE = -(-(ADDRESSES - 2 * SLOW_SHARE) // (WORKERS - 2))
KILLS_OF_WORKERS = 16
ROOT = Path(__file__).resolve().parents[2]


class Crew:
    """The workers. Who is killed is started again at once."""

    def __init__(self, folder: Path, endpoints: tuple[str, ...]) -> None:
        self.folder = folder
        self.killed = 0
        self._orders = [
            Order(
                f"worker-{number}",
                NODES[number % len(NODES)],
                [*endpoints[number % 3 :], *endpoints[: number % 3]],
                str(folder / f"worker-{number}.history"),
                SLOW_SHARE if NODES[number % len(NODES)] == SLOW else SHARE,
                0,
                atomic=NODES[number % len(NODES)] != SLOW,
            )
            for number in range(WORKERS)
        ]
        self._processes = [self._start(order) for order in self._orders]

    def _start(self, order: Order) -> subprocess.Popen[bytes]:
        with (self.folder / f"{order.name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.support.ipam_worker", order.words()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def busy(self) -> list[int]:
        return [number for number, process in enumerate(self._processes) if process.poll() is None]

    def kill(self, number: int) -> None:
        """-9, and another one takes up its work."""
        self._processes[number].kill()
        self._processes[number].wait()
        self.killed += 1
        self._orders[number] = self._orders[number]._replace(life=self._orders[number].life + 1)
        self._processes[number] = self._start(self._orders[number])

    def check(self) -> None:
        for order, process in zip(self._orders, self._processes, strict=True):
            log = (self.folder / f"{order.name}.log").read_text()[-3000:]
            assert process.poll() in (None, 0), f"{order.name} ended with {process.returncode}:\n{log}"

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def account(self) -> Account:
        return judge(event for order in self._orders for event in read_history(Path(order.journal)))


@contextmanager
def crew_of(folder: Path, endpoints: tuple[str, ...]) -> Iterator[Crew]:
    with ExitStack() as stack:
        crew = Crew(folder, endpoints)
        stack.callback(crew.end)
        yield crew


def storm(crew: Crew, etcd: EtcdCluster, chance: random.Random) -> int:
    """Until all have done their part; returns how many leaders were killed."""
    leaders = 0
    next_leader, next_worker = time.monotonic() + 2.0, time.monotonic() + 1.0
    while crew.busy:
        crew.check()
        time.sleep(0.05)
        if time.monotonic() > next_leader:
            leader = etcd.leader()
            leader.stop()
            leaders += 1
            time.sleep(0.5 + chance.random())
            leader.start()
            next_leader = time.monotonic() + 2.0
        if time.monotonic() > next_worker and crew.busy and crew.killed < KILLS_OF_WORKERS:
            crew.kill(chance.choice(crew.busy))
            next_worker = time.monotonic() + chance.uniform(0.5, 2.0)
    crew.check()
    return leaders


async def prepare(store: Store) -> None:
    await store.commit(
        [
            world.pool("four", "10.20.0.0/22", 27),
            world.pool("six", "fd00:20::/118", 123),
            *(world.node(name) for name in NODES),
        ]
    )


async def pods_collected(store: Store, running: set[str]) -> int:
    """What a runtime asks of the plugin with GC: pods that it does not know are gone."""
    gone = [endpoint for endpoint in (await take_census(store)).endpoints if endpoint.container_id not in running]
    for endpoint in gone:
        allocator = Allocator(store, endpoint.node, clock=lambda: datetime.now(UTC))
        leaves = world.pod_leaves(endpoint.node, endpoint.pod)
        await allocator.release_handle(world.pod_handle(endpoint.container_id), along=leaves)
    return len(gone)


async def proof(store: Store, account: Account) -> None:
    books = await opened(store)
    assert [*disorder(books), *disagreement(books)] == []
    assert books.holders == {ip_address(address): handle for address, handle in account.live.items()}


@pytest.mark.timeout(600)
def test_no_address_is_given_twice_in_a_storm(tmp_path: Path) -> None:
    with running_cluster() as etcd:

        async def with_store(work: str, account: Account | None = None) -> None:
            store = EtcdStore(EtcdConfig(endpoints=etcd.endpoints))
            try:
                if work == "prepare":
                    await prepare(store)
                elif account is not None:
                    await pods_collected(store, {world.container(handle) for handle in account.live.values()})
                    await collected(store, lambda: datetime.now(UTC))
                    await proof(store, account)
            finally:
                await store.close()

        asyncio.run(with_store("prepare"))
        with crew_of(tmp_path, etcd.endpoints) as crew:
            leaders = storm(crew, etcd, random.Random(6))
            account = crew.account()
        assert account.faults == ()
        assert account.assigned >= ADDRESSES
        assert leaders >= 2
        assert crew.killed >= WORKERS
        asyncio.run(with_store("prove", account))
        tortie = Tortie(tmp_path, ETCD_ENDPOINTS=",".join(etcd.endpoints), DATASTORE_TYPE="etcdv3")
        checked = tortie.run("ipam", "check")
        assert checked.code == 0, checked.stdout + checked.stderr

"""A process that allocates and releases addresses for pods that come and go, and notes what it does in a journal.

`python -m tests.support.ipam_worker '{"name": …}'`. It plays a runtime and the agent in one. Killed and started again
it reads its journal: pods that were running still are; of what was in doubt it repeats some, takes back some, and has
forgotten the rest, which is then for others to collect.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.support.ipam_history import Journal, judge, read_history
from tests.support.ipam_world import container, pod_handle, pod_leaves, pod_request

from tortie.ipam.allocator import Allocator
from tortie.ipam.errors import IpamError
from tortie.store.contract import Unreachable
from tortie.store.etcd import EtcdConfig, EtcdStore


class Order(NamedTuple):
    """What a worker is told."""

    name: str
    node: str
    endpoints: list[str]
    journal: str
    addresses: int  # in all, over all of its lives
    life: int
    atomic: bool
    at_once: int = 40
    pods_max: int = 60

    def words(self) -> str:
        return json.dumps(self._asdict())


class Worker:
    def __init__(self, order: Order, allocator: Allocator) -> None:
        history = judge(read_history(Path(order.journal)))
        self.order = order
        self.allocator = allocator
        self.journal = Journal(Path(order.journal))
        self.random = random.Random(f"{order.name} {order.life}")
        self.running = [container(handle) for handle in dict.fromkeys(history.live.values())]
        self.in_doubt = sorted(map(container, history.doubtful))
        self.assigned = history.assigned
        self._born = itertools.count()

    async def live(self) -> None:
        for pod in self.in_doubt:
            fate = self.random.choice(["repeated", "taken back", "forgotten"])
            if fate == "repeated":
                await self.add(pod)
            elif fate == "taken back":
                await self.remove(pod)
        await asyncio.gather(*(self._come_and_go() for _ in range(self.order.at_once)))

    async def _come_and_go(self) -> None:
        while self.assigned < self.order.addresses:
            await self.add(f"{self.order.name}-{self.order.life}-{next(self._born)}")
            while len(self.running) > self.order.pods_max:
                await self.remove(self.running.pop(self.random.randrange(len(self.running))))

    async def add(self, pod: str) -> None:
        """Again and again until it is there, as a runtime does. A repeated request asks for the same."""
        handle = pod_handle(pod)
        wanted = {"v6": 1} if random.Random(pod).random() < 0.2 else {}
        while True:
            self.journal.note("begins", "assign", handle)
            try:
                assigned = await self.allocator.assign(pod_request(self.order.node, pod, **wanted))
            except Unreachable:
                self.journal.note("unknown", "assign", handle)
            except IpamError as error:
                print(f"{self.order.name}: {error}", file=sys.stderr)
                self.journal.note("refused", "assign", handle)
                await asyncio.sleep(0.1)
            else:
                self.journal.note("done", "assign", handle, [str(ip) for ip in assigned.ips])
                self.assigned += len(assigned.ips)
                self.running.append(pod)
                return

    async def remove(self, pod: str) -> None:
        handle = pod_handle(pod)
        self.journal.note("begins", "release", handle)
        while True:
            try:
                await self.allocator.release_handle(handle, along=pod_leaves(self.order.node, pod))
            except (Unreachable, IpamError) as error:
                print(f"{self.order.name}: {error}", file=sys.stderr)
            else:
                self.journal.note("done", "release", handle)
                return


async def work(order: Order) -> None:
    store = EtcdStore(EtcdConfig(endpoints=tuple(order.endpoints)))
    allocator = Allocator(store, order.node, clock=lambda: datetime.now(UTC), atomic=order.atomic, keep=True)
    news = asyncio.create_task(allocator.watch())
    try:
        await Worker(order, allocator).live()
    finally:
        news.cancel()
        await asyncio.gather(news, return_exceptions=True)
        await store.close()


if __name__ == "__main__":
    asyncio.run(work(Order(**json.loads(sys.argv[1]))))

"""Nodes for the benchmark of IPAM: each a process with its own client of the store, its own allocator and its watches.

They are forked before any event loop exists, live as long as the benchmark wants them, and die with it however it ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ipam_clusters import HALF_BLOCK, HANDLE, secondary, with_nodes
from tortie.ipam.allocator import Allocator
from tortie.ipam.request import Request
from tortie.model.keys import block_key, handle_key
from tortie.store.contract import ABSENT, Expectation, Put, Store

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG: Final = 1
_LEAD_S: Final = 0.05  # from the word to the start: enough for every node to have heard it
_SETTLE_S: Final = 0.1  # for the watches to have said where they begin
_ANSWER_S: Final = 60.0

_fresh = itertools.count()


class Kind(Enum):
    ONE_KEY = "bare commits of one key"
    TWO_KEYS = "bare commits of two keys"
    ADDRESSES = "addresses"


class Rate(NamedTuple):
    per_s: float
    cpu_ms: float  # for each, of the nodes alone


class _Empty(NamedTuple):
    nodes: int


class _Begin(NamedTuple):
    pass


class _Run(NamedTuple):
    kind: Kind
    in_flight: int
    start: float  # of the clock that all processes share
    seconds: float


class _Ran(NamedTuple):
    done: int
    end: float
    cpu_s: float


_Order = _Empty | _Begin | _Run


def now() -> datetime:
    return datetime.now(UTC)


def request(node: str) -> Request:
    pod = f"pod-{next(_fresh)}"
    return Request(node, f"k8s-pod-network.{node}.{pod}", secondary(node, pod), v4=1, blocks_max=10_000)


class Nodes:
    """The side of whoever measures: it has no event loop and works only when nobody is measured."""

    def __init__(self, ends: Sequence[Connection[Any, Any]]) -> None:
        self._ends = ends

    def from_empty(self) -> None:
        """A new cluster. What a node reads for its first address is behind it, and its watches run."""
        self._told(self._ends[:1], _Empty(len(self._ends)))
        self._told(self._ends, _Begin())

    def run(self, kind: Kind, in_flight: int, seconds: float) -> Rate:
        """All begin at the same moment; what is in flight at the end counts, and so does the time it takes."""
        start = time.perf_counter() + _LEAD_S
        ran = self._told(self._ends, _Run(kind, in_flight, start, seconds))
        done = sum(one.done for one in ran)
        return Rate(done / (max(one.end for one in ran) - start), sum(one.cpu_s for one in ran) / done * 1000)

    def _told(self, ends: Sequence[Connection[Any, Any]], order: _Order) -> list[_Ran]:
        for end in ends:
            end.send(order)
        until = time.perf_counter() + _ANSWER_S + (order.seconds if isinstance(order, _Run) else 0)
        answers = []
        for number, end in enumerate(ends):
            if not end.poll(max(0.0, until - time.perf_counter())):
                raise SystemExit(f"node-{number} gave no answer within {_ANSWER_S:g} s to {order}")
            try:
                answer = end.recv()
            except EOFError:
                raise SystemExit(f"node-{number} is gone; it was told {order}") from None
            if isinstance(answer, str):
                raise SystemExit(f"node-{number} failed at {order}: {answer}")
            answers.append(answer)
        return answers


@contextmanager
def nodes_of(count: int, opened: Callable[[], Store]) -> Iterator[Nodes]:
    """So many nodes; each opens the store for itself."""
    context = multiprocessing.get_context("fork")
    ends: list[Connection[Any, Any]] = []
    processes = []
    parent = os.getpid()
    try:
        for number in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_live, args=(parent, theirs, [*ends, ours], f"node-{number}", opened), daemon=True
            )
            process.start()
            theirs.close()
            ends.append(ours)
            processes.append(process)
        yield Nodes(ends)
    finally:
        for process in processes:
            process.kill()  # nothing of theirs is worth keeping
        for process in processes:
            process.join()
        for end in ends:
            end.close()


def _live(
    parent: int,
    orders: Connection[Any, Any],
    not_ours: Sequence[Connection[Any, Any]],
    name: str,
    opened: Callable[[], Store],
) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who measures is told too, and ends us
    for end in not_ours:
        end.close()
    with suppress(EOFError, BrokenPipeError):
        asyncio.run(_Node(name, opened()).serve(orders))


class _Node:
    def __init__(self, name: str, store: Store) -> None:
        self._name = name
        self._store = store
        self._allocator: Allocator | None = None
        self._news: asyncio.Task[None] | None = None

    async def serve(self, orders: Connection[Any, Any]) -> None:
        while True:
            order: _Order = await _heard(orders)
            try:
                answer = await self._carried_out(order)
            except Exception as error:
                orders.send(f"{type(error).__name__}: {error}")
            else:
                orders.send(answer)

    async def _carried_out(self, order: _Order) -> _Ran | None:
        if isinstance(order, _Run):
            return await self._ran(order)
        if isinstance(order, _Empty):
            await with_nodes(self._store, order.nodes)
        else:
            await self._begin()
        return None

    async def _begin(self) -> None:
        if self._news is not None:
            self._news.cancel()
            await asyncio.gather(self._news, return_exceptions=True)
        self._allocator = Allocator(self._store, self._name, clock=now, keep=True)
        self._news = asyncio.create_task(self._allocator.watch())
        await self._allocator.assign(request(self._name))
        await asyncio.sleep(_SETTLE_S)
        await self._allocator.assign(request(self._name))

    async def _ran(self, order: _Run) -> _Ran:
        until = order.start + order.seconds
        work = {Kind.ONE_KEY: self._one_key, Kind.TWO_KEYS: self._two_keys, Kind.ADDRESSES: self._addresses}[order.kind]
        await asyncio.sleep(order.start - time.perf_counter())
        used = time.process_time()
        count = sum(await asyncio.gather(*(work(until) for _ in range(order.in_flight))))
        ran = _Ran(count, time.perf_counter(), time.process_time() - used)
        if self._news is not None and self._news.done():
            self._news.result()  # whoever does not watch measures something else
        return ran

    async def _one_key(self, until: float) -> int:
        key, count = self._bare_key(block_key("10.0.0.0/26")), 0
        expecting: Expectation = ABSENT
        while not count or time.perf_counter() < until:
            expecting = await self._store.commit([Put(key, HALF_BLOCK, expecting)])
            count += 1
        return count

    async def _two_keys(self, until: float) -> int:
        key, count = self._bare_key(block_key("10.0.0.0/26")), 0
        expecting: Expectation = ABSENT
        while not count or time.perf_counter() < until:
            small = self._bare_key(handle_key("k8s-pod-network"))
            expecting = await self._store.commit([Put(key, HALF_BLOCK, expecting), Put(small, HANDLE, ABSENT)])
            count += 1
        return count

    async def _addresses(self, until: float) -> int:
        count = 0
        assert self._allocator is not None
        while not count or time.perf_counter() < until:
            await self._allocator.assign(request(self._name))
            count += 1
        return count

    def _bare_key(self, like: str) -> str:
        """As long as one of IPAM's, and where nobody watches."""
        return f"/bare{like}.{self._name}.{next(_fresh)}"


async def _heard(orders: Connection[Any, Any]) -> _Order:
    """The next order; the watches go on meanwhile."""
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(orders.fileno(), heard.set)
    try:
        await heard.wait()
    finally:
        loop.remove_reader(orders.fileno())
    order: _Order = orders.recv()
    return order

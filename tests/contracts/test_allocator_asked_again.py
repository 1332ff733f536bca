"""One key at a time, a request runs out of time half-way; it is asked again before what it wrote is taken back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
from tests.support.allocations import Clock, CutStore, clear, faults, held, request, set_up
from tests.support.stores import Play

from tortie.ipam.allocator import Allocator
from tortie.ipam.request import Assigned, Request
from tortie.model.keys import handle_key
from tortie.store.contract import TIMEOUT_S, Operation, Put, Revision, Snapshot, Store, Unreachable

ENDPOINT = "/calico/endpoint"
READING = "whatever is read"


class Watch:
    """The clock that requests are measured by. Time passes, and more of it when a test says so."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr("tortie.ipam.gather.time", watch)
    return watch


class Halting(CutStore):
    """Some keys are behind a gate, as is all that is read, and one cannot be reached."""

    def __init__(self, store: Store, watch: Watch) -> None:
        super().__init__(store, commits=1000, after=False)
        self._watch = watch
        self.gates: dict[str, asyncio.Event] = {}
        self.waiting = asyncio.Event()  # somebody is at a gate
        self.away = ""
        self.tried = asyncio.Event()  # to reach what is away

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        if operations[0].key == self.away:
            self.tried.set()
            self._watch.ahead_s += timeout_s
            raise Unreachable(self.where, "commit", timeout_s, "no route", "wait")
        await self._pass([operations[0].key])
        return await super().commit(operations, timeout_s=timeout_s)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        await self._pass([READING])
        return await super().snapshot(keys, prefixes, timeout_s=timeout_s)

    async def _pass(self, keys: Sequence[str]) -> None:
        for key in self.gates.keys() & set(keys):
            self.waiting.set()
            await self.gates[key].wait()

    def gate(self, key: str) -> asyncio.Event:
        self.waiting.clear()
        return self.gates.setdefault(key, asyncio.Event())


def pod() -> Request:
    return request("pod", along=lambda _ips: [Put(ENDPOINT, b"{}")])


async def run_out_of_time(store: Halting, ours: Allocator) -> tuple[asyncio.Event, asyncio.Task[Assigned]]:
    """The pod's request has written its address and is refused; another one is under way, and waits for its read."""
    gate = store.gate(handle_key("first"))
    first = asyncio.create_task(ours.assign(request("first")))
    await store.waiting.wait()
    store.away = ENDPOINT
    refused = asyncio.create_task(ours.assign(pod(), timeout_s=30))
    gate.set()
    await first
    await store.tried.wait()
    gate = store.gate(READING)
    second = asyncio.create_task(ours.assign(request("second"), timeout_s=600))
    with pytest.raises(Unreachable):
        await refused
    await store.waiting.wait()
    store.away = ""
    return gate, second


def test_who_asks_again_keeps_what_was_written(play: Play, watch: Watch) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        halting = Halting(store, watch)
        ours = Allocator(halting, "node1", clock=Clock(), atomic=False, keep=True)
        gate, second = await run_out_of_time(halting, ours)
        again = asyncio.create_task(ours.assign(pod()))
        await asyncio.sleep(0)
        gate.set()
        told = [str(ip) for ip in (await again).ips]
        await second
        await ours.assign(request("third"))
        books = await held(store)
        assert books["pod"] == told
        assert sorted(books) == ["first", "pod", "second", "third"]
        assert await faults(store) == []
        await clear(store)

    play(scenario)


def test_who_asks_again_in_vain_leaves_nothing(play: Play, watch: Watch) -> None:
    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        halting = Halting(store, watch)
        ours = Allocator(halting, "node1", clock=Clock(), atomic=False, keep=True)
        gate, second = await run_out_of_time(halting, ours)
        halting.away = ENDPOINT
        again = asyncio.create_task(ours.assign(pod(), timeout_s=30))
        await asyncio.sleep(0)
        gate.set()
        with pytest.raises(Unreachable):
            await again
        await second
        await ours.assign(request("third"))
        assert sorted(await held(store)) == ["first", "second", "third"]
        assert await faults(store) == []
        await clear(store)

    play(scenario)


def test_who_asks_while_it_is_taken_back_gets_what_is_free_then(play: Play, watch: Watch) -> None:
    """While it is about to be: whatever of it is done by then."""

    async def scenario(store: Store, _prefix: str) -> None:
        await set_up(store)
        halting = Halting(store, watch)
        ours = Allocator(halting, "node1", clock=Clock(), atomic=False, keep=True)
        gate, second = await run_out_of_time(halting, ours)
        taking_back = halting.gate(handle_key("pod"))
        gate.set()
        await second
        await halting.waiting.wait()
        again = asyncio.create_task(ours.assign(pod()))
        await asyncio.sleep(0)
        taking_back.set()
        told = [str(ip) for ip in (await again).ips]
        await ours.assign(request("third"))
        books = await held(store)
        assert books["pod"] == told
        assert sorted(books) == ["first", "pod", "second", "third"]
        assert await faults(store) == []
        await clear(store)

    play(scenario)

"""Allocators of several nodes on one store, in one event loop; and what they have been promised.

A deed ends in one of three ways: it was acknowledged, it was refused, or nobody knows. What was acknowledged is held
from then on; what was refused left nothing behind; of the rest anything may be true until it is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from tests.support.ipam_faults import FaultyStore
from tests.support.ipam_world import pod_handle, pod_leaves, pod_request

from tortie.ipam.affinity import claim_block, release_node
from tortie.ipam.allocator import Allocator
from tortie.ipam.errors import IpamError
from tortie.ipam.request import Assigned, Expected, Request
from tortie.model.network import IP, Network
from tortie.store.contract import Store, Unreachable

_STEP_S = 60.0


class Clock:
    """A machine's own, which may be wrong, but goes on."""

    def __init__(self, offset_s: float) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=offset_s)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


class Member:
    """One process on a node. It can crash, and then begins anew with nothing in its head."""

    def __init__(self, store: Store, name: str, number: int, random: Random, *, atomic: bool, watching: Store) -> None:
        self.name = name
        self.clock = Clock(number * 7.0)
        self._store, self._watching = store, watching
        self._random = random
        self.atomic = atomic
        self.keep = False
        self._news: asyncio.Task[None] | None = None
        self.start()

    def start(self, *, keep: bool = False) -> None:
        self.keep = keep
        self.store = FaultyStore(self._store, self._random.random, watching=self._watching)
        self.allocator = Allocator(
            self.store,
            self.name,
            clock=self.clock,
            chance=self._random.random,
            atomic=self.atomic,
            keep=keep,
            pause=self._pause,
        )
        self._news = asyncio.get_running_loop().create_task(self.allocator.watch()) if keep else None

    async def stop(self) -> None:
        """As `kill -9` does it: nothing is tidied up."""
        self.store.crashed.set()
        tasks = [*self.store.hanging, *([self._news] if self._news else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pause(self, seconds: float) -> None:
        self.clock.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    async def until_crash(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What it returns; `Crashed` if the process was gone before."""
        task = asyncio.ensure_future(work)
        crash = asyncio.ensure_future(self.store.crashed.wait())
        await asyncio.wait({task, crash}, return_when=asyncio.FIRST_COMPLETED, timeout=_STEP_S)
        crash.cancel()
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if self.store.crashed.is_set():
            raise Crashed
        raise AssertionError(f"{self.name} neither answered nor crashed within {_STEP_S:.0f} s")


class Crashed(Exception):
    """The process was gone before there was an answer."""


class Pod(NamedTuple):
    member: int
    name: str

    @property
    def handle(self) -> str:
        return pod_handle(self.name)


class Promises:
    """Which pod was acknowledged to hold which addresses, and of which nobody knows."""

    def __init__(self) -> None:
        self.held: dict[Pod, frozenset[IP]] = {}
        self.doubtful: set[Pod] = set()
        self.requests: dict[Pod, Request] = {}

    @property
    def pods(self) -> list[Pod]:
        return [*self.held, *sorted(self.doubtful)]

    def take(self, pod: Pod, assigned: Assigned) -> None:
        ips = frozenset(assigned.ips)
        request = self.requests[pod]
        assert len(ips) == len(assigned.addresses), f"{pod.name} was given an address twice: {assigned}"
        if request.given:
            assert ips == set(request.given), f"{pod.name} asked for {request.given}, got {assigned}"
        else:
            families = [sum(ip.version == family for ip in ips) for family in (4, 6)]
            assert families == [request.v4, request.v6], f"{pod.name} asked for {request}, got {assigned}"
        if pod in self.held:
            assert self.held[pod] == ips, f"{pod.name} had {self.held[pod]}, repeated its request, and got {ips}"
        for other, theirs in self.held.items():
            assert other == pod or not theirs & ips, f"{other.name} holds {theirs}, and {pod.name} was given {ips}"
        self.held[pod] = ips
        self.doubtful.discard(pod)

    def doubt(self, pod: Pod) -> None:
        self.held.pop(pod, None)
        self.doubtful.add(pod)

    def gone(self, pod: Pod) -> None:
        self.held.pop(pod, None)
        self.doubtful.discard(pod)


class Cluster:
    """The members and what was promised to their pods."""

    def __init__(self, store: Store, nodes: Sequence[str], random: Random, *, atomic: bool, watching: Store) -> None:
        self.store = store
        self.atomic = atomic
        self.promises = Promises()
        self.members = [
            Member(store, name, number, random, atomic=atomic, watching=watching) for number, name in enumerate(nodes)
        ]
        self._born = 0

    def pod(self, member: int) -> Pod:
        self._born += 1
        return Pod(member, f"pod-{self._born}")

    async def moment(self, deeds: Sequence[Coroutine[Any, Any, None]]) -> None:
        """All of these at once; then those that crashed come back."""
        done = await asyncio.gather(*deeds, return_exceptions=True)
        for member in self.members:
            if member.store.crashed.is_set():
                await member.stop()
                member.start(keep=member.keep)
            member.store.heal()
        for error in done:
            if isinstance(error, BaseException):
                raise error

    async def assign(self, pod: Pod, wanted: dict[str, Any]) -> None:
        """A repeated request leaves what is held untouched, whatever its own end is."""
        member, promises = self.members[pod.member], self.promises
        request = promises.requests.setdefault(pod, pod_request(member.name, pod.name, **wanted))
        try:
            assigned = await member.until_crash(member.allocator.assign(request))
        except (Crashed, Unreachable):
            if pod not in promises.held:
                promises.doubt(pod)
        except IpamError:
            # Who names a pool or an address may meet a change of the pools; whoever does not gets what it had.
            may_be = request.given or request.pools4
            assert may_be or pod not in promises.held, f"{pod.name} repeated its request and was refused"
            if not self.atomic and pod not in promises.held:
                promises.doubt(pod)  # what it had begun may have met a fault on its way back
        else:
            promises.take(pod, assigned)

    async def release(self, pod: Pod, by: int) -> None:
        member = self.members[by]
        leaves = pod_leaves(self.members[pod.member].name, pod.name)
        await self._leave(pod, member, lambda: member.allocator.release_handle(pod.handle, along=leaves))

    async def release_addresses(self, pod: Pod, by: int, *, named: bool) -> None:
        """One by one, as `tortie ipam release` does; the pod itself is gone already."""
        member = self.members[by]
        ips = sorted(self.promises.held.get(pod, ()), key=lambda ip: (ip.version, ip))
        expected = [Expected(ip, pod.handle if named else None) for ip in ips]
        if ips:
            await self.store.commit(pod_leaves(self.members[pod.member].name, pod.name))
            await self._leave(pod, member, lambda: member.allocator.release_ips(expected))

    async def release_node(self, by: int, node: str) -> None:
        member = self.members[by]
        with suppress(Crashed, Unreachable, IpamError):
            await member.until_crash(release_node(member.store, node, clock=member.clock))

    async def claim(self, by: int, block: Network) -> None:
        member = self.members[by]
        claim = claim_block(member.store, member.name, block, clock=member.clock, atomic=self.atomic)
        with suppress(Crashed, Unreachable, IpamError):
            await member.until_crash(claim)

    async def _leave(self, pod: Pod, member: Member, release: Callable[[], Awaitable[Any]]) -> None:
        """From its beginning on nothing is promised any more."""
        self.promises.doubt(pod)
        try:
            released = await member.until_crash(_as_coroutine(release()))
        except (Crashed, Unreachable, IpamError):
            return
        assert not released.kept, f"{pod.name} released its own addresses, and some were kept: {released}"
        self.promises.gone(pod)

    async def stop(self) -> None:
        for member in self.members:
            await member.stop()


async def _as_coroutine(work: Awaitable[Any]) -> Any:
    return await work

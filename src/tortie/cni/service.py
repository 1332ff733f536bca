"""What the agent does for a container runtime: one request in, one answer out, many at the same time.

Requests about the same attachment wait for each other; all others run side by side, and the allocator gathers what they
write. Whatever goes wrong becomes an answer that a runtime understands.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Final

from tortie.cni.adding import add, add_addresses
from tortie.cni.checking import check, check_addresses
from tortie.cni.collecting import collect, status
from tortie.cni.config import Network, read_network, version_in
from tortie.cni.deleting import remove
from tortie.cni.errors import FAILED, NO_CONTAINER, SAME_NAMESPACE, CniError, as_cni
from tortie.cni.invocation import Invocation, read_request
from tortie.cni.means import Means, Standing, refuse_too_early
from tortie.cni.pending import Pending
from tortie.cni.results import Answer, printed, refused, versions
from tortie.cni.timing import Timing
from tortie.health.exposition import Metric, Sample
from tortie.ipam.allocator import Allocator
from tortie.model.errors import TortieError
from tortie.store.contract import Store

__all__ = ["CniService", "Standing"]

STATE: Final = "/var/lib/tortie/cni"
_TEND_EVERY_S: Final = 15.0


class CniService:
    def __init__(
        self,
        node: str,
        store: Store,
        allocator: Allocator,
        *,
        clock: Callable[[], datetime],
        root: str = "/",
        prefix: str = "cali",  # of host interfaces: the first of FELIX_INTERFACEPREFIX
        say: Callable[[str], None] = lambda _: None,
        standing: Callable[[], Standing] = Standing,
    ) -> None:
        folder = STATE if root in ("", "/") else os.path.join(root, STATE.lstrip("/"))
        pending = Pending(os.path.join(folder, "pending"))
        self._means = Means(
            *(node, store, allocator, clock, _new_uid, _new_mac),
            *(root, prefix, say, standing, pending),
        )
        self._busy: dict[tuple[str, str], tuple[asyncio.Lock, list[None]]] = {}
        self._timing = Timing()
        self._own = os.stat("/proc/self/ns/net").st_ino

    async def answer(self, request: bytes, namespace: int | None = None) -> Answer:
        """`namespace`: a descriptor of the pod's, if the plugin could send one; it stays the caller's to close."""
        begun = time.perf_counter()
        command = "unknown"
        config = b""
        try:
            invocation = read_request(request)
            command, config = invocation.command, invocation.config
            if command == "VERSION":
                return versions(version_in(config))
            network = read_network(config, command)
            answer = await self._carry_out(invocation, network, namespace, request)
        except TortieError as error:
            answer = refused(as_cni(error), version_in(config))
        except Exception as error:
            self._means.say(f"{command} failed for a reason that is not foreseen: {type(error).__name__}: {error}")
            surprise = CniError(FAILED, f"{type(error).__name__}: {error}", "", "report this with the agent's log")
            answer = refused(surprise, version_in(config))
        self._timing.count(command, time.perf_counter() - begun, answer.exit_code == 0)
        return answer

    async def _carry_out(
        self, invocation: Invocation, network: Network, namespace: int | None, request: bytes
    ) -> Answer:
        means = self._means
        if invocation.command == "STATUS":
            await status(means, invocation, network)
            return Answer(0)
        if invocation.command == "GC":
            refuse_too_early(means, network)
            await collect(means, invocation, network)
            return Answer(0)
        async with self._alone(invocation):
            if invocation.command == "DEL":
                with _Namespace(invocation, namespace, self._own) as descriptor:
                    await remove(means, invocation, network, descriptor, request)
                return Answer(0)
            refuse_too_early(means, network)
            if invocation.is_ipam:
                return await self._for_others(invocation, network)
            with _Namespace(invocation, namespace, self._own) as descriptor:
                if descriptor is None:
                    what = f"the namespace {invocation.netns} cannot be opened"
                    raise CniError(NO_CONTAINER, what, "it is gone, or the agent may not enter it")
                if invocation.command == "CHECK":
                    await check(means, invocation, network, descriptor)
                    return Answer(0)
                made = await add(means, invocation, network, descriptor, request)
            self._not_pending(invocation)
            return printed(made)

    async def _for_others(self, invocation: Invocation, network: Network) -> Answer:
        if invocation.command == "CHECK":
            await check_addresses(self._means, invocation, network)
            return Answer(0)
        made = await add_addresses(self._means, invocation, network)
        self._not_pending(invocation)
        return printed(made)

    def _not_pending(self, invocation: Invocation) -> None:
        """An older DEL of the same attachment would take away what was just given."""
        self._means.pending.forget(self._means.pending.name_of(invocation))

    @asynccontextmanager
    async def _alone(self, invocation: Invocation) -> AsyncIterator[None]:
        """The only one for its attachment."""
        key = (invocation.container, invocation.ifname)
        lock, waiting = self._busy.setdefault(key, (asyncio.Lock(), []))
        waiting.append(None)
        try:
            async with lock:
                yield
        finally:
            waiting.pop()
            if not waiting:
                del self._busy[key]

    async def tend(self) -> None:
        """For ever: finishes what a DEL had to leave behind. A task of the agent."""
        while True:
            if self._means.standing().registered:
                with suppress(TortieError, OSError):
                    await self.finish_pending()
            else:
                self._means.pending.names()
            await asyncio.sleep(_TEND_EVERY_S)

    async def finish_pending(self) -> int:
        """How many are left."""
        pending = self._means.pending
        for name in pending.names():
            request = pending.read(name)
            if request is None:
                continue
            try:
                invocation = read_request(request)
                network = read_network(invocation.config, "DEL")
            except CniError as error:
                self._means.say(f"A record of what is to be freed makes no sense, and is set aside: {name}: {error}")
                pending.set_aside(name)
                continue
            if await self._finish(name, invocation, network, request):
                self._means.say(f"Finished what was left of container {invocation.container[:12]}")
        return len(pending.names())

    async def _finish(self, name: str, invocation: Invocation, network: Network, request: bytes) -> bool:
        pending = self._means.pending
        async with self._alone(invocation):
            if pending.read(name) != request:
                return False  # an ADD has made it void, or a DEL has done it
            try:
                with _Namespace(invocation, None, self._own) as descriptor:
                    await remove(self._means, invocation, network, descriptor, request)
            except (TortieError, OSError) as error:
                self._means.say(f"What is left of container {invocation.container[:12]} cannot be freed yet: {error}")
                return False
            if name != pending.name_of(invocation):
                pending.forget(name)
            return pending.read(name) is None

    def metrics(self) -> tuple[Metric, ...]:
        waiting = Sample(self._means.pending.count)
        return (
            *self._timing.metrics(),
            Metric("tortie_cni_pending", "Attachments that are still to be freed.", "gauge", (waiting,)),
        )


class _Namespace:
    """A descriptor of the pod's namespace: the plugin's, or by the path it was told; None if there is none."""

    def __init__(self, invocation: Invocation, given: int | None, own: int) -> None:
        self._path = invocation.netns
        self._given = given
        self._own = own
        self._opened: int | None = None

    def __enter__(self) -> int | None:
        descriptor = self._given
        if descriptor is None and self._path:
            with suppress(OSError):
                descriptor = self._opened = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        if descriptor is not None and os.fstat(descriptor).st_ino == self._own:
            self.__exit__()
            why = "a cable from the node to the node is of no use, and its address would be the node's"
            raise CniError(SAME_NAMESPACE, f"{self._path} is the node's own network namespace", why)
        return descriptor

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None


def _new_uid() -> str:
    return str(uuid.uuid4())


def _new_mac() -> str:
    """Locally administered, and one card's."""
    return (((random.getrandbits(48) | 0x02 << 40) & ~(0x01 << 40)).to_bytes(6, "big")).hex(":")

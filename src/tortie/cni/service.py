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
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from tortie.cni import journal
from tortie.cni.adding import add, add_addresses
from tortie.cni.checking import check, check_addresses
from tortie.cni.collecting import collect, status
from tortie.cni.config import Network, read_network, version_in
from tortie.cni.deleting import remove
from tortie.cni.errors import CONFIG, FAILED, NO_CONTAINER, CniError, as_cni
from tortie.cni.finishing import Finishing
from tortie.cni.identity import LINK_DIGITS
from tortie.cni.invocation import Invocation, read_request
from tortie.cni.means import Means, Standing, refuse_too_early
from tortie.cni.pending import Pending
from tortie.cni.results import Answer, Document, printed, refused, versions
from tortie.cni.sandbox import Sandbox
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
        warn: Callable[[str], None] | None = None,  # None: as `say`
        standing: Callable[[], Standing] = Standing,
    ) -> None:
        folder = STATE if root in ("", "/") else os.path.join(root, STATE.lstrip("/"))
        pending = Pending(os.path.join(folder, "pending"))
        self._means = Means(
            *(node, store, allocator, clock, _new_uid, _new_mac),
            *(root, prefix, say, warn or say, standing, pending),
        )
        self._busy: dict[tuple[str, str], tuple[asyncio.Lock, list[None]]] = {}
        self._timing = Timing()
        self._finishing = Finishing(self._means, self._alone, time.monotonic)

    async def answer(self, request: bytes, namespace: int | None = None) -> Answer:
        """`namespace`: a descriptor of the pod's, if the plugin could send one; it stays the caller's to close."""
        begun = time.perf_counter()
        command = "unknown"
        config = b""
        invocation: Invocation | None = None
        try:
            invocation = read_request(request)
            command, config = invocation.command, invocation.config
            if command == "VERSION":
                return versions(version_in(config))
            network = read_network(config, command)
            answer = await self._carry_out(invocation, network, namespace, request)
        except TortieError as error:
            answer = self._refuse(invocation, as_cni(error), version_in(config))
        except RecursionError:
            deep = CniError(CONFIG, "the network's configuration is nested too deeply", "", "look at /etc/cni/net.d")
            answer = self._refuse(invocation, deep, version_in(config))
        except Exception as error:
            what, why = f"{type(error).__name__}: {error}", "this is not foreseen"
            surprise = CniError(FAILED, what, why, "report this with the agent's log")
            answer = self._refuse(invocation, surprise, version_in(config))
        self._timing.count(command, time.perf_counter() - begun, answer.exit_code == 0)
        return answer

    def _refuse(self, invocation: Invocation | None, error: CniError, version: str) -> Answer:
        # Runtimes ask for the status every few seconds, and the node's own log says what is wrong with it.
        if invocation is None or invocation.command != "STATUS":
            self._means.warn(journal.failed(invocation, error))
        return refused(error, version)

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
                with Sandbox(invocation, namespace) as descriptor:
                    released = await remove(means, invocation, network, descriptor, request)
                if released is not None:
                    means.say(journal.deleted(invocation, released))
                return Answer(0)
            refuse_too_early(means, network)
            if invocation.is_ipam:
                return await self._for_others(invocation, network)
            with Sandbox(invocation, namespace) as descriptor:
                if descriptor is None:
                    what = f"the namespace {invocation.netns} cannot be opened"
                    raise CniError(NO_CONTAINER, what, "it is gone, or the agent may not enter it")
                if invocation.command == "CHECK":
                    await check(means, invocation, network, descriptor)
                    return Answer(0)
                made = await add(means, invocation, network, descriptor, request)
            return self._added(invocation, made)

    async def _for_others(self, invocation: Invocation, network: Network) -> Answer:
        if invocation.command == "CHECK":
            await check_addresses(self._means, invocation, network)
            return Answer(0)
        made = await add_addresses(self._means, invocation, network)
        return self._added(invocation, made)

    def _added(self, invocation: Invocation, made: Document) -> Answer:
        # An older DEL of the same attachment would take away what was just given.
        self._means.pending.forget(self._means.pending.name_of(invocation))
        self._means.say(journal.added(invocation, made))
        return printed(made)

    @asynccontextmanager
    async def _alone(self, invocation: Invocation) -> AsyncIterator[None]:
        """The only one for its attachment; and, where there are no pods, for the node's end of the cable."""
        container = invocation.container if invocation.pod[1] else invocation.container[:LINK_DIGITS]
        key = (container, invocation.ifname)
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
        trouble = ""
        while True:
            try:
                if self._means.standing().registered:
                    await self.finish_pending()
                else:
                    self._means.pending.names()
                trouble = ""
            except Exception as error:
                if trouble != (trouble := f"{type(error).__name__}: {error}"):
                    self._means.warn(f"What is left of pods that are gone cannot be looked at: {trouble}")
            await asyncio.sleep(_TEND_EVERY_S)

    async def finish_pending(self) -> int:
        """How many are left."""
        return await self._finishing.finish()

    def metrics(self) -> tuple[Metric, ...]:
        waiting = Sample(self._means.pending.count)
        return (
            *self._timing.metrics(),
            Metric("tortie_cni_pending", "Attachments that are still to be freed.", "gauge", (waiting,)),
        )


def _new_uid() -> str:
    return str(uuid.uuid4())


def _new_mac() -> str:
    """Locally administered, and one card's."""
    return (((random.getrandbits(48) | 0x02 << 40) & ~(0x01 << 40)).to_bytes(6, "big")).hex(":")

"""Addresses for owners, over the store: the one way in for whoever needs an address or gives one back.

One pod is one commit: its block, its handle and what the caller wants written along with them. Everything may be
repeated: who asks again with the same handle gets the same addresses, who gives back twice gives back once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

from tortie.ipam.block import HOST, clean_handle
from tortie.ipam.facts import CLUSTER, NODES, POOLS, RESERVATIONS
from tortie.ipam.gather import Gatherer
from tortie.ipam.job import Plan
from tortie.ipam.planning import plan_assignment
from tortie.ipam.releasing import blocks_to_tidy, plan_give_up, plan_release_handle, release_of
from tortie.ipam.request import Assigned, Expected, Released, Request
from tortie.model.errors import TortieError, UsageError
from tortie.model.keys import IPAM_CONFIG, host_affinity_prefix
from tortie.model.network import IP, Network
from tortie.store.contract import Operation, Store

# So many blocks and handles go into one commit, with some room.
_PORTION: Final = 50
_RECONNECT_S: Final = 1.0


class Allocator:
    """Of one node. With `keep`, what was read stays known between requests, and somebody has to run `watch`.

    With `atomic` off, one key is written at a time, in an order that a crash cannot spoil.
    """

    def __init__(
        self,
        store: Store,
        node: str,
        *,
        clock: Callable[[], datetime],
        chance: Callable[[], float] | None = None,
        atomic: bool = True,
        keep: bool = False,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._node = node
        self._atomic = atomic
        self._gatherer = Gatherer(store, HOST + node, clock=clock, chance=chance, pause=pause, atomic=atomic, keep=keep)

    async def assign(self, request: Request, *, timeout_s: float = 10) -> Assigned:
        """The addresses asked for, all of them or none; those that the handle has already, if they fit."""
        if not request.handle or not request.node:
            raise UsageError("an address for nobody", "a request names its handle and its node")
        assigned: Assigned = await self._gatherer.run(
            lambda draft: plan_assignment(draft, request),
            f"addresses for {request.handle}",
            timeout_s,
            giving=request.handle,
        )
        return assigned

    async def release_handle(self, handle: str, *, along: Sequence[Operation] = (), timeout_s: float = 10) -> Released:
        """All that the handle holds. `along` is written in any case, in the same commit."""
        released: Released = await self._gatherer.run(
            lambda draft: plan_release_handle(draft, handle, along),
            f"releasing what {clean_handle(handle)} holds",
            timeout_s,
        )
        if not self._atomic:
            await self._tidy(released, timeout_s)
        return released

    async def release_ips(self, wanted: Sequence[Expected], *, timeout_s: float = 30) -> Released:
        """Those of the addresses that are still held as expected."""
        ordered = sorted(wanted, key=lambda item: (item.ip.version, int(item.ip)))
        released: list[IP] = []
        not_held: list[IP] = []
        kept: list[tuple[IP, str]] = []
        for start in range(0, len(ordered), _PORTION):
            portion = ordered[start : start + _PORTION]
            part: Released = await self._gatherer.run(
                release_of(portion),
                f"releasing {len(portion)} addresses from {portion[0].ip} on",
                timeout_s,
            )
            released += part.released
            not_held += part.not_held
            kept += part.kept
        everything = Released(tuple(released), tuple(not_held), tuple(kept))
        if not self._atomic:
            await self._tidy(everything, timeout_s)
        return everything

    async def run(self, plan: Plan, what: str, timeout_s: float) -> Any:
        """Any other plan, with the same care: gathered, repeated when it is overtaken, within its time."""
        return await self._gatherer.run(plan, what, timeout_s)

    async def give_up(
        self, owned: Sequence[tuple[str, Network]], *, must_be_empty: bool, timeout_s: float = 10
    ) -> tuple[Network, ...]:
        """The blocks that their owners (host:<node>) had and have no more."""
        given: list[Network] = []
        size = _PORTION if self._atomic else 1
        for start in range(0, len(owned), size):
            portion = owned[start : start + size]
            given += await self._gatherer.run(
                lambda draft, portion=portion: plan_give_up(draft, portion, must_be_empty=must_be_empty),  # type: ignore[misc]
                f"giving up {len(portion)} blocks from {portion[0][1]} on",
                timeout_s,
            )
        return tuple(given)

    async def _tidy(self, released: Released, timeout_s: float) -> None:
        """Step by step, giving up what is empty and not wanted any more is a step of its own."""
        unwanted = await self._gatherer.run(
            lambda draft: blocks_to_tidy(draft, released.released), "looking for empty blocks", timeout_s
        )
        await self.give_up(unwanted, must_be_empty=True, timeout_s=timeout_s)

    async def watch(self) -> None:
        """Never ends: forgets what was known when people change pools, settings, reservations, or the node."""
        import asyncio

        from tortie.store.follow import follow_all

        self._gatherer.blind = True
        rows = host_affinity_prefix(self._node)
        prefixes = (POOLS, RESERVATIONS, IPAM_CONFIG, CLUSTER, NODES + self._node, rows)
        while True:
            try:
                first = True
                async with aclosing(follow_all(self._store, prefixes)) as following:
                    async for news in following:
                        if first:
                            self._gatherer.begin_hearing(news.revision)
                            first = False
                        else:
                            self._gatherer.hear(news.changes)
            except TortieError:  # whoever asks for an address is told what is wrong with the store
                pass
            finally:
                self._gatherer.blind = True
            await asyncio.sleep(_RECONNECT_S)

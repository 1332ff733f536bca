"""A store that fails one writer at a chosen write, as crashes and broken connections do. The data stays a real store's.

Every call first lets the others go on for a while, as chance has it: so writers of one event loop overtake each other
between any two of their requests, and a run repeats itself exactly when the chance does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Literal

from tortie.store.contract import (
    TIMEOUT_S,
    Change,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Store,
    Unreachable,
)

# A crash before a write or after it; no answer although it was done, or because it was not; and a plain refusal.
Fault = Literal["crash before", "crash after", "unknown done", "unknown lost", "unreachable"]
FAULTS: tuple[Fault, ...] = ("crash before", "crash after", "unknown done", "unknown lost", "unreachable")

_OVERTAKING_MAX = 6


class FaultyStore:
    """What one process has of the store. After a crash no call of it ever ends."""

    def __init__(self, store: Store, chance: Callable[[], float], *, watching: Store | None = None) -> None:
        """`watching`: another client of the same data, where watching needs one."""
        self.where = store.where
        self.crashed = asyncio.Event()
        self.hanging: list[asyncio.Task[Any]] = []
        self._store = store
        self._watching = watching or store
        self._chance = chance
        self._ahead: list[tuple[int, Fault]] = []

    def fail(self, after_writes: int, fault: Fault) -> None:
        """After so many more writes, the next one fails."""
        self._ahead.append((after_writes, fault))

    def heal(self) -> None:
        self._ahead.clear()

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        await self._turn()
        return await self._store.get(key, timeout_s=timeout_s)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        await self._turn()
        return await self._store.scan(prefix, timeout_s=timeout_s)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        await self._turn()
        return await self._store.snapshot(keys, prefixes, timeout_s=timeout_s)

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        await self._turn()
        fault = self._next_fault()
        if fault in ("crash before", "unknown lost", "unreachable"):
            await self._fail(fault)
        revision = await self._store.commit(operations, timeout_s=timeout_s)
        if fault is not None:
            await self._fail(fault)
        await self._turn()  # the answer is on its way
        return revision

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        async with aclosing(self._watching.watch(prefix, after=after, timeout_s=timeout_s)) as changes:
            async for change in changes:
                yield change

    async def close(self) -> None:
        """The store itself is everybody's."""

    def _next_fault(self) -> Fault | None:
        due = next((fault for left, fault in self._ahead if left == 0), None)
        self._ahead = [(left - 1, fault) for left, fault in self._ahead if left > 0]
        return due

    async def _fail(self, fault: Fault) -> None:
        if fault.startswith("crash"):
            self.crashed.set()
            await self._hang()
        why = "the connection broke"
        raise Unreachable(self.where, "commit", 0.1, why, "try again", uncertain=fault.startswith("unknown"))

    async def _turn(self) -> None:
        for _ in range(int(self._chance() * _OVERTAKING_MAX)):
            await asyncio.sleep(0)
        if self.crashed.is_set():
            await self._hang()

    async def _hang(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self.hanging.append(task)
        await asyncio.Event().wait()

"""What the contract suite needs of every store, whichever back end it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from threading import Lock
from typing import Any, TypeVar

from tortie.cli.session import finish
from tortie.model.errors import TortieError
from tortie.model.light import Protocol
from tortie.store.contract import TIMEOUT_S, Change, Entry, Listing, Operation, Revision, Snapshot, Store, Tally
from tortie.store.etcd import DirectStore, EtcdConfig, EtcdStore


class CompactableStore(Store, Protocol):
    async def compact(self, revision: Revision, *, timeout_s: float = ...) -> None: ...


Result = TypeVar("Result")
Open = Callable[[], CompactableStore]
Scenario = Callable[[CompactableStore, str], Awaitable[None]]
Play = Callable[[Scenario], None]


async def revision_of(store: Store, prefix: str) -> Revision:
    return (await store.scan(prefix)).revision


async def first(count: int, changes: AsyncGenerator[Change, None]) -> list[Change]:
    seen: list[Change] = []
    async with aclosing(changes):
        async for change in changes:
            seen.append(change)
            if len(seen) == count:
                break
    return seen


class AsCommand:
    """The store of commands, driven as a command drives it: without an event loop, here in a thread.

    What it wrote is watched by the other client, as an agent would.
    """

    def __init__(self, config: EtcdConfig) -> None:
        self._store = DirectStore(config)
        self.where = self._store.where
        self._agent = EtcdStore(config)
        self._one_at_a_time = Lock()

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        return await self._finished(lambda: self._store.get(key, timeout_s=timeout_s))

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        return await self._finished(lambda: self._store.scan(prefix, timeout_s=timeout_s))

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self._finished(lambda: self._store.snapshot(keys, prefixes, timeout_s=timeout_s))

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        return await self._finished(lambda: self._store.tally(prefixes, first=first, timeout_s=timeout_s))

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        return await self._finished(lambda: self._store.commit(operations, timeout_s=timeout_s))

    async def commit_each(
        self,
        commits: Sequence[Sequence[Operation]],
        *,
        timeout_s: float = TIMEOUT_S,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Revision | TortieError]:
        return await self._finished(lambda: self._store.commit_each(commits, timeout_s=timeout_s, meanwhile=meanwhile))

    async def compact(self, revision: Revision, *, timeout_s: float = TIMEOUT_S) -> None:
        await self._finished(lambda: self._store.compact(revision, timeout_s=timeout_s))

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        return self._agent.watch(prefix, after=after, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._finished(lambda: self._store.close())
        await self._agent.close()

    async def _finished(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        def run() -> Result:
            with self._one_at_a_time:
                return finish(work())

        return await asyncio.to_thread(run)

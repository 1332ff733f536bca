"""A store that tells how each of its requests went: how long it took, and what was wrong. It changes nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from tortie.model.errors import TortieError
from tortie.store.contract import (
    TIMEOUT_S,
    Change,
    CountingStore,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Store,
    Tally,
)
from tortie.store.side_by_side import commit_each

Result = TypeVar("Result")

# Which call of the contract (get, scan, snapshot, ...), its seconds, and the error it ended with, if any.
OnRequest = Callable[[str, float, BaseException | None], None]


class Metered:
    """Every request is told once, when it is over, by whatever end: also a refusal, a conflict, a cancellation.

    A watch is over when whoever follows it closes it, which is no error, or when it fails.
    """

    def __init__(self, store: Store, *, on_request: OnRequest) -> None:
        self.where = store.where
        self._store = store
        self._on_request = on_request

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        return await self._told("get", self._store.get(key, timeout_s=timeout_s))

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        return await self._told("scan", self._store.scan(prefix, timeout_s=timeout_s))

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        return await self._told("snapshot", self._store.snapshot(keys, prefixes, timeout_s=timeout_s))

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        return await self._told("commit", self._store.commit(operations, timeout_s=timeout_s))

    async def commit_each(
        self,
        commits: Sequence[Sequence[Operation]],
        *,
        timeout_s: float = TIMEOUT_S,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Revision | TortieError]:
        return await self._told("commit", commit_each(self._store, commits, timeout_s=timeout_s, meanwhile=meanwhile))

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        began = time.monotonic()
        try:
            async with aclosing(self._store.watch(prefix, after=after, timeout_s=timeout_s)) as changes:
                async for change in changes:
                    yield change
        except GeneratorExit:
            self._on_request("watch", time.monotonic() - began, None)
            raise
        except BaseException as error:
            self._on_request("watch", time.monotonic() - began, error)
            raise

    async def close(self) -> None:
        await self._store.close()

    async def _told(self, op: str, request: Awaitable[Result]) -> Result:
        began = time.monotonic()
        try:
            result = await request
        except BaseException as error:
            self._on_request(op, time.monotonic() - began, error)
            raise
        self._on_request(op, time.monotonic() - began, None)
        return result


class MeteredCounting(Metered):
    """The same in front of a store that counts."""

    def __init__(self, store: CountingStore, *, on_request: OnRequest) -> None:
        super().__init__(store, on_request=on_request)
        self._counting = store

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        return await self._told("tally", self._counting.tally(prefixes, first=first, timeout_s=timeout_s))

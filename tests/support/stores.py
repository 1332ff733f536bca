"""What the contract suite needs of every store, whichever back end it is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from tortie.store.contract import Change, Revision, Store


class CompactableStore(Store, Protocol):
    async def compact(self, revision: Revision, *, timeout_s: float = ...) -> None: ...


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

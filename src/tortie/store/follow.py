"""Keeping a picture of part of the store: first all of it, then every change, whatever happens to the history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

from tortie.store.contract import TIMEOUT_S, Change, Compacted, Listing, Revision, Store

if TYPE_CHECKING:
    import asyncio


class News(NamedTuple):
    """What to change in one's picture; applied in order, it leads to the store as of the revision, or on the way there.

    The first news is everything below the prefix, perhaps nothing. When history was compacted before it was read,
    the news holds the differences instead: what was overwritten meanwhile is not told, and a deletion carries the
    revision at which it was noticed.
    """

    changes: tuple[Change, ...]
    revision: Revision


async def follow(store: Store, prefix: str, *, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[News, None]:
    """Never ends by itself; ends with `Unreachable` when the store is out of reach for longer than `timeout_s`."""
    known: dict[str, Revision] | None = None
    while True:
        listing = await store.scan(prefix, timeout_s=timeout_s)
        differences = _differences(known or {}, listing)
        if differences or known is None:
            yield News(differences, listing.revision)
        known = {entry.key: entry.revision for entry in listing.entries}
        try:
            watch = store.watch(prefix, after=listing.revision, timeout_s=timeout_s)
            # Closed on every way out: left to the garbage collector it would hold on to what it has open.
            async with aclosing(watch) as changes:
                async for change in changes:
                    if change.value is None:
                        known.pop(change.key, None)
                    else:
                        known[change.key] = change.revision
                    yield News((change,), change.revision)
        except Compacted:
            continue


async def follow_all(
    store: Store, prefixes: Sequence[str], *, timeout_s: float = TIMEOUT_S
) -> AsyncGenerator[News, None]:
    """The same for several prefixes that do not overlap: all of them in one round trip and at one revision, then their
    changes, those of each prefix in order. What comes at the same time is told together.
    """
    import asyncio

    known: dict[str, Revision] | None = None
    while True:
        snapshot = await store.snapshot((), prefixes, timeout_s=timeout_s)
        entries = tuple(entry for prefix in prefixes for entry in snapshot.listings[prefix])
        differences = _differences(known or {}, Listing(entries, snapshot.revision))
        if differences or known is None:
            yield News(differences, snapshot.revision)
        known = {entry.key: entry.revision for entry in entries}
        heard: asyncio.Queue[Change | Exception] = asyncio.Queue()
        relays = [
            asyncio.create_task(_relay(store, prefix, snapshot.revision, timeout_s, heard)) for prefix in prefixes
        ]
        try:
            while True:
                changes = [_told(await heard.get())]
                while not heard.empty():
                    changes.append(_told(heard.get_nowait()))
                for change in changes:
                    if change.value is None:
                        known.pop(change.key, None)
                    else:
                        known[change.key] = change.revision
                yield News(tuple(changes), max(change.revision for change in changes))
        except Compacted:
            continue
        finally:
            for relay in relays:
                relay.cancel()
            await asyncio.gather(*relays, return_exceptions=True)


async def _relay(
    store: Store, prefix: str, after: Revision, timeout_s: float, heard: asyncio.Queue[Change | Exception]
) -> None:
    try:
        async with aclosing(store.watch(prefix, after=after, timeout_s=timeout_s)) as changes:
            async for change in changes:
                heard.put_nowait(change)
    except Exception as error:  # for whoever reads the queue to raise
        heard.put_nowait(error)


def _told(item: Change | Exception) -> Change:
    if isinstance(item, Exception):
        raise item
    return item


def _differences(known: dict[str, Revision], listing: Listing) -> tuple[Change, ...]:
    """Revisions tell: a key whose revision is another one was written, whatever its value."""
    present = {entry.key for entry in listing.entries}
    gone = [Change(key, None, listing.revision) for key in known if key not in present]
    written = [Change(*entry) for entry in listing.entries if known.get(entry.key) != entry.revision]
    return tuple(sorted(gone + written, key=lambda change: change.revision))

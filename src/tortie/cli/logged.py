"""What `--log-level` shows on standard error, in the form in which calicoctl logs."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from tortie.cli.settings import Settings
from tortie.model.errors import TortieError
from tortie.store.contract import (
    TIMEOUT_S,
    Change,
    CountingStore,
    Delete,
    Entry,
    Listing,
    Operation,
    Revision,
    Snapshot,
    Tally,
)
from tortie.store.side_by_side import commit_each

Result = TypeVar("Result")

_PLAIN: Final = re.compile(r"[\w./:@^+-]+")
_SHOWN_OPERATIONS: Final = 10


def log(level: str, message: str, **fields: object) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = "".join(f" {name}={_written(value)}" for name, value in fields.items())
    sys.stderr.write(f'time="{now}" level={level} msg={_quoted(message)}{told}\n')


def _written(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def logged(store: CountingStore, settings: Settings) -> CountingStore:
    """The store, which from level debug on tells each request: what was asked, how long it took, what came."""
    log("info", f"using the {store.where}", because=settings.source("datastoreType"))
    return Logged(store) if settings.log_level == "debug" else store


class Logged:
    """Keys, counts and times are told, never values: a value may be a secret."""

    def __init__(self, store: CountingStore) -> None:
        self.where = store.where
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def get(self, key: str, *, timeout_s: float = TIMEOUT_S) -> Entry | None:
        request = self._store.get(key, timeout_s=timeout_s)
        return await _told("get", request, lambda entry: {"found": entry is not None}, key=key)

    async def scan(self, prefix: str, *, timeout_s: float = TIMEOUT_S) -> Listing:
        request = self._store.scan(prefix, timeout_s=timeout_s)
        return await _told("scan", request, _listed, prefix=prefix)

    async def snapshot(
        self, keys: Sequence[str], prefixes: Sequence[str] = (), *, timeout_s: float = TIMEOUT_S
    ) -> Snapshot:
        def found(snapshot: Snapshot) -> dict[str, object]:
            below = sum(map(len, snapshot.listings.values()))
            return {"found": len(snapshot.entries), "entries": below, "revision": snapshot.revision}

        request = self._store.snapshot(keys, prefixes, timeout_s=timeout_s)
        return await _told("snapshot", request, found, keys=_some(keys), prefixes=_some(prefixes))

    async def tally(self, prefixes: Sequence[str], *, first: int, timeout_s: float = TIMEOUT_S) -> dict[str, Tally]:
        request = self._store.tally(prefixes, first=first, timeout_s=timeout_s)
        return await _told("tally", request, lambda _: {}, prefixes=_some(prefixes))

    async def commit(self, operations: Sequence[Operation], *, timeout_s: float = TIMEOUT_S) -> Revision:
        request = self._store.commit(operations, timeout_s=timeout_s)
        named = _some(_written_by(operations))
        return await _told("commit", request, lambda revision: {"revision": revision}, operations=named)

    async def commit_each(
        self,
        commits: Sequence[Sequence[Operation]],
        *,
        timeout_s: float = TIMEOUT_S,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Revision | TortieError]:
        def found(outcomes: list[Revision | TortieError]) -> dict[str, object]:
            return {"commits": len(outcomes), "failed": sum(isinstance(each, TortieError) for each in outcomes)}

        request = commit_each(self._store, commits, timeout_s=timeout_s, meanwhile=meanwhile)
        named = _some([word for operations in commits for word in _written_by(operations)])
        return await _told("commit", request, found, operations=named)

    async def watch(
        self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S
    ) -> AsyncGenerator[Change, None]:
        log("debug", "watch", prefix=prefix, after=after)
        async with aclosing(self._store.watch(prefix, after=after, timeout_s=timeout_s)) as changes:
            async for change in changes:
                yield change

    async def close(self) -> None:
        await self._store.close()


def _listed(listing: Listing) -> dict[str, object]:
    size = sum(len(entry.value) for entry in listing.entries)
    return {"entries": len(listing.entries), "bytes": size, "revision": listing.revision}


def _written_by(operations: Sequence[Operation]) -> list[str]:
    return [f"{'delete' if isinstance(each, Delete) else 'put'} {each.key}" for each in operations]


def _some(words: Sequence[str]) -> str:
    more = len(words) - _SHOWN_OPERATIONS
    return ", ".join(words[:_SHOWN_OPERATIONS]) + (f" and {more} more" if more > 0 else "")


async def _told(op: str, request: Awaitable[Result], result: Any, **asked: object) -> Result:
    began = time.monotonic()
    try:
        found = await request
    except BaseException as error:
        log("debug", op, **asked, ms=(time.monotonic() - began) * 1000, error=error or type(error).__name__)
        raise
    log("debug", op, **asked, ms=(time.monotonic() - began) * 1000, **result(found))
    return found

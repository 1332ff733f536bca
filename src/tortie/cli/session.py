"""One command's use of the datastore: opened, used, closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from tortie.cli.settings import Settings, open_store
from tortie.store.contract import Store
from tortie.store.resources import Resources

Result = TypeVar("Result")

# Nobody wonders before; after that, somebody at a terminal is told what is being waited for.
_PATIENCE_S = 1.5


def with_store(settings: Settings, work: Callable[[Store], Awaitable[Result]]) -> Result:
    embedded = settings.get("datastoreType") == "embedded"

    async def session() -> Result:
        store = open_store(settings)
        note = None if embedded or not sys.stderr.isatty() else _note_waiting(store.where)
        try:
            return await work(store)
        finally:
            if note:
                note()
            await store.close()

    if embedded:
        return finish(session())
    import asyncio

    return asyncio.run(session())


def with_resources(settings: Settings, work: Callable[[Resources], Awaitable[Result]]) -> Result:
    return with_store(settings, lambda store: work(Resources(store)))


def _note_waiting(where: str) -> Callable[[], None]:
    """Says after a while what is being waited for; returns what takes that back."""
    import asyncio

    def tell() -> None:
        sys.stderr.write(f"waiting for {where} ...\n")
        sys.stderr.flush()

    return asyncio.get_running_loop().call_later(_PATIENCE_S, tell).cancel


def note_absent_store(settings: Settings) -> None:
    """Looking creates no file, so an empty answer may mean a mistyped path."""
    path = settings.get("store")
    if settings.get("datastoreType") == "embedded" and not os.path.exists(path):
        source = settings.source("store")
        sys.stderr.write(f"note: there is no embedded store {path} ({source}) yet; the first write creates it\n")


def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine that never suspends, because importing asyncio would cost more than the whole command."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    work.close()
    raise AssertionError("the embedded store suspended without an event loop")

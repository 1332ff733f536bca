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


def with_store(settings: Settings, work: Callable[[Store], Awaitable[Result]]) -> Result:
    async def session() -> Result:
        store = open_store(settings)
        try:
            return await work(store)
        finally:
            await store.close()

    if settings.get("datastoreType") == "embedded":
        return finish(session())
    import asyncio

    return asyncio.run(session())


def with_resources(settings: Settings, work: Callable[[Resources], Awaitable[Result]]) -> Result:
    return with_store(settings, lambda store: work(Resources(store)))


def note_absent_store(settings: Settings) -> None:
    """Looking creates no file, so an empty answer may mean a mistyped path."""
    path = settings.get("store")
    if settings.get("datastoreType") == "embedded" and not os.path.exists(path):
        source = settings.source("store")
        sys.stderr.write(f"note: there is no embedded store {path} ({source}) yet; the first write creates it\n")


def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine that never suspends. An event loop would cost more than the whole command: see docs."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    work.close()
    raise AssertionError("the embedded store suspended without an event loop")

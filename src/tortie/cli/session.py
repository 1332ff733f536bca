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
    async def patiently(store: Store) -> Result:
        if settings.get("datastoreType") == "embedded" or not sys.stderr.isatty():
            return await work(Resources(store))
        import asyncio

        note = asyncio.get_running_loop().call_later(_PATIENCE_S, _tell_waiting, store.where)
        try:
            return await work(Resources(store))
        finally:
            note.cancel()

    return with_store(settings, patiently)


def _tell_waiting(where: str) -> None:
    sys.stderr.write(f"waiting for {where} ...\n")
    sys.stderr.flush()


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

"""One command's use of the datastore: opened, used, closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine

from tortie.cli.settings import Settings, etcd_config, open_store
from tortie.model.light import Any, TypeVar
from tortie.store.contract import Store
from tortie.store.resources import Resources

Result = TypeVar("Result")

# Nobody wonders before; after that, somebody at a terminal is told what is being waited for.
_PATIENCE_S = 1.5


def with_store(settings: Settings, work: Callable[[Store], Awaitable[Result]]) -> Result:
    """Without an event loop: no store of a command ever suspends."""

    async def session() -> Result:
        store = open_store(settings)
        try:
            return await work(store)
        finally:
            await store.close()

    if settings.get("datastoreType") == "embedded" or not sys.stderr.isatty():
        return finish(session())
    with _Note(etcd_config(settings).where):
        return finish(session())


def with_resources(settings: Settings, work: Callable[[Resources], Awaitable[Result]]) -> Result:
    return with_store(settings, lambda store: work(Resources(store)))


class _Note:
    """Says after a while that a datastore is waited for. By a signal, because whoever waits does nothing else."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        import signal

        self._before = signal.signal(signal.SIGALRM, self._tell)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)

    def __exit__(self, *_: object) -> None:
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _tell(self, *_: object) -> None:
        sys.stderr.write(f"waiting for {self._where} ...\n")
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
    raise AssertionError("a store suspended without an event loop")

"""The one compare-and-set loop: read, change by a pure function, write, and again if somebody else was faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tortie.model.errors import TortieError
from tortie.store.contract import (
    ABSENT,
    TIMEOUT_S,
    Conflict,
    Delete,
    Entry,
    Operation,
    Put,
    Store,
    Unreachable,
)

ATTEMPTS_MAX = 20
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.25

# What the key held, to what it shall hold; None stands for absence. Called once per attempt, so it must be pure.
Decision = Callable[[bytes | None], bytes | None]

# The same for several keys that are one thing; what is decided has as many values as there were entries.
Decisions = Callable[[Sequence[Entry | None]], Sequence[bytes | None]]


class GaveUp(TortieError):
    """So many others wrote the same key that our turn never came."""

    code = "conflict"

    def __init__(self, key: str, attempts: int) -> None:
        super().__init__(
            f"update conflict: {key}",
            f"{attempts} attempts were overtaken by other writers",
            "look for a second agent or controller that rewrites it all the time",
        )


async def update(
    store: Store,
    key: str,
    decide: Decision,
    *,
    attempts_max: int = ATTEMPTS_MAX,
    timeout_s: float = TIMEOUT_S,
    chance: Callable[[], float] | None = None,
    pause: Callable[[float], Awaitable[None]] | None = None,
) -> Entry | None:
    """Brings the key to what `decide` makes of its present value; returns the entry as it stands afterwards.

    A write whose outcome is unknown is repeated like a conflict: the next read shows whether it happened, and a
    decision that finds its own result changes nothing. Attempts are bounded and jittered.
    """
    (entry,) = await update_together(
        store,
        (key,),
        lambda found: (decide(found[0].value if found[0] else None),),
        attempts_max=attempts_max,
        timeout_s=timeout_s,
        chance=chance,
        pause=pause,
    )
    return entry


async def update_together(
    store: Store,
    keys: Sequence[str],
    decide: Decisions,
    *,
    attempts_max: int = ATTEMPTS_MAX,
    timeout_s: float = TIMEOUT_S,
    chance: Callable[[], float] | None = None,
    pause: Callable[[float], Awaitable[None]] | None = None,
) -> list[Entry | None]:
    """The same for keys that go together: read at one revision, and written in one commit as soon as one changes."""
    for attempt in range(attempts_max):
        found = await _read(store, keys, timeout_s)
        wanted = decide(found)
        if all(value == (entry.value if entry else None) for value, entry in zip(wanted, found, strict=True)):
            return found
        operations = [
            _operation(key, value, entry)
            for key, value, entry in zip(keys, wanted, found, strict=True)
            if value is not None or entry is not None
        ]
        try:
            revision = await store.commit(operations, timeout_s=timeout_s)
        except Conflict:
            pass
        except Unreachable as error:
            if not error.uncertain:
                raise
        else:
            return [
                None if value is None else Entry(key, value, revision) for key, value in zip(keys, wanted, strict=True)
            ]
        await (pause or pause_for)(
            min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt) * (0.5 + (chance or random_chance)())
        )
    raise GaveUp(keys[0], attempts_max)


async def _read(store: Store, keys: Sequence[str], timeout_s: float) -> list[Entry | None]:
    if len(keys) == 1:
        return [await store.get(keys[0], timeout_s=timeout_s)]
    snapshot = await store.snapshot(keys, timeout_s=timeout_s)
    return [snapshot.get(key) for key in keys]


def _operation(key: str, wanted: bytes | None, entry: Entry | None) -> Operation:
    if wanted is not None:
        return Put(key, wanted, entry.revision if entry else ABSENT)
    if entry is None:
        raise AssertionError("nothing to delete: the decision equals what is there")
    return Delete(key, entry.revision)


def random_chance() -> float:
    import random

    return random.random()


async def pause_for(seconds: float) -> None:
    """A command drives its coroutine without an event loop, and has nothing else to do meanwhile."""
    if _in_event_loop():
        import asyncio

        await asyncio.sleep(seconds)
    else:
        import time

        time.sleep(seconds)  # noqa: ASYNC251


def _in_event_loop() -> bool:
    """Without importing asyncio to ask: who has not imported it has no loop."""
    import sys

    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None

"""Many short-lived children of the keeper, some of them at a time, without the keeper having to wait for any."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Final, TypeVar

from tortie.lab.crew import Crew, Ended
from tortie.lab.launch import Life

AT_ONCE: Final = 32  # more of them would only wait for each other
_LOOK_S: Final = 0.25  # the end of a child is noticed at once; this is for clocks

Key = TypeVar("Key", bound=Hashable)


def run_all(
    crew: Crew,
    lives: Mapping[Key, Life],
    limit: float,
    note: Callable[[Key, int | None], None] = lambda _key, _pid: None,
) -> Generator[float, None, dict[Key, Ended | None]]:
    """How each ended; who still runs at the limit is ended, and has None. `note` hears whose process is which."""
    waiting = list(lives)
    under_way: dict[Key, int] = {}
    found: dict[Key, Ended | None] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < AT_ONCE:
                key = waiting.pop(0)
                under_way[key] = crew.send(lives[key])
                note(key, under_way[key])
            yield _LOOK_S
            for key, pid in list(under_way.items()):
                ended = crew.errand(pid)
                if ended is None and time.monotonic() < limit:
                    continue
                found[key] = ended
                crew.drop(under_way.pop(key))
                note(key, None)
    finally:
        for key, pid in under_way.items():
            crew.drop(pid)
            note(key, None)
    return found

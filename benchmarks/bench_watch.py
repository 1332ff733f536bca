"""How long until fifty watcher processes have a change in hand, from before it was committed?

The floor is what the kernel needs to wake fifty processes by inotify, without their reading anything. The watchers
are agents as they are: an event loop each, the store read for every change.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.sharedctypes import RawArray
from typing import Any

from table import print_table
from tortie.store.contract import Put
from tortie.store.embedded import EmbeddedStore
from tortie.store.embedded.bell import Bell

_TARGET_MS = 20.0
_DEADLINE_S = 30.0

# What a watcher does: calls back with the number of every change the moment it has it, from 0 on.
Watcher = Callable[[str, int, Callable[[int], None]], None]


def watch_store(path: str, changes: int, saw: Callable[[int], None]) -> None:
    async def watch() -> None:
        store = EmbeddedStore(path)
        saw(-1)
        async for change in store.watch("/change/", after=1):
            number = int(change.value or b"")
            saw(number)
            if number == changes - 1:
                break
        await store.close()

    asyncio.run(watch())


def watch_bell(path: str, changes: int, saw: Callable[[int], None]) -> None:
    bell = Bell(path)
    saw(-1)
    for number in range(changes):
        bell.wait(_DEADLINE_S)
        saw(number)
    bell.close()


def change_store(path: str) -> Callable[[int], None]:
    runner = asyncio.Runner()
    store = EmbeddedStore(path)

    def change(number: int) -> None:
        runner.run(_commit(store, number))

    return change


async def _commit(store: EmbeddedStore, number: int) -> None:
    await store.commit([Put("/change/key", b"%d" % number)])


def ring_bell(path: str) -> Callable[[int], None]:
    return lambda _: os.close(os.open(path, os.O_RDWR))


def measure(watch: Watcher, changer: Callable[[str], Callable[[int], None]], watchers: int, changes: int) -> list[Any]:
    """Milliseconds, one list of all watchers' for each change."""
    context = multiprocessing.get_context("fork")
    seen = RawArray("d", watchers * (changes + 1))

    def work(place: int) -> None:
        def saw(number: int) -> None:
            seen[place * (changes + 1) + number + 1] = time.monotonic()

        watch(path, changes, saw)

    def all_saw(number: int) -> bool:
        return all(seen[place * (changes + 1) + number + 1] for place in range(watchers))

    with tempfile.TemporaryDirectory(prefix="bench-watch-") as folder:
        path = os.path.join(folder, "store.db")
        processes = [context.Process(target=work, args=(place,), daemon=True) for place in range(watchers)]
        for process in processes:
            process.start()
        wait_until(lambda: all_saw(-1))
        time.sleep(0.5)  # they have begun; now all of them shall sleep
        change = changer(path)
        delays = []
        for number in range(changes):
            begin = time.monotonic()
            change(number)
            wait_until(lambda: all_saw(number))  # noqa: B023
            delays.append([(seen[place * (changes + 1) + number + 1] - begin) * 1000 for place in range(watchers)])
        for process in processes:
            process.join(_DEADLINE_S)
    return delays[:-1]  # the last change ends the watchers, and fifty processes that exit are not what we ask about


def wait_until(check: Callable[[], bool]) -> None:
    until = time.monotonic() + _DEADLINE_S
    while not check():
        if time.monotonic() > until:
            raise SystemExit("a watcher missed a change")
        time.sleep(0.02)  # seldom: whoever measures shall not take the watchers' processors


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--changes", type=int, default=100, help="per round")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args(argv)
    ours: list[list[float]] = []
    floor: list[list[float]] = []
    for _ in range(options.rounds):
        floor += measure(watch_bell, ring_bell, options.watchers, options.changes + 1)
        ours += measure(watch_store, change_store, options.watchers, options.changes + 1)
    rows = []
    for name, delays in (("embedded store", ours), ("floor: bare inotify", floor)):
        each = sorted(delay for change in delays for delay in change)
        last = statistics.median(max(change) for change in delays)
        p50, p99 = each[len(each) // 2], each[len(each) * 99 // 100]
        verdict = f"{'PASS' if p99 <= _TARGET_MS else 'FAIL'} (target p99 <= {_TARGET_MS:.0f} ms)"
        rows.append(
            (name, f"{p50:.2f}", f"{p99:.2f}", f"{each[-1]:.2f}", f"{last:.2f}", verdict if delays is ours else "")
        )
    print_table(
        f"Watching: {options.watchers} processes, {len(ours)} changes, milliseconds from before the commit",
        ("what", "p50", "p99", "max", "last watcher, median", "verdict"),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

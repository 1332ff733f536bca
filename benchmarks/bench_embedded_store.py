"""How many durable compare-and-set commits per second does the embedded store do, next to bare SQLite?

Bare SQLite is the floor: one upsert per transaction, same file system, same `synchronous`. Ours adds revisions,
history, the fair queue and the bell. Runs of both alternate, and the ratio of each pair counts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from table import print_table
from tortie.cli.session import finish
from tortie.store.contract import ABSENT, Expectation, Put
from tortie.store.embedded import EmbeddedStore, inline

Result = TypeVar("Result")

_TARGET = 0.50
_VALUE = b"v" * 500

# Writes until the time is up, as the writer of that number; returns how many commits were acknowledged.
Writer = Callable[[str, int, float], int]


class Run(NamedTuple):
    per_second: float
    slowest_share: float  # of the slowest writer, against an equal one


def write_ours(path: str, number: int, seconds: float) -> int:
    store = EmbeddedStore(path, offload=inline)
    key, count = f"/writer/{number}", 0
    present = finish(store.get(key))
    expecting: Expectation = present.revision if present else ABSENT
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        expecting = finish(store.commit([Put(key, _VALUE, expecting)], timeout_s=60))
        count += 1
    finish(store.close())
    return count


def write_bare(path: str, number: int, seconds: float) -> int:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA synchronous = FULL")
    key, count = f"/writer/{number}", 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("REPLACE INTO entries VALUES (?, ?)", (key, _VALUE))
        connection.execute("COMMIT")
        count += 1
    connection.close()
    return count


def create_bare(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    connection.close()


def run(write: Writer, writers: int, seconds: float) -> Run:
    """All writers at once, each in a process of its own, on a fresh file."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder:
        path = os.path.join(folder, "store.db")
        if write is write_bare:
            create_bare(path)
        context = multiprocessing.get_context("fork")
        start = context.Barrier(writers)
        counts: multiprocessing.SimpleQueue[int] = context.SimpleQueue()

        def work(number: int) -> None:
            write(path, number, 0.02)  # opens and warms up
            start.wait(30)
            counts.put(write(path, number, seconds))

        processes = [context.Process(target=work, args=(number,), daemon=True) for number in range(writers)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(seconds + 60)
            if process.exitcode != 0:
                raise SystemExit(f"a writer ended with {process.exitcode}")
        each = [counts.get() for _ in processes]
    return Run(sum(each) / seconds, min(each) / (sum(each) / writers))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="per run")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    rows = []
    for writers in (1, 8):
        pairs = [
            (run(write_ours, writers, options.seconds), run(write_bare, writers, options.seconds))
            for _ in range(options.rounds)
        ]
        ours, bare = zip(*pairs, strict=True)
        ratio = statistics.median(mine.per_second / floor.per_second for mine, floor in pairs)
        rows.append(
            (
                writers,
                f"{statistics.median(one.per_second for one in ours):,.0f}",
                f"{statistics.median(one.per_second for one in bare):,.0f}",
                f"{ratio:.2f}",
                f"{'PASS' if ratio >= _TARGET else 'FAIL'} (target >= {_TARGET:.2f})",
                f"{statistics.median(one.slowest_share for one in ours):.2f}",
                f"{statistics.median(one.slowest_share for one in bare):.2f}",
            )
        )
    print_table(
        f"Embedded store: durable compare-and-set commits ({options.rounds} alternating rounds, medians)",
        (
            "writers",
            "commits/s",
            "bare SQLite/s",
            "ratio",
            "verdict",
            "slowest writer / mean",
            "the same, bare",
        ),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

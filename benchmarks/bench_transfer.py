"""How long does it take to move a whole datastore, and does twice as much take twice as long?

The floor of the embedded store is bare SQLite with the same values in as many durable transactions; that of an export
is reading them from a plain table and writing them to a file. etcd keeps its data in memory here, as in the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # for the etcd that the tests use

from tests.support.etcd_server import running_etcd

from table import print_table
from tortie.model.wire import encode
from tortie.store.contract import Store
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.transfer import export, import_entries, read_export

_COUNTS = (5000, 10_000, 20_000)
_BATCH = 100  # as an import commits
_TIMEOUT_S = 120.0

Entries = list[tuple[str, bytes]]


class Times(NamedTuple):
    import_s: float
    export_s: float


def entries(count: int) -> Entries:
    return [(f"/calico/resources/v3/projectcalico.org/networksets/ns/{n:06}", _network_set(n)) for n in range(count)]


def _network_set(number: int) -> bytes:
    return encode(
        {
            "kind": "NetworkSet",
            "apiVersion": "projectcalico.org/v3",
            "metadata": {"name": f"{number:06}", "namespace": "ns", "uid": f"00000000-0000-4000-8000-{number:012}"},
            "spec": {"nets": [f"10.{number >> 8 & 255}.{number & 255}.{host}/32" for host in range(8)]},
        }
    )


async def moved(store: Store, wanted: Entries, file: Path) -> Times:
    try:
        begun = time.perf_counter()
        await import_entries(store, wanted, timeout_s=_TIMEOUT_S)
        imported = time.perf_counter()
        with file.open("wb") as out:
            out.writelines(await export(store, timeout_s=_TIMEOUT_S))
        exported = time.perf_counter()
    finally:
        await store.close()
    with file.open("rb") as lines:
        assert read_export(lines, str(file)) == wanted
    return Times(imported - begun, exported - imported)


def moved_bare(path: Path, wanted: Entries, file: Path) -> Times:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        begun = time.perf_counter()
        for start in range(0, len(wanted), _BATCH):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO entries VALUES (?, ?)", wanted[start : start + _BATCH])
            connection.execute("COMMIT")
        imported = time.perf_counter()
        with file.open("wb") as out:
            for _, value in connection.execute("SELECT key, value FROM entries ORDER BY key"):
                out.write(value + b"\n")
        return Times(imported - begun, time.perf_counter() - imported)


def in_embedded(folder: Path, wanted: Entries) -> Awaitable[Times]:
    return moved(EmbeddedStore(folder / "store.db"), wanted, folder / "export")


async def in_bare(folder: Path, wanted: Entries) -> Times:
    return moved_bare(folder / "bare.db", wanted, folder / "bare")


async def in_etcd(folder: Path, wanted: Entries) -> Times:
    with running_etcd(arguments=["--heartbeat-interval=100", "--election-timeout=1000"]) as etcd:
        return await moved(EtcdStore(EtcdConfig(endpoints=(etcd.endpoint,))), wanted, folder / "export")


def best(work: Callable[[Path, Entries], Awaitable[Times]], wanted: Entries, rounds: int) -> Times:
    """Each in a fresh folder and store. The best of few: a long run is disturbed more surely than a short one."""

    async def once(folder: Path) -> Times:
        return await work(folder, wanted)

    runs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="bench-transfer-") as folder:
            runs.append(asyncio.run(once(Path(folder))))
    return Times(*(min(column) for column in zip(*runs, strict=True)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    works = {"bare SQLite": in_bare, "embedded": in_embedded, "etcd": in_etcd}
    times: dict[str, list[Times]] = {name: [] for name in works}
    for count in _COUNTS:
        wanted = entries(count)
        for name, work in works.items():
            times[name].append(best(work, wanted, options.rounds))
    for column, title in enumerate(("import", "export")):
        rows = []
        for name, found in times.items():
            for place, count in enumerate(_COUNTS):
                seconds, floor = found[place][column], times["bare SQLite"][place][column]
                growth = f"{seconds / found[place - 1][column]:.2f}" if place else ""
                against = f"{seconds / floor:.1f}" if name == "embedded" else ""
                rows.append((name, f"{count:,}", f"{seconds:.2f}", f"{count / seconds:,.0f}", growth, against))
        print_table(
            f"Datastore {title}: best of {options.rounds}",
            ("store", "entries", "seconds", "entries/s", "growth when doubled (2 is linear)", "against bare SQLite"),
            rows,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

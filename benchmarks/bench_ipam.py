"""How many addresses per second, next to bare compare-and-set commits of the same store by the same client?

Nodes are tasks of one process that share a client, each with its own allocator and its watches. The floor writes what
one address has to write, without a thought: a key of the size of a block, at the revision that it has, and a small new
one. An assignment plans and encodes block and handle, and claims a new block every so often. Both run beside the same
watches. Single: each node waits for one address before it asks for the next. Gathered: each node has sixteen requests
in flight, and so has the floor. Runs alternate; processor time is this process's alone. Then: what a new block costs
where nearly all are taken, and how `tortie ipam check` grows with the cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from typing import NamedTuple

from ipam_clusters import checked, crowded, with_nodes
from table import print_table
from tortie.ipam.allocator import Allocator
from tortie.ipam.request import Request
from tortie.store.contract import ABSENT, Expectation, Put, Store
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.metered import Metered

_SINGLE_TARGET, _GATHERED_TARGET = 0.8, 1.0
_IN_FLIGHT = 16
_VALUE = b"v" * 6_000  # as many bytes as a block with half of its addresses given out
_SMALL = b"h" * 50  # and a handle
_LINEAR = 2.4  # twice the addresses: at most so many times the seconds

_fresh = itertools.count()


def now() -> datetime:
    return datetime.now(UTC)


async def bare(store: Store, until: float) -> int:
    key, count = f"/bare/{next(_fresh)}", 0
    expecting: Expectation = ABSENT
    while time.perf_counter() < until:
        expecting = await store.commit([Put(key, _VALUE, expecting), Put(f"{key}/{count}", _SMALL, ABSENT)])
        count += 1
    return count


class Rate(NamedTuple):
    per_s: float
    cpu_ms: float  # for each


async def rated(work: Sequence[Awaitable[int]]) -> Rate:
    began, used = time.perf_counter(), time.process_time()
    done = sum(await asyncio.gather(*work))
    return Rate(done / (time.perf_counter() - began), (time.process_time() - used) / done * 1000)


async def assigning(allocator: Allocator, node: str, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        await allocator.assign(request(node))
        count += 1
    return count


def request(node: str) -> Request:
    name = f"pod-{next(_fresh)}"
    attributes = {"node": node, "namespace": "default", "pod": name, "timestamp": "2026-01-01 00:00:00 +0000 UTC"}
    return Request(node, f"k8s-pod-network.{name}", attributes, v4=1, blocks_max=10_000)


async def both(store: Store, nodes: int, in_flight: int, seconds: float) -> tuple[Rate, Rate]:
    """From empty; each node's first address, for which it has to read everything, is not in the count."""
    names = await with_nodes(store, nodes)
    allocators = [Allocator(store, name, clock=now, keep=True) for name in names]
    news = [asyncio.create_task(allocator.watch()) for allocator in allocators]
    try:
        for allocator, name in zip(allocators, names, strict=True):
            await allocator.assign(request(name))
        until = time.perf_counter() + seconds
        floor = await rated([bare(store, until) for _ in range(nodes * in_flight)])
        until = time.perf_counter() + seconds
        pairs = list(zip(allocators, names, strict=True)) * in_flight
        return floor, await rated([assigning(allocator, name, until) for allocator, name in pairs])
    finally:
        for task in news:
            task.cancel()
        await asyncio.gather(*news, return_exceptions=True)


async def rates(store: Store, nodes: Sequence[int], seconds: float, rounds: int) -> list[Sequence[object]]:
    rows: list[Sequence[object]] = []
    for in_flight, target in ((1, _SINGLE_TARGET), (_IN_FLIGHT, _GATHERED_TARGET)):
        for count in nodes:
            pairs = []
            for number in range(rounds + 1):
                pair = await both(store, count, in_flight, seconds)
                if number:  # the first round warms up
                    pairs.append(pair)
            ratio = statistics.median(mine.per_s / floor.per_s for floor, mine in pairs)
            floor_rate, our = (statistics.median(rate.per_s for rate in column) for column in zip(*pairs, strict=True))
            floor_ms, our_ms = (
                statistics.median(rate.cpu_ms for rate in column) for column in zip(*pairs, strict=True)
            )
            is_met = ratio >= target if in_flight == 1 else ratio > target
            sign = ">=" if in_flight == 1 else ">"
            rows.append(
                (
                    count,
                    "single" if in_flight == 1 else f"gathered, {in_flight} each",
                    f"{floor_rate:,.0f}",
                    f"{our:,.0f}",
                    f"{floor_ms:.2f} / {our_ms:.2f}",
                    f"{ratio:.2f}",
                    f"{'PASS' if is_met else 'FAIL'} ({sign} {target:.1f})",
                )
            )
    return rows


async def new_blocks(store: Store, blocks: int, taken: int, rounds: int) -> Sequence[object]:
    """Each time a node that has none yet."""
    await crowded(store, blocks, taken)
    requests: list[int] = []
    kinds: Counter[str] = Counter()
    took: list[float] = []
    floors: list[float] = []
    for number in range(rounds):
        seen: list[str] = []
        metered = Metered(store, on_request=lambda kind, _s, _error, seen=seen: seen.append(kind))  # type: ignore[misc]
        name = f"late-{number}"
        await with_nodes(store, 0, name)
        floors.append(await timed(lambda: store.commit([Put(f"/bare/{next(_fresh)}", _VALUE, ABSENT)])))
        allocator = Allocator(metered, name, clock=now)
        took.append(await timed(lambda allocator=allocator, name=name: allocator.assign(request(name))))  # type: ignore[misc]
        requests.append(len(seen))
        kinds.update(seen)
    of_each = ", ".join(f"{count / rounds:g} {kind}" for kind, count in kinds.most_common())
    ms, floor = statistics.median(took) * 1000, statistics.median(floors) * 1000
    return f"{taken:,} of {blocks:,}", max(requests), of_each, f"{ms:.1f}", f"{max(took) * 1000:.1f}", f"{floor:.1f}"


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def checks(nodes: int, addresses: int) -> list[Sequence[object]]:
    """At a quarter, a half, and all of it."""
    rows: list[Sequence[object]] = []
    before = 0.0
    for part in (4, 2, 1):
        found = checked(nodes // part, addresses // part)
        growth = found.seconds / before if before else 0.0
        verdict = "" if not growth else f"{'PASS' if growth <= _LINEAR else 'FAIL'} (<= {_LINEAR})"
        rows.append(
            (
                f"{nodes // part:,}",
                f"{addresses // part:,}",
                f"{found.seconds:.2f}",
                f"{found.decode_s:.2f}",
                f"{found.seconds / found.decode_s:.1f}",
                f"{found.peak_mb:.0f} MB",
                f"{growth:.2f}" if growth else "",
                verdict,
            )
        )
        before = found.seconds
    return rows


async def on_etcd(endpoint: str, options: argparse.Namespace) -> tuple[list[Sequence[object]], Sequence[object]]:
    store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
    try:
        rows = await rates(store, options.nodes, options.seconds, options.rounds)
        return rows, await new_blocks(store, options.blocks, options.taken, options.new)
    finally:
        await store.close()


async def on_embedded(folder: str, options: argparse.Namespace) -> tuple[list[Sequence[object]], Sequence[object]]:
    store = EmbeddedStore(Path(folder) / "store.db")
    try:
        rows = await rates(store, options.nodes, options.seconds, options.rounds)
        return rows, await new_blocks(store, options.blocks, options.taken, options.new)
    finally:
        await store.close()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--blocks", type=int, default=1024, help="of the pool in which nearly all are taken")
    parser.add_argument("--taken", type=int, default=1000)
    parser.add_argument("--new", type=int, default=15, help="new blocks in that pool")
    parser.add_argument("--check-nodes", type=int, default=5000)
    parser.add_argument("--check-addresses", type=int, default=100_000)
    options = parser.parse_args(argv)
    ip_network("10.0.0.0/8")  # a first use is not what is measured
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.support.etcd_server import running_etcd

    with running_etcd() as etcd:
        etcd_rates, etcd_block = asyncio.run(on_etcd(etcd.endpoint, options))
    with tempfile.TemporaryDirectory(prefix="bench-ipam-") as folder:
        embedded_rates, embedded_block = asyncio.run(on_embedded(folder, options))
    header = ["nodes", "requests", "bare CAS/s", "addresses/s", "CPU ms each", "ratio", "target"]
    rounds = f"({options.rounds} alternating rounds, medians)"
    print_table(f"Addresses per second over etcd {rounds}", header, etcd_rates)
    print_table(f"Addresses per second over the embedded store {rounds}", header, embedded_rates)
    print_table(
        f"A node's first block where most are taken ({options.new} nodes)",
        [
            "store",
            "blocks taken",
            "requests at most",
            "of these, on average",
            "median ms",
            "slowest ms",
            "bare commit ms",
        ],
        [("etcd", *etcd_block), ("embedded", *embedded_block)],
    )
    print_table(
        "tortie ipam check, embedded store",
        ["nodes", "addresses", "seconds", "read and decode, bare", "ratio", "peak memory", "growth (2 is linear)", ""],
        checks(options.check_nodes, options.check_addresses),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

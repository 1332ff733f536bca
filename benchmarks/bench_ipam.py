"""How many addresses per second does a cluster give out, next to bare compare-and-set commits of the same nodes?

Each node is a process with its own client of the store, its own allocator and its watches, as real nodes are. All of
them begin a run at the same moment. The runs of one round take place in the same processes, over the same connections,
beside the same watches: what a start costs is in none of them.

* One key: each commit writes a key of the size of a half-full block, at the revision that it has. The least that any
  allocator has to write, if it kept no account of whose the address is.
* Two keys: the same, and in the same commit a small new key, that must not be there yet. This is what an address has to
  write, the block and the handle by which it is found again, without a thought about what is in them; so this is the
  floor for the verdict.
* Addresses: an assignment plans, encodes and commits block and handle, and claims a new block every so often.

Each of the bare writers has a key of its own: nobody is ever in its way, as no other node is in the way of one that has
a block. Single: a node waits for one before it asks for the next. Gathered: a node has sixteen in flight, bare commits
as well as requests for addresses; the allocator makes one commit of those that wait. Figures are those of all nodes
together, and processor time is that of the nodes without the store's.

Then: what a new block costs where nearly all are taken, and how `tortie ipam check` grows with the cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from ipam_clusters import HALF_BLOCK, checked, crowded, with_nodes
from ipam_nodes import Kind, Nodes, Rate, nodes_of, now, request
from table import print_table
from tortie.ipam.allocator import Allocator
from tortie.store.contract import ABSENT, Put, Store
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.metered import Metered

_SINGLE_TARGET, _GATHERED_TARGET = 0.8, 1.0
_IN_FLIGHT = 16
_WARM_UP_S = 0.2
_LINEAR = 2.4  # twice the addresses: at most so many times the seconds

Stores = Callable[[], AbstractContextManager[Callable[[], Store]]]


@contextmanager
def etcd() -> Iterator[Callable[[], Store]]:
    from tests.support.etcd_server import running_etcd

    with running_etcd() as server:
        yield lambda: EtcdStore(EtcdConfig(endpoints=(server.endpoint,)))


@contextmanager
def embedded() -> Iterator[Callable[[], Store]]:
    with tempfile.TemporaryDirectory(prefix="bench-ipam-") as folder:
        yield lambda: EmbeddedStore(Path(folder) / "store.db")


class Round(NamedTuple):
    one_key: Rate
    two_keys: Rate
    addresses: Rate


def rates(fresh: Stores, counts: Sequence[int], seconds: float, rounds: int) -> list[Sequence[object]]:
    """Each number of nodes has a store of its own, so that none pays for what others wrote."""
    rows: dict[int, list[Sequence[object]]] = {1: [], _IN_FLIGHT: []}
    for count in counts:
        with fresh() as opened, nodes_of(count, opened) as nodes:
            for in_flight, found in rows.items():
                one_round(nodes, 0, in_flight, min(seconds, _WARM_UP_S))
                done = [one_round(nodes, number, in_flight, seconds) for number in range(rounds)]
                found.append(row(count, in_flight, done))
    return [line for found in rows.values() for line in found]


def one_round(nodes: Nodes, number: int, in_flight: int, seconds: float) -> Round:
    """From empty; each round begins with another of the three, so that none is always the first or the last."""
    nodes.from_empty()
    first = number % len(Kind)
    order = [*Kind][first:] + [*Kind][:first]
    found = {kind: nodes.run(kind, in_flight, seconds) for kind in order}
    return Round(found[Kind.ONE_KEY], found[Kind.TWO_KEYS], found[Kind.ADDRESSES])


def row(count: int, in_flight: int, done: Sequence[Round]) -> Sequence[object]:
    columns = list(zip(*done, strict=True))
    per_s = [f"{statistics.median(rate.per_s for rate in column):,.0f}" for column in columns]
    cpu_ms = " / ".join(f"{statistics.median(rate.cpu_ms for rate in column):.2f}" for column in columns)
    to_one = statistics.median(one.addresses.per_s / one.one_key.per_s for one in done)
    to_two = statistics.median(one.addresses.per_s / one.two_keys.per_s for one in done)
    is_single = in_flight == 1
    is_met = to_two >= _SINGLE_TARGET if is_single else to_two > _GATHERED_TARGET
    wanted = f">= {_SINGLE_TARGET:.1f}" if is_single else f"> {_GATHERED_TARGET:.1f}"
    return (
        count,
        "single" if is_single else f"gathered, {in_flight} each",
        *per_s,
        cpu_ms,
        f"{to_one:.2f}",
        f"{to_two:.2f}",
        f"{'PASS' if is_met else 'FAIL'} ({wanted})",
    )


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
        bare = Put(f"/bare/{number}", HALF_BLOCK, ABSENT)
        floors.append(await timed(lambda bare=bare: store.commit([bare])))  # type: ignore[misc]
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


async def in_a_crowd(opened: Callable[[], Store], options: argparse.Namespace) -> Sequence[object]:
    store = opened()
    try:
        return await new_blocks(store, options.blocks, options.taken, options.new)
    finally:
        await store.close()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.4, help="length of one run")
    parser.add_argument("--rounds", type=int, default=5, help="of three runs each")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--blocks", type=int, default=1024, help="of the pool in which nearly all are taken")
    parser.add_argument("--taken", type=int, default=1000)
    parser.add_argument("--new", type=int, default=15, help="new blocks in that pool")
    parser.add_argument("--check-nodes", type=int, default=5000)
    parser.add_argument("--check-addresses", type=int, default=100_000)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left behind
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

    stores: dict[str, Stores] = {"etcd": etcd, "the embedded store": embedded}
    for name, fresh in stores.items():
        print_table(
            f"Addresses per second over {name} ({options.rounds} alternating rounds of {options.seconds:g} s, medians)",
            [
                *("nodes", "requests", "bare CAS/s one key", "bare CAS/s two keys", "addresses/s"),
                *("node CPU ms: one / two / address", "ratio to one key", "ratio to two keys", "target"),
            ],
            rates(fresh, options.nodes, options.seconds, options.rounds),
        )
    # Only now an event loop: nodes are forked.
    crowds = []
    for name, fresh in stores.items():
        with fresh() as opened:
            crowds.append((name, *asyncio.run(in_a_crowd(opened, options))))
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
        crowds,
    )
    print_table(
        "tortie ipam check, embedded store",
        ["nodes", "addresses", "seconds", "read and decode, bare", "ratio", "peak memory", "growth (2 is linear)", ""],
        checks(options.check_nodes, options.check_addresses),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

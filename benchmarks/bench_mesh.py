"""How long does it take to decide on the BGP of one node of many, and to write it down for BIRD?

The nodes are what Kubernetes and Calico leave in the store. Reading them happens once, when they are first told;
decision and text are made anew after every change. The floors, in the same run: decoding the same entries with the
standard library's json, and formatting one line of text for each neighbour. In the last table the same neighbours are
asked for by the selectors of a BGPPeer instead of the mesh.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from agents import NODES, register
from table import print_table
from tortie.bgp.bird_text import bird_text
from tortie.bgp.cluster import Known
from tortie.bgp.plan import Plan
from tortie.bgp.sessions import plan
from tortie.model.wire import encode
from tortie.store.contract import Put, Store

_TARGET_NODES = 1_000
_TARGET_MS = 100.0
_PEERS = "/calico/resources/v3/projectcalico.org/bgppeers/"
_SETTINGS = "/calico/resources/v3/projectcalico.org/bgpconfigurations/default"

T = TypeVar("T")


class _Collected:
    """Stands in for a store: keeps what is written to it."""

    def __init__(self) -> None:
        self.entries: list[Put] = []

    async def commit(self, writes: Sequence[Put]) -> None:
        self.entries += writes


class Round(NamedTuple):
    """Milliseconds."""

    read: float
    decide: float
    write: float
    decode_floor: float
    format_floor: float


class Figures(NamedTuple):
    sessions: int
    bytes_each: float  # of memory that stays, for each node
    median: Round

    @property
    def both(self) -> float:
        return self.median.decide + self.median.write


def cluster_of(nodes: int) -> list[Put]:
    collected = _Collected()
    asyncio.run(register(cast(Store, collected), 0, nodes))
    return collected.entries


def by_selectors() -> list[Put]:
    def document(kind: str, spec: dict[str, Any]) -> bytes:
        return encode({"kind": kind, "apiVersion": "projectcalico.org/v3", "metadata": {"name": "x"}, "spec": spec})

    zones = {"nodeSelector": "has(kubernetes.io/os)", "peerSelector": "topology.kubernetes.io/zone starts with 'zone-'"}
    return [
        Put(_SETTINGS, document("BGPConfiguration", {"nodeToNodeMeshEnabled": False})),
        Put(_PEERS + "all", document("BGPPeer", zones)),
    ]


def one_round(entries: Sequence[Put]) -> Round:
    me = name_of(entries)
    times: list[float] = []

    def timed(work: Callable[[], T]) -> T:
        began = time.perf_counter()
        result = work()
        times.append((time.perf_counter() - began) * 1000)
        return result

    known = timed(lambda: told(me, entries))
    made = timed(lambda: decided(me, known))
    timed(lambda: bird_text(made))
    timed(lambda: [json.loads(entry.value) for entry in entries])
    timed(lambda: "\n".join([f"neighbor {session.peer} as {session.peer_as};" for session in made.sessions]))
    return Round(*times)


def measure(clusters: dict[int, list[Put]], rounds: int) -> dict[int, Figures]:
    """All sizes take turns, so that whatever else the machine does is in the figures of each."""
    for entries in clusters.values():
        one_round(entries)  # whatever happens only once has happened
    found: dict[int, list[Round]] = {nodes: [] for nodes in clusters}
    for _ in range(rounds):
        for nodes, entries in clusters.items():
            found[nodes].append(one_round(entries))
    return {
        nodes: Figures(
            len(decided(name_of(entries), told(name_of(entries), entries)).sessions),
            bytes_each(entries),
            Round(*map(statistics.median, zip(*found[nodes], strict=True))),
        )
        for nodes, entries in clusters.items()
    }


def name_of(entries: Sequence[Put]) -> str:
    return entries[0].key.removeprefix(NODES)


def told(me: str, entries: Sequence[Put]) -> Known:
    known = Known(me)
    for entry in entries:
        known.learn(entry.key, entry.value)
    return known


def decided(me: str, known: Known) -> Plan:
    return plan(me, known.cluster(), secrets={})


def bytes_each(entries: Sequence[Put]) -> float:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        known = told(name_of(entries), entries)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (after - before) / len(known.cluster().speakers)


def table(title: str, found: dict[int, Figures]) -> None:
    least = min(found)
    each = {nodes: figures.both / max(figures.sessions, 1) for nodes, figures in found.items()}
    rows = [
        (
            f"{nodes:,}",
            f"{figures.sessions:,}",
            f"{figures.median.read:.1f}",
            f"{figures.median.decide:.1f}",
            f"{figures.median.write:.1f}",
            f"{each[nodes] * 1000:.1f} us",
            f"{each[nodes] / each[least]:.2f}",
            f"{figures.median.read / figures.median.decode_floor:.2f}",
            f"{figures.both / figures.median.format_floor:.1f}",
            f"{figures.bytes_each:.0f}",
            _verdict(figures.both) if nodes == _TARGET_NODES else "",
        )
        for nodes, figures in found.items()
    ]
    header = (
        "nodes",
        "sessions",
        "read ms",
        "decide ms",
        "write ms",
        "decide + write, each",
        f"against {least:,} nodes",
        "read / json",
        "decide + write / one line each",
        "bytes a node",
        "target",
    )
    print_table(title, header, rows)


def _verdict(milliseconds: float) -> str:
    good = milliseconds <= _TARGET_MS
    return f"{'PASS' if good else 'FAIL'} ({milliseconds:.0f} ms, target <= {_TARGET_MS:.0f} ms)"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1_000, 2_000])
    options = parser.parse_args(argv)
    clusters = {nodes: cluster_of(nodes) for nodes in options.nodes}
    table(f"One node of a full mesh (medians of {options.rounds})", measure(clusters, options.rounds))
    selected = {nodes: [*entries, *by_selectors()] for nodes, entries in clusters.items()}
    title = f"The same neighbours by the selectors of a BGPPeer (medians of {options.rounds})"
    table(title, measure(selected, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())

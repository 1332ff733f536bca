"""How long does a node take to start, how much does it ask of a far datastore, and how much memory does it need?

The far datastore is a real etcd behind a proxy that makes every round trip take 200 ms. Beside each start stands what
Calico 2 did in its place, replayed over the same way with our client: one list, then six reads for each node, one
after the other. Where that would take an hour, a few nodes are read and the rest is reckoned from them.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tortie
from agents import COMMAND, NODES, Start, enter_own_network, give_it_a_network, register, rss_mb, running_agent
from table import print_table
from tortie.store.etcd import EtcdConfig, EtcdStore

_FAR_MAX_S = 2.5
_LOCAL_MAX_S = 0.5
_ANSWERING_MAX_S = 0.2
# A probe that begins after 10 s, asks every 10 s and gives up after the sixth failure: what calico-node ships with.
_WINDOW_S = 60.0
_ROUND_TRIPS_MAX = 8
_CLASSIC_READS = ("ip_addr_v4", "network_v4", "ip_addr_v6", "network_v6", "as_num", "orchestrator_refs")
_MEMORY_MAX_MB = {100: 40.0, 5_000: 60.0}
# Felix and confd of one node in a cluster of three, read there with ps; not measured here.
_FELIX_AND_CONFD_MB = 74.0
_BARE_LOOP = "import asyncio, time; asyncio.run(asyncio.sleep(0)); print(flush=True); time.sleep(60)"


class Classic(NamedTuple):
    seconds: float
    measured: int  # nodes that were really read

    def shown(self, nodes: int) -> str:
        return f"{self.seconds:,.0f} s" + ("" if self.measured == nodes else f" (from {self.measured} nodes)")


async def replay_classic(endpoint: str, nodes: int, measured: int) -> Classic:
    store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
    try:
        began = time.perf_counter()
        names = [entry.key.removeprefix(NODES) for entry in (await store.scan(NODES)).entries]
        listed_s = time.perf_counter() - began
        for name in names[:measured]:
            for field in _CLASSIC_READS:
                await store.get(f"/calico/bgp/v1/host/{name}/{field}")
        reads_s = time.perf_counter() - began - listed_s
    finally:
        await store.close()
    return Classic(listed_s + reads_s / measured * nodes, measured)


async def fill(endpoint: str, first: int, count: int) -> None:
    store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
    try:
        await register(store, first, count)
    finally:
        await store.close()


def forget_the_agent(endpoint: str) -> None:
    """So that the next start registers anew."""

    async def forget() -> None:
        from tortie.store.contract import delete

        store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
        try:
            await delete(store, NODES + "bench-agent")
        finally:
            await store.close()

    asyncio.run(forget())


def far(sizes: Sequence[int], round_trip_s: float, rounds: int, classic_nodes: int) -> None:
    from tests.support.delay import Proxy
    from tests.support.etcd_requests import requests_served, requests_since
    from tests.support.etcd_server import running_etcd

    rows = []
    registered = 0
    with running_etcd() as etcd, Proxy("127.0.0.1", etcd.port, round_trip_s=round_trip_s) as proxy:
        for nodes in sizes:
            asyncio.run(fill(etcd.endpoint, registered, nodes))
            registered = nodes
            starts, asked = [], 0
            for _ in range(rounds):
                forget_the_agent(etcd.endpoint)
                before = requests_served(etcd.port)
                with running_agent({"DATASTORE_TYPE": "etcdv3", "ETCD_ENDPOINTS": proxy.endpoint}) as agent:
                    starts.append(agent.start)
                    asked = max(asked, sum(requests_since(before, etcd.port).values()))
            measured = nodes if nodes <= 100 else min(nodes, classic_nodes)
            classic = asyncio.run(replay_classic(proxy.endpoint, nodes, measured))
            rows.append(far_row(nodes, starts, asked, classic))
    print_table(
        f"Start with an etcd {round_trip_s * 1000:.0f} ms away (medians of {rounds}), against the classic reads",
        ("nodes", "ready after", "round trips", "etcd counts", "classic", "ratio", "classic / 60 s window", "target"),
        rows,
    )


def far_row(nodes: int, starts: list[Start], asked: int, classic: Classic) -> Sequence[object]:
    ready_s = statistics.median(start.ready_s for start in starts)
    trips = max(start.round_trips for start in starts)
    good = ready_s <= _FAR_MAX_S and trips <= _ROUND_TRIPS_MAX
    return (
        f"{nodes:,}",
        f"{ready_s:.2f} s",
        trips,
        asked,
        classic.shown(nodes),
        f"{classic.seconds / ready_s:,.0f}",
        f"{classic.seconds / _WINDOW_S:.1f}",
        _verdict(good, f"<= {_FAR_MAX_S} s, <= {_ROUND_TRIPS_MAX}"),
    )


def local(rounds: int) -> None:
    nothing, check, foreign, starts = [], [], [], []
    for _ in range(rounds):
        nothing.append(_timed([sys.executable, "-c", "pass"]))
        with (
            tempfile.TemporaryDirectory(prefix="bench-start-") as folder,
            running_agent({"DATASTORE_TYPE": "embedded", "TORTIE_STORE": f"{folder}/store.db"}) as agent,
        ):
            starts.append(agent.start)
            check.append(_timed([COMMAND, "node", "check", "--live", "--ready"]))
            link = Path(folder, "calico-node")
            link.symlink_to(COMMAND)
            foreign.append(_timed([str(link), "-felix-live", "-felix-ready"]))
    nothing_s, check_s, foreign_s = map(statistics.median, (nothing, check, foreign))
    ready_s = statistics.median(start.ready_s for start in starts)
    answering_s = statistics.median(start.answering_s for start in starts)
    beyond_s = ready_s - nothing_s
    rows = [
        ("python -c pass", f"{nothing_s * 1000:.0f} ms", "1.0", ""),
        (
            "exec to the health port's first answer",
            f"{answering_s * 1000:.0f} ms",
            f"{answering_s / nothing_s:.1f}",
            _verdict(answering_s <= _ANSWERING_MAX_S, f"<= {_ANSWERING_MAX_S * 1000:.0f} ms"),
        ),
        (
            "exec to ready",
            f"{ready_s * 1000:.0f} ms",
            f"{ready_s / nothing_s:.1f}",
            _verdict(beyond_s <= _LOCAL_MAX_S, f"{beyond_s * 1000:.0f} ms beyond python, <= {_LOCAL_MAX_S * 1000:.0f}"),
        ),
        ("tortie node check --live --ready", f"{check_s * 1000:.0f} ms", f"{check_s / nothing_s:.1f}", ""),
        ("calico-node -felix-live -felix-ready", f"{foreign_s * 1000:.0f} ms", f"{foreign_s / nothing_s:.1f}", ""),
    ]
    print_table(
        f"Start with a local embedded store, empty (medians of {rounds} interleaved rounds)",
        ("what", "median", "against python -c pass", "target"),
        rows,
    )


def memory(sizes: Sequence[int]) -> None:
    from tests.support.etcd_server import running_etcd

    rows: list[Sequence[object]] = [
        ("Felix and confd, as read in a cluster of three (quoted)", f"{_FELIX_AND_CONFD_MB:.0f} MB", ""),
        ("floor: python with asyncio, nothing else", f"{bare_loop_mb():.1f} MB", ""),
    ]
    registered = 0
    with running_etcd() as etcd:
        for nodes in sizes:
            asyncio.run(fill(etcd.endpoint, registered, nodes))
            registered = nodes
            with running_agent({"DATASTORE_TYPE": "etcdv3", "ETCD_ENDPOINTS": etcd.endpoint}) as agent:
                used = agent.start.rss_mb
            limit = _MEMORY_MAX_MB.get(nodes)
            verdict = _verdict(used <= limit, f"<= {limit:.0f} MB") if limit else ""
            rows.append((f"agent, ready, {nodes:,} nodes in etcd", f"{used:.1f} MB", verdict))
    print_table("Resident memory after the start", ("what", "VmRSS", "target"), rows)


def bare_loop_mb() -> float:
    with subprocess.Popen([sys.executable, "-c", _BARE_LOOP], stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            raise AssertionError("no pipe")
        process.stdout.readline()
        used = rss_mb(process.pid)
        process.kill()
    return used


def _timed(command: Sequence[str]) -> float:
    before = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - before


def _verdict(good: bool, limit: str) -> str:
    return f"{'PASS' if good else 'FAIL'} ({limit})"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="starts per figure")
    parser.add_argument("--nodes", type=int, nargs="+", default=[53, 500, 5_000], help="sizes of the far cluster")
    parser.add_argument("--memory-nodes", type=int, nargs="+", default=[100, 5_000])
    parser.add_argument("--round-trip-ms", type=float, default=200)
    parser.add_argument("--classic-nodes", type=int, default=10, help="nodes really read for sizes above 100")
    options = parser.parse_args(argv)
    code = enter_own_network([__file__, *(sys.argv[1:] if argv is None else argv)])
    if code is not None:
        return code
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    compileall.compile_dir(str(Path(tortie.__file__).parent), quiet=1)
    give_it_a_network()
    far(options.nodes, options.round_trip_ms / 1000, options.rounds, options.classic_nodes)
    local(options.rounds)
    memory(options.memory_nodes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

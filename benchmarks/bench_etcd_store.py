"""What does the etcd store cost on top of a bare gRPC client?

The bare client sends the same transactions and ranges with the same message classes over one grpclib channel, without
deadlines, fail-over, conflicts in words or typed results. Runs of both alternate, and the median ratio counts.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from grpclib.client import Channel, UnaryUnaryMethod

from table import print_table
from tortie.store.contract import ABSENT, Expectation, Put
from tortie.store.etcd import EtcdConfig, EtcdStore
from tortie.store.etcd.rpc import RANGE, TXN
from tortie.store.etcd.rpc_pb2 import Compare, PutRequest, RangeRequest, RequestOp, TxnRequest

_TARGET = 0.70
_VALUE = b"v" * 500
# The first fits one page of the store, the second takes several.
_SCANNED = (5_000, 20_000)

# Does its work once, as the worker of that number; returns how much was done.
Work = Callable[[int], Awaitable[int]]


class Bare:
    def __init__(self, port: int) -> None:
        self.channel = Channel("127.0.0.1", port)
        self._txn = UnaryUnaryMethod(self.channel, TXN.path, TXN.request, TXN.reply)
        self._range = UnaryUnaryMethod(self.channel, RANGE.path, RANGE.request, RANGE.reply)

    async def increments(self, key: str, seconds: float) -> int:
        count, revision, name = 0, 0, key.encode()
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            request = TxnRequest(
                compare=[Compare(target=Compare.MOD, key=name, mod_revision=revision)],
                success=[RequestOp(request_put=PutRequest(key=name, value=_VALUE))],
                failure=[RequestOp(request_range=RangeRequest(key=name))],
            )
            reply = await self._txn(request)
            if not reply.succeeded:
                raise AssertionError("a conflict on a key of one's own")
            revision = reply.header.revision
            count += 1
        return count

    async def scans(self, keys: int, seconds: float) -> int:
        count = 0
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            request = RangeRequest(key=f"/scanned{keys}/".encode(), range_end=f"/scanned{keys}0".encode())
            reply = await self._range(request)
            # Whoever scans wants values; until they are asked for, they are bytes of one message.
            found = [(kv.key, kv.value, kv.mod_revision) for kv in reply.kvs]
            if len(found) != keys:
                raise AssertionError(f"{len(found)} keys")
            count += 1
        return count


class Ours:
    def __init__(self, endpoint: str) -> None:
        self.store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))

    async def increments(self, key: str, seconds: float) -> int:
        count = 0
        expecting: Expectation = ABSENT
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            expecting = await self.store.commit([Put(key, _VALUE, expecting)])
            count += 1
        return count

    async def scans(self, keys: int, seconds: float) -> int:
        count = 0
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            if len((await self.store.scan(f"/scanned{keys}/")).entries) != keys:
                raise AssertionError("keys are missing")
            count += 1
        return count


async def compare(port: int, endpoint: str, seconds: float, rounds: int) -> list[Sequence[object]]:
    bare, ours = Bare(port), Ours(endpoint)
    fresh = iter(range(1_000_000))

    def committing(who: Bare | Ours) -> Work:
        return lambda worker: who.increments(f"/key/{next(fresh)}/{worker}", seconds)

    def scanning(who: Bare | Ours, keys: int) -> Work:
        return lambda _: who.scans(keys, seconds)

    try:
        for keys in _SCANNED:
            names = [f"/scanned{keys}/{number:05}" for number in range(keys)]
            for begin in range(0, keys, 100):
                await ours.store.commit([Put(name, _VALUE) for name in names[begin : begin + 100]])
        return [
            await row("CAS commits, one after the other", committing(bare), committing(ours), 1, seconds, rounds),
            await row("CAS commits, 16 at a time", committing(bare), committing(ours), 16, seconds, rounds),
            *[
                await row(f"scans of {keys:,} keys", scanning(bare, keys), scanning(ours, keys), 1, seconds, rounds)
                for keys in _SCANNED
            ],
        ]
    finally:
        bare.channel.close()
        await ours.store.close()


async def row(what: str, bare: Work, ours: Work, workers: int, seconds: float, rounds: int) -> Sequence[object]:
    pairs = []
    for number in range(rounds + 1):
        pair = [await rate(work, workers, seconds) for work in (bare, ours)]
        if number:  # the first round warms up
            pairs.append(pair)
    ratio = statistics.median(mine / floor for floor, mine in pairs)
    floor_rate, our_rate = (statistics.median(column) for column in zip(*pairs, strict=True))
    verdict = "met" if ratio >= _TARGET else "MISSED"
    return what, f"{floor_rate:,.1f}", f"{our_rate:,.1f}", f"{ratio:.2f}", f">= {_TARGET:.2f}", verdict


async def rate(work: Work, workers: int, seconds: float) -> float:
    began = time.perf_counter()
    done = await asyncio.gather(*(work(worker) for worker in range(workers)))
    return sum(done) / max(seconds, time.perf_counter() - began)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="length of one run")
    parser.add_argument("--rounds", type=int, default=4, help="pairs of runs")
    options = parser.parse_args(argv)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.support.etcd_server import running_etcd

    with running_etcd() as etcd:
        rows = asyncio.run(compare(etcd.port, etcd.endpoint, options.seconds, options.rounds))
    print_table("etcd store against a bare gRPC client", ["what", "bare /s", "ours /s", "ratio", "target", ""], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Clusters for the benchmarks of IPAM: empty ones, crowded ones, and large ones for `tortie ipam check`."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final, NamedTuple

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.records import Affinity, Handle, write_affinity, write_block, write_handle
from tortie.model.keys import ResourceKey, block_key, handle_key, host_affinity_key
from tortie.model.kinds import BY_NAME
from tortie.model.names import EndpointName, host_interface
from tortie.model.network import IP
from tortie.store.contract import Delete, Operation, Put, Store
from tortie.store.embedded import EmbeddedStore

_BATCH = 100
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_BLOCK_SIZE = 26


def secondary(node: str, pod: str) -> dict[str, str]:
    """What is noted with each address of a pod."""
    return {"node": node, "namespace": "default", "pod": pod, "timestamp": "2026-01-01 00:00:00 +0000 UTC"}


def _half_block() -> bytes:
    block = new_block(IPv4Network(f"10.0.0.0/{_BLOCK_SIZE}"), "host:node-0", _WHEN)
    for number in range(block.cidr.num_addresses // 2):
        pod = f"pod-{number}"
        block, _ = block.assign(1, Attribute(f"k8s-pod-network.node-0.{pod}", secondary("node-0", pod)))
    return write_block(block)


# What an assignment writes on average: a block with half of its addresses given out, and a handle.
HALF_BLOCK: Final = _half_block()
HANDLE: Final = write_handle(Handle("k8s-pod-network.node-0.pod-0", {f"10.0.0.0/{_BLOCK_SIZE}": 1}))


class Checked(NamedTuple):
    seconds: float
    peak_mb: float
    decode_s: float  # reading and decoding the same entries, nothing more


def _resource(kind: str, name: str, spec: dict[str, Any], namespace: str | None = None) -> Put:
    where = {"namespace": namespace} if namespace else {}
    document = {"kind": kind, "apiVersion": "projectcalico.org/v3", "metadata": {"name": name, **where}, "spec": spec}
    key = ResourceKey(BY_NAME[kind], name, namespace)
    return Put(str(key), json.dumps(document, separators=(",", ":")).encode())


def _pool(name: str, cidr: str) -> Put:
    return _resource("IPPool", name, {"cidr": cidr, "blockSize": _BLOCK_SIZE, "nodeSelector": "all()"})


def _node(name: str) -> Put:
    return _resource("Node", name, {"bgp": {"ipv4Address": "172.30.0.1/16"}})


async def with_nodes(store: Store, count: int, *further: str) -> list[str]:
    """Nothing of Calico's but a large pool and these nodes; only the further ones are added to what is there."""
    if not further:
        await _written(store, [Delete(entry.key) for entry in (await store.scan("/calico/")).entries])
        await store.commit([_pool("default", "10.0.0.0/12")])
    names = [*(f"node-{number}" for number in range(count)), *further]
    await _written(store, [_node(name) for name in names])
    return names


async def crowded(store: Store, blocks: int, taken: int) -> None:
    """A pool of so many blocks; those that are taken belong to nodes with twenty each."""
    await with_nodes(store, 0)
    pool = IPv4Network((int(IPv4Network("10.0.0.0/8").network_address), _BLOCK_SIZE - (blocks - 1).bit_length()))
    await store.commit([_pool("default", str(pool))])
    writes: list[Operation] = []
    for number, cidr in enumerate(itertools.islice(pool.subnets(new_prefix=_BLOCK_SIZE), taken)):
        owner = f"node-{number // 20}"
        writes += _claimed(new_block(cidr, f"host:{owner}", _WHEN), owner)
    await _written(store, writes)


def _claimed(block: Block, owner: str) -> list[Operation]:
    affinity = Affinity(owner, block.cidr)
    return [
        Put(block_key(str(block.cidr)), write_block(block)),
        Put(host_affinity_key(owner, str(block.cidr)), write_affinity(affinity)),
    ]


def _populated(nodes: int, addresses: int) -> Iterator[Operation]:
    """As many pods on each node, each with endpoint and handle; all is well."""
    yield _pool("default", "10.0.0.0/12")
    yield _resource("ClusterInformation", "default", {"clusterGUID": "0123456789abcdef", "datastoreReady": True})
    cidrs = IPv4Network("10.0.0.0/12").subnets(new_prefix=_BLOCK_SIZE)
    for number in range(nodes):
        node = f"node-{number}"
        yield _node(node)
        block = new_block(next(cidrs), f"host:{node}", _WHEN)
        for pod in range(addresses // nodes):
            name = f"pod-{number}-{pod}"
            handle = f"k8s-pod-network.{name}"
            block, (ip,) = block.assign(1, Attribute(handle, secondary(node, name)))
            yield Put(handle_key(handle), write_handle(Handle(handle, {str(block.cidr): 1})))
            yield _endpoint(node, name, ip)
        yield from _claimed(block.next_write(), node)


def _endpoint(node: str, pod: str, ip: IP) -> Put:
    spec = {
        "orchestrator": "k8s",
        "node": node,
        "containerID": pod,
        "pod": pod,
        "endpoint": "eth0",
        "ipNetworks": [f"{ip}/32"],
        "profiles": ["kns.default"],
        "interfaceName": host_interface("default", pod),
        "mac": "ee:ee:ee:ee:ee:ee",
    }
    return _resource("WorkloadEndpoint", str(EndpointName(node, "k8s", pod, "eth0")), spec, "default")


async def _written(store: Store, writes: Sequence[Operation]) -> None:
    for begin in range(0, len(writes), _BATCH):
        await store.commit(writes[begin : begin + _BATCH])


def checked(nodes: int, addresses: int) -> Checked:
    """`tortie ipam check` as a person runs it, once the file is in the page cache."""
    with tempfile.TemporaryDirectory(prefix="bench-ipam-") as folder:
        path = Path(folder) / "store.db"

        async def populate() -> None:
            store = EmbeddedStore(path, durable=False)
            await _written(store, list(_populated(nodes, addresses)))
            await store.close()

        async def decode() -> float:
            store = EmbeddedStore(path)
            began = time.perf_counter()
            for entry in (await store.scan("/calico/")).entries:
                json.loads(entry.value)
            took = time.perf_counter() - began
            await store.close()
            return took

        asyncio.run(populate())
        decode_s = asyncio.run(decode())
        return Checked(*_ran(["ipam", "check"], TORTIE_STORE=str(path), HOME=folder), decode_s)


def _ran(words: Sequence[str], **variables: str) -> tuple[float, float]:
    """Its seconds, and the memory that it took at most."""
    command = Path(sys.executable).with_name("tortie")
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TORTIE_CONFIG": "", **variables}
    began = time.perf_counter()
    process = subprocess.Popen([command, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint = process.stderr.read()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"tortie {' '.join(words)} ended with {process.returncode}: {complaint.decode()}")
    return time.perf_counter() - began, used.ru_maxrss * 1024 / 1e6

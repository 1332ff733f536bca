"""A process that serves the CNI plugin on its own: allocator, service and socket, without the rest of the agent.

`python benchmarks/cni_host.py ROOT NODE STORE`, in the network namespace of a host. STORE is a file, or an endpoint of
etcd.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime

from tortie.cni.server import CniServer
from tortie.cni.service import CniService
from tortie.ipam.allocator import Allocator
from tortie.store.contract import Store
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore


def now() -> datetime:
    return datetime.now(UTC)


def opened(where: str) -> Store:
    return EtcdStore(EtcdConfig(endpoints=(where,))) if "://" in where else EmbeddedStore(where)


async def serve(root: str, node: str, where: str) -> None:
    store = opened(where)
    path = os.path.join(root, "run/tortie/cni.sock")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    allocator = Allocator(store, node, clock=now, keep=True)
    service = CniService(node, store, allocator, clock=now, root=root)
    server = CniServer(service, path)
    await asyncio.gather(allocator.watch(), service.tend(), server.run())


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:4]))

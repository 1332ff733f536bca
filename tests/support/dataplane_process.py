"""The dataplane and the tunnel addresses of one node, in a process of their own: name, folder, store."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from datetime import UTC, datetime

from tortie.health.health import Health
from tortie.ipam.allocator import Allocator
from tortie.node.dataplane import DataplaneLoop
from tortie.node.log import Log
from tortie.node.paths import Paths
from tortie.node.settings import read_node_settings
from tortie.node.tunnels import TunnelAddresses
from tortie.store.embedded import EmbeddedStore


async def run(name: str, folder: str, path: str) -> None:
    store = EmbeddedStore(path)
    health, log = Health(time.monotonic), Log(sys.stdout)
    settings = read_node_settings(os.environ).settings
    tools = {**os.environ, "PATH": os.environ.get("TOOLS", os.environ["PATH"])}
    loop = DataplaneLoop(name, Paths(folder), store, health, log, lambda: settings, tools)
    allocator = Allocator(store, name, clock=lambda: datetime.now(UTC))
    tunnels = TunnelAddresses(name, store, health, log, allocator)
    health.begin("test", 3600.0)
    health.started()
    loop.begin()
    ready = asyncio.create_task(_tell(health))
    try:
        await asyncio.gather(loop.run(), tunnels.run())
    finally:
        ready.cancel()


async def _tell(health: Health) -> None:
    told = ""
    while True:
        causes = health.report().not_ready
        now = f"not ready: {causes[0].trouble.what}" if causes else "ready"
        if now != told:
            told = now
            print(now, flush=True)
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))

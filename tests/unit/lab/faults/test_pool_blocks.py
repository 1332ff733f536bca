"""Blocks of a pool that a fault brought along go with it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tortie.lab.faults.pool_blocks import remove_empty_blocks
from tortie.model.keys import block_key, host_affinity_key
from tortie.store.contract import Put, Store
from tortie.store.embedded import EmbeddedStore, inline

POOL = "10.245.0.0/28"
EMPTY, USED, ELSEWHERE = "10.245.0.0/29", "10.245.0.8/29", "10.244.0.0/29"


def _block(cidr: str, used: bool) -> list[Put]:
    document = {"cidr": cidr, "affinity": "host:node-1", "allocations": [0 if used else None, *[None] * 7]}
    return [
        Put(block_key(cidr), json.dumps(document).encode()),
        Put(host_affinity_key("node-1", cidr), b'{"state":"confirmed"}'),
    ]


async def _keys(store: Store) -> set[str]:
    return {entry.key for entry in (await store.scan("/calico/")).entries}


def test_only_empty_blocks_of_the_pool_go(tmp_path: Path) -> None:
    async def work() -> set[str]:
        store = EmbeddedStore(tmp_path / "store.db", durable=False, offload=inline)
        try:
            await store.commit([*_block(EMPTY, False), *_block(USED, True), *_block(ELSEWHERE, False)])
            await remove_empty_blocks(store, POOL)
            return await _keys(store)
        finally:
            await store.close()

    kept = {key for cidr in (USED, ELSEWHERE) for key in (block_key(cidr), host_affinity_key("node-1", cidr))}
    assert asyncio.run(work()) == kept


def test_a_damaged_record_is_left_alone(tmp_path: Path) -> None:
    async def work() -> set[str]:
        store = EmbeddedStore(tmp_path / "store.db", durable=False, offload=inline)
        try:
            await store.commit([Put(block_key(EMPTY), b"[]")])
            await remove_empty_blocks(store, POOL)
            return await _keys(store)
        finally:
            await store.close()

    assert asyncio.run(work()) == {block_key(EMPTY)}

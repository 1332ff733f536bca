"""Blocks that nodes took from a pool that is not meant to stay: without it they belong to nobody, and nobody removes
them.
"""

from __future__ import annotations

import json
from ipaddress import ip_network
from typing import Any, Final

from tortie.model.keys import IPAM, cidr_segment
from tortie.store.contract import Conflict, Delete, Entry, Operation, Store

_STORE_S: Final = 15.0
_FAMILIES: Final = {4: "ipv4", 6: "ipv6"}


async def remove_empty_blocks(store: Store, pool: str) -> None:
    """With the claims to them. One that is in use stays, and so does one that somebody changes just now."""
    version = ip_network(pool).version
    listing = await store.scan(f"{IPAM}assignment/{_FAMILIES[version]}/block/", timeout_s=_STORE_S)
    empty = {cidr: entry for entry in listing.entries if (cidr := _empty_block(entry)) and _within(cidr, pool)}
    if not empty:
        return
    claims = await store.scan(f"{IPAM}host/", timeout_s=_STORE_S)
    for cidr, block in empty.items():
        ending = f"/{_FAMILIES[version]}/block/{cidr_segment(cidr)}"
        operations: list[Operation] = [Delete(block.key, block.revision)]
        operations += [Delete(claim.key) for claim in claims.entries if claim.key.endswith(ending)]
        try:
            await store.commit(operations, timeout_s=_STORE_S)
        except Conflict:
            continue


def _empty_block(entry: Entry) -> str:
    """Its range; "" for one that is in use, and for what is no block."""
    try:
        document: dict[str, Any] = json.loads(entry.value)
        used = any(each is not None for each in document["allocations"])
        return "" if used else str(document["cidr"])
    except (ValueError, KeyError, TypeError):
        return ""


def _within(cidr: str, pool: str) -> bool:
    inner, outer = ip_network(cidr), ip_network(pool)
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]

"""Deleting what has addresses: a node with all that is on it, a pool with its blocks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import TypeVar

from tortie.cli.selection import Named
from tortie.cli.settings import Settings, open_store
from tortie.model.errors import Invalid
from tortie.model.keys import ResourceKey
from tortie.model.network import Network
from tortie.model.wire import Document, Undecodable
from tortie.store.resources import Resources, UpdateConflict

Result = TypeVar("Result")


def with_resources_in_loop(settings: Settings, work: Callable[[Resources], Awaitable[Result]]) -> Result:
    """IPAM waits and repeats, for which it needs an event loop; other commands go without."""
    import asyncio

    async def session() -> Result:
        store = open_store(settings, in_loop=True)
        try:
            return await work(Resources(store))
        finally:
            await store.close()

    return asyncio.run(session())


async def delete_with_addresses(resources: Resources, each: Named, notes: list[str]) -> Document:
    """`notes`: what else went, and what stays."""
    revision = each.revision
    try:
        document = await resources.get(each.kind, each.name, each.namespace)
    except Undecodable:  # nobody can read it, but everybody may get rid of it
        document = {}
    stands = str((document.get("metadata") or {}).get("resourceVersion") or "")
    if revision and stands and revision != stands:
        raise UpdateConflict(ResourceKey(each.kind, each.name), revision, int(stands))
    if each.kind.name == "Node":
        notes += await _empty_node(resources, each.name)
    elif document:
        disabled, told = await _empty_pool(resources, document, pinned=bool(revision))
        revision, notes[len(notes) :] = disabled if revision else None, told
    deleted = await resources.delete(each.kind, each.name, each.namespace, revision=revision)
    notes += [f"deleted with it: {key.describe()}" for key in deleted.along]
    if deleted.blocks_left:
        notes.append(f"{deleted.blocks_left} address blocks stay until they are collected")
    return deleted.document


async def _empty_node(resources: Resources, name: str) -> list[str]:
    from tortie.controllers.departure import empty_node

    departed = await empty_node(resources.store, name, today=_today)
    endpoints = [deed for deed in departed.deeds if deed.kind == "endpoint deleted"]
    addresses = sum(deed.kind == "address released" for deed in departed.deeds)
    notes = [f"deleted with it: WorkloadEndpoint({deed.what})" for deed in endpoints]
    if addresses:
        notes.append(f"released with it: {addresses} addresses")
    if endpoints:
        notes.append(
            "if its agent still runs, stop it: it would register the node again, and its pods have no addresses"
        )
    notes += [
        f"{stranger.ip} stays: it is from an unknown source, {stranger.owner}; `tortie ipam release` frees it"
        for stranger in departed.strangers
    ]
    return notes


async def _empty_pool(resources: Resources, document: Document, *, pinned: bool) -> tuple[str, list[str]]:
    """Its revision from then on. Once it is disabled nobody takes new blocks from it; what is empty goes."""
    from tortie.ipam.affinity import release_pool

    spec = document.get("spec") or {}
    try:
        cidr = ip_network(str(spec.get("cidr")))
    except ValueError:
        return str(document["metadata"]["resourceVersion"]), []
    if spec.get("disabled") is not True:
        document = await _disabled(resources, document, pinned=pinned)
    await release_pool(resources.store, cidr, clock=_today)
    blocks, addresses = await _still_held(resources, cidr)
    notes = []
    if addresses:
        notes.append(f"{addresses} addresses in {blocks} of its blocks are still in use; whoever has them keeps them")
    return str(document["metadata"]["resourceVersion"]), notes


async def _disabled(resources: Resources, document: Document, *, pinned: bool) -> Document:
    metadata = document["metadata"]
    if not pinned:
        metadata = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    wanted = {**document, "metadata": metadata, "spec": {**document["spec"], "disabled": True}}
    try:
        return await resources.replace(wanted)
    except Invalid:  # what somebody else stored and we would not: it can still be deleted
        return document


async def _still_held(resources: Resources, cidr: Network) -> tuple[int, int]:
    from tortie.ipam.records import BLOCKS, NotReadable, parse_block_key, read_block

    blocks = addresses = 0
    listing = await resources.store.scan(BLOCKS, timeout_s=resources.timeout_s)
    for entry in listing.entries:
        block = parse_block_key(entry.key)
        if block is None or block.version != cidr.version or not block.subnet_of(cidr):  # type: ignore[arg-type]
            continue
        try:
            held = sum(1 for _ in read_block(entry.key, entry.value).holdings())
        except (NotReadable, Undecodable):
            continue
        blocks, addresses = blocks + bool(held), addresses + held
    return blocks, addresses


def _today() -> datetime:
    return datetime.now(UTC)

"""Whole blocks: claiming one, giving up all of a node that is gone, or those of a pool that shall go.

All of it may be repeated, and may stop anywhere: what is left is done by the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tortie.ipam.allocator import Allocator
from tortie.ipam.block import HOST, Block
from tortie.ipam.claims import claim, confirm
from tortie.ipam.draft import Draft, Missing, Trial
from tortie.ipam.errors import WrongNode
from tortie.ipam.records import HOSTS, TUNNEL_HANDLES, VIRTUALS, parse_affinity_key
from tortie.ipam.request import Released
from tortie.ipam.view import VIRTUAL_OWNER, Need, owner_prefix
from tortie.model.keys import block_key, host_affinity_prefix
from tortie.model.network import IP, Network
from tortie.store.contract import Delete, Store


async def release_node(
    store: Store, node: str, *, clock: Callable[[], datetime], atomic: bool = True, timeout_s: float = 30
) -> Released:
    """Frees the node's tunnel addresses, then gives up all of its blocks: empty ones go, the others become nobody's.

    Addresses of pods stay as they are; whoever finds out that a pod is gone frees them. Returns what was freed.
    """
    allocator = Allocator(store, node, clock=clock, atomic=atomic)
    freed: list[IP] = []
    for handle in TUNNEL_HANDLES.values():
        freed += (await allocator.release_handle(handle + node, timeout_s=timeout_s)).released
    listing = await store.scan(host_affinity_prefix(node), timeout_s=timeout_s)
    affinities = filter(None, (parse_affinity_key(entry.key) for entry in listing.entries))
    owned = [(HOST + node, affinity.cidr) for affinity in affinities]
    await allocator.give_up(owned, must_be_empty=False, timeout_s=timeout_s)
    await store.commit([Delete(f"{HOSTS}{node}")], timeout_s=timeout_s)
    return Released(tuple(freed))


async def release_pool(
    store: Store, cidr: Network, *, clock: Callable[[], datetime], atomic: bool = True, timeout_s: float = 30
) -> tuple[Network, ...]:
    """Gives up the empty blocks of a pool, whoever has them, load balancers too. Returns them."""
    allocator = Allocator(store, "", clock=clock, atomic=atomic)
    snapshot = await store.snapshot((), (HOSTS, VIRTUALS), timeout_s=timeout_s)
    owned = []
    for entry in (*snapshot.listings[HOSTS], *snapshot.listings[VIRTUALS]):
        affinity = parse_affinity_key(entry.key)
        if affinity is None or affinity.cidr.version != cidr.version or not affinity.cidr.subnet_of(cidr):  # type: ignore[arg-type]
            continue
        owned.append((VIRTUAL_OWNER if affinity.virtual else HOST + affinity.owner, affinity.cidr))
    return await allocator.give_up(owned, must_be_empty=True, timeout_s=timeout_s)


async def claim_block(
    store: Store,
    node: str,
    cidr: Network,
    *,
    clock: Callable[[], datetime],
    atomic: bool = True,
    timeout_s: float = 10,
) -> Block:
    """The block is the node's afterwards, new or as it was; `WrongNode` if it is somebody else's."""
    owner = HOST + node

    def plan(draft: Draft) -> tuple[Trial, Block]:
        trial = Trial(draft)
        if owner not in trial.view.rows or not trial.knows(cidr):
            raise Missing(Need(frozenset({block_key(str(cidr))}), frozenset({owner_prefix(owner)})))
        block = trial.block(cidr)
        if block is None:
            block = claim(trial, owner, cidr)
        elif block.affinity == owner:
            confirm(trial, owner, cidr, block)
        else:
            raise _somebody_elses(node, cidr, block.affinity)
        return trial, block

    allocator = Allocator(store, node, clock=clock, atomic=atomic)
    block: Block = await allocator.run(plan, f"claiming {cidr}", timeout_s)
    return block


def _somebody_elses(node: str, cidr: Network, owner: str | None) -> WrongNode:
    return WrongNode(
        node,
        f"{cidr} is already claimed by {owner or 'nobody, but in use'}",
        "a block belongs to one node at a time",
        "choose another block: `tortie ipam show --show-blocks` lists them",
    )

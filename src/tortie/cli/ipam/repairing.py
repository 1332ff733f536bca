"""Carrying out repairs: each only while what it repairs is still as it was seen, and with a word on what became of it.

Records come first, then addresses, so that a release finds handles that count rightly.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tortie.ipam.census import Census
from tortie.ipam.problems import (
    ConfirmAffinity,
    CountHandle,
    DeleteAffinity,
    DeleteHandle,
    ReleaseAddress,
    Repair,
)
from tortie.ipam.records import Handle, parse_affinity_key, write_affinity, write_block, write_handle
from tortie.ipam.request import Expected, Released
from tortie.model.keys import block_key, handle_key
from tortie.store.contract import ABSENT, Conflict, Delete, Operation, Put, Store

_BATCH_MAX = 100

Releasing = Callable[[Sequence[Expected]], Awaitable[Released]]


class Done(NamedTuple):
    repair: Repair
    why_not: str = ""  # "" if it was done


async def carry_out(store: Store, census: Census, repairs: Sequence[Repair], release: Releasing) -> list[Done]:
    """`census` is what the repairs were compared with last."""
    records = [repair for repair in repairs if not isinstance(repair, ReleaseAddress)]
    addresses = [repair for repair in repairs if isinstance(repair, ReleaseAddress)]
    done: list[Done] = []
    pending: list[tuple[Repair, list[Operation]]] = [(repair, _operations(repair, census)) for repair in records]
    for batch in _batches(pending):
        done += await _commit(store, batch)
    if addresses:
        released = await release([Expected(each.ip, each.handle, each.sequence) for each in addresses])
        reasons = dict.fromkeys(released.not_held, "nobody holds it any more") | dict(released.kept)
        done += [Done(each, reasons.get(each.ip, "")) for each in addresses]
    return done


def _batches(pending: list[tuple[Repair, list[Operation]]]) -> list[list[tuple[Repair, list[Operation]]]]:
    """As many as one commit takes; what would write a key a second time waits for the next one."""
    batches: list[list[tuple[Repair, list[Operation]]]] = []
    keys: set[str] = set()
    for repair, operations in pending:
        own = {operation.key for operation in operations}
        if not batches or own & keys or len(keys) + len(own) > _BATCH_MAX:
            batches.append([])
            keys = set()
        batches[-1].append((repair, operations))
        keys |= own
    return batches


async def _commit(store: Store, batch: list[tuple[Repair, list[Operation]]]) -> list[Done]:
    """All together; where one has changed meanwhile, it is left out and the others try again."""
    done: list[Done] = []
    while batch:
        try:
            await store.commit([operation for _, operations in batch for operation in operations])
        except Conflict as conflict:
            changed = [item for item in batch if any(operation.key == conflict.key for operation in item[1])]
            done += [Done(repair, f"{conflict.key} has changed meanwhile") for repair, _ in changed]
            batch = [item for item in batch if item not in changed]
        else:
            return [*done, *(Done(repair) for repair, _ in batch)]
    return done


def _operations(repair: Repair, census: Census) -> list[Operation]:
    match repair:
        case DeleteHandle(handle, revision):
            return [Delete(handle_key(handle), revision)]
        case DeleteAffinity(key, revision):
            return [Delete(key, revision)]
        case CountHandle(handle, counted_revision, counts):
            known = census.handles.get(handle)
            changed = (known[0] if known else Handle(handle, {}))._replace(blocks=counts, deleted=False)
            return [Put(handle_key(handle), write_handle(changed), counted_revision or ABSENT)]
        case ConfirmAffinity(key, claimed_revision, cidr, block_revision):
            known_claim = census.affinities.get(key)
            claim = known_claim[0] if known_claim else parse_affinity_key(key)
            assert claim is not None
            confirmed = write_affinity(claim._replace(state="confirmed", deleted=False))
            # Writing the block as well makes whoever is about to change it notice.
            block = write_block(census.blocks[cidr].next_write())
            return [Put(key, confirmed, claimed_revision or ABSENT), Put(block_key(str(cidr)), block, block_revision)]
    raise AssertionError(f"{repair} is not about records")


def describe(repair: Repair) -> str:
    match repair:
        case ReleaseAddress(ip, handle, _):
            return f"release {ip}, which {handle or 'nobody'} holds"
        case DeleteHandle(handle, _):
            return f"delete the handle {handle}"
        case CountHandle(handle, revision, _):
            return f"{'count anew' if revision else 'make'} the handle {handle}"
        case DeleteAffinity(key, _):
            return f"delete the affinity {key}"
        case ConfirmAffinity(key, revision, _, _):
            return f"{'confirm' if revision else 'make'} the affinity {key}"

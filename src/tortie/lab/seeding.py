"""Brings the store of a lab to what a plan says beside the nodes' own records; again and again, whatever is there."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from tortie.lab.certificates import client_files
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.seeds import Stamp, claims, keys_of, relabelled, seeds
from tortie.lab.surroundings import endpoints
from tortie.model.errors import TortieError
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.wire import encode
from tortie.store.contract import ABSENT, Conflict, Delete, Put, Store, Unreachable
from tortie.store.retry import update

Item = TypeVar("Item")

_AT_ONCE: Final = 100  # an even number: an affinity and its block are written together
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.02


def open_store(plan: LabPlan, path: str) -> Store:
    """`path` is the embedded store's file, in the lab's folder."""
    if plan.store.kind == "etcd":
        from tortie.store.etcd import EtcdConfig, EtcdStore

        files = client_files(os.path.dirname(path)) if plan.store.tls else {}
        return EtcdStore(EtcdConfig(endpoints=endpoints(plan), **files))
    from tortie.store.embedded import EmbeddedStore, inline

    return EmbeddedStore(path, durable=False, offload=inline)


def settle(plan: LabPlan, before: LabPlan | None, gone: Sequence[Machine], path: str, timeout_s: float) -> None:
    """Waits for the store as long as it may. `gone`: nodes of which nothing shall be left, as they were."""
    asyncio.run(_settle(plan, before, gone, path, time.monotonic() + timeout_s))


async def _settle(plan: LabPlan, before: LabPlan | None, gone: Sequence[Machine], path: str, deadline: float) -> None:
    store = open_store(plan, path)
    try:
        while True:
            try:
                return await _write(store, plan, before, gone, max(0.1, deadline - time.monotonic()))
            except Unreachable:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(_PAUSE_S)
    finally:
        await store.close()


async def _write(
    store: Store, plan: LabPlan, before: LabPlan | None, gone: Sequence[Machine], timeout_s: float
) -> None:
    stamp = Stamp(time.time_ns(), lambda: str(uuid.uuid4()))
    wanted = dict(seeds(plan, stamp))
    obsolete = {key for node in gone for key in keys_of(node)}
    if before:
        held = claims(before)
        obsolete |= {key for key, _ in seeds(before, stamp)} - {*held, *held.values()}
        obsolete -= wanted.keys() | _own_records(plan)
    if gone:
        from tortie.lab.leaving import forget_nodes

        await forget_nodes(store, {node.name for node in gone}, timeout_s)
    for keys in _portions(sorted(obsolete)):
        await store.commit([Delete(key) for key in keys], timeout_s=timeout_s)
    claimed = claims(plan)
    paired = {key: None for pair in claimed.items() for key in pair}
    for keys in (*_portions([key for key in wanted if key not in paired]), *_portions(list(paired))):
        await _fill(store, {key: wanted[key] for key in keys}, claimed, timeout_s)
    for old, new in _relabelled_nodes(plan, before):
        await update(store, _node_key(new), lambda present, old=old, new=new: _labelled(present, old, new))  # type: ignore[misc]


async def _fill(store: Store, wanted: Mapping[str, bytes], claimed: Mapping[str, str], timeout_s: float) -> None:
    """Writes what is absent. A block that another node has taken meanwhile stays its own: then IPAM finds another."""
    asked = list({*wanted, *(claimed[key] for key in wanted if key in claimed)})
    for _ in range(_ATTEMPTS):
        there = (await store.snapshot(asked, timeout_s=timeout_s)).entries
        missing = [
            Put(key, value, ABSENT)
            for key, value in wanted.items()
            if key not in there and claimed.get(key) not in there
        ]
        if not missing:
            return
        try:
            await store.commit(missing, timeout_s=timeout_s)
            return
        except Conflict:
            continue  # agents work in the same store
    raise TortieError("the lab's store changes all the time", "somebody else writes the same keys", "try again")


def _own_records(plan: LabPlan) -> set[str]:
    """Which a lab only begins: they are the nodes' as long as these exist."""
    return {_node_key(node) for node in plan.nodes}


def _node_key(node: Machine) -> str:
    return str(ResourceKey(BY_NAME["Node"], node.name))


def _relabelled_nodes(plan: LabPlan, before: LabPlan | None) -> Iterator[tuple[Machine, Machine]]:
    for node in plan.nodes:
        old = before.machine(node.name) if before else None
        if old and old.labels != node.labels:
            yield old, node


def _labelled(present: bytes | None, old: Machine, new: Machine) -> bytes | None:
    return encode(relabelled(json.loads(present), old, new)) if present else None


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]

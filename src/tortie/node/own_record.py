"""Somebody else's hands on this node's record: noticed while the node runs, because its peers act on the record."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, NamedTuple

from tortie.model.errors import TortieError
from tortie.model.network import CIDR
from tortie.model.wire import Undecodable, decode
from tortie.node.patience import pause_s
from tortie.node.picture import addresses_of, key_of, machine_of
from tortie.store.contract import Change, Revision, Store
from tortie.store.follow import follow

_OUT_OF_REACH_S: Final = 30.0
_LONGEST_PAUSE_S: Final = 30.0


class Record(NamedTuple):
    """What stands in the datastore under this node's name since a revision; no addresses when it makes no sense."""

    revision: Revision
    addresses: tuple[CIDR, ...] = ()
    machine: str = ""
    deleted: bool = False


async def watch_own_record(store: Store, name: str, tell: Callable[[Record], None]) -> None:
    """Tells of every change, and goes on for ever. That the store is away is somebody else's news."""
    key, attempt = key_of("Node", name), 0
    while True:
        try:
            async with aclosing(follow(store, key, timeout_s=_OUT_OF_REACH_S)) as news:
                async for each in news:
                    attempt = 0
                    for change in each.changes:
                        if change.key == key:  # a longer name begins the same
                            tell(_record(change))
        except TortieError:
            attempt += 1
        await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))


def _record(change: Change) -> Record:
    if change.value is None:
        return Record(change.revision, deleted=True)
    try:
        document = decode(change.value, change.key)
    except Undecodable:
        return Record(change.revision)
    return Record(change.revision, addresses_of(document), machine_of(document))

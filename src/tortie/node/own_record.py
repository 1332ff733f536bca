"""Somebody else's hands on this node's record: noticed while the node runs, because its peers act on the record."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, NamedTuple

from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.model.errors import TortieError
from tortie.model.network import CIDR
from tortie.model.wire import Undecodable, decode
from tortie.node.log import Log
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


class OwnRecord:
    """Judges what others do to the record. A deleted one is written again; a foreign one is told, not fought over,
    because two writers would never end.
    """

    def __init__(self, name: str, health: Health, log: Log, register_again: Callable[[], None]) -> None:
        self._name = name
        self._health = health
        self._log = log
        self._register_again = register_again
        self._addresses: set[CIDR] = set()
        self._seen: Revision = 0  # what is not newer than this was seen, or written, by ourselves
        self._last: Record | None = None
        self._writing = False

    @property
    def addresses(self) -> set[CIDR]:
        """As this node has registered them."""
        return self._addresses

    def before_writing(self) -> None:
        """From now on news may be of our own write, and come before the write itself returns."""
        self._writing = True

    def after_writing(self) -> None:
        self._writing = False

    def registered(self, addresses: set[CIDR], revision: Revision) -> None:
        self._addresses, self._seen = addresses, revision
        self._judge()

    async def watch(self, store: Store) -> None:
        """For ever. That the store is away is somebody else's news."""
        key, attempt = key_of("Node", self._name), 0
        while True:
            try:
                async with aclosing(follow(store, key, timeout_s=_OUT_OF_REACH_S)) as news:
                    whole = True  # the first news is all there is: what is not in it is gone, perhaps for long
                    async for each in news:
                        attempt = 0
                        ours = [change for change in each.changes if change.key == key]  # a longer name begins the same
                        if whole and not ours:
                            self._heard(Record(each.revision, deleted=True))
                        for change in ours:
                            self._heard(_record(change))
                        whole = False
            except TortieError:
                attempt += 1
            await asyncio.sleep(pause_s(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))

    def _heard(self, record: Record) -> None:
        self._last = record
        if not self._writing:
            self._judge()

    def _judge(self) -> None:
        record = self._last
        if record is None or record.revision <= self._seen:
            self._health.met("record")
        elif record.deleted:
            self._log.warning(f"Node({self._name}) was deleted from the datastore; registering again")
            self._register_again()
        elif set(record.addresses) == self._addresses:
            self._health.met("record")
        else:
            trouble = self._foreign(record)
            self._log.warning(f"{trouble.what}: {trouble.why}. Fix: {trouble.fix}")
            self._health.need("record", trouble)

    def _foreign(self, record: Record) -> Trouble:
        now = ", ".join(map(str, record.addresses)) or "no address"
        writer = f"; written by machine {record.machine}" if record.machine else ""
        return Trouble(
            f"somebody else has changed Node({self._name}): it now has {now}",
            f"peers will not find this node there{writer}",
            "if another machine has the same name, give it another NODENAME; then send this agent SIGHUP",
            "a peer",
        )


def _record(change: Change) -> Record:
    if change.value is None:
        return Record(change.revision, deleted=True)
    try:
        document = decode(change.value, change.key)
    except Undecodable:
        return Record(change.revision)
    return Record(change.revision, addresses_of(document), machine_of(document))

"""How the release that is played reads the datastore: one thing after the other, and without deadlines of its own."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from tortie.model.errors import TortieError
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.words import go_error, too_late
from tortie.node.picture import NODES, key_of
from tortie.store.contract import Entry, Operation, Revision, Store, Unreachable

Result = TypeVar("Result")

# Calico would wait for ever; nothing of ours does.
LONGEST_S: Final = 600.0
# etcd's client gives a connection so long; what has not failed by then is silence, and waited out.
DIAL_S: Final = 10.0
_WRITE_S: Final = 60.0

_BGP_KEYS: Final = ("ip_addr_v4", "network_v4", "ip_addr_v6", "network_v6", "as_num")


class ClassicReader:
    """Every call is one round trip, and raises `GoError`. One budget, `LONGEST_S`, holds for all of a start."""

    def __init__(self, store: Store, log: ClassicLog, *, dial_s: float = DIAL_S, longest_s: float = LONGEST_S) -> None:
        self._dial_s = dial_s
        self._store = store
        self._log = log
        self._longest_s = longest_s
        self._deadline = time.monotonic() + longest_s

    def renew(self) -> None:
        """A service begins its next turn."""
        self._deadline = time.monotonic() + self._longest_s

    @property
    def is_over(self) -> bool:
        """Not even our own last deadline is left."""
        return time.monotonic() >= self._deadline

    async def get(self, key: str) -> Entry | None:
        return await self._asked(lambda seconds: self._store.get(key, timeout_s=seconds), self._dial_s)

    async def list(self, prefix: str) -> tuple[Entry, ...]:
        return (await self._asked(lambda seconds: self._store.scan(prefix, timeout_s=seconds), self._dial_s)).entries

    async def write(self, operations: Sequence[Operation]) -> Revision:
        return await self._asked(lambda seconds: self._store.commit(operations, timeout_s=seconds), _WRITE_S)

    async def own(self, name: str) -> Entry | None:
        if not self._log.release.reads_key_by_key:
            return await self.get(key_of("Node", name))
        self._log.debug(f"Validate name: {name}")
        self._log.debug(f"Get Key: /calico/v1/host/{name}/metadata")
        entry = await self.get(key_of("Node", name))
        if entry is None:
            self._log.debug("Key not found error")
            return None
        await self._six_keys(name)
        return entry

    async def everybody(self) -> tuple[Entry, ...]:
        """For the conflict check: one read, and in the etcdv2 model six more for every node, in the order of names."""
        old = self._log.release.reads_key_by_key
        if old:
            self._log.debug("Listing all host metadatas")
        entries = await self.list(NODES)
        if not old:
            return entries
        self._log.debug("Parse host directories.")
        names = [entry.key[len(NODES) :] for entry in entries]
        for name in names:
            self._log.debug(f"Get Node key from /calico/v1/host/{name}/metadata")
        for name in names:
            await self._six_keys(name)
        return entries

    async def _six_keys(self, name: str) -> None:
        """They need not be there, the datastore being that of v3: a read of nothing takes as long."""
        keys = [f"/calico/bgp/v1/host/{name}/{part}" for part in _BGP_KEYS]
        for key in (*keys, f"/calico/v1/host/{name}/orchestrator_refs"):
            self._log.debug(f"Get Key: {key}")
            if await self.get(key) is None:
                self._log.debug("Key not found error")

    async def _asked(self, work: Callable[[float], Awaitable[Result]], patience_s: float) -> Result:
        while (left_s := self._deadline - time.monotonic()) > 0:
            try:
                return await work(min(patience_s, left_s))
            except Unreachable as error:
                told = go_error(error, self._log.release, datetime.now(UTC))
                if not told.silent or error.uncertain:
                    raise told from error
            except TortieError as error:
                raise go_error(error, self._log.release, datetime.now(UTC)) from error
        raise too_late()

"""The datastore for commands."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

from tortie.store.contract import TIMEOUT_S, Change, Revision, check_prefix
from tortie.store.etcd.client import Client
from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.direct.codec import Codec
from tortie.store.etcd.direct.connection import Connection
from tortie.store.etcd.keyvalues import KeyValues


class DirectStore(KeyValues):
    """Never suspends, so it needs no event loop; within one it would hold up everything else."""

    def __init__(self, config: EtcdConfig) -> None:
        self._client: Client[Connection] = Client(config, Connection, pause=_pause, turn=_Turn)
        super().__init__(self._client, Codec())

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        """Who watches has an event loop, and `EtcdStore`."""
        check_prefix(prefix)
        raise AssertionError(f"a command wants to watch {prefix} after {after} for {timeout_s} s")

    async def close(self) -> None:
        self._client.retire()


async def _pause(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop to hold up


class _Turn:
    """Whoever never suspends is never in somebody's way."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        return None

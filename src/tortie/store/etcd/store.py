"""The datastore for programs with an event loop: grpclib beneath, so that watches and requests share connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from tortie.store.contract import TIMEOUT_S, Change, Revision, check_prefix
from tortie.store.etcd.client import Client
from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.connection import Connection, Turn
from tortie.store.etcd.keyvalues import KeyValues
from tortie.store.etcd.messages import Messages
from tortie.store.etcd.watch import watch


class EtcdStore(KeyValues):
    def __init__(self, config: EtcdConfig) -> None:
        self._client: Client[Connection] = Client(config, Connection, pause=asyncio.sleep, turn=Turn())
        super().__init__(self._client, Messages())

    def watch(self, prefix: str, *, after: Revision, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[Change, None]:
        check_prefix(prefix)
        return watch(self._client, prefix, after, timeout_s)

    async def close(self) -> None:
        self._client.retire()
        # Sockets are closed in the next turn of the event loop; with TLS in the one after.
        for _ in range(3):
            await asyncio.sleep(0)

"""kube-controllers as a release of Calico has it: how it finds out whether the datastore is well, and says so.

For the lab and the doctor's tests. Tortie's own goes from endpoint to endpoint until one answers; Calico's client asks
one, and tells whatever that one says. That is what shows an etcd which falters.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tortie.cli.controllers.run import Program
from tortie.cli.settings import Settings, etcd_config
from tortie.controllers.loop import Controllers
from tortie.controllers.readiness import DATASTORE, Standing
from tortie.ipam.census import CLUSTER
from tortie.model.errors import TortieError
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.release import SAYING, read_release
from tortie.node.classic.words import GoError, go_error, too_late
from tortie.store.contract import Store, Unreachable

if TYPE_CHECKING:
    from tortie.store.etcd.connection import Connection

_EVERY_S: Final = 10.0
_AGAIN_S: Final = 2.0
_TIMEOUT_S: Final = 10.0


class DatastoreCheck:
    """Asks one endpoint after the other, each time another one, and each only once."""

    def __init__(self, settings: Settings, store: Store, log: ClassicLog) -> None:
        self._store = store
        self._log = log
        self._turn = 0
        self._connections: list[Connection] = []
        if settings.get("datastoreType") == "etcdv3":
            from tortie.store.etcd.connection import Connection

            config = etcd_config(settings)
            self._connections = [Connection(endpoint, config) for endpoint in config.parsed_endpoints]

    async def verify(self) -> GoError | None:
        """What is wrong, in the words of the client; None if nothing is."""
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await self._ask()
        except TimeoutError:
            return too_late()
        except GoError as error:
            return error
        except TortieError as error:
            return go_error(error, self._log.release, datetime.now(UTC))
        return None

    async def _ask(self) -> None:
        if not self._connections:
            await self._store.get(CLUSTER, timeout_s=_TIMEOUT_S)
            return
        from tortie.store.etcd.refusal import RpcError
        from tortie.store.etcd.rpc import RANGE
        from tortie.store.etcd.rpc_pb2 import RangeRequest
        from tortie.store.etcd.trouble import Failed

        connection = self._connections[self._turn % len(self._connections)]
        self._turn += 1
        try:
            await connection.call(RANGE, RangeRequest(key=CLUSTER.encode()), (), _TIMEOUT_S)
        except RpcError as error:
            raise GoError(error.text or error.name) from None
        except Failed as failure:
            why = f"{connection.endpoint}: {failure.trouble.text}"
            raise Unreachable(self._store.where, f"read {CLUSTER}", _TIMEOUT_S, why, "") from None

    def close(self) -> None:
        for connection in self._connections:
            connection.retire()


class ClassicControllers(Controllers):
    """The usual ones, but for what they tell of the datastore."""

    datastore: DatastoreCheck
    classic_log: ClassicLog

    async def _verify(self) -> None:
        while True:
            error = await self.datastore.verify()
            if error is None:
                self._stand(DATASTORE, Standing(True))
                await asyncio.sleep(_EVERY_S)
                continue
            tell_failure(self.classic_log, error)
            self._stand(DATASTORE, Standing(False, f"Error verifying datastore: {error}"))
            await asyncio.sleep(_AGAIN_S)


def tell_failure(log: ClassicLog, error: GoError) -> None:
    log.error("Error getting cluster information config", ClusterInformation="default", error=error)
    log.error("Failed to verify datastore", error=error)


def classic_program(version: str) -> type[Program]:
    release = read_release(version)

    class ClassicProgram(Program):
        """One attempt to reach the datastore, then it ends: kubelet starts it again."""

        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            self._classic_log = ClassicLog(sys.stdout, release, level=self._log.level, component="")
            self._log = self._classic_log
            self._log.warning(f"Classic mode: this is Tortie, as kube-controllers {release}, {SAYING}")
            self._check: DatastoreCheck | None = None

        async def _at_work(self, store: Store, me: str) -> Controllers | None:
            self._check = DatastoreCheck(self._settings, store, self._classic_log)
            if failed := await self._check.verify():
                tell_failure(self._classic_log, failed)
                self._classic_log.at("fatal", "Failed to initialize Calico datastore", error=failed)
                self._check.close()
                return None
            made = self._made(ClassicControllers, store, me)
            made.datastore, made.classic_log = self._check, self._classic_log
            return made

        def close(self) -> None:
            super().close()
            if self._check:
                self._check.close()

    return ClassicProgram

"""Tells the cluster how this node's sessions are: its CalicoNodeStatus, which `tortie node status --cluster` reads.

Written when something has changed, and never often: with thousands of nodes a heartbeat would cost the datastore more
than everything else. Who compares two nodes' reports goes by their times.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

from tortie.model.errors import TortieError
from tortie.model.kinds import API_VERSION
from tortie.model.resource import stored_value
from tortie.model.wire import Document, Undecodable, decode, encode
from tortie.node.log import Log
from tortie.node.mesh import Mesh
from tortie.node.mesh_view import node_status
from tortie.node.picture import key_of
from tortie.node.registration import Stamp
from tortie.store.contract import Store
from tortie.store.retry import update

APART_S: Final = 5.0
# A mesh that comes up changes many times within moments; a report waits for the end of that, not for long.
_SETTLE_S: Final = 3.0
_SETTLE_PER_SESSION_S: Final = 0.05
_SETTLE_MAX_S: Final = 30.0
_STEP_S: Final = 0.25
_SPEC: Final = {"classes": ["Agent", "BGP"], "updatePeriodSeconds": 10}


class MeshReport:
    def __init__(self, name: str, store: Store, log: Log, mesh: Mesh, stamp: Stamp) -> None:
        self._name = name
        self._store = store
        self._log = log
        self._mesh = mesh
        self._stamp = stamp
        self._reported: object = None
        self._complained = False

    async def run(self) -> None:
        """For ever. A report that cannot be written is said once, and keeps nobody from working."""
        self._mesh.changed.set()  # who failed before has perhaps not reported what it was told
        while True:
            await self._mesh.changed.wait()
            self._mesh.changed.clear()
            if self._gist() == self._reported:
                continue
            await self._settle()
            try:
                await self._write()
                self._complained = False
            except TortieError as error:
                if not self._complained:
                    self._log.warning(f"The report of this node's sessions cannot be written: {error}")
                self._complained = True
                self._mesh.changed.set()
            await asyncio.sleep(APART_S * random.uniform(0.8, 1.2))

    async def _settle(self) -> None:
        waited_s = 0.0
        while (view := self._mesh.view) is not None and not view.settled:
            if waited_s >= min(_SETTLE_S + _SETTLE_PER_SESSION_S * len(view.sessions), _SETTLE_MAX_S):
                return
            await asyncio.sleep(_STEP_S)
            waited_s += _STEP_S

    def _gist(self) -> object:
        """What others care about: which sessions there are, and which of them are established."""
        view = self._mesh.view
        if view is None:
            return None
        return bool(view.bird.status), tuple((seen.session.peer, seen.up) for seen in view.sessions)

    async def _write(self) -> None:
        view, gist = self._mesh.view, self._gist()
        assert view is not None
        status = {"lastUpdated": self._stamp.now(), **node_status(view)}
        key = key_of("CalicoNodeStatus", self._name)
        await update(self._store, key, lambda present: self._reporting(key, present, status))
        self._reported = gist

    def _reporting(self, key: str, present: bytes | None, status: dict[str, Any]) -> bytes:
        document: Document = {}
        if present is not None:
            try:
                document = decode(present, key)
                encode(document)
            except (Undecodable, RecursionError):
                document = {}
        if not document:
            metadata = {"name": self._name, "uid": self._stamp.new_uid(), "creationTimestamp": self._stamp.now()}
            document = {"kind": "CalicoNodeStatus", "apiVersion": API_VERSION, "metadata": metadata}
        document.setdefault("spec", {"node": self._name, **_SPEC})
        return stored_value({**document, "status": status})

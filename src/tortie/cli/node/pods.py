"""What a node does for its pods, put together: addresses, the plugin's socket, tunnels, the dataplane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from tortie.cni.server import CniServer
from tortie.cni.service import CniService, Standing
from tortie.health.exposition import Metric
from tortie.health.health import Health
from tortie.ipam.allocator import Allocator
from tortie.node.dataplane import DataplaneLoop
from tortie.node.dataplane_view import as_json
from tortie.node.dataplane_view import metrics as dataplane_metrics
from tortie.node.log import Log
from tortie.node.paths import Paths
from tortie.node.phases import Phases
from tortie.node.settings import NodeSettings
from tortie.node.supervision import Loop
from tortie.node.tunnels import TunnelAddresses
from tortie.store.contract import Store

_PREFIX = "FELIX_INTERFACEPREFIX"


class Pods:
    def __init__(
        self,
        name: str,
        paths: Paths,
        store: Store,
        health: Health,
        log: Log,
        phases: Phases,
        settings: Callable[[], NodeSettings],
        environment: Mapping[str, str],
        felix_health: Health,
    ) -> None:
        """`felix_health` is where the dataplane tells how it is; the same as `health`, but for classic mode."""
        self._health = health
        self._phases = phases
        allocator = Allocator(store, name, clock=_now, keep=True)
        prefix = settings().others.get(_PREFIX)
        self._cni = CniService(
            name,
            store,
            allocator,
            clock=_now,
            root=paths.root,
            prefix=prefix.value.split(",")[0] if prefix else "cali",
            say=log.info,
            warn=log.warning,
            standing=self._standing,
        )
        server = CniServer(self._cni, paths.cni_socket, say=log.warning)
        self.early: tuple[Loop, ...] = (Loop("cni-socket", server.run),)
        loops: list[Loop] = [Loop("ipam-news", allocator.watch), Loop("cni-pending", self._cni.tend)]
        self._dataplane: DataplaneLoop | None = None
        if settings().backend.value != "none":
            tunnels = TunnelAddresses(name, store, health, log, allocator)
            loops.append(Loop("tunnel-addresses", tunnels.run))
        if not settings().disable_felix.value:
            self._dataplane = DataplaneLoop(name, paths, store, felix_health, log, settings, environment)
            loops.append(Loop("dataplane", self._dataplane.run))
        self.loops = tuple(loops)

    def begin(self) -> None:
        if self._dataplane:
            self._dataplane.begin()

    def metrics(self) -> tuple[Metric, ...]:
        view = self._dataplane.view if self._dataplane else None
        return (*self._cni.metrics(), *(dataplane_metrics(view) if view else ()))

    def status(self) -> dict[str, Any] | None:
        """Of the dataplane; None where another program does its work, and before the first look."""
        view = self._dataplane.view if self._dataplane else None
        return as_json(view) if view else None

    def _standing(self) -> Standing:
        report = self._health.report()
        if not self._phases.over:
            return Standing(registered=False, why_not=f"{report.phase}: {report.doing}")
        return Standing(limited="; ".join(cause.trouble.what for cause in report.not_ready))


def _now() -> datetime:
    return datetime.now(UTC)

"""The agent put together: its log, its store with a meter, its record, its metrics page."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from tortie import __version__
from tortie.bgp.bird import Bird
from tortie.cli.node.pods import Pods
from tortie.cli.node.sources import Sources
from tortie.cli.settings import Settings, open_store
from tortie.health.exposition import Metric
from tortie.health.health import Health
from tortie.health.listening import METRICS, STATUS
from tortie.health.metrics import (
    NodeAddress,
    address_metrics,
    datastore_metrics,
    health_metrics,
    metrics_routes,
    process_metrics,
)
from tortie.health.page import Page, serve
from tortie.health.process import read_process
from tortie.health.state import Trouble
from tortie.host.files import read_text
from tortie.host.links import routes
from tortie.host.systemd import Notifier
from tortie.model.effects.notes import Told
from tortie.model.errors import TortieError, UsageError
from tortie.node.agent import Agent, Parts
from tortie.node.claim import Claim
from tortie.node.converge import Converged, Converger, Identity, described
from tortie.node.effects import of_environment
from tortie.node.effects_look import EffectsLook
from tortie.node.log import Log
from tortie.node.machine import Machine, machine_id
from tortie.node.mesh import Mesh
from tortie.node.mesh_report import MeshReport
from tortie.node.mesh_view import metrics as bgp_metrics
from tortie.node.name import NodeName, choose_name
from tortie.node.news import KernelNews
from tortie.node.paths import Paths
from tortie.node.phases import Phases
from tortie.node.record import Recorder
from tortie.node.registration import Stamp
from tortie.node.settings import Change, NodeSettings, Reading, changes, refusal
from tortie.node.status import status_routes
from tortie.node.supervision import Loop
from tortie.node.timeline import REFUSED, STOPPED, Timeline
from tortie.node.ula import random_ula
from tortie.store.metered import MeteredCounting

Result = TypeVar("Result")

_TRY_AGAIN_S: Final = 1.0


class Assembly:
    BIRD: type[Bird] = Bird

    def __init__(
        self,
        health: Health,
        sources: Sources,
        reading: Reading,
        datastore: Settings,
        log_format: str,
        health_page: Page | None,
        stopped_early: Callable[[], bool],
    ) -> None:
        self._stopped_early = stopped_early
        self._health = health
        self._sources = sources
        self._reading = reading
        self._running_with = reading.settings  # what no reload changes
        self._datastore = datastore
        self._claim = Claim(Paths(sources.root))
        self._paths = Paths(sources.root)
        self._log = Log(sys.stdout, level=reading.settings.log_level.value, form=log_format)
        self._health_page = health_page
        self._metrics_page: Page | None = None
        self._page_troubles: dict[Page, Trouble | None] = {}
        self._status_page: Page | None = None
        self._mesh: Mesh | None = None
        self._pods: Pods | None = None
        self._addresses: tuple[NodeAddress, ...] = ()
        self._recorder = Recorder(Timeline(self._paths.starts), health, self._log.warning)
        self._felix_health = health  # of the dataplane; in classic mode it has a page of its own

    async def run(self) -> int:
        settings = self._reading.settings
        self._log.info(f"Early log level set to {settings.log_level.value}")
        for finding in self._reading.warnings:
            self._log.warning(str(finding))
        self._health.begin("name", 30.0, "finding out this node's name")
        await self._patiently("other-agent", self._claim.take)
        self._recorder.open(self._log.warning)
        name, stored = await self._patiently("name", lambda: self._name(settings))
        self._recorder.node = name.name
        self._recorder.update()
        self._log.info(f"Starting node {name.name} with version v{__version__}")
        return await Agent(self._parts(name.name, stored)).run()

    def _parts(self, name: str, stored: str) -> Parts:
        """`stored`: what the machine was called at its last start."""
        settings = self._reading.settings
        self._open_metrics(settings)
        identity = Identity(name, stored if stored != name else "", machine_id(self._paths))
        store = MeteredCounting(
            open_store(self._datastore, in_loop=True),
            on_request=lambda op, _seconds, _error: self._health.count(op),
        )
        in_vain = of_environment(settings)
        self._warn_in_vain(in_vain)
        effects = EffectsLook(
            name, store, self._health, own_dataplane=not settings.disable_felix.value, environment=in_vain
        )
        self._health.on_verbose = effects.ask_sometimes
        told = status_routes(
            name,
            self._health,
            lambda: self._addresses,
            lambda: self._mesh,
            lambda: self._pods.status() if self._pods else None,
        )
        self._status_page = serve(self._paths.status_socket, 0, {**told, **effects.routes()}, purpose=STATUS)
        machine = Machine()
        phases = Phases(self._health)
        news = KernelNews(machine.open_events)
        stamp = Stamp(_now, lambda: str(uuid.uuid4()))
        converger = Converger(
            identity,
            settings,
            store=store,
            machine=machine,
            phases=phases,
            log=self._log,
            stamp=stamp,
            random_ula=random_ula,
            kernel_news=news.wait,
        )
        environment = self._sources.environment()
        self._pods = Pods(
            name,
            self._paths,
            store,
            self._health,
            self._log,
            phases,
            lambda: converger.settings,
            environment,
            self._felix_health,
        )
        loops: list[Loop] = [*self._pods.loops, Loop("effects", effects.run)]
        if settings.backend.value == "bird":
            self._mesh = Mesh(
                name,
                self._paths,
                store,
                self._health,
                self._log,
                lambda: converger.settings,
                routes,
                environment,
                self.BIRD,
            )
            report = MeshReport(name, store, self._log, self._mesh, stamp)
            loops += [Loop("bgp", self._mesh.run, self._mesh.stop), Loop("bgp-report", report.run)]
        return Parts(
            name,
            self._paths,
            store,
            self._health,
            self._log,
            converger,
            phases,
            news,
            self._recorder,
            Notifier(os.environ),
            self._reload,
            lambda converged: self._tell(name, converged),
            self._watch,
            self._stopped_early,
            self._begin,
            tuple(loops),
            self._pods.early,
            bool(environment.get("TORTIE_DEBUG")),
        )

    def _warn_in_vain(self, told: list[Told]) -> None:
        for each in told:
            self._log.warning(each.what)

    def _begin(self) -> None:
        if self._pods:
            self._pods.begin()
        if self._mesh:
            self._mesh.begin()

    def refuse(self) -> None:
        self._recorder.finish(REFUSED)

    def stop(self) -> None:
        self._recorder.finish(STOPPED)

    def close(self) -> None:
        self._claim.release()
        for page in (self._metrics_page, self._status_page):
            if page:
                page.close()

    async def _patiently(self, need: str, work: Callable[[], Result]) -> Result:
        """Before the agent has begun, too, what can be mended is waited for; what cannot be meant is refused."""
        said = ""
        while True:
            try:
                result = work()
            except UsageError:
                raise
            except TortieError as error:
                trouble = Trouble(error.what, error.why, error.fix, "this node")
                self._health.trouble(trouble)
                self._health.need(need, trouble)
                if said != error.what:
                    said = error.what
                    self._log.warning(f"{error.what}: {error.why}. Fix: {error.fix}. Going on trying.")
            else:
                self._health.met(need)
                if said:
                    self._health.resolved()
                return result
            self._watch()
            await asyncio.sleep(_TRY_AGAIN_S)

    def _name(self, settings: NodeSettings) -> tuple[NodeName, str]:
        file = self._paths.below(settings.nodename_file.value)
        try:
            stored = read_text(file)
        except TortieError as error:
            if not settings.nodename.value:
                raise
            stored = None  # NODENAME says what the name is; what it was before is not known then
            self._log.warning(f"{error.what}: {error.why}. Going on, because NODENAME is set")
        name = choose_name(self._sources.environment(), stored, Machine().hostname(), file)
        for message in name.messages:
            self._log.at(message.level, message.text)
        if name.problems:
            raise name.problems[0]
        return name, (stored or "").strip()

    def _open_metrics(self, settings: NodeSettings) -> None:
        if settings.metrics_enabled.value:
            host, port = settings.metrics_host.value, settings.metrics_port.value
            self._metrics_page = serve(host, port, metrics_routes(self._metrics), purpose=METRICS)

    def _metrics(self) -> list[Metric]:
        report = self._health.report()
        return [
            *health_metrics(report),
            *datastore_metrics(report.requests),
            *address_metrics(self._addresses),
            *bgp_metrics(self._mesh.view if self._mesh else None),
            *(self._pods.metrics() if self._pods else ()),
            *process_metrics(read_process()),
        ]

    def _tell(self, name: str, converged: Converged) -> None:
        self._addresses = tuple(
            NodeAddress(name, str(cidr), interface, method, str(cidr.version))
            for cidr, interface, method in described(converged.addressed)
        )

    def _watch(self) -> None:
        """A page that cannot listen says so, once for each reason."""
        for page in (self._health_page, self._metrics_page, self._status_page):
            trouble = page.trouble if page else None
            if page and trouble != self._page_troubles.get(page):
                self._page_troubles[page] = trouble
                if trouble:
                    self._log.warning(f"{trouble.what}: {trouble.why}. Fix: {trouble.fix}")
                if page is self._health_page:  # probes ask somebody else then
                    self._health.need("health-page", trouble) if trouble else self._health.met("health-page")

    def _reload(self) -> NodeSettings | None:
        """Settings that cannot be meant change nothing: a running node is worth more than a typo."""
        try:
            reading = self._sources.reading()
            if error := refusal(reading):
                raise error
        except (TortieError, UsageError) as error:
            self._log.error(f"Settings read again and refused, the old ones stay: {error}")
            return None
        at_once, _ = changes(self._reading.settings, reading.settings)
        _, after_restart = changes(self._running_with, reading.settings)
        for finding in reading.warnings:
            if finding not in self._reading.warnings:
                self._log.warning(str(finding))
        self._log.info(f"Settings read again. Changed now: {_spoken(at_once) or 'nothing'}")
        if after_restart:
            self._log.warning(f"These change with the next start of the agent: {_spoken(after_restart)}")
        self._reading = reading
        return reading.settings


def _spoken(changed: list[Change]) -> str:
    return ", ".join(f"{each.variable} from {each.before} to {each.after}" for each in changed)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

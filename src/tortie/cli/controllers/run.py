"""`tortie controllers run`: the page first, then the store, then the work, until SIGTERM."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeVar

from tortie.cli.controllers.places import status_file, this_process
from tortie.cli.settings import Settings, open_store
from tortie.controllers.config import METRICS_PORT, Config, duration_s, read_config
from tortie.controllers.loop import Controllers
from tortie.controllers.metrics import ipam_metrics
from tortie.controllers.readiness import Standing, status_text
from tortie.health.exposition import Metric, Sample
from tortie.health.health import Health
from tortie.health.listening import Purpose
from tortie.health.metrics import datastore_metrics, metrics_routes, process_metrics
from tortie.health.page import Page, serve
from tortie.health.process import read_process
from tortie.health.routes import health_routes
from tortie.health.state import Trouble
from tortie.host.files import write_whole
from tortie.host.memory import expect_a_long_life
from tortie.host.systemd import Notifier
from tortie.model.errors import TortieError, UsageError
from tortie.node.log import Log
from tortie.store.contract import Store
from tortie.store.metered import Metered

Work = TypeVar("Work", bound=Controllers)

PAGE: Final = Purpose("the controllers' page", "--host", "--port")
_LOOP_BOUND_S: Final = 30.0
_CLOSE_S: Final = 5.0
_LEASE_MIN_S: Final = 0.5


def run(
    *,
    settings: Settings,
    grace: str | None,
    lease: str,
    host: str,
    port: str | None,
    log_format: str,
    root: str,
    output: str = "text",
    classic: str | None = None,
) -> int:
    if log_format not in ("calico", "json"):
        raise UsageError(f"unknown log format '{log_format}'", "there is no such form", "use calico or json")
    if output != "text":
        raise UsageError(
            f"-o {output} without --once", "what goes on and on is told in the log", "use --log-format json"
        )
    config = read_config(os.environ, None, grace)
    lease_s = duration_s(lease, "--lease")
    if lease_s < _LEASE_MIN_S:
        raise UsageError(f"--lease {lease}", f"less than {_LEASE_MIN_S:g} s is too short to renew", "--lease 15s")
    kind: type[Program] = Program
    if classic is not None:
        from tortie.cli.controllers.classic import classic_program

        kind = classic_program(classic)
    program = kind(settings, config, grace, lease_s, host, _port(port), log_format, root)
    expect_a_long_life()
    try:
        return asyncio.run(program.run())
    finally:
        program.close()
        sys.stdout.flush()


def _port(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f"--port {text}", "a port is a number from 0 to 65535", f"--port {METRICS_PORT}")
    return int(text)


class Program:
    """The controllers with everything around them: log, page, status file, signals."""

    def __init__(
        self,
        settings: Settings,
        config: Config,
        grace: str | None,
        lease_s: float,
        host: str,
        port: int | None,
        log_format: str,
        root: str,
    ) -> None:
        self._settings = settings
        self._grace = grace
        self._lease_s = lease_s
        self._host = host
        self._port = port  # None: as configured
        self._log = Log(sys.stdout, level=config.log_level, form=log_format, component="controllers")
        self._status_file = status_file(root)
        self._health = Health(time.monotonic)
        self._page: Page | None = None
        self._page_port = 0
        self._page_trouble: Trouble | None = None
        self._controllers: Controllers | None = None
        self._written = ""
        self._writer = this_process()
        self._complained = False
        self._config = config
        self._open_page(config.metrics_port)

    async def run(self) -> int:
        turning = asyncio.get_running_loop()
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            turning.add_signal_handler(number, stopping.set)
        self._health.started()
        self._health.loop_bound(_LOOP_BOUND_S)
        self._health.beat()
        me = f"{socket.gethostname()}/{os.getpid()}-{secrets.token_hex(4)}"
        self._log.info("Starting the controllers", instance=me, controllers="node" if self._config.node else "none")
        if self._config.idle:
            self._log.info(
                "These controllers have nothing to do without Kubernetes", controllers=",".join(self._config.idle)
            )
        store = Metered(
            open_store(self._settings, in_loop=True), on_request=lambda op, _seconds, _error: self._health.count(op)
        )
        self._controllers = await self._at_work(store, me)
        if self._controllers is None:
            await store.close()
            return 1
        notifier = Notifier(os.environ)
        tasks = [asyncio.ensure_future(work) for work in (self._controllers.run(), self._heart(), stopping.wait())]
        notifier.ready()
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            notifier.stopping()
            self._log.info("Shutting down the controllers")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._health.loop_bound(None)
            with suppress(TortieError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await store.close()
        return 0

    async def _at_work(self, store: Store, me: str) -> Controllers | None:
        """None when it cannot begin, which is said already; ours always can."""
        return self._made(Controllers, store, me)

    def _made(self, kind: type[Work], store: Store, me: str) -> Work:
        return kind(
            store,
            self._log,
            me=me,
            environment=os.environ,
            grace=self._grace,
            lease_s=self._lease_s,
            clock=lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
            today=lambda: datetime.now(UTC),
            apply=self._apply,
            tell=self._tell,
            new_uid=lambda: str(uuid.uuid4()),
        )

    def close(self) -> None:
        if self._page:
            self._page.close()
        if self._written:
            with suppress(OSError):
                os.unlink(self._status_file)

    async def _heart(self) -> None:
        while True:
            self._health.beat()
            trouble = self._page.trouble if self._page else None
            if trouble != self._page_trouble:
                self._page_trouble = trouble
                if trouble:
                    self._log.warning(f"{trouble.what}: {trouble.why}. Fix: {trouble.fix}")
            await asyncio.sleep(1.0)

    def _apply(self, config: Config) -> None:
        self._config = config
        self._log.level = config.log_level
        self._open_page(config.metrics_port)

    def _open_page(self, configured: int) -> None:
        port = configured if self._port is None else self._port
        if port == self._page_port:
            return
        if self._page:
            self._page.close()
        self._page_port = port
        routes = {**health_routes(self._health), **metrics_routes(self._metrics)}
        self._page = serve(self._host, port, routes, purpose=PAGE) if port else None

    def _tell(self, standings: Mapping[str, Standing], role: str) -> None:
        for name, standing in standings.items():
            if standing.ready:
                self._health.met(name)
            else:
                fix = "see the log of the controllers; they go on trying"
                self._health.need(name, Trouble(f"{name} is not ready", standing.reason, fix, "the datastore"))
        text = status_text(standings if self._config.health else {}, self._writer, role)
        if text == self._written:
            return
        try:
            os.makedirs(os.path.dirname(self._status_file), exist_ok=True)
            write_whole(self._status_file, text.encode())
            self._written = text
        except (OSError, TortieError) as error:
            if not self._complained:
                self._log.warning(f"The status file cannot be written, `tortie controllers check` will fail: {error}")
            self._complained = True

    def _metrics(self) -> list[Metric]:
        report = self._health.report()
        controllers = self._controllers
        leads = Metric(
            "tortie_controllers_leader",
            "1 if this instance leads.",
            "gauge",
            (Sample(int(bool(controllers and controllers.leading.leads))),),
        )
        ipam = []
        if controllers is not None:
            ipam = ipam_metrics(controllers.lookout.figures, dict(controllers.lookout.reclaimed))
        return [leads, *ipam, *datastore_metrics(report.requests), *process_metrics(read_process())]

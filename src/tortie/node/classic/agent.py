"""The agent of classic mode: a start as that release makes it, then the usual parts with the address it chose.

Nothing here chooses an address in Tortie's way. A start that fails ends the process with 1, as a container's would.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tortie.ipam.errors import Exhausted
from tortie.model.errors import TortieError
from tortie.node.agent import Parts
from tortie.node.classic.felix import Felix
from tortie.node.classic.log import ClassicLog
from tortie.node.classic.monitor import Monitor
from tortie.node.classic.reading import DIAL_S, LONGEST_S, ClassicReader
from tortie.node.classic.release import hurry_of
from tortie.node.classic.services import enable_services, forget_services, services
from tortie.node.classic.startup import Circumstances, Started, Startup, Terminated
from tortie.node.classic.words import GoError, go_error
from tortie.node.converge import Converged
from tortie.node.supervision import Loop, Supervision
from tortie.node.timeline import READY, REFUSED, STOPPED
from tortie.node.tunnels import TunnelAddresses

_TICK_S: Final = 1.0
_CLOSE_S: Final = 5.0
_FAILED: Final = 1


class Roles(NamedTuple):
    """What classic mode has beside the usual parts."""

    given: Circumstances
    log: ClassicLog
    felix: Felix
    tunnels: TunnelAddresses | None  # for the one time before the services; None with backend none


class ClassicAgent:
    def __init__(self, parts: Parts, roles: Roles) -> None:
        self._parts = parts
        self._roles = roles
        self._log = roles.log
        self._hurry = hurry_of(roles.given.environment)
        self._stopping = asyncio.Event()
        self._supervision = Supervision(parts.health, roles.log.part("felix", level="info"), debug=parts.debug)

    async def run(self) -> int:
        forget_services(self._parts.paths)
        try:
            started = await self._start()
        except Terminated:
            self._log.plain("Calico node failed to start")
            self._parts.recorder.finish(REFUSED)
            await self._close()
            return _FAILED
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        self._begin(started)
        loops = self._loops()
        works = (self._heart, self._stopping.wait)
        tasks: list[asyncio.Task[Any]] = [asyncio.ensure_future(work()) for work in works]
        tasks += [asyncio.create_task(self._supervision.keep(loop)) for loop in loops]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return 0
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._roles.felix.close()
            self._parts.recorder.finish(STOPPED)
            forget_services(self._parts.paths)
            await self._close()

    async def _start(self) -> Started:
        reader = ClassicReader(self._parts.store, self._log, dial_s=DIAL_S / self._hurry)
        startup = Startup(self._roles.given, reader, self._log, self._parts.health.begin)
        started = await startup.run()
        if self._roles.tunnels:
            self._parts.health.begin("tunnels", LONGEST_S, "taking the addresses of tunnels")
            await self._take_tunnel_addresses(self._roles.tunnels)
        return started

    async def _take_tunnel_addresses(self, tunnels: TunnelAddresses) -> None:
        """Once, before anything else runs; a full pool keeps the whole node from starting."""
        release = self._log.release
        log = self._log.part("tunnel-ip-allocator", level="info" if not release.bare else "")
        try:
            await tunnels.settle_once(log)
        except TortieError as error:
            kind = next(iter(getattr(error, "__notes__", ())), "")
            if release < (3, 14):
                log.at("fatal", f"Unable to autoassign an address for {kind or 'IPIP'} - pools are likely exhausted.")
            elif release < (3, 24) and isinstance(error, Exhausted):
                log.at("fatal", "Unable to autoassign an address - pools are likely exhausted.", type=kind)
            elif kind:
                log.at("fatal", "Unable to autoassign an address", error=GoError(error.what), type=kind)
            else:
                log.at("fatal", "Unable to autoassign an address", error=go_error(error, release, datetime.now(UTC)))
            raise Terminated from error

    def _begin(self, started: Started) -> None:
        settings = self._roles.given.settings
        if settings.backend.value != "bird":
            self._log.plain(f"CALICO_NETWORKING_BACKEND is {settings.backend.value} - no need to run a BGP daemon")
        self._log.plain("Calico node started successfully")
        self._parts.phases.over = True
        self._parts.begin()
        self._parts.health.started()
        self._parts.recorder.finish(READY)
        self._tell(started)
        names = services(settings.backend.value, felix=not settings.disable_felix.value)
        enable_services(self._parts.paths, names)

    def _tell(self, started: Started) -> None:
        self._parts.tell(Converged(started.network, started.addressed, (), started.revision))

    def _loops(self) -> list[Loop]:
        release, given, felix = self._log.release, self._roles.given, self._roles.felix
        loops = [*self._parts.early]
        for loop in self._parts.loops:
            if loop.name == "tunnel-addresses" and not release.keeps_tunnel_addresses:
                continue
            if loop.name == "dataplane":
                loops.append(loop._replace(run=_after(felix, loop.run)))
            else:
                loops.append(loop)
        if not given.settings.disable_felix.value:
            loops.append(Loop("felix", felix.run))
        if release.monitors_addresses and given.settings.backend.value != "none":
            log = self._log.part("monitor-addresses", level="info")
            reader = ClassicReader(self._parts.store, log, dial_s=DIAL_S / self._hurry)
            asked = given.settings.autodetect_poll_interval
            interval_s = asked.value if "AUTODETECT_POLL_INTERVAL" in given.environment else asked.value / self._hurry
            monitor = Monitor(given, reader, log, interval_s, self._tell)
            loops.append(Loop("monitor-addresses", monitor.run))
        return loops

    async def _heart(self) -> None:
        while True:
            self._parts.health.beat()
            self._parts.watch()
            await asyncio.sleep(_TICK_S)

    async def _close(self) -> None:
        self._parts.news.close()
        with suppress(TortieError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._parts.store.close()


def _after(felix: Felix, run: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: felix.once_it_may(run)

"""The agent: starts the node, registers it, and keeps it right until it is told to stop."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

from tortie.addressing.choice import Message
from tortie.health.health import Health
from tortie.health.state import Fault, Trouble
from tortie.host.memory import give_back
from tortie.host.netlink import NetlinkError
from tortie.host.systemd import Notifier
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import HostNetwork
from tortie.node.converge import Converged, Converger
from tortie.node.decisions import Addressed
from tortie.node.footprint import Footprint
from tortie.node.log import Log
from tortie.node.news import KernelNews, relevant
from tortie.node.own_record import OwnRecord
from tortie.node.paths import Paths
from tortie.node.patience import pause_s
from tortie.node.phases import BOUND_S, Blocked, Phases
from tortie.node.record import Recorder
from tortie.node.settings import NodeSettings
from tortie.node.supervision import Loop, Supervision, trouble_of
from tortie.node.timeline import READY, STOPPED
from tortie.store.contract import Store, Unauthorized

Result = TypeVar("Result")

_TICK_S: Final = 1.0
_RECORD_EVERY_TICKS: Final = 5
# An event loop that has not turned for so long hangs. On an overloaded machine a second may take ten.
LOOP_BOUND_S: Final = 30.0
# Who waits for the kernel or for another node looks again this often, even if nobody says that something changed.
_LOOK_AGAIN_S: Final = 15.0
_CLOSE_S: Final = 5.0


class Parts(NamedTuple):
    """What the agent is made of; the command line puts it together."""

    name: str
    paths: Paths
    store: Store
    health: Health
    log: Log
    converger: Converger
    phases: Phases
    news: KernelNews
    recorder: Recorder
    notifier: Notifier
    reload: Callable[[], NodeSettings | None]
    tell: Callable[[Converged], None]  # whoever shows the addresses to others
    watch: Callable[[], None]  # whatever else has to be looked at every second: pages, children
    stopped_early: Callable[[], bool]  # whether a signal came before anybody here could hear it
    begin: Callable[[], None]  # says what else a node has to have before it is ready, once it is registered
    loops: tuple[Loop, ...]  # what runs from then on: routing, the dataplane, reports
    early: tuple[Loop, ...] = ()  # what answers from the first moment, if only that it is too early
    debug: bool = False  # the log shows where in the program something unforeseen went wrong


class Agent:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._log = parts.log
        self._health = parts.health
        self._stopping = asyncio.Event()
        self._wanted = asyncio.Event()  # somebody wants everything looked at again
        self._started = asyncio.Event()
        self._record = OwnRecord(parts.name, parts.health, parts.log, self._wanted.set)
        self._block: tuple[str, Trouble] | None = None
        self._settings = parts.converger.settings
        self._footprint = Footprint(parts.name, parts.paths, parts.log)
        self._supervision = Supervision(parts.health, parts.log, debug=parts.debug)

    async def run(self) -> int:
        turning = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            turning.add_signal_handler(number, self._stopping.set)
        turning.add_signal_handler(signal.SIGHUP, self._reload)
        if self._parts.stopped_early():
            self._stopping.set()
        self._health.loop_bound(LOOP_BOUND_S)
        self._health.beat()
        early = (Loop("heart", self._heart), *self._parts.early)
        later = (Loop("own-record", self._listen), *self._parts.loops)
        works = (self._work, self._stopping.wait)
        tasks: list[asyncio.Task[Any]] = [asyncio.ensure_future(work()) for work in works]
        tasks += [asyncio.create_task(self._supervision.keep(loop)) for loop in early]
        tasks += [asyncio.create_task(self._once_started(loop)) for loop in later]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return 0
        finally:
            await self._stop(tasks)

    async def _work(self) -> None:
        converged = await self._patiently(self._parts.converger.attempt)
        await self._patiently(self._leave_files)
        self._finish_start(converged)
        await self._keep(converged)

    def _finish_start(self, converged: Converged) -> None:
        self._parts.phases.over = True
        self._parts.begin()
        self._health.started()
        self._parts.recorder.finish(READY)
        self._after(converged)
        self._log.info(f"Using node name: {self._parts.name}")
        self._log.info("Calico node started successfully")
        self._parts.notifier.ready()
        self._parts.notifier.status(f"node {self._parts.name} has started")
        give_back()
        self._started.set()

    async def _keep(self, converged: Converged) -> None:
        """Quiet until the kernel reports something that could change a decision, or settings are read again."""
        seen = relevant(converged.network)
        self._log.component = "monitor-addresses"
        while True:
            await self._first_of(self._parts.news.settled(), self._wanted.wait())
            if not self._wanted.is_set() and self._looks_like(seen):
                continue
            converged = await self._patiently(self._parts.converger.attempt)
            seen = relevant(converged.network)
            self._after(converged)

    def _looks_like(self, seen: object) -> bool:
        try:
            return relevant(self._parts.converger.observe()) == seen
        except TortieError:
            return False  # the attempt finds the same trouble, tells it, and goes on trying

    def _after(self, converged: Converged) -> None:
        faults = [fault for each in converged.addressed if (fault := _address_fault(each, converged.network))]
        if faults:
            fix = "bring the interface up, or give one the address back, or another; the node notices by itself"
            self._health.need("address", Trouble(faults[0], "nothing better was found", fix, "this node"))
        else:
            self._health.met("address")
        addresses = {each.decision.address for each in converged.addressed if each.decision.address}
        self._record.registered(addresses, converged.revision)
        self._parts.tell(converged)

    async def _listen(self) -> None:
        """To those who touch this node's record."""
        await self._record.watch(self._parts.store)

    async def _once_started(self, loop: Loop) -> None:
        """Before the node is registered its peers do not know it, and it knows no address to route for."""
        await self._started.wait()
        await self._supervision.keep(loop)

    async def _patiently(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Again and again until it succeeds: live, not ready, and saying why."""
        attempt = 0
        while True:
            self._record.before_writing()
            self._wanted.clear()  # whoever wants everything looked at again gets it now
            try:
                result = await work()
            except Blocked as blocked:
                need, trouble, messages = blocked.need, blocked.trouble, blocked.messages
            except UsageError:
                raise
            except TortieError as error:
                need, trouble, messages = *_trouble_of(error), ()
            except Exception as error:
                need, trouble, messages = "registration", trouble_of("this node cannot be registered", error), ()
                self._supervision.show(error)
            else:
                self._unblock()
                return result
            finally:
                self._record.after_writing()
            attempt = attempt + 1 if self._blocked_by(need, trouble, messages) else 0
            await self._pause(need, attempt)

    def _blocked_by(self, need: str, trouble: Trouble, messages: tuple[Message, ...]) -> bool:
        """Whether that is what it was before; what is new is said in the log, what is not only in the page."""
        again = self._block is not None and self._block[0] == need and self._block[1].what == trouble.what
        if self._block and self._block[0] != need:
            self._health.met(self._block[0])
        self._block = need, trouble
        self._health.trouble(trouble)
        # A node that is registered rightly goes on without a datastore.
        if not self._parts.phases.over or need != "datastore" or not self._is_at_home():
            self._health.need(need, trouble)
        if not again:
            for message in messages:
                self._log.at(message.level, message.text)
            if need == "datastore":
                self._log.info("Hit error connecting to datastore - retry")
            self._log.warning(
                f"{trouble.what}: {trouble.why}. Fix: {trouble.fix}. Going on trying.", fault=trouble.fault
            )
            self._parts.recorder.update()
        return again

    def _is_at_home(self) -> bool:
        """Whether this machine has the addresses that it is registered with."""
        try:
            network = self._parts.converger.observe()
        except TortieError:
            return True
        return all(network.owner(address.ip) for address in self._record.addresses)

    def _unblock(self) -> None:
        if self._block:
            self._health.met(self._block[0])
            self._health.resolved()
            self._log.info(f"No longer so: {self._block[1].what}")
            self._block = None

    async def _pause(self, need: str, attempt: int) -> None:
        seconds = pause_s(attempt, random.random(), longest_s=_LOOK_AGAIN_S)
        if need == "datastore":
            await self._first_of(self._wanted.wait(), asyncio.sleep(seconds))
        else:
            seconds = _LOOK_AGAIN_S if need == "address" else seconds
            await self._first_of(self._parts.news.settled(), self._wanted.wait(), asyncio.sleep(seconds))

    async def _first_of(self, *waits: Awaitable[object]) -> None:
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _leave_files(self) -> None:
        self._parts.phases.begin("files", f"writing {self._footprint.nodename_file(self._settings)}")
        try:
            self._footprint.leave(self._settings)
        except TortieError as error:
            raise Blocked(Trouble(error.what, error.why, error.fix, "this node"), "files") from error

    async def _heart(self) -> None:
        """Shows that the event loop turns, to the health page and to systemd."""
        ticks = 0
        while True:
            self._health.beat()
            self._parts.watch()
            report = self._health.report()
            if report.live:
                self._parts.notifier.watchdog()
            if not self._parts.phases.over:
                self._parts.notifier.status(f"starting, {report.phase}: {report.doing}")
                self._parts.notifier.extend(BOUND_S)
                if ticks % _RECORD_EVERY_TICKS == 0:
                    self._parts.recorder.update()
            ticks += 1
            await asyncio.sleep(min(_TICK_S, self._parts.notifier.watchdog_interval_s or _TICK_S))

    def _reload(self) -> None:
        running = self._parts.phases.over
        if running:
            self._parts.notifier.reloading()
        settings = self._parts.reload()
        if settings is not None:
            self._settings = self._parts.converger.settings = settings
            self._log.level = settings.log_level.value
            self._wanted.set()
        if running:
            self._parts.notifier.ready()

    async def _stop(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        self._log.component = "shutdown"
        self._parts.notifier.stopping()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._parts.recorder.finish(STOPPED)
        self._log.info(f"Shutting down node {self._parts.name}")
        self._footprint.note_shutdown(self._settings, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        self._parts.news.close()
        with suppress(TortieError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._parts.store.close()


def _address_fault(each: Addressed, network: HostNetwork) -> str:
    """A registered address that is on no interface is nobody's; one that a person gave may be a NAT's."""
    address = each.decision.address
    if address is None:
        return ""
    owner = network.owner(address.ip)
    if owner is None:
        given = each.decision.source == "environment"
        return "" if given else f"the registered address {address} is on no interface of this machine"
    return "" if owner[0].is_up else f"{owner[0].name}, which has the registered address {address}, is down"


def _trouble_of(error: TortieError) -> tuple[str, Trouble]:
    if isinstance(error, NetlinkError):
        return "kernel", Trouble(error.what, error.why, error.fix, "this node")
    fault: Fault = "the configuration" if isinstance(error, Unauthorized) else "the datastore"
    return "datastore", Trouble(error.what, error.why, error.fix, fault)

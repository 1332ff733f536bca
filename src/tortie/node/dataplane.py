"""The dataplane: what the datastore says about pods, tunnels and NAT, kept true in this node's kernel.

One loop. News of the datastore and of the kernel are gathered for a moment; then what shall be is compared with what
is, and only the difference is changed. Now and then it looks without having heard anything, because the kernel does
not tell everything. Nothing is taken away before the datastore has been read whole.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from tortie.dataplane.desired import Outward, desired, outward
from tortie.dataplane.kernel import Failure, carry_out, is_moot, link_of, look, look_at_links, look_at_tables
from tortie.dataplane.known import State
from tortie.dataplane.nat import TABLE
from tortie.dataplane.plan import Plan, Step, plan
from tortie.dataplane.things import TUNNELS, Concern, Desired, NatTable, PodMtu, Setting
from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.host.files import read_text, write_whole
from tortie.host.forwarding_events import ForwardingEvents, TableEvents
from tortie.host.kernel_settings import read_setting
from tortie.model.errors import TortieError
from tortie.model.network import Family, Interface
from tortie.node.dataplane_source import DataplaneSource
from tortie.node.dataplane_tables import load_table
from tortie.node.dataplane_view import DataplaneView
from tortie.node.log import Log
from tortie.node.news import KernelNews
from tortie.node.paths import Paths
from tortie.node.patience import Gathering, pause_s
from tortie.node.settings import NodeSettings
from tortie.node.supervision import together
from tortie.store.contract import Store

NEED: Final = "dataplane"
RESYNC_S: Final = 90.0
GRACE_S: Final = 10.0  # unknown routes on a new link of a pod are left alone for so long
MTU_FILE: Final = "/var/lib/calico/mtu"
_FOREVER_S: Final = 3600.0
_LONGEST_PAUSE_S: Final = 10.0
_STEPS_TOLD: Final = 20
# News are gathered as in a cluster of so many nodes: who wires a pod makes a dozen of them within moments.
_AS_MANY_NODES: Final = 40


class DataplaneLoop:
    def __init__(
        self,
        name: str,
        paths: Paths,
        store: Store,
        health: Health,
        log: Log,
        settings: Callable[[], NodeSettings],
        environment: Mapping[str, str],
    ) -> None:
        """Not for nodes with CALICO_DISABLE_FELIX: there another program does this work."""
        self._name = name
        self._paths = paths
        self._health = health
        self._log = log
        self._settings = settings
        self._environment = environment
        self._source = DataplaneSource(name, store, health, log, self._heard_store)
        self._news = Gathering()
        self._wake = asyncio.Event()
        self._state: State | None = None  # the last complete one in which this node is registered
        self._watched: set[int] = set()  # indexes of links whose neighbours are ours
        self._since: dict[int, float] = {}  # when links of pods were first seen
        self._set: set[int] = set()  # links whose settings were right when they were last looked at
        self._loaded: dict[Family, str] = {}  # fingerprints of the tables that we loaded
        self._outward: tuple[State, tuple[Interface, ...], Outward] | None = None
        self._tables: tuple[NatTable, ...] = ()  # as they were last wished
        self._tables_known = False  # whether nothing has been heard of them since they were looked at
        self._rp_filter = ""
        self._look_at = math.inf
        self._resync_at = math.inf
        self._attempt = 0
        self._changes = 0
        self._last = ""
        self._told: tuple[Concern, ...] = ()
        self._told_notes: tuple[str, ...] = ()
        self.view: DataplaneView | None = None  # the last one; others read it from their own threads
        self.changed = asyncio.Event()  # set with each new view

    def begin(self) -> None:
        """The node is not ready before the first apply is done."""
        why = "the datastore has not been read yet"
        self._health.need(NEED, Trouble("routes and tunnels have not been set up yet", why, "", "this node"))

    async def run(self) -> None:
        self._rp_filter = read_setting("net/ipv4/conf/default/rp_filter") or "1"
        kernel = KernelNews(lambda: ForwardingEvents(self._watched))
        tables = KernelNews(lambda: TableEvents(TABLE))
        self._look_at = 0.0  # whoever failed in the middle of a pass begins with one
        try:
            await together(
                self._source.run(),
                self._listen(kernel, of_tables=False),
                self._listen(tables, of_tables=True),
                self._keep_right(),
            )
        finally:
            kernel.close()
            tables.close()

    async def _keep_right(self) -> None:
        while True:
            await self._rest()
            await self._pass()

    async def _listen(self, news: KernelNews, *, of_tables: bool) -> None:
        while True:
            if await news.wait(_FOREVER_S):
                if of_tables:
                    self._tables_known = False
                self._hear()

    def _heard_store(self, different: bool) -> None:
        if not different and self._state is not None:
            return
        state = self._source.known.state(self._felix_variables())
        if state.me is None and self._state is not None:
            self._log.warning(f"Node({self._name}) is not in the datastore; routes and tunnels stay as they are")
            return
        first, self._state = self._state is None, state
        self._hear(urgent=first)

    def _felix_variables(self) -> dict[str, str]:
        settings = self._settings()
        found = {name: str(each.value) for name, each in settings.others.items() if name.startswith("FELIX_")}
        if not settings.ipv6_support.is_default:
            found["FELIX_IPV6SUPPORT"] = "true" if settings.ipv6_support.value else "false"
        return found

    def _hear(self, *, urgent: bool = False) -> None:
        self._news.hear(time.monotonic(), nodes=_AS_MANY_NODES, urgent=urgent)
        self._wake.set()

    async def _rest(self) -> None:
        """Until there is something to do, and a picture to do it by."""
        while self._state is None or (left_s := self._due() - time.monotonic()) > 0:
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._state is None else left_s):
                    await self._wake.wait()

    def _due(self) -> float:
        return min(self._news.due, self._look_at, self._resync_at)

    async def _pass(self) -> None:
        """Looks at everything once, and puts right what is wrong."""
        assert self._state is not None
        now = time.monotonic()
        self._news.acted()
        if now >= self._resync_at or self._resync_at == math.inf:
            self._resync_at = now + RESYNC_S * (1 + random.random() / 10)
            self._set.clear()
            self._tables_known = False
        state = self._state
        try:
            wish, decided = self._compare(state, now)
        except TortieError as error:
            self._failed((Concern(error.what, error.why, error.fix),))
            return
        failures = await self._carry_out(decided.steps)
        self._after(state, wish, decided, failures)

    def _compare(self, state: State, now: float) -> tuple[Desired, Plan]:
        links = look_at_links()
        wish = desired(state, links, self._rp_filter, self._beyond(state, links))
        young = self._meet(links, wish, now)
        proven = {link.name for link in links if link.index in self._set}
        paths = [setting.path for setting in wish.settings if link_of(setting) not in proven]
        tables = not self._tables_known or wish.tables != self._tables
        self._tables_known, self._tables = True, wish.tables
        seen = look(links, paths, tables=tables, mtu=read_text(self._paths.below(MTU_FILE)))
        decided = plan(wish, seen, young=young, loaded=self._loaded)
        changed = {step.thing.family for step in decided.steps if isinstance(step.thing, NatTable)}
        for family, table in seen.tables.items():
            if table is not None and family not in changed:
                self._loaded[family] = table.fingerprint
        # Settings of links are many, and the kernel tells nothing about them: looked at once, then now and then.
        wrong = {link_of(step.thing) for step in decided.steps if isinstance(step.thing, Setting)}
        self._set |= {link.index for link in links if link.name in wish.workloads and link.name not in wrong}
        return wish, decided

    def _beyond(self, state: State, links: Sequence[Interface]) -> Outward:
        """Decided again only when the datastore or a link of the machine itself has changed: pods come all the time."""
        own = tuple(link for link in links if not link.name.startswith(state.felix.interface_prefix))
        if self._outward is None or self._outward[0] is not state or self._outward[1] != own:
            self._outward = state, own, outward(state, own)
        return self._outward[2]

    def _meet(self, links: Sequence[Interface], wish: Desired, now: float) -> frozenset[str]:
        """Which links of pods have only just come."""
        pods = {
            link.index: link.name
            for link in links
            if link.name in wish.workloads or link.name.startswith(wish.workload_prefix)
        }
        self._since = {index: self._since.get(index, now) for index in pods}
        self._set &= pods.keys()
        self._watched.clear()
        self._watched.update(pods, (link.index for link in links if link.name in TUNNELS.values()))
        return frozenset(name for index, name in pods.items() if now - self._since[index] < GRACE_S)

    async def _carry_out(self, steps: Sequence[Step]) -> list[Failure]:
        failures = carry_out([step for step in steps if not isinstance(step.thing, NatTable | PodMtu)])
        for step in steps:
            try:
                if isinstance(step.thing, NatTable):
                    self._loaded.pop(step.thing.family, None)
                    await load_table(step.thing, self._paths, self._environment)
                    if loaded := look_at_tables().get(step.thing.family):
                        self._loaded[step.thing.family] = loaded.fingerprint
                elif isinstance(step.thing, PodMtu):
                    write_whole(self._paths.below(MTU_FILE), str(step.thing.mtu).encode())
            except TortieError as error:
                failures.append(Failure(step, error))
        return failures

    def _after(self, state: State, wish: Desired, decided: Plan, failures: Sequence[Failure]) -> None:
        failed = {failure.step for failure in failures}
        done = [step for step in decided.steps if step not in failed]
        self._changes += len(done)
        self._tell_steps(done)
        self._last = str(done[-1]) if done else self._last
        told = tuple(
            Concern(failure.error.what, failure.error.why, failure.error.fix)
            for failure in failures
            if not is_moot(failure.step)
        )
        concerns = (*wish.concerns, *decided.concerns)
        endpoints, nodes = len(state.endpoints), len(state.nodes)
        self.view = DataplaneView(wish, nodes, endpoints, self._changes, told, concerns, state.notes, self._last)
        self._note(state.notes)
        if told:
            self._failed(told)
            return
        self._attempt = 0
        self._look_at = time.monotonic() + GRACE_S if decided.spared else math.inf
        self._judge(concerns)

    def _failed(self, failures: tuple[Concern, ...]) -> None:
        """What could not be done is tried again soon, then less and less often, and when there are news."""
        self._attempt += 1
        self._tables_known = False
        self._look_at = time.monotonic() + pause_s(self._attempt, random.random(), longest_s=_LONGEST_PAUSE_S)
        if self.view:
            self.view = self.view._replace(failures=failures)
        self._judge(failures)

    def _judge(self, concerns: tuple[Concern, ...]) -> None:
        if concerns:
            self._health.need(NEED, Trouble(*concerns[0], "this node"))
        else:
            self._health.met(NEED)
        for concern in concerns:
            if concern not in self._told:
                self._log.warning(f"{concern.what}: {concern.why}. Fix: {concern.fix}")
        for concern in self._told:
            if concern.what not in {each.what for each in concerns}:
                self._log.info(f"No longer so: {concern.what}")
        self._told = concerns
        self.changed.set()

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            if note not in self._told_notes:
                self._log.warning(note)
        self._told_notes = notes

    def _tell_steps(self, steps: Sequence[Step]) -> None:
        """Settings of a pod's link are half a dozen for each pod: only for those who want to know everything."""
        shown = [step for step in steps if not isinstance(step.thing, Setting)][:_STEPS_TOLD]
        for step in steps:
            self._log.at("info" if step in shown else "debug", f"dataplane: {step}")
        left = [step for step in steps if step not in shown and not isinstance(step.thing, Setting)]
        if left:
            self._log.info(f"dataplane: and {len(left)} changes more")

"""Look, decide, write: brings the datastore's record of this node in line with the machine.

One attempt costs one read and at most one write, whatever the size of the cluster. The start repeats attempts until
one succeeds; afterwards the agent makes one whenever the machine's network or the settings have changed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from tortie.addressing.agreed import worth_waiting
from tortie.addressing.choice import Message
from tortie.addressing.conflicts import Conflict, Evidence
from tortie.addressing.decision import no_address_error
from tortie.addressing.reasons import why_not_chosen
from tortie.health.state import Trouble
from tortie.model.network import CIDR, IP, Family, HostNetwork, Network
from tortie.node.decisions import (
    Addressed,
    Judged,
    can_reach_destinations,
    choose_addresses,
    choose_pools,
    find_conflicts,
    intent_of,
    judge_conflicts,
    keep_addresses,
    notices,
    surroundings_of,
)
from tortie.node.log import Log
from tortie.node.machine import Machine, evidence_about
from tortie.node.phases import CALL_S, Blocked, Phases
from tortie.node.picture import NODES, POOLS, Picture, read_picture, wanted_keys
from tortie.node.registration import Stamp, Write, operations, own_record_unreadable, plan
from tortie.node.settings import NodeSettings
from tortie.store.contract import Conflict as Overtaken
from tortie.store.contract import Revision, Store, Unauthorized, Unreachable

# Who finds nobody at the very first call wants to be told soon; the next one has the whole time.
FIRST_CALL_S: Final = 3.0
# Probing for a second owner of an address, and asking the kernel for a route, may wait this long.
ASK_S: Final = 2.0
# How long a choice that nothing speaks for waits for DHCP, a bond or a router to say more.
SETTLE_S: Final = 10.0
# Others start at the same moment: an empty cluster's first nodes may overtake each other a few times.
OVERTAKEN_MAX: Final = 20


class Converged(NamedTuple):
    network: HostNetwork
    addressed: tuple[Addressed, ...]
    writes: tuple[Write, ...]
    revision: Revision  # up to which this node has seen the datastore, its own writes included


class Identity(NamedTuple):
    name: str
    earlier_name: str = ""  # what the machine was called at its last start, if it was called otherwise
    machine: str = ""


class Converger:
    def __init__(
        self,
        identity: Identity,
        settings: NodeSettings,
        *,
        store: Store,
        machine: Machine,
        phases: Phases,
        log: Log,
        stamp: Stamp,
        random_ula: Callable[[], Network],
        kernel_news: Callable[[float], Awaitable[bool]],
    ) -> None:
        self.settings = settings
        self._identity = identity
        self._store = store
        self._machine = machine
        self._phases = phases
        self._log = log
        self._stamp = stamp
        self._random_ula = random_ula
        self._kernel_news = kernel_news
        self._said: dict[str, tuple[Message, ...]] = {}
        self._patience_s = FIRST_CALL_S
        self._settled = False  # DHCP has had its time; from now on the kernel's news start the next attempt

    def observe(self) -> HostNetwork:
        return self._machine.observe()

    async def attempt(self) -> Converged:
        """Raises `Blocked` when it has to wait for somebody, and the store's own errors when that fails."""
        for overtaken in range(OVERTAKEN_MAX):
            picture = await self._read()
            network, addressed = await self._address(picture)
            judged = await self._check_conflicts(picture, network, addressed)
            writes = self._plan(picture, network, addressed, judged)
            try:
                done, revision = await self._write(writes)
            except Overtaken as conflict:
                self._log.debug(f"Overtaken by another writer, deciding again: {conflict.key}")
                await asyncio.sleep(random.uniform(0, 0.02 * 2 ** min(overtaken, 5)))
                continue
            except Unreachable as error:
                if not error.uncertain:
                    raise
                self._log.warning(f"{error.what}. Reading again to see whether it was written.")
                continue
            self._say(done)
            self._settled = False
            return Converged(network, addressed, writes, max(revision, picture.revision))
        what = f"{OVERTAKEN_MAX} attempts to register came to nothing"
        why = "other writers were faster each time, or the datastore did not say whether it wrote"
        raise Blocked(Trouble(what, why, "look for a second agent of this name", "a peer"), "registration")

    async def _read(self) -> Picture:
        self._phases.begin("datastore", f"reading the cluster's state from {self._store.where}", "the datastore")
        name = self._identity.name
        seconds, self._patience_s = self._patience_s, CALL_S
        snapshot = await self._store.snapshot(wanted_keys(name), [NODES, POOLS], timeout_s=seconds)
        picture = read_picture(name, snapshot, earlier_name=self._identity.earlier_name)
        if why := own_record_unreadable(picture):
            raise self._unusable(why)
        return picture

    def _unusable(self, why: str) -> Blocked:
        name = self._identity.name
        trouble = Trouble(
            f"this node's own record, Node({name}), cannot be worked with",
            f"{why}; it is not overwritten, because nobody knows what it held",
            f"keep a copy with `tortie datastore export`, then `tortie delete node {name}`; the start then goes on",
            "the datastore",
        )
        return Blocked(trouble, "registration")

    async def _address(self, picture: Picture) -> tuple[HostNetwork, tuple[Addressed, ...]]:
        self._phases.begin("address", "choosing this node's address")
        deadline = asyncio.get_running_loop().time() + SETTLE_S
        waiting = False
        while True:
            network = self._machine.observe()
            surroundings = surroundings_of(network, picture, await self._ask_kernel())
            kept = keep_addresses(self.settings, surroundings) if self._phases.over else None
            addressed = kept or choose_addresses(self.settings, surroundings)
            remaining_s = deadline - asyncio.get_running_loop().time()
            undecided = [each.choice for each in addressed if each.choice and worth_waiting(each.choice)]
            if not undecided or remaining_s <= 0 or self._settled or self._phases.over:
                break  # a node that runs has news to wait for instead
            names = ", ".join(dict.fromkeys(name for choice in undecided for name in choice.pending))
            if not waiting:
                waiting = True
                self._log.info(f"Waiting up to {SETTLE_S:g} s for an address on {names or 'any interface'}")
            self._phases.progress(f"waiting for the kernel to report an address on {names or 'any interface'}")
            await self._kernel_news(remaining_s)
        self._settled = True
        if error := self._no_address(addressed):
            raise Blocked(error, "address", messages=_messages_of(addressed))
        self._remark("address", _messages_of(addressed))
        return network, addressed

    def _no_address(self, addressed: tuple[Addressed, ...]) -> Trouble | None:
        if self.settings.backend.value == "none":
            return None
        error = no_address_error(each.decision for each in addressed)
        if error is None:
            return None
        failed = next((each.choice for each in addressed if each.choice and each.decision.failure), None)
        return Trouble(error.what, error.why or (why_not_chosen(failed) if failed else ""), error.fix, "this node")

    async def _ask_kernel(self) -> dict[tuple[str, Family], IP | str]:
        answers: dict[tuple[str, Family], IP | str] = {}
        for destination, family in can_reach_destinations(self.settings):
            answers[destination, family] = await asyncio.to_thread(self._machine.reach, destination, family, ASK_S)
        return answers

    async def _check_conflicts(
        self, picture: Picture, network: HostNetwork, addressed: tuple[Addressed, ...]
    ) -> tuple[Judged, ...]:
        name = self._identity.name
        self._remark("records", notices(name, addressed, picture, self._identity.machine))
        conflicts = find_conflicts(self.settings, name, addressed, picture)
        if not conflicts:
            return ()
        self._phases.begin("conflicts", f"asking who else has {', '.join(str(each.ip) for each in conflicts)}")
        gathered = {conflict: await self._evidence(conflict, network) for conflict in conflicts}
        judged = judge_conflicts(name, conflicts, gathered.__getitem__)
        messages = tuple(line for each in judged for line in each.verdict.messages)
        blocking = [each.verdict for each in judged if each.verdict.blocks]
        if blocking:
            first = blocking[0]
            raise Blocked(Trouble(first.what, first.why, first.fix, first.fault), "conflict", messages=messages)
        self._remark("conflicts", messages)
        return judged

    async def _evidence(self, conflict: Conflict, network: HostNetwork) -> Evidence:
        names = (self._identity.earlier_name, self._identity.machine)
        return await asyncio.to_thread(evidence_about, self._machine, conflict, network, *names)

    def _plan(
        self,
        picture: Picture,
        network: HostNetwork,
        addressed: tuple[Addressed, ...],
        judged: tuple[Judged, ...],
    ) -> tuple[Write, ...]:
        six = self._machine.has_ipv6()
        pools = choose_pools(self.settings, addressed, network, picture, self._random_ula, kernel_has_ipv6=six)
        self._remark("pools", (line for choice in pools.values() for line in choice.messages))
        intent = intent_of(
            self.settings, self._identity.name, self._identity.machine, network, addressed, judged, pools
        )
        writes = plan(picture, intent, self._stamp)
        if writes[0].action == "leave":
            raise self._unusable(writes[0].why)
        return writes

    async def _write(self, writes: tuple[Write, ...]) -> tuple[tuple[Write, ...], Revision]:
        """Returns what was done of it, and when."""
        wanted = operations(writes)
        if not wanted:
            return writes, 0
        objects = ", ".join(write.what for write in writes if write.operation)
        self._phases.begin("register", f"writing {objects}", "the datastore")
        try:
            return writes, await self._store.commit(wanted, timeout_s=CALL_S)
        except Unauthorized:
            return await self._write_singly(writes)

    async def _write_singly(self, writes: tuple[Write, ...]) -> tuple[tuple[Write, ...], Revision]:
        """We may not write all of it: what we may, we do, in Calico's order; only our own record is indispensable."""
        done, revision = [], 0
        for write in writes:
            try:
                if write.operation:
                    revision = await self._store.commit([write.operation], timeout_s=CALL_S)
            except Unauthorized:
                if write is writes[0]:
                    raise
                lines = (Message("warning", f"Not permitted to {write.action} {write.what}; going on without"),)
                self._remark(write.what, lines)
            else:
                done.append(write)
        return tuple(done), revision

    def _say(self, writes: tuple[Write, ...]) -> None:
        for write in writes:
            if write.action in ("create", "update"):
                detail = f": {write.why}" if write.why else ""
                done = f"{'Created' if write.action == 'create' else 'Updated'} {write.what}{detail}"
                self._log.info(write.said or done)
            elif write.action == "leave":
                self._log.warning(f"Left {write.what} as it is: {write.why}")

    def _remark(self, topic: str, messages: Iterable[Message]) -> None:
        """Says it when it is new: attempts are repeated, and a log that repeats itself hides what matters."""
        lines = tuple(messages)
        if self._said.get(topic) != lines:
            self._said[topic] = lines
            for line in lines:
                self._log.at(line.level, line.text, above=1)


def _messages_of(addressed: tuple[Addressed, ...]) -> tuple[Message, ...]:
    return tuple(line for each in addressed for line in each.decision.messages)


def described(addressed: tuple[Addressed, ...]) -> tuple[tuple[CIDR, str, str], ...]:
    """Address, interface and method of each family, for metrics and health."""
    return tuple(
        (each.decision.address, each.decision.interface, each.choice.method if each.choice else each.decision.source)
        for each in addressed
        if each.decision.address
    )

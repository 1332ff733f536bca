"""What `lab up` on a lab that exists would do: from the plan that stands to the plan that is wanted. Pure.

Machines are added, removed, built anew, or changed in place. What would need a new store or move the whole network is
refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from tortie.lab.plan import Bridge, LabPlan, Machine, Neighbour, Nic, Segment
from tortie.lab.words import Language, Pair
from tortie.model.errors import TortieError

T = TypeVar("T", Nic, Bridge)


class MachineChange(NamedTuple):
    """A machine that stays. What is in both a removed and an added list is taken down and made anew."""

    name: str
    nics_removed: tuple[Nic, ...] = ()
    nics_added: tuple[Nic, ...] = ()
    bridges_removed: tuple[Bridge, ...] = ()
    bridges_added: tuple[Bridge, ...] = ()
    neighbours_removed: tuple[Neighbour, ...] = ()  # of NICs that stay
    neighbours_added: tuple[Neighbour, ...] = ()
    settings: tuple[str, ...] = ()  # what differs in the way its agent is started: it has to start again
    labels: bool = False

    @property
    def restart(self) -> bool:
        return bool(self.settings)

    @property
    def visible(self) -> bool:
        """Whether a person would call it a change; that neighbours come and go is no news of this machine."""
        return any((*self[1:5], self.settings, self.labels))


class Refusal(NamedTuple):
    """Something that cannot be had while the lab is up; it keeps its values, to be told in any language."""

    key: str
    before: str
    after: str
    name: str = ""

    def told(self, language: Language = "en") -> str:
        pair = _REFUSALS[self.key]
        return (pair.zh if language == "zh" else pair.en).format_map(self._asdict())


_REFUSALS: Final = {
    "store": Pair(
        "the store is {before} and would be {after}: what it holds would be lost",
        "存储目前是 {before}，将变为 {after}：其中的内容会丢失",
    ),
    "racks": Pair(
        "there are {before} racks, {after} are wanted: every address would change",
        "目前有 {before} 个机架，要求 {after} 个：所有地址都会改变",
    ),
    "network": Pair(
        "the network {name} is {before} and would be {after}", "网络 {name} 目前是 {before}，将变为 {after}"
    ),
    "pool": Pair(
        "the pool is {before} and would be {after}: its blocks are given out already",
        "地址池目前是 {before}，将变为 {after}：地址块已经分配",
    ),
}
_REFUSED: Final = Pair("the lab {name} cannot be changed that far while it is up", "实验环境 {name} 运行时无法做此更改")
_DOWN_FIRST: Final = Pair("tortie lab down --name {name}, then up again", "先 tortie lab down --name {name}，再 up")


class Changes(NamedTuple):
    refused: tuple[Refusal, ...] = ()
    segments_removed: tuple[Segment, ...] = ()
    segments_added: tuple[Segment, ...] = ()
    removed: tuple[Machine, ...] = ()  # as they stand
    rebuilt: tuple[Machine, ...] = ()  # as they shall be
    added: tuple[Machine, ...] = ()
    changed: tuple[MachineChange, ...] = ()
    router: bool = False  # its BIRD gets another configuration

    def __bool__(self) -> bool:
        return any(self)


class Refused(TortieError):
    """A lab that cannot become what is asked for, with all reasons."""

    code = "needs-down"

    def __init__(self, name: str, refusals: Sequence[Refusal]) -> None:
        self.name = name
        self.refusals = refusals
        super().__init__(*self.told("en"))

    def told(self, language: Language) -> tuple[str, str, str]:
        """What, why and fix."""
        what, fix = (
            (pair.zh if language == "zh" else pair.en).format(name=self.name) for pair in (_REFUSED, _DOWN_FIRST)
        )
        return what, "; ".join(refusal.told(language) for refusal in self.refusals), fix


def changes(before: LabPlan, after: LabPlan) -> Changes:
    refused = tuple(_refusals(before, after))
    if refused:
        return Changes(refused)
    standing = {machine.name: machine for machine in before.machines}
    wanted = {machine.name: machine for machine in after.machines}
    rebuilt = tuple(
        machine for machine in after.machines if machine.name in standing and _anew(standing[machine.name], machine)
    )
    kept = [machine for machine in after.machines if machine.name in standing and machine not in rebuilt]
    ways = tuple(name for name in ("classic", "hurry") if getattr(before, name) != getattr(after, name))
    changed = [_machine_change(standing[machine.name], machine, ways) for machine in kept]
    segments = {segment.name for segment in before.segments}, {segment.name for segment in after.segments}
    return Changes(
        (),
        tuple(segment for segment in before.segments if segment.name not in segments[1]),
        tuple(segment for segment in after.segments if segment.name not in segments[0]),
        tuple(machine for machine in before.machines if machine.name not in wanted),
        rebuilt,
        tuple(machine for machine in after.machines if machine.name not in standing),
        tuple(change for change in changed if any(change[1:])),
        router=after.router_learns and _sessions(before) != _sessions(after),
    )


def _refusals(before: LabPlan, after: LabPlan) -> Iterator[Refusal]:
    if before.store != after.store:
        yield Refusal("store", _store(before), _store(after))
    if bool(before.racks) != bool(after.racks):
        yield Refusal("racks", str(len(before.racks)), str(len(after.racks)))
    standing = {segment.name: segment for segment in before.segments}
    for segment in after.segments:
        stood = standing.get(segment.name, segment)
        if stood != segment:
            yield Refusal("network", _network(stood), _network(segment), segment.name)
    if before.pools != after.pools:
        yield Refusal("pool", _pools(before), _pools(after))


def _store(plan: LabPlan) -> str:
    tls = ", TLS" if plan.store.tls else ""
    return f"{plan.store.kind} ({', '.join(plan.store.members)}{tls})" if plan.store.members else plan.store.kind


def _network(segment: Segment) -> str:
    facts = [str(segment.network), str(segment.network6 or ""), f"MTU {segment.mtu}" if segment.mtu != 1500 else ""]
    return " ".join(fact for fact in facts if fact)


def _pools(plan: LabPlan) -> str:
    told = []
    for pool in plan.pools:
        modes = [f" {name} {mode}" for name, mode in (("IPIP", pool.ipip), ("VXLAN", pool.vxlan)) if mode != "Never"]
        nat = f" natOutgoing {str(pool.nat_outgoing).lower()}" if pool.cidr.version == 4 else ""
        told.append(f"{pool.cidr} /{pool.block_size}{''.join(modes)}{nat}")
    return ", ".join(told)


def _anew(before: Machine, after: Machine) -> bool:
    """What a machine is known by. Another of these makes it another machine, even under the same name."""
    same = (before.role, before.rack, before.nics[0], before.blocks, before.routes, before.forwarding)
    return same != (after.role, after.rack, after.nics[0], after.blocks, after.routes, after.forwarding)


def _machine_change(before: Machine, after: Machine, ways: tuple[str, ...]) -> MachineChange:
    nics_removed, nics_added = _difference(before.nics, after.nics)
    bridges_removed, bridges_added = _difference(before.bridges, after.bridges)
    gone, new = {nic.name for nic in nics_removed}, {nic.name for nic in nics_added}
    known, wanted = set(before.neighbours), set(after.neighbours)
    settings = sorted(before.settings.items() ^ after.settings.items())
    return MachineChange(
        after.name,
        nics_removed,
        nics_added,
        bridges_removed,
        bridges_added,
        tuple(entry for entry in before.neighbours if entry not in wanted and entry.nic not in gone | new),
        tuple(entry for entry in after.neighbours if entry not in known or entry.nic in new),
        tuple(dict.fromkeys(name for name, _ in settings)) + (ways if after.role == "node" else ()),
        before.labels != after.labels,
    )


def _difference(before: Sequence[T], after: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    return tuple(each for each in before if each not in after), tuple(each for each in after if each not in before)


def _sessions(plan: LabPlan) -> set[str]:
    return {f"{address.ip}" for node in plan.nodes for address in node.nics[0].addresses}

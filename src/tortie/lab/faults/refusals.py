"""What is refused before anything is done: faults that nobody knows, that the lab lacks something for, or that would
get in each other's way. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from tortie.lab.failures import LabFailure
from tortie.lab.faults.catalogue import anything_named, decoy_named, decoy_names, fault_named, names
from tortie.lab.faults.deed_forms import MOUNT_DEEDS, spread, touched
from tortie.lab.faults.deeds import Deed, LimitCpu, RestartUnit
from tortie.lab.faults.fault import Fault, Need, Scene
from tortie.lab.faults.ledger import identity
from tortie.lab.plan import LabPlan, Machine
from tortie.model.kinds import nearest

_SHOWN_MAX: Final = 10


class Order(NamedTuple):
    """What somebody wants broken; without a node, chance decides."""

    fault: str
    node: str = ""
    decoy: bool = False


class Situation(NamedTuple):
    """A lab as far as it matters to what can be broken in it."""

    plan: LabPlan
    can_limit: bool = True
    certificates: Mapping[str, str] = {}
    active: Mapping[str, Sequence[Deed]] = {}  # by the id of what is broken already

    @property
    def lab(self) -> str:
        return self.plan.name


class Wanted(NamedTuple):
    """An order that can be carried out."""

    fault: Fault
    node: str  # "" for what strikes everywhere
    deeds: tuple[Deed, ...]

    @property
    def id(self) -> str:
        return identity(self.fault.name, self.node)


def resolved(orders: Sequence[Order], situation: Situation, seed: int) -> list[Wanted]:
    """Every order with its node and its deeds, or the first reason why it cannot be. The same seed, the same answer."""
    found: list[Wanted] = []
    for number, order in enumerate(orders):
        fault = _known(order)
        refuse_lacking(fault, situation)
        random = Random(f"{seed}/{number}/{fault.name}")
        taken = [*situation.active, *(wanted.id for wanted in found)]
        machine = _suffering(fault, order, situation, random, taken)
        scene = Scene(situation.plan, machine, random, situation.plan.hurry or 1, situation.certificates)
        deeds = tuple(spread(fault.plan(scene), [node.name for node in situation.plan.nodes]))
        wanted = Wanted(fault, "" if fault.everywhere else machine.name, deeds)
        if wanted.id in taken:
            raise LabFailure("fault-active", fault=wanted.id, name=fault.name, lab=situation.lab)
        _refuse_undoable(wanted, situation)
        _refuse_collision(wanted, {**situation.active, **{each.id: each.deeds for each in found}}, situation.lab)
        found.append(wanted)
    return found


def _known(order: Order) -> Fault:
    found = decoy_named(order.fault) if order.decoy else fault_named(order.fault)
    if found:
        return found
    if order.decoy:
        raise LabFailure("unknown-decoy", decoy=order.fault, decoys=", ".join(decoy_names()))
    raise unknown_fault(order.fault)


def unknown_fault(name: str) -> LabFailure:
    guess = nearest(name, names())
    return LabFailure("misspelt-fault", fault=name, guess=guess) if guess else LabFailure("unknown-fault", fault=name)


def lacking(need: Need, situation: Situation) -> bool:
    plan = situation.plan
    match need:
        case "kubelet":
            return not plan.hurry
        case "etcd":
            return plan.store.kind != "etcd"
        case "three-members":
            return len(plan.stores) < 3
        case "tls":
            return not plan.store.tls
        case "vxlan":
            return all(pool.vxlan == "Never" for pool in plan.pools)
        case "two-nodes":
            return len(plan.nodes) < 2
        case "three-nodes":
            return len(plan.nodes) < 3
        case "bgp":
            backends = {node.settings.get("CALICO_NETWORKING_BACKEND", "bird") for node in plan.nodes}
            return backends <= {"none", "vxlan"} or len(plan.nodes) < 2
        case "cpu-limit":
            return not situation.can_limit


def refuse_lacking(fault: Fault, situation: Situation) -> None:
    for need in fault.needs:
        if lacking(need, situation):
            raise LabFailure(f"needs-{need}", fault=fault.name, lab=situation.lab)


def _suffering(fault: Fault, order: Order, situation: Situation, random: Random, taken: Iterable[str]) -> Machine:
    nodes = situation.plan.nodes
    if order.node:
        if fault.everywhere:
            raise LabFailure("fault-everywhere", fault=fault.name, node=order.node)
        machine = next((node for node in nodes if node.name == order.node), None)
        if machine is None:
            known = [node.name for node in nodes]
            told = {"nodes": ", ".join(known[:_SHOWN_MAX]), "first": known[0]}
            raise LabFailure("fault-unknown-node", lab=situation.lab, node=order.node, **told)
        return machine
    free = [node for node in nodes if fault.everywhere or identity(fault.name, node.name) not in taken]
    if not free:
        raise LabFailure("nobody-left", fault=fault.name, lab=situation.lab)
    if not fault.cause:  # a decoy shows nothing on a node that does not even run
        suffering = {each.partition("@")[2] for each in taken}
        free = [node for node in free if node.name not in suffering] or free
    return random.choice(free)


def _refuse_undoable(wanted: Wanted, situation: Situation) -> None:
    """A fault may need more than it says: without mounts of its own a node would share them with the machine."""
    for deed in wanted.deeds:
        if isinstance(deed, (*MOUNT_DEEDS, RestartUnit)) and not situation.plan.hurry:
            raise LabFailure("needs-kubelet", fault=wanted.fault.name, lab=situation.lab)
        if isinstance(deed, LimitCpu) and not situation.can_limit:
            raise LabFailure("needs-cpu-limit", fault=wanted.fault.name, lab=situation.lab)


def _refuse_collision(wanted: Wanted, others: Mapping[str, Sequence[Deed]], lab: str) -> None:
    ours = {touched(deed) for deed in wanted.deeds} - {""}
    for other, deeds in others.items():
        for deed in deeds:
            if touched(deed) in ours:
                names = {"fault": wanted.id, "other": other, "other_name": other.partition("@")[0]}
                raise LabFailure("fault-collides", what=touched(deed), lab=lab, **names)


def is_decoy(name: str) -> bool:
    found = anything_named(name)
    return found is not None and not found.cause

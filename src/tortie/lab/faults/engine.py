"""Breaks a lab and heals it, so that whatever happens meanwhile, everything that was begun can be undone and is proven
to be. Its callers hold the lab's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from tortie.lab.certificates import texts
from tortie.lab.failures import LabFailure, Said, at, in_short, phrase
from tortie.lab.faults import doing, doing_store, proof
from tortie.lab.faults.deed_forms import STORE_DEEDS, made_links, on_made_link, touched
from tortie.lab.faults.deeds import RestartNode, RestartUnit
from tortie.lab.faults.doing_processes import restart, restart_unit
from tortie.lab.faults.hands import Hands
from tortie.lab.faults.ledger import Ledger, Step, Struck, note_healed
from tortie.lab.faults.refusals import Order, Situation, Wanted, resolved
from tortie.lab.registry import LabFolder
from tortie.model.errors import TortieError

_LOOK_S: Final = 0.2
_PATIENCE_S: Final = 8.0  # programs and kubelets wait longer and longer before they try again
_STILL_S: Final = 10.0  # what the kernel and BIRD need to settle

__all__ = ["Healed", "Order", "active", "heal", "strike"]

Tell = Callable[[str, dict[str, Any]], None]


class Healed(NamedTuple):
    struck: tuple[Struck, ...] = ()
    deeds: Mapping[str, int] = {}  # how many were undone, by id
    already: tuple[str, ...] = ()  # of which somebody else had undone everything before
    remains: tuple[Said, ...] = ()  # what is not as before
    unready: tuple[str, ...] = ()  # what was ready before and is not (yet) again


def active(folder: LabFolder) -> list[Struck]:
    """What is broken now; without a lock, for those who only look."""
    return Ledger.read(folder).struck


def situation(hands: Hands) -> Situation:
    told = hands.keeper.ask("status")
    broken = {struck.id: [step.deed for step in struck.steps] for struck in hands.ledger.struck}
    return Situation(hands.plan, bool(told.get("cpu_limit", True)), texts(hands.folder), broken)


def strike(hands: Hands, orders: Sequence[Order], seed: int, tell: Tell) -> list[Struck]:
    """All of it or, when a deed fails, nothing: what was done so far is undone."""
    wanted = sorted(resolved(orders, situation(hands), seed), key=_without_store)  # as long as the store can be reached
    _refuse_impossible(hands, wanted)
    ledger = hands.ledger
    if ledger.before is None:
        tell("proof", {})
        ledger.before = {"machines": proof.fingerprints(hands), "ready": proof.readiness(hands, soon=True)}
    struck = [
        Struck(each.fault.name, each.node, seed, time.time(), [Step(deed) for deed in each.deeds]) for each in wanted
    ]
    ledger.struck += struck
    ledger.write()
    try:
        for each in struck:
            for stored, group in groupby(enumerate(each.steps), key=lambda item: isinstance(item[1].deed, STORE_DEEDS)):
                steps = list(group)
                tell("deed", {"fault": each.id, "number": steps[-1][0] + 1, "of": len(each.steps)})
                if stored:
                    _do_stored(hands, [step for _, step in steps])
                    continue
                for number, step in steps:
                    _do(hands, each, number, step)
    except BaseException:
        heal(hands, [each.id for each in struck], 0.0, tell)
        raise
    return struck


def _refuse_impossible(hands: Hands, wanted: Sequence[Wanted]) -> None:
    """Looks before anything is done. What a deed before it changes is looked at again when it is its turn."""
    for each in wanted:
        made, seen = made_links(each.deeds), set[Said]()
        stored = [deed for deed in each.deeds if isinstance(deed, STORE_DEEDS)]
        if stored:
            doing_store.look_all(hands, list({touched(deed): deed for deed in reversed(stored)}.values()))
        for number, deed in enumerate(each.deeds):
            if deed in stored:
                continue
            if not on_made_link(deed, made) and touched(deed) not in seen:
                doing.look(hands, each.id, number, deed)
            seen |= {touched(deed)} - {""}


def _without_store(wanted: Wanted) -> bool:
    return not any(isinstance(deed, STORE_DEEDS) for deed in wanted.deeds)


def _do_stored(hands: Hands, steps: Sequence[Step]) -> None:
    """Together, unless one of them changes what another one does."""
    if len({touched(step.deed) for step in steps}) < len(steps):
        for step in steps[:-1]:
            _do_stored(hands, [step])
        steps = steps[-1:]
    for step, memo in zip(steps, doing_store.look_all(hands, [step.deed for step in steps]), strict=True):
        step.memo, step.state = memo, "doing"
    hands.ledger.write()
    doing_store.do_all(hands, [(step.deed, step.memo) for step in steps])
    for step in steps:
        step.state = "done"
    hands.ledger.write()


def _do(hands: Hands, struck: Struck, number: int, step: Step) -> None:
    step.memo = doing.look(hands, struck.id, number, step.deed)
    step.state = "doing"
    hands.ledger.write()
    doing.do(hands, struck.id, number, step.deed, step.memo)
    step.state = "done"
    hands.ledger.write()


def heal(
    hands: Hands, wanted: Sequence[str] | None, timeout_s: float, tell: Tell, *, proven_later: bool = False
) -> Healed:
    """Names or ids; None: all. A second attempt takes up what the first left.

    `timeout_s`: until all is ready; 0: nobody waits, and nothing is compared. `proven_later`: it will be.
    """
    ledger = hands.ledger
    chosen = _chosen(hands, wanted)
    if not chosen and ledger.before is None:
        return Healed()
    counts = {each.id: sum(step.begun for step in each.steps) for each in chosen}
    pods = {node: proof.pod_of(hands, node) for node in sorted(hands.kubelets & _started_anew(chosen))}
    already, remains = _undo_all(hands, chosen, tell)
    left = [each for each in chosen if any(step.begun for step in each.steps)]
    ledger.struck = [each for each in ledger.struck if each not in chosen or each in left]
    before = ledger.before or {"machines": {}, "ready": {}}
    if not ledger.struck and not proven_later:
        ledger.before = None
    healed = Healed(tuple(chosen), counts, tuple(already), tuple(remains))
    if ledger.before is None and not remains and timeout_s:
        # Kept until all is proven: who is interrupted here may ask for the proof again.
        healed = _proven(hands, healed, before, pods, timeout_s, tell)
        if not healed.unready and not healed.remains and all(before["ready"].values()):
            note_healed(hands.folder, time.time())
    elif not remains and timeout_s:
        healed = healed._replace(unready=tuple(_wait_others(hands, before["ready"], chosen, pods, timeout_s, tell)))
    ledger.write()
    return healed


def _chosen(hands: Hands, wanted: Sequence[str] | None) -> list[Struck]:
    struck = hands.ledger.struck
    if wanted is None:
        return list(struck)
    for name in wanted:
        if not any(name in (each.id, each.fault) for each in struck):
            known = ", ".join(each.id for each in struck) or "-"
            raise LabFailure("not-broken", fault=name, active=known)
    return [each for each in struck if each.id in wanted or each.fault in wanted]


def _undo_all(hands: Hands, chosen: Sequence[Struck], tell: Tell) -> tuple[list[str], list[Said]]:
    """The last first; what is in the store when the ways to it are open again; new starts at the very end."""
    steps = [(each, number, step) for each in reversed(chosen) for number, step in _backwards(each) if step.begun]
    stored = [item for item in steps if isinstance(item[2].deed, STORE_DEEDS)]
    starts = [item for item in steps if isinstance(item[2].deed, RestartNode | RestartUnit)]
    others = [item for item in steps if item not in stored and item not in starts]
    untouched = {struck.id for struck, _, _ in (*others, *stored)}  # by us: somebody else has undone them
    remains: list[Said] = []
    for struck, number, step in others:
        tell("undo", {"fault": struck.id})
        left: Sequence[Said]
        try:
            if step.state != "done" or doing.undone(hands, struck.id, number, step.deed, step.memo):
                untouched.discard(struck.id)
                doing.undo(hands, struck.id, number, step.deed, step.memo)
            left = doing.undone(hands, struck.id, number, step.deed, step.memo)
        except TortieError as error:
            left = [at(touched(step.deed) or phrase("deed", deed=type(step.deed).__name__), in_short(error))]
        remains += left
        if not left:
            step.state = "undone"
            hands.ledger.write()
    if stored:
        tell("undo", {"fault": stored[0][0].id})
        touched_ids, left = _undo_stored(hands, stored)
        untouched -= touched_ids
        remains += left
    if not remains:
        remains += _start_anew(hands, starts, tell)
    return [each.id for each in chosen if each.id in untouched], remains


def _undo_stored(hands: Hands, stored: Sequence[tuple[Struck, int, Step]]) -> tuple[set[str], list[Said]]:
    """Which faults still had something in the store, and what remains of it."""
    pairs = [(step.deed, step.memo) for _, _, step in stored]
    try:
        there = doing_store.undone_all(hands, pairs)
        doing_store.undo_all(hands, pairs)
        left = doing_store.undone_all(hands, pairs)
    except TortieError as error:
        return {struck.id for struck, _, _ in stored}, [in_short(error)]
    for (_, _, step), remaining in zip(stored, left, strict=True):
        step.state = step.state if remaining else "undone"
    hands.ledger.write()
    ids = {struck.id for (struck, _, _), was in zip(stored, there, strict=True) if was}
    return ids, [each for remaining in left for each in remaining]


def _backwards(struck: Struck) -> list[tuple[int, Step]]:
    return list(reversed(list(enumerate(struck.steps))))


def _start_anew(hands: Hands, starts: Sequence[tuple[Struck, int, Step]], tell: Tell) -> list[Said]:
    """Each only once, however many faults had it started anew; units before nodes."""
    failed: list[Said] = []
    done: set[object] = set()
    for kind in (RestartUnit, RestartNode):
        for struck, _, step in starts:
            if not isinstance(step.deed, kind):
                continue
            tell("restart", {"fault": struck.id, "machine": step.deed.machine})
            try:
                if step.deed not in done:
                    if isinstance(step.deed, RestartUnit):
                        restart_unit(hands, step.deed)
                    else:
                        restart(hands, step.deed.machine)
                done.add(step.deed)
                step.state = "undone"
                hands.ledger.write()
            except TortieError as error:
                failed.append(at(step.deed.machine, in_short(error)))
    return failed


def _started_anew(chosen: Sequence[Struck]) -> set[str]:
    steps = (step for each in chosen for step in each.steps if step.begun)
    return {step.deed.machine for step in steps if isinstance(step.deed, RestartNode)}


def _proven(
    hands: Hands, healed: Healed, before: dict[str, Any], pods: Mapping[str, str], timeout_s: float, tell: Tell
) -> Healed:
    deadline = time.monotonic() + timeout_s
    unready = _wait_ready(hands, before["ready"], pods, deadline, tell)
    still = time.monotonic() + _STILL_S
    while remains := proof.compared(before["machines"], proof.fingerprints(hands)):
        if time.monotonic() > still:
            break
        time.sleep(_LOOK_S)
    return healed._replace(unready=tuple(unready), remains=tuple(remains))


def _wait_others(
    hands: Hands,
    ready: dict[str, bool],
    chosen: Sequence[Struck],
    pods: Mapping[str, str],
    timeout_s: float,
    tell: Tell,
) -> list[str]:
    """While something else is broken, only those can be waited for that it has nothing to do with."""
    suffering = {struck.node for struck in hands.ledger.struck}
    if "" in suffering:
        return []
    named = {struck.node for struck in chosen} - suffering
    wanted = {name: was for name, was in ready.items() if name in named}
    return _wait_ready(hands, wanted, pods, time.monotonic() + timeout_s, tell)


def _wait_ready(
    hands: Hands, before: dict[str, bool], pods: Mapping[str, str], deadline: float, tell: Tell
) -> list[str]:
    """`pods`: the old ones of nodes that start anew; as long as they are there nothing has been seen of the new ones.

    Whoever has ended is started at once; who does not get ready on its own is started anew, once.
    """
    machines = {machine.name for machine in hands.plan.machines}
    nodes = {node.name for node in hands.plan.nodes}
    wanted = {name: was for name, was in before.items() if set(name.split(" - ")) <= machines}
    began, patience_s = time.monotonic(), _PATIENCE_S
    while unready := [
        *(node for node, pod in pods.items() if pod and proof.pod_of(hands, node) == pod and wanted.get(node)),
        *proof.not_yet(wanted, proof.readiness(hands)),
    ]:
        tell("ready", {"missing": unready})
        _start_ended(hands, unready)
        if time.monotonic() - began > patience_s:
            patience_s = float("inf")
            for name in unready:
                if name in nodes:
                    restart(hands, name)
        if time.monotonic() > deadline:
            return unready
        time.sleep(_LOOK_S)
    return []


def _start_ended(hands: Hands, unready: Sequence[str]) -> None:
    """Servers, and agents without a kubelet: nobody else would."""
    for machine in hands.plan.machines:
        if machine.name in unready and machine.name not in hands.kubelets:
            hands.keeper.ask("start", machine=machine.name)

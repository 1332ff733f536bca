"""Deeds to what runs in a machine, by way of the keeper: signals, helpers, limits, variables, restarts, pods."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Final

from tortie.host.processes import stat_of
from tortie.lab.failures import LabFailure, Phrase, at, phrase
from tortie.lab.faults.deed_forms import touched
from tortie.lab.faults.deeds import (
    HaltMachine,
    LimitCpu,
    RestartNode,
    RestartUnit,
    RunHelper,
    RunPods,
    SendSignal,
    SetLink,
    SetVariable,
)
from tortie.lab.faults.doing_network import LinkDoer
from tortie.lab.faults.hands import Hands, refuse
from tortie.lab.faults.ledger import Memo
from tortie.model.errors import TortieError

_ASK_S: Final = 60.0
_PODS_AT_ONCE: Final = 16
_POD_S: Final = 6.0
_LOOK_S: Final = 0.05
_END_S: Final = 5.0


class HelperDoer:
    def look(self, _hands: Hands, _tag: str, _deed: RunHelper) -> Memo:
        return {}

    def do(self, hands: Hands, _tag: str, deed: RunHelper, memo: Memo) -> None:
        if memo.get("pid") and _alive(memo["pid"], memo["began"]):
            return
        words = {"words": list(deed.words), "starved": deed.starved}
        pid = int(_ask(hands, "helper", machine=deed.machine, name=deed.name, **words)["pid"])
        memo.update(pid=pid, began=_began(pid))

    def undo(self, hands: Hands, _tag: str, deed: RunHelper, memo: Memo) -> None:
        _ask(hands, "helper-end", machine=deed.machine, name=deed.name)
        deadline = time.monotonic() + _END_S
        while memo.get("pid") and _alive(memo["pid"], memo["began"]) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)

    def undone(self, hands: Hands, _tag: str, deed: RunHelper, memo: Memo) -> list[Phrase]:
        """Also one that was started, and whose number nobody had the time to note."""
        left = f"{deed.machine}/fault-{deed.name}" in hands.keeper.ask("status").get("helpers", ())
        left = left or (bool(memo.get("pid")) and _alive(memo["pid"], memo["began"]))
        return [phrase("still-runs", what=touched(deed))] if left else []


class SignalDoer:
    def look(self, hands: Hands, _tag: str, deed: SendSignal) -> Memo:
        pid = _program(hands, deed)
        if not pid:
            signal_sent = at(deed.machine, phrase("signal", signal=deed.signal))
            raise refuse(signal_sent, "not-running-there", program=deed.program)
        return {"pid": pid, "began": _began(pid)}

    def do(self, _hands: Hands, _tag: str, deed: SendSignal, memo: Memo) -> None:
        if not _alive(memo["pid"], memo["began"]):
            return
        os.kill(memo["pid"], _number(deed.signal))
        deadline = time.monotonic() + _END_S
        while deed.signal == "STOP" and not _stopped(memo["pid"]) and time.monotonic() < deadline:
            time.sleep(_LOOK_S / 10)

    def undo(self, hands: Hands, _tag: str, deed: SendSignal, memo: Memo) -> None:
        if deed.undo and _alive(memo["pid"], memo["began"]):
            os.kill(memo["pid"], _number(deed.undo))
            deadline = time.monotonic() + _END_S
            while deed.undo == "CONT" and _stopped(memo["pid"]) and time.monotonic() < deadline:
                time.sleep(_LOOK_S / 10)
        if _is_ours_to_start(hands, deed):
            _ask(hands, "start", machine=deed.machine)

    def undone(self, hands: Hands, _tag: str, deed: SendSignal, memo: Memo) -> list[Phrase]:
        """Who was killed is started again by whoever looks after it; without a kubelet that is who heals."""
        if _is_ours_to_start(hands, deed):
            return [] if _program(hands, deed) else [at(deed.machine, phrase("not-running", program=deed.program))]
        if deed.signal == "STOP" and _alive(memo["pid"], memo["began"]) and _stopped(memo["pid"]):
            return [at(deed.machine, phrase("stopped", program=deed.program, pid=memo["pid"]))]
        return []


def _is_ours_to_start(hands: Hands, deed: SendSignal) -> bool:
    ends = deed.signal in ("KILL", "TERM")
    return ends and deed.program in ("agent", "etcd") and deed.machine not in hands.kubelets


class LimitDoer:
    def look(self, hands: Hands, _tag: str, deed: LimitCpu) -> Memo:
        return {"before": hands.machine_told(deed.machine).get("limit")}

    def do(self, hands: Hands, _tag: str, deed: LimitCpu, _memo: Memo) -> None:
        if not _ask(hands, "limit", machine=deed.machine, percent=deed.percent).get("limited", True):
            raise refuse(touched(deed), "no-control-group")

    def undo(self, hands: Hands, _tag: str, deed: LimitCpu, memo: Memo) -> None:
        _ask(hands, "limit", machine=deed.machine, percent=memo["before"])

    def undone(self, hands: Hands, _tag: str, deed: LimitCpu, memo: Memo) -> list[Phrase]:
        now = hands.machine_told(deed.machine).get("limit")
        return [] if now == memo["before"] else [at(deed.machine, phrase("limited", percent=now))]


class VariableDoer:
    """The keeper is told all variables of a node each time; the ledger knows which are wanted now."""

    def look(self, _hands: Hands, _tag: str, _deed: SetVariable) -> Memo:
        return {}

    def do(self, hands: Hands, _tag: str, deed: SetVariable, _memo: Memo) -> None:
        settings = {**hands.ledger.overlay(deed.machine), deed.variable: deed.value}
        _ask(hands, "overlay", machine=deed.machine, settings=settings)

    def undo(self, hands: Hands, _tag: str, deed: SetVariable, _memo: Memo) -> None:
        settings = hands.ledger.overlay(deed.machine)
        settings.pop(deed.variable, None)
        _ask(hands, "overlay", machine=deed.machine, settings=settings)

    def undone(self, hands: Hands, _tag: str, deed: SetVariable, _memo: Memo) -> list[Phrase]:
        overlay = hands.machine_told(deed.machine).get("overlay") or {}
        changed = at(deed.machine, phrase("still-changed", variable=deed.variable))
        return [changed] if deed.variable in overlay else []


class RestartDoer:
    """Undone by whoever heals, after everything else: a node starts anew only once."""

    def look(self, _hands: Hands, _tag: str, _deed: RestartNode | RestartUnit) -> Memo:
        return {}

    def do(self, hands: Hands, _tag: str, deed: RestartNode | RestartUnit, _memo: Memo) -> None:
        if isinstance(deed, RestartUnit):
            restart_unit(hands, deed)
        else:
            restart(hands, deed.machine)

    def undo(self, _hands: Hands, _tag: str, _deed: RestartNode | RestartUnit, _memo: Memo) -> None:
        return None

    def undone(self, _hands: Hands, _tag: str, _deed: RestartNode | RestartUnit, _memo: Memo) -> list[Phrase]:
        return []


class HaltDoer:
    """Its NICs are unplugged as well: the kernel of a machine that is off answers no ping."""

    def look(self, hands: Hands, tag: str, deed: HaltMachine) -> Memo:
        return {"nics": [LinkDoer().look(hands, tag, nic) for nic in _nics(hands, deed)]}

    def do(self, hands: Hands, tag: str, deed: HaltMachine, memo: Memo) -> None:
        _ask(hands, "halt", machine=deed.machine)
        for nic, before in zip(_nics(hands, deed), memo["nics"], strict=True):
            LinkDoer().do(hands, tag, nic, before)

    def undo(self, hands: Hands, tag: str, deed: HaltMachine, memo: Memo) -> None:
        for nic, before in zip(_nics(hands, deed), memo["nics"], strict=True):
            LinkDoer().undo(hands, tag, nic, before)
        _ask(hands, "start", machine=deed.machine)

    def undone(self, hands: Hands, tag: str, deed: HaltMachine, memo: Memo) -> list[Phrase]:
        nics = zip(_nics(hands, deed), memo["nics"], strict=True)
        left = [each for nic, before in nics for each in LinkDoer().undone(hands, tag, nic, before)]
        halted = hands.machine_told(deed.machine).get("halted")
        return left + ([phrase("halted", machine=deed.machine)] if halted else [])


def _nics(hands: Hands, deed: HaltMachine) -> list[SetLink]:
    machine = hands.plan.machine(deed.machine)
    return [SetLink(deed.machine, nic.name, up=False) for nic in machine.nics] if machine else []


class PodsDoer:
    def look(self, hands: Hands, _tag: str, deed: RunPods) -> Memo:
        there = _pods(hands)
        taken = sorted(set(_labels(deed)) & there)
        if taken:
            raise refuse(touched(deed), "pod-taken", pod=taken[0])
        return {}

    def do(self, hands: Hands, _tag: str, deed: RunPods, _memo: Memo) -> None:
        names = _labels(deed)
        for start in range(0, len(names), _PODS_AT_ONCE):
            pods = [
                {"name": name, "namespace": "default", "node": deed.machine}
                for name in names[start : start + _PODS_AT_ONCE]
            ]
            if _ask(hands, "pod-run", pods=pods, timeout_s=_POD_S)["failed"]:
                return

    def undo(self, hands: Hands, _tag: str, deed: RunPods, _memo: Memo) -> None:
        """Somebody may just be asking for one of them again; he was told to end before this, his question was not."""
        deadline = time.monotonic() + 2 * _POD_S
        while set(_labels(deed)) & _pods(hands, "starting", "ending") and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        ours = sorted(set(_labels(deed)) & _pods(hands))
        if ours:
            pods = [{"name": name, "namespace": "default", "node": deed.machine} for name in ours]
            _ask(hands, "pod-delete", pods=pods, timeout_s=_ASK_S / 2)

    def undone(self, hands: Hands, _tag: str, deed: RunPods, _memo: Memo) -> list[Phrase]:
        left = sorted(set(_labels(deed)) & _pods(hands))
        return [phrase("pods-left", pods=", ".join(left[:3]))] if left else []


def restart(hands: Hands, machine: str) -> None:
    _ask(hands, "restart", machine=machine)


def restart_unit(hands: Hands, deed: RestartUnit) -> None:
    _ask(hands, "unit", machine=deed.machine, unit=deed.unit, action="restart")


def _labels(deed: RunPods) -> list[str]:
    return [f"{deed.prefix}-{number}" for number in range(1, deed.number + 1)]


def _pods(hands: Hands, *states: str) -> set[str]:
    """Without a state: in whichever they are."""
    pods = (pod for pod in hands.keeper.ask("pods")["pods"] if pod.get("namespace") == "default")
    return {pod["name"] for pod in pods if not states or pod.get("state") in states}


def _ask(hands: Hands, do: str, **fields: Any) -> dict[str, Any]:
    return hands.keeper.ask(do, deadline=time.monotonic() + _ASK_S, **fields)


def _program(hands: Hands, deed: SendSignal) -> int:
    """0 when it does not run."""
    try:
        return int(_ask(hands, "program", machine=deed.machine, program=deed.program).get("pid") or 0)
    except LabFailure:
        raise
    except TortieError:
        return 0


def _number(name: str) -> signal.Signals:
    return signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]


def _began(pid: int) -> str:
    stat = stat_of(pid)
    return str(stat.started) if stat else ""


def _alive(pid: int, began: str) -> bool:
    """The same process: numbers are used again, together with the start they are not."""
    stat = stat_of(pid)
    return stat is not None and str(stat.started) == began and stat.state != "Z"


def _stopped(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.state in "Tt"

"""`tortie lab up`: from flags or a file to a lab in which every node is ready."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from tortie.cli.lab.again import kept
from tortie.cli.lab.dry_run import plan_of, show_plan
from tortie.cli.lab.progress import Live, missing_lines, summary
from tortie.cli.lab.status import reason_lines
from tortie.cli.lab.talk import Talk, number_of, print_json, say_aside, seconds_of, spoken
from tortie.lab.changes import Refused, changes
from tortie.lab.failures import LabFailure
from tortie.lab.faults.ledger import Ledger
from tortie.lab.plan import LabPlan
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.planning import plan
from tortie.lab.raising import Raised, Raising
from tortie.lab.registry import LabFolder
from tortie.lab.status import STOPPED
from tortie.lab.topology import Topology, from_flags, read_topology

_BASE_S: Final = 60.0
_PER_NODE_S: Final = 1.0
_USUAL_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_UNHEALTHY: Final = 3
_FORMS: Final = ("text", "json")


def up(
    *,
    name: str | None,
    lang: str | None,
    output: str,
    color: str,
    filename: str | None,
    dry_run: bool,
    timeout: str | None,
    **flags: Any,
) -> int:
    def work(talk: Talk) -> int:
        folder, wanted = _wanted(talk, filename, flags)
        if dry_run:
            return show_plan(talk, folder, wanted)
        seconds = _BASE_S + _PER_NODE_S * len(wanted.nodes) if timeout is None else seconds_of("--timeout", timeout)
        return _up(talk, folder, wanted, seconds)

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _wanted(talk: Talk, filename: str | None, flags: Mapping[str, Any]) -> tuple[LabFolder, LabPlan]:
    """Who says nothing about a lab that is there wants it as it is, and what flags leave open stays as it is."""
    given = {flag: value for flag, value in flags.items() if value not in (None, False)}
    if filename is not None:
        topology = _from_file(filename, given)
        folder = talk.named(topology.lab_name)
        return folder, plan(topology, folder.name)
    meant = talk.named() if given else talk.meant()
    record = meant.read()
    present = from_json(record["plan"]) if record else None
    if present and not given:
        return meant, present
    topology = _from_flags(given, present)
    folder = talk.named()
    return folder, plan(topology, folder.name)


def _from_flags(given: dict[str, Any], present: LabPlan | None) -> Topology:
    for flag in ("nodes", "racks", "members", "hurry"):
        if flag in given:
            given[flag] = number_of(f"--{flag}", given[flag])
    return from_flags(**given) if present is None else kept(given, present)


def _from_file(filename: str, given: Mapping[str, Any]) -> Topology:
    if given:
        raise LabFailure("file-and-flags", flag=f"--{next(iter(given))}")
    try:
        if filename == "-":
            return read_topology(sys.stdin.buffer.read().decode(), "standard input")
        with open(filename, encoding="utf-8") as file:
            return read_topology(file.read(), filename)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise LabFailure("unreadable", path=filename, reason=reason) from None


def _up(talk: Talk, folder: LabFolder, wanted: LabPlan, timeout_s: float) -> int:
    present = plan_of(folder)
    if present and (broken := Ledger.read(folder).struck):  # one that is dead comes up anew, and nothing is broken
        faults = ", ".join(each.id for each in broken)
        raise LabFailure("faults-active", name=folder.name, faults=faults)
    change = changes(present, wanted) if present else None
    if change and change.refused:
        raise Refused(wanted.name, change.refused)
    live = Live(talk)
    command = [sys.executable, "-P", "-m", "tortie.cli.lab.keep"]
    raising = Raising(folder, command, keeper_environment(os.environ), live.report)
    told_to_end = listen_for_end()
    try:
        raised = raising.run(as_json(wanted), time.monotonic() + timeout_s)
    except KeyboardInterrupt:
        live.clear()
        begun = "up.halfway" if change and raising.begun else "up.kept"
        key = begun if os.path.exists(folder.path) else "up.undone"
        say_aside(talk.say(key, name=folder.name) + "\n")
        return 128 + told_to_end[0]
    finally:
        live.clear()
    return _tell(talk, raised, timeout_s)


def listen_for_end() -> list[int]:
    """Whatever tells us to end interrupts what we do, once: what is to be put in order then takes a moment."""
    told: list[int] = []
    numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    listening = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]

    def interrupt(number: int, _frame: object) -> None:
        told.append(number)
        for each in listening:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in listening:
        signal.signal(number, interrupt)
    return told


def _tell(talk: Talk, raised: Raised, timeout_s: float) -> int:
    status = raised.status
    if talk.json:
        done = {"fresh": raised.fresh, "done": raised.changed, "seconds": raised.seconds}
        print_json({**status.as_json(), "missing": [pair._asdict() for pair in status.missing], **done})
        return 0 if status.ready and not status.missing else _UNHEALTHY
    seconds = f"{min(timeout_s, raised.seconds['total']):.0f}"
    if not status.ready:
        reasons = "\n".join(reason_lines(talk, status))
        hopeless = all(node.ready or node.phase == STOPPED for node in status.nodes)
        key = "cannot-get-ready" if hopeless else "not-ready"
        raise LabFailure(key, name=status.name, seconds=seconds, reasons=reasons)
    sys.stdout.write(summary(talk, raised) + "\n")
    if status.missing:
        sessions = "\n".join(missing_lines(talk, status.missing))
        counts = {"missing": len(status.missing), "expected": len(status.pairs)}
        raise LabFailure("sessions-missing", name=status.name, seconds=seconds, sessions=sessions, **counts)
    return 0


def keeper_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Nothing but what is needed to find Python's modules and the programs that nodes run: agents inherit it."""
    ours = os.path.realpath(sys.argv[0])
    own_folder = os.path.dirname(ours) if os.path.basename(ours) == "tortie" else os.path.dirname(sys.executable)
    folders = [own_folder, *given.get("PATH", "").split(os.pathsep), *_USUAL_PATH.split(":")]
    python = {name: value for name, value in given.items() if name.startswith("PYTHON")}
    return {**python, "LANG": "C.UTF-8", "PATH": os.pathsep.join(dict.fromkeys(filter(None, folders)))}

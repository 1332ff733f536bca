"""`tortie lab up`: from flags or a file to a lab in which every node is ready."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from tortie.cli.lab.dry_run import plan_of, show_plan
from tortie.cli.lab.progress import Live, summary
from tortie.cli.lab.status import reason_lines
from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.changes import Refused, changes
from tortie.lab.failures import LabFailure
from tortie.lab.plan import LabPlan
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.planning import plan
from tortie.lab.raising import Raised, Raising
from tortie.lab.registry import LabFolder
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
        seconds = _BASE_S + _PER_NODE_S * len(wanted.nodes) if timeout is None else _seconds(timeout)
        return _up(talk, folder, wanted, seconds)

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=_FORMS)


def _wanted(talk: Talk, filename: str | None, flags: Mapping[str, Any]) -> tuple[LabFolder, LabPlan]:
    """Who says nothing about a lab that is there wants it as it is: what has ended is started again."""
    given = {flag: value for flag, value in flags.items() if value not in (None, False)}
    record = talk.named().read() if not given and filename is None else None
    if record:
        return talk.named(), from_json(record["plan"])
    topology = _topology(filename, given)
    folder = talk.named(topology.lab_name)
    return folder, plan(topology, folder.name)


def _topology(filename: str | None, given: dict[str, Any]) -> Topology:
    if filename is None:
        for flag in ("nodes", "racks", "members"):
            if flag in given:
                given[flag] = _number(f"--{flag}", given[flag])
        return from_flags(**given)
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


def _number(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise LabFailure("bad-number", flag=flag, text=text, example=f"{flag} 3")
    return int(text)


def _seconds(text: str) -> float:
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("", 1.0)):
        number = text.removesuffix(unit)
        if text.endswith(unit) and number.replace(".", "", 1).isdigit() and number.isascii():
            return float(number) * factor
    raise LabFailure("bad-number", flag="--timeout", text=text, example="--timeout 90s")


def _up(talk: Talk, folder: LabFolder, wanted: LabPlan, timeout_s: float) -> int:
    present = plan_of(folder)
    if present and (refused := changes(present, wanted).refused):
        raise Refused(wanted.name, refused)
    live = Live(talk)
    command = [sys.executable, "-P", "-m", "tortie.cli.lab.keep"]
    raising = Raising(folder, command, keeper_environment(os.environ), live.report)
    told_to_end = listen_for_end()
    try:
        raised = raising.run(as_json(wanted), time.monotonic() + timeout_s)
    except KeyboardInterrupt:
        live.clear()
        key = "up.undone" if not os.path.exists(folder.path) else "up.kept"
        sys.stderr.write(talk.say(key, name=folder.name) + "\n")
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
        print_json({**status.as_json(), **done})
        return 0 if status.ready else _UNHEALTHY
    if not status.ready:
        reasons = "\n".join(reason_lines(talk, status))
        waited = min(timeout_s, raised.seconds["total"])
        raise LabFailure("not-ready", name=status.name, seconds=f"{waited:.0f}", reasons=reasons)
    sys.stdout.write(summary(talk, raised) + "\n")
    return 0


def keeper_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Nothing but what is needed to find Python's modules and the programs that nodes run: agents inherit it."""
    ours = os.path.realpath(sys.argv[0])
    own_folder = os.path.dirname(ours) if os.path.basename(ours) == "tortie" else os.path.dirname(sys.executable)
    folders = [own_folder, *given.get("PATH", "").split(os.pathsep), *_USUAL_PATH.split(":")]
    python = {name: value for name, value in given.items() if name.startswith("PYTHON")}
    return {**python, "LANG": "C.UTF-8", "PATH": os.pathsep.join(dict.fromkeys(filter(None, folders)))}

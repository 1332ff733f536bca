"""`tortie node timeline`: how the last start went, phase by phase, against the time a probe would have given it."""

from __future__ import annotations

import sys

from tortie.cli.tables import table
from tortie.health.window import ProbeWindow, parse_window
from tortie.host.processes import is_running
from tortie.model.errors import TortieError, UsageError
from tortie.model.wire import to_json
from tortie.node.paths import Paths
from tortie.node.timeline import KILLED, READY, RUNNING, StartRecord, read_records

_BAR = 30
_OUTCOMES = {
    READY: "ready after",
    RUNNING: "still starting, after",
    KILLED: "killed, or the machine went down, after",
    "stopped": "stopped after",
    "refused": "refused after",
}


def timeline(*, output: str, everything: bool, probe: str, root: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    window = parse_window(probe)
    path = Paths(root).starts
    records = read_records(path)
    if not records:
        fix = "`tortie node run` leaves one; --root must be the same as there"
        raise TortieError("no start has been recorded yet", f"there is no {path}", fix)
    last = records[-1]
    if last.outcome == RUNNING and not is_running(last.pid, "node"):
        records = (*records[:-1], last._replace(outcome=KILLED))
    shown = records if everything else records[-1:]
    if output == "json":
        starts = [_with_window(record, window) for record in shown]
        sys.stdout.write(to_json({"starts": starts} if everything else starts[0]) + "\n")
    elif everything:
        sys.stdout.write(_overview(shown, window))
    else:
        sys.stdout.write(_detail(shown[0], window))
    return 0


def _with_window(record: StartRecord, window: ProbeWindow) -> dict[str, object]:
    probe = {"killAfterSeconds": window.kill_after_s, "used": round(window.share_of(record.seconds), 4)}
    return {**record.as_json(), "probeWindow": probe}


def _overview(records: tuple[StartRecord, ...], window: ProbeWindow) -> str:
    rows = [
        (
            record.began,
            record.node,
            record.outcome,
            f"{record.seconds:.2f}",
            str(record.round_trips),
            f"{window.share_of(record.seconds):.1%}",
        )
        for record in records
    ]
    return table(("BEGAN", "NODE", "OUTCOME", "SECONDS", "ROUND TRIPS", "OF WINDOW"), rows)


def _detail(record: StartRecord, window: ProbeWindow) -> str:
    trips = f"{record.round_trips} datastore round trip{'' if record.round_trips == 1 else 's'}"
    outcome = _OUTCOMES.get(record.outcome, record.outcome)
    name = record.node or "a node without a name"
    lines = [f"{name}, pid {record.pid}, began {record.began}", f"{outcome} {record.seconds:.2f} s, {trips}", ""]
    longest = max((phase.seconds for phase in record.phases), default=0.0) or 1.0
    rows = [
        (phase.name, f"{phase.seconds:.3f}", str(phase.round_trips), _bar(phase.seconds / longest))
        for phase in record.phases
    ]
    lines += table(("PHASE", "SECONDS", "ROUND TRIPS", ""), rows).splitlines()
    for phase in record.phases:
        if phase.trouble:
            lines.append(f"{phase.name}: {phase.trouble}")
    used = window.share_of(record.seconds)
    lines += ["", f"of the probe's window  {_bar(used)} {used:.1%}", f"which is {window}"]
    if used > 1:
        lines.append("A start that answers no probe would have been killed; this one answers from its first moment.")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _bar(share: float) -> str:
    filled = min(_BAR, round(share * _BAR))
    return "#" * filled + "." * (_BAR - filled)

"""How a migration is told: a table of addresses and one line that says how it ended; or the same as JSON."""

from __future__ import annotations

import json
import sys
from typing import Final, Literal, NamedTuple

from tortie.ipam.migration import Decision, Plan, Verdict
from tortie.ipam.migration_tunnel import Tunnel

State = Literal["nothing", "skipped", "planned", "migrated", "left"]

# Calico's own last words, by which logs and people know how it ended.
NOT_FOUND: Final = "host-local IPAM data dir not found; no migration necessary, successfully exiting..."
COMPLETE: Final = "migration from host-local to calico-ipam complete"

_DONE: Final[dict[Verdict, str]] = {
    "adopt": "adopted",
    "ours": "ours already",
    "stale": "not adopted",
    "refused": "refused",
}


class Told(NamedTuple):
    state: State
    folder: str
    message: str
    plan: Plan | None = None
    tunnel: Tunnel | None = None
    backup: str = ""


def tell(told: Told, output: str) -> None:
    sys.stdout.write((_as_json(told) if output == "json" else _as_text(told)) + "\n")


def _as_text(told: Told) -> str:
    lines: list[str] = []
    if told.plan and told.plan.decisions:
        rows = [("ADDRESS", "CONTAINER", "USED BY", "RESULT")]
        rows += [_row(decision, told.state) for decision in told.plan.decisions]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            lines.append("  ".join([*cells, row[3]]).rstrip())
        lines.append("")
    if told.plan:
        lines += [f"not understood: {each.name}: {each.why}" for each in told.plan.strange]
        lines += [
            f"no endpoint for {', '.join(map(str, adoption.ips))}: {adoption.doubt}; "
            "--pods with `kubectl get pods -A -o json` tells what is needed"
            for adoption in told.plan.unendorsed
        ]
    if told.tunnel:
        lines.append(f"tunnel address: {'' if told.tunnel.ip else 'none adopted: '}{told.tunnel.why}")
    if told.backup:
        lines.append(f"host-local's files are kept in {told.backup}; remove it when no pod needs it any more")
    return "\n".join([*lines, told.message])


def _row(decision: Decision, state: State) -> tuple[str, str, str, str]:
    result = "to be adopted" if state == "planned" and decision.verdict == "adopt" else _DONE[decision.verdict]
    result += f": {decision.why}" if decision.why else ""
    user = decision.user.told if decision.user else "nobody"
    return str(decision.lease.ip), decision.lease.container[:12] or "unknown", user, result


def _as_json(told: Told) -> str:
    body: dict[str, object] = {"state": told.state, "folder": told.folder, "message": told.message}
    if told.plan:
        body["addresses"] = [
            {
                "ip": str(decision.lease.ip),
                "container": decision.lease.container,
                "result": decision.verdict,
                "why": decision.why,
                "handle": decision.handle,
                "usedBy": decision.user.told if decision.user else None,
                "knownFrom": decision.user.source if decision.user else None,
            }
            for decision in told.plan.decisions
        ]
        body["withoutEndpoint"] = [
            {"ips": list(map(str, adoption.ips)), "why": adoption.doubt} for adoption in told.plan.unendorsed
        ]
        body["notUnderstood"] = [each._asdict() for each in told.plan.strange]
    if told.tunnel:
        body["tunnel"] = {"adopted": str(told.tunnel.ip) if told.tunnel.ip else None, "why": told.tunnel.why}
    if told.backup:
        body["backup"] = told.backup
    return json.dumps(body, indent=2, ensure_ascii=False)


def summary(plan: Plan) -> str:
    counts = [(len(plan.having(verdict)), words) for verdict, words in _COUNTED]
    told = ", ".join(f"{number} {words}" for number, words in counts if number)
    return told or "no address"


_COUNTED: Final[tuple[tuple[Verdict, str], ...]] = (
    ("adopt", "adopted"),
    ("ours", "ours already"),
    ("stale", "used by nobody and not adopted"),
)

"""What a clean-up did, for the log, for tables and for programs. Plain values."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from tortie.controllers.leaks import Leak
from tortie.controllers.plan import Plan

DeedKind = Literal[
    "endpoint deleted", "address released", "node cleaned up", "resource deleted", "block released", "handle deleted",
    "addresses cooled down",
]  # fmt: skip


class Deed(NamedTuple):
    kind: DeedKind
    what: str
    node: str = ""
    why: str = ""


class Outcome(NamedTuple):
    """One pass. `unfinished`: somebody else wrote first here and there, so it is worth looking again soon."""

    deeds: tuple[Deed, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()  # what came back or changed hands, and how that is known
    unfinished: bool = False


def outcome_document(plan: Plan, outcome: Outcome) -> dict[str, Any]:
    return {
        "datastoreLocked": plan.locked,
        "done": [deed._asdict() for deed in outcome.deeds],
        "kept": [{"what": what, "why": why} for what, why in outcome.kept],
        "candidates": [_candidate(leak) for leak in plan.leaks.candidates],
        "unknown": [each._asdict() | {"ip": str(each.ip)} for each in plan.leaks.strangers],
        "notYet": [each._asdict() for each in plan.stuck],
    }


def _candidate(leak: Leak) -> dict[str, Any]:
    return {
        "ip": str(leak.ip),
        "handle": leak.handle,
        "sequenceNumber": leak.suspect.sequence,
        "block": str(leak.block),
        "owner": leak.owner,
        "node": leak.node,
        "missing": leak.missing,
        "attributes": dict(leak.attributes),
        "suspectSeconds": round(leak.age_s, 1),
    }

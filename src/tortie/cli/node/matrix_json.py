"""The matrix of who sees whom as programs read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tortie.cli.node.matrix import UNEXPECTED, UP, FamilyMatrix, Matrix
from tortie.cli.node.matrix_text import sentence


def as_json(found: Matrix, now: datetime) -> dict[str, Any]:
    return {
        "apiVersion": "tortie/v1",
        "kind": "MeshStatus",
        "healthy": found.healthy,
        "nodes": found.nodes,
        "withoutBGP": list(found.without_bgp),
        "families": [_family_json(family, now) for family in found.families],
    }


def _family_json(family: FamilyMatrix, now: datetime) -> dict[str, Any]:
    return {
        "family": family.family,
        "healthy": family.healthy,
        "sessions": {"expected": family.expected, "up": family.up},
        "nodes": [
            {
                "name": row.name,
                "address": str(row.address),
                "report": row.standing,
                "reported": _iso(row.updated),
                "sees": {
                    other: {"state": cell.state, "since": _iso(cell.since), "disputed": cell.disputed}
                    for other, cell in row.cells.items()
                    if cell.state != UNEXPECTED
                },
            }
            for row in family.rows
        ],
        "wrong": [{"nodes": list(each.pair), "verdict": each.verdict} for each in family.wrong],
        "odd": [
            {
                "name": odd.name,
                "address": str(odd.address),
                "report": odd.standing,
                "down": odd.down,
                "expected": odd.expected,
                "since": _iso(odd.since),
                "what": (told := sentence(odd, now)).what,
                "fix": told.fix,
            }
            for odd in family.odd
        ],
        "parts": [list(part) for part in family.groups],
        "others": [
            {
                "node": each.node,
                "peer": str(each.peer),
                "port": each.port,
                "type": each.kind,
                "state": each.state,
                "up": each.state == UP,
                "since": _iso(each.since),
            }
            for each in family.outsiders
        ],
    }


def _iso(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None

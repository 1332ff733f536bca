"""`tortie lab up --dry-run`: the plan, or, for a lab that is up, what would change."""

from __future__ import annotations

import sys
from typing import Any

from tortie.cli.lab.talk import Talk, print_json
from tortie.lab.changes import Changes, changes
from tortie.lab.client import KeeperClient
from tortie.lab.describe import describe, describe_changes
from tortie.lab.plan import LabPlan
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.registry import LabFolder


def show_plan(talk: Talk, folder: LabFolder, wanted: LabPlan) -> int:
    present = plan_of(folder)
    change = changes(present, wanted) if present else None
    if talk.json:
        print_json({"plan": as_json(wanted), "changes": _changes_json(change) if change is not None else None})
    elif change is None:
        sys.stdout.write(describe(wanted, talk.language))
    else:
        sys.stdout.write(describe_changes(change, talk.language))
    return 1 if change and change.refused else 0


def plan_of(folder: LabFolder) -> LabPlan | None:
    """The plan of a lab that is up."""
    keeper = KeeperClient.connect(folder)
    if keeper is None:
        return None
    keeper.close()
    record = folder.read()
    return from_json(record["plan"]) if record else None


def _changes_json(change: Changes) -> dict[str, Any]:
    return {
        "refused": [refusal.told() for refusal in change.refused],
        "removed": [machine.name for machine in change.removed],
        "rebuilt": [machine.name for machine in change.rebuilt],
        "added": [machine.name for machine in change.added],
        "changed": [each.name for each in change.changed if each.visible],
        "restarted": [each.name for each in change.changed if each.restart],
    }

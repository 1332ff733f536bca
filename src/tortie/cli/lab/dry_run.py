"""`tortie lab up --dry-run`: the plan, or, for a lab that is up, what would change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
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
    started = would_start(change, idle_machines(folder)) if change is not None else []
    if talk.json:
        print_json({"plan": as_json(wanted), "changes": _changes_json(change, started) if change is not None else None})
    elif change is None:
        sys.stdout.write(describe(wanted, talk.language))
    else:
        sys.stdout.write(describe_changes(change, talk.language, started))
    return 1 if change and change.refused else 0


def plan_of(folder: LabFolder) -> LabPlan | None:
    """The plan of a lab that is up."""
    keeper = KeeperClient.connect(folder)
    if keeper is None:
        return None
    keeper.close()
    record = folder.read()
    return from_json(record["plan"]) if record else None


def idle_machines(folder: LabFolder) -> list[str]:
    """Where something should run, and nothing does."""
    keeper = KeeperClient.connect(folder)
    if keeper is None:
        return []
    with closing(keeper):
        machines = keeper.ask("status")["machines"]
    return [each["name"] for each in machines if each["has_work"] and not (each["process"] or {}).get("running")]


def would_start(change: Changes, idle: Sequence[str]) -> list[str]:
    """Of those that stay; whoever is built anew or restarted is told as that."""
    told = {machine.name for machine in (*change.removed, *change.rebuilt)}
    told |= {each.name for each in change.changed if each.restart}
    return [] if change.refused else [name for name in idle if name not in told]


def _changes_json(change: Changes, started: list[str]) -> dict[str, Any]:
    return {
        "refused": [refusal.told() for refusal in change.refused],
        "removed": [machine.name for machine in change.removed],
        "rebuilt": [machine.name for machine in change.rebuilt],
        "added": [machine.name for machine in change.added],
        "changed": [each.name for each in change.changed if each.visible],
        "restarted": [each.name for each in change.changed if each.restart],
        "started": started,
    }

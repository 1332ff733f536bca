"""What faults, and those who heal them, want of a single machine: messages to the keeper, carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tortie.lab.nodes import Nodes
from tortie.lab.plan import Machine

WISHES: Final = ("overlay", "restart", "halt", "limit", "unit", "program", "helper", "helper-end", "uncover")


def carried_out(nodes: Nodes, machine: Machine, message: Mapping[str, Any]) -> dict[str, Any]:
    match message["do"]:
        case "overlay":
            nodes.overlay(machine.name, message["settings"])
        case "restart":
            nodes.restart(machine)
        case "halt":
            nodes.end([machine.name])
            nodes.halted.add(machine.name)
        case "limit":
            return nodes.limit(machine.name, message["percent"])
        case "unit":
            return nodes.unit(machine.name, str(message["unit"]), str(message["action"]))
        case "program":
            return {"pid": nodes.program(machine.name, str(message["program"]))}
        case "helper":
            starved = bool(message.get("starved"))
            return {"pid": nodes.help(machine, message["name"], message["words"], starved=starved)}
        case "helper-end":
            nodes.end_help(machine.name, message["name"])
        case "uncover":
            return {"uncovered": nodes.uncover(machine.name, str(message["path"]))}
    return {}

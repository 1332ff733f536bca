"""Which processes of this machine belong to a node: its agent, also as a container, and what that has started."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any, Final

from tortie.host.processes import Stat, stat_of
from tortie.lab.notes import read_note

AGENT: Final = "calico-node"


def agent_container(path: str, now: float, runtime: int | None) -> dict[str, Any] | None:
    """The last one that the node's runtime has started, in the form of the keeper's own processes.

    `runtime`: its process. The record of one that was killed still calls its containers running; they died with it,
    and their numbers may be anybody's by now.
    """
    agents = [
        each
        for each in read_note(path).get("containers", ())
        if each.get("container") == AGENT and each.get("started_at")
    ]
    if not agents:
        return None
    last = max(agents, key=lambda each: each["started_at"])
    lost = last["state"] == "CONTAINER_RUNNING" and (runtime is None or not _is_child(last["pid"], runtime))
    told: dict[str, Any] = {"pid": last["pid"], "running": last["state"] == "CONTAINER_RUNNING" and not lost}
    told["age_s"] = round(now - last["started_at"], 3)
    if not told["running"]:
        # As the keeper has it: a process that a signal has ended has no exit code.
        number = int(signal.SIGKILL) if lost else last.get("signal") or None
        told |= {"exit_code": None if number else last.get("exit_code"), "signal": number}
        told["ended_s"] = round(now - (last.get("finished_at") or now), 3)
    return told


def pod_ready(path: str) -> bool:
    """Whether a node's kubelet calls the agent's pod ready, by what it has written down last."""
    items = read_note(path).get("items", ())
    pods = [item for item in items if item["kind"] == "Pod" and item["metadata"]["name"].startswith(f"{AGENT}-")]
    conditions = [each for pod in pods for each in pod.get("status", {}).get("conditions", ())]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def family_of(pid: int) -> list[int]:
    """The process, and all that it and its children have started."""
    children: dict[int, list[int]] = {}
    for child, stat in _processes().items():
        children.setdefault(stat.parent, []).append(child)
    family, open_ones = [], [pid]
    while open_ones:
        member = open_ones.pop()
        family.append(member)
        open_ones += children.get(member, [])
    return family


def bird_of(agent: int) -> int | None:
    """The BIRD that an agent runs."""
    known = _processes()
    return next((pid for pid in family_of(agent) if pid in known and known[pid].name == "bird"), None)


def _is_child(pid: int, parent: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.parent == parent


def _processes() -> Mapping[int, Stat]:
    """By number."""
    found = {int(name): stat_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: stat for pid, stat in found.items() if stat}

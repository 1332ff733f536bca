"""Reads what the kubelets of a lab have written down, and asks the keeper for the rest."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Final

from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.cluster import SYSTEM, NodeRecord, Sources, cluster
from tortie.lab.kubectl.kinds import Thing
from tortie.lab.kubectl.plain import made_pods, plain_node, plain_owner, plain_pod
from tortie.lab.kubectl.times import seconds_of, stamp
from tortie.lab.kubelet.conditions import NodeFacts
from tortie.lab.kubelet.jobs import Paths
from tortie.lab.notes import read_note
from tortie.lab.observe import ask_agents
from tortie.lab.plan_json import from_json
from tortie.lab.registry import LabFolder
from tortie.lab.status import lab_status

EDITS: Final = "cluster.json"  # what people have changed of objects that kubelets write
OWNERS: Final = {"DaemonSet": "daemonset.json", "Deployment": "deployment.json"}
_ASK_S: Final = 3.0
_BACKEND: Final = "CALICO_NETWORKING_BACKEND"


def read_cluster(folder: LabFolder, keeper: KeeperClient, now: float) -> list[Thing]:
    """Every object of the lab, as it is now."""
    return cluster(read_sources(folder, keeper, now), now)


def read_sources(folder: LabFolder, keeper: KeeperClient, now: float) -> Sources:
    record = folder.read()
    if record is None:
        raise LabFailure("taken-down", name=folder.name)
    plan = from_json(record["plan"])
    told = keeper.ask("status")
    began = now - float(told.get("age_s", 0.0))
    addresses = {str(machine["name"]): str(machine["address"]) for machine in told["machines"]}
    pods = keeper.ask("pods")["pods"] if record.get("pods") else []
    others = tuple(made_pods(pods, addresses, now))
    backend = next((node.settings[_BACKEND] for node in plan.nodes if _BACKEND in node.settings), "bird")
    sources = Sources(began, max(plan.hurry, 1), others=others, edits=read_edits(folder), backend=backend)
    if not plan.hurry:
        return _plain(sources, folder, told, plain_owner(plan, began), now)
    known = _registered(folder) if plan.store.kind == "embedded" else {}
    records = tuple(_record(folder.machine(node.name), node.name, known.get(node.name, {})) for node in plan.nodes)
    owners = [read_note(os.path.join(folder.path, name)) for name in OWNERS.values()]
    return sources._replace(records=records, owners=tuple(_dated(owner, began) for owner in owners if owner))


def _plain(sources: Sources, folder: LabFolder, told: Mapping[str, Any], owner: Thing, now: float) -> Sources:
    """Of a lab without kubelets."""
    nodes = [machine["name"] for machine in told["machines"] if machine["role"] == "node"]
    answers = ask_agents({node: folder.agent_socket(node) for node in nodes}, "/status", _ASK_S)
    status = lab_status(told, answers)
    machine = machine_facts(sources.began)
    records = tuple(
        NodeRecord(
            node.name,
            (plain_node(node, machine, now), plain_pod(node, owner, sources.began, now)),
            now - node.age_s if node.pid else None,
        )
        for node in status.nodes
    )
    return sources._replace(records=records, owners=(owner,))


def machine_facts(began: float) -> NodeFacts:
    """Of the machine that all nodes of a lab share."""
    system = platform.uname()
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(system.machine, system.machine)
    try:
        image = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        image = "Linux"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    return NodeFacts(
        "",
        "",
        began,
        kernel=system.release,
        os_image=image,
        architecture=architecture,
        cpus=os.cpu_count() or 1,
        memory_kib=memory,
    )


def _registered(folder: LabFolder) -> dict[str, dict[str, str]]:
    """What Calico notes at Kubernetes's nodes when that is its datastore, which a lab's own store stands for."""
    from tortie.lab.registered import noted_at_nodes

    return noted_at_nodes(folder.store)


def _record(root: str, name: str, noted: Mapping[str, str]) -> NodeRecord:
    things = read_note(Paths(root).objects).get("items") or []
    for thing in things:
        if isinstance(thing, dict) and thing.get("kind") == "Node":
            thing["metadata"].setdefault("annotations", {}).update(noted)
    try:
        since: float | None = os.stat(os.path.join(root, "run", "kubelet.pid")).st_mtime
    except OSError:
        since = None
    return NodeRecord(name, tuple(thing for thing in things if isinstance(thing, dict)), since)


def _dated(owner: Thing, began: float) -> Thing:
    """A DaemonSet that nobody dated is as old as its lab."""
    metadata = owner.setdefault("metadata", {})
    metadata.setdefault("namespace", SYSTEM)
    if not seconds_of(metadata.get("creationTimestamp")):
        metadata["creationTimestamp"] = stamp(began)
    return owner


def read_edits(folder: LabFolder) -> dict[str, dict[str, Any]]:
    return read_note(os.path.join(folder.path, EDITS))


def log_file(folder: LabFolder, pod: Thing, container: str, attempt: int) -> str | None:
    """Where that container's log is; the newest before it where that one is gone, None where there is none."""
    metadata, root = pod["metadata"], folder.machine(str(pod["spec"].get("nodeName", "")))
    place = f"{metadata['namespace']}_{metadata['name']}_{metadata.get('uid', '')}"
    beside = os.path.join(Paths(root).pod_logs, place, container)
    try:
        attempts = sorted(int(name.removesuffix(".log")) for name in os.listdir(beside) if name[:-4].isdigit())
    except OSError:
        return folder.machine_log(str(pod["spec"].get("nodeName", ""))) if not os.path.isdir(beside) else None
    chosen = [number for number in attempts if number <= attempt]
    return os.path.join(beside, f"{chosen[-1]}.log") if chosen else None


class LogFile:
    """A log that is read as it grows. Once it is open, it stays readable when it is gone with its pod."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._rest = b""

    def lines(self, *, whole: bool = True) -> list[str]:
        """What has been added since the last time; `whole`: a line that has no end yet is left for the next time."""
        if self._file is None and self._path:
            with suppress(FileNotFoundError):  # not begun, or gone with its pod
                self._file = open(self._path, "rb")  # noqa: SIM115
        found = self._rest + (self._file.read() if self._file else b"")
        end = found.rfind(b"\n") + 1 if whole else len(found)
        self._rest = found[end:]
        return found[:end].decode(errors="replace").splitlines()

    def close(self) -> None:
        if self._file:
            self._file.close()

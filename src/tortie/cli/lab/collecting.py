"""What a careful person would collect from a lab, from all of its machines at once; nothing is changed in it."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import import_module
from typing import Any, Final, cast

from tortie.cli.lab.talk import Talk
from tortie.doctor.reading.redaction import MASK, redacted
from tortie.host.namespaces import Kind
from tortie.lab.client import KeeperClient
from tortie.lab.evidence.bundle import Bundle, files_of
from tortie.lab.evidence.questions import (
    FOLDERS,
    Answer,
    Around,
    Question,
    about_node,
    more_of_cluster,
    more_of_node,
    nodes_not_ready,
    of_cluster,
    of_node,
    of_store,
    unreachable,
)
from tortie.lab.evidence.sending import Errand, is_cut_off, send_all
from tortie.lab.evidence.traffic import Pod, of_pods
from tortie.lab.faults.ledger import healed_file
from tortie.lab.observe import ask_agents
from tortie.lab.registry import LabFolder

_ASK_S: Final = 1.0
_UPLINK: Final = "eth0"  # the first NIC of every machine of a lab
_TOOLS: Final = frozenset({"crictl", "systemctl", "journalctl"})  # only where there are kubelets; kubectl is everywhere
# What the commands that are asked import: once, before the first fork.
_ASKED: Final = (
    "tempfile",
    "yaml",
    "tortie.cli.main",
    "tortie.cli.commands.get",
    "tortie.cli.commands.ipam",
    "tortie.cli.commands.lab",
    "tortie.cli.commands.node",
    "tortie.cli.ipam.check",
    "tortie.cli.ipam.show",
    "tortie.cli.jsonpath",
    "tortie.cli.lab.kubectl",
    "tortie.cli.lab.kubectl_logs",
    "tortie.cli.node.explain",
    "tortie.cli.node.status",
    "tortie.cli.node.timeline",
    "tortie.cli.session",
    "tortie.lab.kubectl.printing",
    "tortie.lab.kubectl.reading",
    "tortie.lab.registered",
    "tortie.model.manifest",
    "tortie.model.resources.bgp",
    "tortie.model.resources.ipam",
    "tortie.model.resources.node",
)
_ASKED_TOOLS: Final = ("tortie.cli.lab.tool",)


def collect(talk: Talk, folder: LabFolder) -> Bundle:
    began = time.monotonic()
    with closing(talk.keeper(folder)) as keeper:
        told = keeper.ask("status")
        machines = told["machines"]
        nodes = tuple(each["name"] for each in machines if each["role"] == "node")
        errands = list(_errands(keeper, folder, machines, nodes))
    if sys.stderr.isatty():
        sys.stderr.write(talk.say("evidence.asking", count=len(machines)) + "\n")
    _load(
        with_tools=any("crictl" in errand.tools for errand in errands),
        etcd=any(each["role"] == "store" for each in machines),
    )
    try:
        heard = send_all(errands, _run)
    finally:
        for errand in errands:
            for descriptor in errand.namespaces.values():
                with suppress(OSError):
                    os.close(descriptor)
    files, redactions = files_of(heard, redacted, MASK)
    return Bundle(folder.name, nodes, files, redactions, time.monotonic() - began)


def _run(words: Sequence[str]) -> int:
    """Tortie's own command, in a child of this process."""
    from tortie.cli.main import main

    sys.argv = ["tortie", *words]
    return main(words)


def _load(*, with_tools: bool, etcd: bool) -> None:
    names = _ASKED + (_ASKED_TOOLS if with_tools else ()) + ("tortie.store.etcd" if etcd else "tortie.store.embedded",)
    for name in names:
        import_module(name)
    gc.freeze()  # else every child would copy what its collector only looks at


def _errands(
    keeper: KeeperClient, folder: LabFolder, machines: Sequence[Mapping[str, Any]], nodes: Sequence[str]
) -> Iterator[Errand]:
    lost = {each["name"] for each in machines if each["role"] == "node" and _is_lost(keeper, each)}
    place = _good_place(folder, machines, [node for node in nodes if node not in lost])
    for machine in machines:
        name = machine["name"]
        if name in lost:  # nobody can log in to a machine that is off
            if place:
                yield _to_nowhere(keeper, folder, name, place)
        elif machine["role"] == "node":
            yield _to_node(keeper, folder, name)
        elif machine["role"] == "store" and not machine.get("halted"):
            yield _to_store(keeper, folder, name, nodes)
    if place:
        yield _to_cluster(keeper, folder, place)
    yield from _pings(keeper, folder, lost)


def _is_lost(keeper: KeeperClient, machine: Mapping[str, Any]) -> bool:
    if machine.get("halted"):
        return True
    _, namespaces = _way_into(keeper, machine["name"])
    try:
        return is_cut_off(namespaces, _UPLINK)
    finally:
        for descriptor in namespaces.values():
            os.close(descriptor)


def _to_nowhere(keeper: KeeperClient, folder: LabFolder, name: str, place: str) -> Errand:
    """Somebody at `place` tries."""
    told, namespaces = _way_into(keeper, place)
    root = folder.machine(place)
    return Errand(place, f"nodes/{name}", namespaces, told["environment"], root, (unreachable(name),))


def _to_node(keeper: KeeperClient, folder: LabFolder, name: str) -> Errand:
    told, namespaces = _way_into(keeper, name)
    root = folder.machine(name)
    around = _around(folder, told["environment"], root)
    asked = of_node(around)
    return Errand(
        name, f"nodes/{name}", namespaces, told["environment"], root, asked, more_of_node, around.tools, folder.path
    )


def _to_store(keeper: KeeperClient, folder: LabFolder, name: str, nodes: Sequence[str]) -> Errand:
    told, namespaces = _way_into(keeper, name)
    asked = of_store(_of_a_node(keeper, nodes) or told["environment"])
    return Errand(name, f"nodes/{name}", namespaces, told["environment"], folder.machine(name), asked)


def _to_cluster(keeper: KeeperClient, folder: LabFolder, name: str) -> Errand:
    """What is the same wherever it is asked, asked on one node."""
    told, namespaces = _way_into(keeper, name)
    root = folder.machine(name)
    around = _around(folder, told["environment"], root)
    asked = of_cluster(around)
    return Errand(
        name, "cluster", namespaces, told["environment"], root, asked, _more_of_cluster, around.tools, folder.path
    )


def _more_of_cluster(answers: Sequence[Answer]) -> tuple[Question, ...]:
    lost = [question for node in nodes_not_ready(answers) for question in about_node(node, answers)]
    return (*more_of_cluster(answers), *lost)


def _of_a_node(keeper: KeeperClient, nodes: Sequence[str]) -> dict[str, str]:
    """How nodes reach the store."""
    if not nodes:
        return {}
    told, namespaces = _way_into(keeper, nodes[0])
    for descriptor in namespaces.values():
        os.close(descriptor)
    return dict(told["environment"])


def _way_into(keeper: KeeperClient, machine: str, *, pod: bool = False) -> tuple[dict[str, Any], dict[Kind, int]]:
    told, descriptors = keeper.way_into_pod(machine) if pod else keeper.way_into(machine)
    return told, dict(zip(cast("list[Kind]", told["namespaces"]), descriptors, strict=True))


def _around(folder: LabFolder, environment: Mapping[str, str], root: str) -> Around:
    there = frozenset(name for name in _TOOLS if os.path.exists(os.path.join(folder.path, "bin", name))) | {"kubectl"}
    folders = tuple(path for path in FOLDERS if os.path.isdir(root + path))
    return Around(environment, there, os.path.exists(os.path.join(root, "log")), folders, healed_file(folder))


def _good_place(folder: LabFolder, machines: Sequence[Mapping[str, Any]], nodes: Sequence[str]) -> str:
    """Who asks about the cluster as a whole does so where things work, if there is such a node."""
    answers = ask_agents({node: folder.agent_socket(node) for node in nodes}, "/status", _ASK_S)
    ready = [node for node, answer in answers.items() if answer and answer.get("ready")]
    answering = [node for node, answer in answers.items() if answer]
    running = [each["name"] for each in machines if each["name"] in nodes and (each["process"] or {}).get("running")]
    return next(iter([*ready, *answering, *running, *nodes]), "")


def _pings(keeper: KeeperClient, folder: LabFolder, lost: Container[str]) -> Iterator[Errand]:
    """From one pod of each node to those of the others."""
    pods = [Pod(**{name: each[name] for name in Pod._fields}) for each in keeper.ask("pods")["pods"]]
    for pod, questions in of_pods(pods):
        if pod.node in lost:
            continue
        told, namespaces = _way_into(keeper, pod.label, pod=True)
        environment = dict(told["environment"])
        yield Errand(pod.node, "cluster", namespaces, environment, folder.machine(pod.node), questions)

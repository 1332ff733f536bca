"""What the keeper knows of its nodes goes with them: another one of the same name begins with nothing of theirs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import pytest
from tests.support.topologies import planned

from tortie.lab.cgroups import Cgroups
from tortie.lab.crew import Crew, Ended, Worker
from tortie.lab.launch import Life
from tortie.lab.nodes import Nodes, Surroundings
from tortie.lab.registry import LabFolder


class Processes(Crew):
    """Processes that are only told to be."""

    def start(self, lives: Mapping[str, Life]) -> None:
        for name in lives:
            self._workers[name] = Worker(name, 7, time.monotonic())

    def kill(self, machines: Iterable[str], timeout_s: float) -> list[str]:  # noqa: ARG002
        for name in machines:
            self.fail(name)
        return []

    def fail(self, name: str) -> None:
        if worker := self.get(name):
            worker.ended, worker.ended_at = Ended(1, None), 0.0


class Limits:
    def __init__(self) -> None:
        self.told: dict[str, float] = {}

    def percent(self, node: str) -> float | None:
        return self.told.get(node)

    def limit(self, node: str, percent: float | None) -> bool:
        if percent is None:
            self.told.pop(node, None)
        else:
            self.told[node] = percent
        return True

    def folder(self, node: str) -> str:
        return f"/{node}"


@pytest.fixture
def crew() -> Processes:
    return Processes()


@pytest.fixture
def nodes(tmp_path: Path, crew: Processes) -> Nodes:
    around = Surroundings(lambda *_: 0, lambda _: {}, lambda _: {}, (1024, 4096))
    found = Nodes(LabFolder(str(tmp_path)), crew, around)
    found.cgroups = cast(Cgroups, Limits())
    found.adopt(planned(nodes=10, kubelet=True))
    return found


def spoil(nodes: Nodes, crew: Processes, name: str) -> None:
    """Everything that can be remembered of a node."""
    nodes.unit(name, "kubelet", "start")
    crew.fail(f"{name}/kubelet")
    nodes.tend()  # it was started again
    nodes.unit(name, "containerd", "stop")
    nodes.end([name])
    nodes.halted.add(name)
    nodes.limit(name, 5.0)
    nodes.overlay(name, {"IP": "10.0.0.9"})


def state(nodes: Nodes, name: str) -> tuple[object, ...]:
    units = nodes.units(name, 0.0)
    told = {title: (unit["stopped"], unit["restarts"], unit["running"]) for title, unit in units.items()}
    return told, name in nodes.halted, nodes.cgroups.percent(name), nodes.overlaid(name)


def test_a_node_that_comes_back_begins_anew(tmp_path: Path, nodes: Nodes, crew: Processes) -> None:
    (tmp_path / "nodes").mkdir()
    for name in ("node-1", "node-10"):
        (tmp_path / "nodes" / name / "run").mkdir(parents=True)
    fresh = state(nodes, "node-1")
    for name in ("node-1", "node-10"):
        spoil(nodes, crew, name)
    spoilt = state(nodes, "node-10")
    told = {"kubelet": (True, 1, False), "containerd": (True, 0, False)}
    assert state(nodes, "node-1") == spoilt == (told, True, 5.0, {"IP": "10.0.0.9"})
    nodes.forget(["node-1"])
    assert state(nodes, "node-1") == fresh
    assert state(nodes, "node-10") == spoilt, "whose name begins alike is another one"

"""What kubectl prints of five clusters, whole; TORTIE_WRITE_GOLDEN=1 writes them anew, then look at them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.doctor import picture
from tests.support.kube_objects import NOW, WORLDS, Thing

from tortie.cli.lab.kubectl import find_path
from tortie.doctor.picture.facts import Event, Node, Pod
from tortie.lab.kubectl.printing import Outcome, Paths, describe, events, get
from tortie.lab.kubectl.words import request_of

GOLDEN = Path(__file__).parent.parent.parent.parent / "golden" / "kubectl"
COMMANDS = (
    "get pods -A -o wide",
    "get nodes -o wide",
    "get ds -n kube-system",
    "get events -n kube-system",
    "events -n kube-system",
    "describe pods -n kube-system --field-selector spec.nodeName=node-1",
    "describe node node-2",
    "describe ds calico-node -n kube-system",
)


def answer(command: str, things: list[Thing]) -> Outcome:
    request = request_of(command.split())
    if request.verb == "get":
        return get(request, things, NOW, Paths(lambda _template, _document: "", find_path))
    return describe(request, things, NOW) if request.verb == "describe" else events(request, things, NOW)


def transcript(things: list[Thing], commands: tuple[str, ...] = COMMANDS) -> str:
    told = ((command, answer(command, things)) for command in commands)
    return "".join(f"$ kubectl {command}\n{outcome.out}{outcome.errors}\n" for command, outcome in told)


@pytest.mark.parametrize("name", WORLDS)
def test_a_cluster_is_told_as_in_the_golden_file(name: str) -> None:
    text = transcript(WORLDS[name]())
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("TORTIE_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize(
    ("name", "pod", "ready", "word"),
    [
        ("healthy", "calico-node-x7k2p", 1, "Running"),
        ("crash-loop", "calico-node-x7k2p", 0, "CrashLoopBackOff"),
        ("init-stuck", "calico-node-jwhzz", 0, "Init:0/2"),
        ("unready", "calico-node-x7k2p", 0, "Running"),
    ],
)
def test_the_doctor_reads_it(name: str, pod: str, ready: int, word: str) -> None:
    seen = picture(transcript(WORLDS[name](), COMMANDS[:4]))
    found = next(each for each in seen.of(Pod) if each.name == pod)
    assert (found.ready, found.containers, found.status, found.node, found.ip) == (
        ready,
        1,
        word,
        "node-1",
        "10.77.0.1",
    )
    assert {each.name for each in seen.of(Node)} == {"node-1", "node-2", "node-3"}


def test_the_doctor_reads_restarts_and_counts_of_events() -> None:
    things = WORLDS["crash-loop"]()
    shown = next(each for each in picture(transcript(things, COMMANDS[:1])).of(Pod) if each.node == "node-1")
    assert shown.restarts == 3
    described = picture(transcript(things, COMMANDS[5:6])).of(Event)
    assert {(each.reason, each.count) for each in described} >= {("Unhealthy", 18), ("Killing", 3), ("BackOff", 12)}


def test_the_doctor_sees_a_node_that_is_not_ready() -> None:
    seen = picture(transcript(WORLDS["silent-node"](), COMMANDS[:2]))
    assert [each.name for each in seen.of(Node) if each.status == "NotReady"] == ["node-2"]

"""Several faults at once, and decoys beside them: every cause is told, each for itself, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.patient import Patient, workers
from tests.support.together import Together, selected, together

pytestmark = pytest.mark.timeout(600)

SCENARIOS: Final = Path(__file__).parents[2] / "examples" / "lab" / "scenarios"
OWN: Final = ("--nodes", "3", "--kubelet", "--hurry", "10")
CLASSIC: Final = ("--nodes", "3", "--classic", "3.20", "--hurry", "10")

# How the lab is brought up, and which causes there are, with an object of each; none: the lab is healthy.
COMBINATIONS: Final[dict[str, tuple[tuple[str, ...], dict[str, str]]]] = {
    "two-at-once": (OWN, {"bgp-port-blocked": "10.77.0.2", "sysctl-forwarding-off": "node-3"}),
    "with-decoys": (CLASSIC, {"kubelet-swap-on": "/dev/sda3"}),
    "only-decoys": (OWN, {}),
    "dead-nodeport": (CLASSIC, {"autodetect-wrong-interface": "10.0.0.66", "kubelet-swap-on": "node-3"}),
}


def combined(name: str, folder: Path) -> None:
    flags, causes = COMBINATIONS[name]
    with Patient(folder, name) as lab:
        lab.up(*flags)
        lab.until_ready()
        lab.until_healthy()
        struck = lab.breaks("-f", str(SCENARIOS / f"{name}.yaml"))
        assert struck["active"]
        if causes:
            answer = lab.until_told(*causes)
            told = [*answer["causes"], *answer["unrelated"]]
            for cause in told:
                wanted = causes[cause["cause"]]
                assert not wanted or wanted in cause["objects"], cause
            unchained(told)
        else:
            shown_decoys(lab)
            lab.until_healthy()
        lab.heals()
        lab.until_ready()
        lab.until_healthy()


def unchained(told: list[Any]) -> None:
    """Each has a proof of its own, and none is told as what another one leads to."""
    proofs = [cause["because"][0] for cause in told]
    assert len(set(proofs)) == len(proofs), told
    for cause in told:
        others = {each["cause"] for each in told} - {cause["cause"]}
        assert not [other for other in others if other in cause["summary"]], cause


def shown_decoys(lab: Patient) -> None:
    """They are really there before the doctor is asked."""
    lab.until_shown(lambda: lab.kubectl("get pods -A"), "", r"^default +report-\S+ +0/1 +(CrashLoopBackOff|Error)")
    bridges = [node for node in ("node-1", "node-2", "node-3") if "docker0" in lab.inside(node, "ip", "link")]
    assert len(bridges) == 1
    logs = list(lab.folder.glob("nodes/*/var/log/kubelet.log"))
    lab.until("noise is in a journal", lambda: any("FlexVolume: driver call failed" in log.read_text() for log in logs))


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    jobs: list[tuple[list[str], Callable[[Together], None]]] = [
        ([name], partial(_run, name, tmp_path_factory.mktemp("c"))) for name in selected(request, "name")
    ]
    with together(jobs, workers()) as results:
        yield results


def _run(name: str, folder: Path, results: Together) -> None:
    results.report(name, partial(combined, name, folder))


@pytest.mark.parametrize("name", COMBINATIONS)
def test_combination(outcomes: Together, name: str) -> None:
    outcomes.outcome(name)


def test_the_same_seed_the_same_nodes_and_names(tmp_path: Path) -> None:
    """Where nothing is said about a node, the seed decides: also for names that are made up."""
    with Patient(tmp_path, "seeds") as lab:
        lab.up("--nodes", "3", "--kubelet", "--hurry", "10")
        told = [struck(lab, "11"), struck(lab, "11"), struck(lab, "12"), struck(lab, "13")]
    assert told[0] == told[1]
    assert len({str(each) for each in told}) > 1


def struck(lab: Patient, seed: str) -> tuple[list[str], list[str]]:
    """What is broken where, and the names of links and pods that came with it."""
    done = lab.breaks("docker-bridge", "forwarding-off", "--decoy", "failing-pod", "--seed", seed)
    links = {
        found
        for node in ("node-1", "node-2", "node-3")
        for found in re.findall(r"br-[0-9a-f]{12}", lab.inside(node, "ip", "link"))
    }
    pods = {path.stem for path in lab.folder.glob("nodes/*/etc/kubernetes/manifests/report-*.json")}
    lab.heals()
    return sorted(each["id"] for each in done["done"]), sorted(links | pods)

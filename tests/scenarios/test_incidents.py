"""The eight incidents from end to end, by the command line: one folder each, in `incidents`.

A healthy lab of that Calico is broken as `scenario.yaml` says, with decoys; what people saw then is seen
(`incident.yaml`, word for word where it is Calico's, kubelet's or etcd's); evidence is collected; the doctor names the
cause; its fix is carried out, its verify commands say that all is well, and so does the doctor; nothing is left to
heal, and nothing is left at all.

The same fault in a lab of Tortie's own nodes, where they are spared: the pod is ready, was never restarted, has the
right address, and the doctor says healthy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests.support.cli import Ran
from tests.support.patient import Patient, workers
from tests.support.together import Together, selected, together

from tortie.lab.client import KeeperClient
from tortie.lab.faults.catalogue import all_faults
from tortie.lab.registry import LabFolder

pytestmark = pytest.mark.timeout(900)

FOLDERS: Final = Path(__file__).parent / "incidents"
INCIDENTS: Final = sorted((fault for fault in all_faults() if fault.incident), key=lambda fault: fault.incident)
CASES: Final = [f"{fault.name}/classic" for fault in INCIDENTS] + [f"{f.name}/own" for f in INCIDENTS if f.spared]
SETTLED_S: Final = 12.0  # two windows of liveness: whoever is not killed by then is not killed
FAULTS = {fault.name: fault for fault in INCIDENTS}


def test_every_incident_has_its_folder() -> None:
    assert sorted(path.name for path in FOLDERS.iterdir()) == sorted(FAULTS)
    for folder in FOLDERS.iterdir():
        found = {"README.md", "incident.yaml", "lab.yaml", "scenario.yaml"}
        assert {path.name for path in folder.iterdir()} == found
        told = incident(folder)
        assert told["cause"] == FAULTS[folder.name].cause
        assert ("own" in told) == FAULTS[folder.name].spared
        assert len((folder / "README.md").read_text().splitlines()) == 3


def incident(folder: Path) -> Any:
    return yaml.safe_load((folder / "incident.yaml").read_text())


def asked(lab: Patient, question: Any) -> Ran:
    """One line of incident.yaml: kubectl's words, a command of `tortie lab`, or what is typed on a node."""
    if "kubectl" in question:
        return lab.kubectl(question["kubectl"])
    if "lab" in question:
        command, *words = question["lab"].split()
        return lab(command, *words)
    command = question.get("instead") or question.get("shell") or question["command"]
    return lab.shell(question["at"], command)


def shown(lab: Patient, question: Any) -> None:
    said = lab.until_shown(lambda: asked(lab, question), question.get("text", ""), question.get("regex", ""))
    if "never" in question:
        assert question["never"] not in said


def healthy_at_first(lab: Patient) -> None:
    lab.until_ready()
    pods = lab.kubectl("get pods -n kube-system")
    rows = [line.split() for line in pods.stdout.splitlines()[1:]]
    assert rows
    assert {row[1] for row in rows if row[0].startswith("calico-node-")} == {"1/1"}, pods
    lab.until_healthy()


def cured(lab: Patient, told: Any, answer: Any) -> None:
    """Each step is one of the doctor's: word for word, or what its text means in a lab."""
    steps = answer["causes"][0]["fix"]
    for step in told["fix"]:
        if "command" in step:
            assert lab.filled(step["command"]) in [each["command"] for each in steps], steps
            ran = asked(lab, step)
            assert ran.code == 0, ran
            continue
        assert any(each["text"].startswith(step["text"]) for each in steps), steps
        if "end" in step:
            keeper = KeeperClient.connect(LabFolder(str(lab.folder)))
            assert keeper
            with closing(keeper):
                keeper.ask("helper-end", machine=told["node"], name=step["end"])
        else:
            ran = lab("heal", step["heal"])
            assert ran.code == 0, ran


def verified(lab: Patient, told: Any, answer: Any) -> None:
    for step in told["verify"]:
        if "command" in step:
            said = answer["causes"][0]["verify"]
            assert any(each.endswith(step["command"]) for each in said), said
        shown(lab, {"at": "node-1", **step})


def with_calico(folder: Path, where: Path) -> None:
    told = incident(folder)
    with Patient(where, f"{folder.name}-c") as lab:
        lab.up("-f", str(folder / "lab.yaml"))
        healthy_at_first(lab)
        lab.breaks("-f", str(folder / "scenario.yaml"))
        for symptom in told["symptoms"]:
            shown(lab, symptom)
        ran = lab("evidence", "-o", str(where / "evidence"))
        assert ran.code == 0, ran
        assert (where / "evidence" / "meta.json").exists()
        answer = lab.until_found(told["cause"])
        assert set(told["objects"]) <= set(answer["causes"][0]["objects"]), answer["causes"][0]["objects"]
        cured(lab, told, answer)
        verified(lab, told, answer)
        lab.until_ready()
        lab.until_healthy()
        lab.heals()
        lab.until_ready()


def with_tortie(folder: Path, where: Path) -> None:
    told = incident(folder)
    own = where / "lab.yaml"
    own.write_text(re.sub(r"(?m)^classic: .*\n", "", (folder / "lab.yaml").read_text()))
    with Patient(where, f"{folder.name}-t") as lab:
        lab.up("-f", str(own))
        healthy_at_first(lab)
        lab.breaks("-f", str(folder / "scenario.yaml"))
        lab.until_ready()
        time.sleep(SETTLED_S)
        lab.until_ready()
        assert lab.restarts(told["node"]) == 0, lab.picture()
        assert lab.node(told["node"])["address"] == told["own"]["address"]
        lab.until_healthy()
        lab.heals()
        lab.until_ready()


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    jobs: list[tuple[list[str], Callable[[Together], None]]] = [
        ([case], partial(_run, case, tmp_path_factory.mktemp("i"))) for case in selected(request, "case")
    ]
    with together(jobs, workers()) as results:
        yield results


def _run(case: str, where: Path, results: Together) -> None:
    name, _, mode = case.partition("/")
    work = with_calico if mode == "classic" else with_tortie
    results.report(case, partial(work, FOLDERS / name, where))


@pytest.mark.parametrize("case", CASES)
def test_incident(outcomes: Together, case: str) -> None:
    outcomes.outcome(case)

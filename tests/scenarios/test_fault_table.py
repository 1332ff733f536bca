"""The table fault → cause: every fault of the catalogue, on nodes of both modes, is diagnosed with its own cause.

In a lab that is healthy, a fault is struck; the doctor collects from the running lab and names the cause of the fault,
and no other; the fault is healed, which proves that all is as before. A fault that Tortie's own node is spared from
leaves it ready, without a restart, and the doctor says healthy all the while.

Every fault has a lab of its own, so that nothing of another one is in its logs; some labs run side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.cli import Tortie
from tests.support.patient import Patient, workers
from tests.support.together import Together, selected, together

from tortie.lab.faults.catalogue import all_faults
from tortie.lab.faults.fault import Fault

pytestmark = pytest.mark.timeout(600)

HURRY: Final = ("--hurry", "10")
DEFAULT: Final = "default"
CLASSIC: Final = "classic"
NODE: Final = "node-2"
SEED: Final = "7"
SETTLED_S: Final = 12.0  # as long as two windows of liveness: whoever is not killed by then is not killed
FAULTS: Final = {fault.name: fault for fault in all_faults()}

VXLAN: Final = """
apiVersion: tortie/v1
kind: Lab
nodes: 2
racks: 2
pool: {encapsulation: VXLANCrossSubnet}
kubelet: {hurry: 10}
"""


def up(lab: Patient, fault: Fault, mode: str, folder: Path) -> None:
    """No more than the fault needs: on a machine with two cores every node counts."""
    if "vxlan" in fault.needs:
        file = folder / "vxlan.yaml"
        file.write_text(VXLAN + (f'classic: "{fault.release}"\n' if mode == CLASSIC else ""))
        lab.up("-f", str(file))
        assert lab("pod run", "web", "--count", "2").code == 0
    else:
        words = ["--nodes", "3" if "three-nodes" in fault.needs else "2"]
        words += ["--store", "etcd"] if "etcd" in fault.needs else []
        words += ["--members", "3"] if "three-members" in fault.needs else []
        words += ["--tls"] if "tls" in fault.needs else []
        words += ["--classic", fault.release] if mode == CLASSIC else ["--kubelet"]
        lab.up(*words, *HURRY)
    lab.until_ready()


def cases() -> list[str]:
    """What the folders of the eight incidents show as well is left to them: classic nodes, and spared ones."""
    return [
        f"{fault.name}/{mode}"
        for fault in all_faults()
        for mode in (CLASSIC, DEFAULT)
        if not (fault.incident and (mode == CLASSIC or fault.spared))
    ]


def examined(case: str, folder: Path) -> None:
    name, _, mode = case.partition("/")
    fault = FAULTS[name]
    with Patient(folder, case.replace("/", "-")) as lab:
        up(lab, fault, mode, folder)
        words = () if fault.everywhere else ("--node", NODE)
        lab.breaks(fault.name, *words, "--seed", SEED)
        if mode == DEFAULT and fault.spared:
            lab.until_ready()
            time.sleep(SETTLED_S)
            lab.until_ready()
            lab.until_healthy()
            assert lab.restarts(NODE) == 0, lab.picture()
        else:
            answer = lab.until_found(fault.cause)
            assert answer["causes"][0]["code"] == fault.code
            assert answer["causes"][0]["fix"], answer["causes"][0]
            assert answer["causes"][0]["verify"], answer["causes"][0]
        lab.heals()
        lab.until_ready()


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    jobs: list[tuple[list[str], Callable[[Together], None]]] = [
        ([case], partial(_run, case, tmp_path_factory.mktemp("t"))) for case in selected(request, "case")
    ]
    with together(jobs, workers()) as results:
        yield results


def _run(case: str, folder: Path, results: Together) -> None:
    results.report(case, partial(examined, case, folder))


@pytest.mark.parametrize("case", cases())
def test_fault_is_diagnosed_with_its_own_cause(outcomes: Together, case: str) -> None:
    outcomes.outcome(case)


def test_no_fault_is_missing_in_the_table(tmp_path: Path) -> None:
    listed: list[Any] = Tortie(tmp_path)("lab", "faults", "-o", "json").json["faults"]
    assert len(listed) >= 25
    assert {fault["name"] for fault in listed if not fault["incident"]} <= {case.partition("/")[0] for case in cases()}
    folders = {path.name for path in (Path(__file__).parent / "incidents").iterdir() if path.is_dir()}
    assert folders == {fault["name"] for fault in listed if fault["incident"]}
    assert sorted(fault["incident"] for fault in listed if fault["incident"]) == list(range(1, 9))
    assert {fault["incident"] for fault in listed if fault["spared"] and fault["incident"]} == {1, 2, 3, 6, 8}

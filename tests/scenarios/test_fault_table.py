"""The table fault → cause: every fault of the catalogue, on nodes of both modes, is diagnosed with its own cause.

In a lab that is healthy, a fault is struck; the doctor collects from the running lab and names the cause of the fault,
and no other; the fault is healed, which proves that all is as before, and the next one is struck in the same lab: what
was wrong before it must not be blamed for what is wrong now. A fault that Tortie's own node is spared from leaves it
ready, without a restart, and the doctor says healthy all the while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.support.cli import Tortie
from tests.support.patient import Patient, workers
from tests.support.together import Together, selected, together

from tortie.lab.faults.catalogue import all_faults
from tortie.lab.faults.fault import Fault

pytestmark = pytest.mark.timeout(1200)  # the first test waits for the first lab, with everything before it

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
ALIKE_MAX: Final = 12  # faults in one lab; several labs side by side are sooner done


class Ward(NamedTuple):
    """Faults that are struck in labs of the same form, one after the other."""

    mode: str
    release: str
    store: tuple[str, ...]  # words of `lab up`
    vxlan: bool
    number: int

    def lab(self, left: int) -> str:
        """A name that no other begins with: what a lab has left on the machine is found by its name."""
        marks = "".join(word.strip("-")[0] for word in self.store)
        return f"{self.mode}{self.release.replace('.', '')}{marks}{'v' * self.vxlan}-{self.number}-{left}-x"


def ward_of(fault: Fault, mode: str) -> Ward:
    """No more than the fault needs: on a machine with two cores every process counts."""
    words = {"etcd": ("--store", "etcd"), "three-members": ("--members", "3"), "tls": ("--tls",)}
    store = tuple(word for need in words if need in fault.needs for word in words[need])
    return Ward(mode, fault.release if mode == CLASSIC else "", store, "vxlan" in fault.needs, 0)


def wards(chosen: Sequence[str]) -> dict[Ward, list[str]]:
    found: dict[Ward, list[str]] = {}
    for case in chosen:
        name, _, mode = case.partition("/")
        ward = ward_of(FAULTS[name], mode)
        while len(found.get(ward, ())) >= ALIKE_MAX:
            ward = ward._replace(number=ward.number + 1)
        found.setdefault(ward, []).append(case)
    return found


def up(lab: Patient, ward: Ward, inside: Sequence[str], folder: Path) -> None:
    if ward.vxlan:
        file = folder / "vxlan.yaml"
        file.write_text(VXLAN + (f'classic: "{ward.release}"\n' if ward.release else ""))
        lab.up("-f", str(file))
        assert lab("pod run", "web", "--count", "2").code == 0
    else:
        three = any("three-nodes" in FAULTS[case.partition("/")[0]].needs for case in inside)
        mode = ("--classic", ward.release) if ward.release else ("--kubelet",)
        lab.up("--nodes", "3" if three else "2", *ward.store, *mode, *HURRY)
    lab.until_ready()


def cases() -> list[str]:
    """What the folders of the eight incidents show as well is left to them: classic nodes, and spared ones."""
    return [
        f"{fault.name}/{mode}"
        for fault in all_faults()
        for mode in (CLASSIC, DEFAULT)
        if not (fault.incident and (mode == CLASSIC or fault.spared))
    ]


def examined(lab: Patient, case: str) -> None:
    name, _, mode = case.partition("/")
    fault = FAULTS[name]
    words = () if fault.everywhere else ("--node", NODE)
    pod, restarts = lab.pod(NODE)["metadata"]["uid"], lab.restarts(NODE)
    lab.breaks(fault.name, *words, "--seed", SEED)
    if mode == DEFAULT and fault.spared:
        lab.until_ready()
        time.sleep(SETTLED_S)
        lab.until_ready()
        lab.until_healthy()
        same = lab.pod(NODE)["metadata"]["uid"] == pod  # not made anew by the fault
        assert lab.restarts(NODE) == (restarts if same else 0), lab.picture()
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
        (inside, partial(_run, ward, inside, tmp_path_factory.mktemp("t")))
        for ward, inside in wards(selected(request, "case")).items()
    ]
    with together(jobs, workers()) as results:
        yield results


def _run(ward: Ward, inside: Sequence[str], folder: Path, results: Together) -> None:
    """After a case that failed the others get a new lab: what it may have left is not theirs to suffer from."""
    rest = list(inside)
    while rest and not results.cancelled.is_set():
        lab, here = Patient(folder, ward.lab(len(rest))), tuple(rest)
        stay = ExitStack()

        def work(case: str, lab: Patient = lab, stay: ExitStack = stay, here: Sequence[str] = here) -> None:
            """That a lab comes up is for its first case to tell, that it leaves nothing for its last one."""
            if case == here[0]:
                stay.enter_context(lab)
                up(lab, ward, here, folder)
            examined(lab, case)
            if case == here[-1]:
                stay.close()

        while rest and not results.cancelled.is_set():
            case = rest.pop(0)
            if not results.report(case, partial(work, case)):
                break
        with suppress(AssertionError):  # what is wrong has been told by the case that failed
            stay.close()


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

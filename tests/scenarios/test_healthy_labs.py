"""Labs in which nothing is wrong: the doctor says so, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tests.support.patient import Patient, workers
from tests.support.together import Together, selected, together

pytestmark = pytest.mark.timeout(300)

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "lab"
HURRY: Final = ("--hurry", "10")
LABS: Final[dict[str, tuple[str, ...]]] = {
    "plain": ("--nodes", "3"),
    "racks": ("--nodes", "4", "--racks", "2"),
    "kubelet": ("--nodes", "2", "--kubelet", *HURRY),
    "unhurried": ("--nodes", "2", "--kubelet"),
    **{
        f"calico-{release}": ("--nodes", "2", "--classic", release, *HURRY)
        for release in ("2.6", "3.8", "3.9", "3.20", "3.28")
    },
    "etcd": ("--nodes", "2", "--kubelet", *HURRY, "--store", "etcd", "--members", "3", "--tls"),
    "calico-etcd": ("--nodes", "2", "--classic", "3.20", *HURRY, "--store", "etcd", "--tls"),
    "dual-stack": ("--nodes", "2", "--kubelet", *HURRY, "--ipv6"),
    "vxlan": ("-f", str(EXAMPLES / "vxlan-racks.yaml")),
}


def healthy(name: str, folder: Path) -> None:
    with Patient(folder, name.replace(".", "-")) as lab:
        lab.up(*LABS[name])
        if "--classic" in LABS[name] or "--kubelet" in LABS[name]:
            lab.until_ready()
        ran = lab("pod run", "web", "--count", "2")
        assert ran.code == 0, ran
        answer = lab.until_healthy()
        assert answer["causes"] == []
        assert lab("break", "--decoy", "idle-bridge", "--node", "node-2").code == 0
        assert lab.until_healthy()["causes"] == []
        assert lab("heal").code == 0


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    jobs: list[tuple[list[str], Callable[[Together], None]]] = [
        ([name], partial(_run, name, tmp_path_factory.mktemp("h"))) for name in selected(request, "name")
    ]
    with together(jobs, workers()) as results:
        yield results


def _run(name: str, folder: Path, results: Together) -> None:
    results.report(name, partial(healthy, name, folder))


@pytest.mark.parametrize("name", LABS)
def test_doctor_says_healthy(outcomes: Together, name: str) -> None:
    outcomes.outcome(name)

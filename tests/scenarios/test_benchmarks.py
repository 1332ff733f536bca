"""Each benchmark runs once, small, so that it never rots; its figures are of no interest here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
SMALL = {
    "bench_bird_control.py": ["--rounds", "1", "--peers", "3"],
    "bench_cli.py": ["--rounds", "1"],
    "bench_cni.py": ["--rounds", "1", "--pods", "2", "--at-once", "1", "2"],
    "bench_commands_etcd.py": ["--rounds", "1"],
    "bench_doctor.py": ["--rounds", "1", "--nodes", "3", "6", "--megabytes", "4", "--prose", "1"],
    "bench_embedded_store.py": ["--rounds", "1", "--seconds", "0.1"],
    "bench_etcd_store.py": ["--rounds", "1", "--seconds", "0.1"],
    "bench_fabric.py": ["--rounds", "1", "--nodes", "3"],
    "bench_incidents.py": ["--rounds", "1", "--nodes", "2"],
    "bench_ipam.py": [
        *("--rounds", "1", "--seconds", "0.03", "--nodes", "2", "--blocks", "16", "--taken", "10", "--new", "2"),
        *("--check-nodes", "8", "--check-addresses", "80"),
    ],
    "bench_lab.py": ["--rounds", "1", "--nodes", "3", "--changes", "2", "--changes-at", "3"],
    "bench_mesh.py": ["--rounds", "1", "--nodes", "3", "5"],
    "bench_pods.py": ["--rounds", "1", "--pods", "3", "--at-once", "2"],
    "bench_start.py": ["--rounds", "1", "--nodes", "3", "--memory-nodes", "3", "--round-trip-ms", "5"],
    "bench_transfer.py": ["--rounds", "1"],
    "bench_watch.py": ["--rounds", "1", "--watchers", "3", "--changes", "3"],
}


def test_every_benchmark_is_run_here() -> None:
    assert {path.name for path in BENCHMARKS.glob("bench_*.py")} == set(SMALL)


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_prints_its_table(name: str) -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *SMALL[name]],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "\n|--" in run.stdout

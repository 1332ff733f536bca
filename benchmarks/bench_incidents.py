"""How long a lab takes to be broken, looked at, judged and healed; each beside a floor of the same run.

Evidence stands beside the script for real clusters, run in every node one after the other. Breaking and healing stand
beside `tortie --help`: what any command costs before it does anything. A lab with kubelets stands beside a plain one.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from table import print_table

Work = Callable[[], object]

_FAULT = ("bgp-port-dropped", "--node", "node-2")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=3)
    options = parser.parse_args(argv)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="bench-incidents-") as folder:
            for what, ours, floor in _round(Path(folder), options.nodes):
                found.setdefault(what, []).append((_seconds(ours), _seconds(floor)))
    rows = []
    for what, pairs in found.items():
        ours_s, floor_s = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(ours / floor for ours, floor in pairs)
        rows.append((what, f"{ours_s:.2f} s", f"{floor_s:.2f} s", f"{ratio:.2f}"))
    print_table(f"A lab of {options.nodes} nodes (medians of {options.rounds})", ["", "ours", "floor", "ratio"], rows)
    print("floors: a plain lab; collect.sh in each node; `tortie --help`; evidence alone; `tortie --help`")
    return 0


def _round(folder: Path, nodes: int) -> Iterator[tuple[str, Work, Work]]:
    """What is measured, and its floor; one after the other, because each needs what the one before it has done."""
    from tests.support.cli import COMMAND
    from tests.support.lab import Lab

    plain, lab = Lab(folder, "plain"), Lab(folder, "pods")
    script = str(Path(__file__).resolve().parents[1] / "src/tortie/doctor/collect.sh")

    def by_script() -> None:
        for number in range(1, nodes + 1):
            plain("exec", f"node-{number}", "--", "bash", script)

    def run(*words: str) -> None:
        subprocess.run([str(COMMAND), *words], env=lab.environment, stdout=subprocess.DEVNULL, check=False)

    size = ("--nodes", str(nodes))
    with plain, lab:
        yield "up, with kubelets", lambda: lab.up(*size, "--hurry", "10"), lambda: plain.up(*size)
        yield "evidence, of the plain one", lambda: plain("evidence", "-o", str(folder / "one")), by_script
        yield "break", lambda: lab("break", *_FAULT), lambda: run("--help")
        judged = ("doctor", "--lab", "--name", lab.name)
        yield "doctor --lab", lambda: run(*judged), lambda: lab("evidence", "-o", str(folder / "two"))
        yield "heal, until all is ready", lambda: lab("heal"), lambda: run("--help")


def _seconds(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())

"""A node is filled with pods from empty: how long, next to Debian's `ptp` with `host-local`?

Through the plugin, as a runtime would: so many pods, ten at a time, each with a network namespace that is there
already. Ours starts with a node that has no block yet, so the first block's claim, and the second's, are part of it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from table import print_table


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=110, help="on the node; 110 is what Kubernetes allows by default")
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--etcd", action="store_true", help="ours on etcd")
    parser.add_argument("--python", action="store_true", help="ours in Python, as where there is no compiled program")
    options = parser.parse_args(argv)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.support.netns import Namespace

    from pod_hosts import agent_host
    from runtimes import Plugin, pods, ptp

    def filled(plugin: Plugin) -> tuple[float, float]:
        """Seconds until all are there, and until all are gone again."""
        with pods(options.pods, "fill") as some:
            took = []
            for verb in ("ADD", "DEL"):
                began = time.perf_counter()
                plugin.call(verb, some, options.at_once)
                took.append(time.perf_counter() - began)
        return took[0], took[1]

    found: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for _ in range(options.rounds):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-pods-")))
            ours = stack.enter_context(agent_host(folder, etcd=options.etcd, compiled=not options.python))
            theirs = ptp(stack.enter_context(Namespace("ptp")), folder)
            found.append((filled(ours), filled(theirs)))
    rows = []
    for index, what in enumerate(("all there", "all gone")):
        mine = [pair[0][index] for pair in found]
        floor = [pair[1][index] for pair in found]
        ratio = statistics.median(a / b for a, b in zip(mine, floor, strict=True))
        ours_s, theirs_s = statistics.median(mine), statistics.median(floor)
        each = 1000 * ours_s / options.pods
        rows.append((what, f"{ours_s:.2f} s", f"{theirs_s:.2f} s", f"{ratio:.2f}", f"{each:.1f} ms"))
    print_table(
        f"{options.pods} pods on a node from empty, {options.at_once} at a time (medians of {options.rounds})",
        ["until", "ours", "ptp, host-local", "ratio", "ours, each pod"],
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

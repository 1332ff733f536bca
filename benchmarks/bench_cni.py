"""How long does a CNI ADD take, next to Debian's `ptp` with `host-local` doing the same job?

Both are called as a runtime calls them, by fork and exec with variables and standard input, each in the network
namespace of a host of its own: ours with a real agent, on the embedded store unless said otherwise. The job: an
address of IPv4, a veth, a default route in the pod, a route to the pod. Runs of both alternate: each has as many pods
in every round, added and deleted again, one after the other and ten at a time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from table import print_table

_P50_TARGET, _P99_TARGET = 1.2, 1.0


class Times:
    """Of one plugin and one way to call it."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {"ADD": [], "DEL": []}
        self.medians: dict[str, list[float]] = {"ADD": [], "DEL": []}  # of each round

    def note(self, verb: str, seconds: Sequence[float]) -> None:
        self.of[verb] += seconds
        self.medians[verb].append(statistics.median(seconds))

    def p50(self, verb: str) -> float:
        return statistics.median(self.of[verb])

    def p99(self, verb: str) -> float:
        ordered = sorted(self.of[verb])
        return ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="of both, for each number at a time")
    parser.add_argument("--pods", type=int, default=30, help="in each round")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--etcd", action="store_true", help="ours on etcd")
    parser.add_argument("--bare", action="store_true", help="ours without the rest of the agent")
    parser.add_argument("--python", action="store_true", help="ours in Python, as where there is no compiled program")
    options = parser.parse_args(argv)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.support.netns import Namespace

    from pod_hosts import agent_host, bare_host
    from runtimes import pods, ptp

    rows: list[Sequence[object]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-cni-")))
        compiled = not options.python
        host = bare_host(folder, compiled=compiled) if options.bare else None
        ours = stack.enter_context(host or agent_host(folder, etcd=options.etcd, compiled=compiled))
        theirs = ptp(stack.enter_context(Namespace("ptp")), folder)
        for at_once in options.at_once:
            times = {plugin.name: Times() for plugin in (ours, theirs)}
            for number in range(options.rounds + 1):
                for plugin in (ours, theirs):
                    with pods(options.pods, f"{at_once}-{number}") as some:
                        for verb in ("ADD", "DEL"):
                            took = plugin.call(verb, some, at_once)
                            if number:  # the first round warms up
                                times[plugin.name].note(verb, took)
            rows += [_row(verb, at_once, times[ours.name], times[theirs.name]) for verb in ("ADD", "DEL")]
    print_table(
        f"CNI, milliseconds of a call of {ours.name} ({options.rounds} alternating rounds of {options.pods} pods)",
        ["call", "at a time", "p50", "ptp p50", "ratio", "target", "p99", "ptp p99", "ratio", "target"],
        rows,
    )
    return 0


def _row(verb: str, at_once: int, ours: Times, theirs: Times) -> Sequence[object]:
    p50 = statistics.median(mine / floor for mine, floor in zip(ours.medians[verb], theirs.medians[verb], strict=True))
    p99 = ours.p99(verb) / theirs.p99(verb)
    return (
        verb,
        at_once,
        f"{ours.p50(verb) * 1000:.1f}",
        f"{theirs.p50(verb) * 1000:.1f}",
        f"{p50:.2f}",
        _verdict(p50, _P50_TARGET) if at_once == 1 else "",
        f"{ours.p99(verb) * 1000:.1f}",
        f"{theirs.p99(verb) * 1000:.1f}",
        f"{p99:.2f}",
        _verdict(p99, _P99_TARGET) if (verb, at_once) == ("ADD", 10) else "",
    )


def _verdict(ratio: float, target: float) -> str:
    return f"{'PASS' if ratio <= target else 'FAIL'} (<= {target:.1f})"


if __name__ == "__main__":
    sys.exit(main())

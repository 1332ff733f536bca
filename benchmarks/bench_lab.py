"""How long does `tortie lab up` take until every node is ready, where does the time go, and what does a lab weigh?

The floor, in the same run: the same network with BIRDs alone, configured as the agents would configure them, until
every kernel has a route to every other node's block. Its network is part of its time, as it is part of the lab's. After
that: how soon a new block of one node is in all other kernels, and how much memory a node takes.

Needs root. Every lab has a name and a folder of its own, and is taken down whatever happens.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bare_mesh import BareMesh
from labs import Up, change_blocks, lab_of, labs_folder
from processes import Usage
from table import print_table

# What the figures shall be, by number of nodes.
_UP_MAX_S = {3: 3.0, 10: 5.0, 50: 15.0, 100: 30.0}
_DOWN_MAX_S = {50: 3.0}
_CHANGE_MAX_S = 1.0
_NODE_MAX_MB, _NODE_MAX_AT = 12.0, 50
_AGENT_MAX_MB = 40.0

_CALM_S = 3.0  # after a start, before memory is read
_PHASES = ("command", "keeper", "fabric", "loaded", "store", "agents", "ready")


class Figures(NamedTuple):
    ups: list[Up]
    downs: list[float]
    floors: list[float]
    floor_cpu_s: list[float]


class Weight(NamedTuple):
    keeper: Usage
    agents: Usage
    birds: Usage


def measure(sizes: Sequence[int], rounds: int, changes: int, changes_at: int) -> None:
    found: dict[int, Figures] = {}
    weights: dict[int, Weight] = {}
    changed: tuple[list[float], list[float]] = [], []
    with labs_folder() as labs:
        for nodes in sizes:
            figures = found[nodes] = Figures([], [], [], [])
            for number in range(rounds):
                with tempfile.TemporaryDirectory(prefix="bare-", dir=labs) as folder:
                    floor_s, used = BareMesh(nodes, Path(folder)).converge()
                figures.floors.append(floor_s)
                figures.floor_cpu_s.append(used.cpu_s)
                settle(nodes)
                with lab_of(labs, nodes) as lab:
                    figures.ups.append(lab.up())
                    if number == rounds - 1:
                        time.sleep(_CALM_S)
                        weights[nodes] = Weight(*lab.usage())
                        changed = change_blocks(lab, changes) if nodes == changes_at else changed
                    figures.downs.append(lab.down())
                settle(nodes)
    tell_times(found, rounds)
    tell_phases(found)
    tell_processor(found)
    tell_changes(changed, changes_at)
    tell_memory(weights)


def settle(nodes: int) -> None:
    """The kernel removes namespaces in the background, and whoever makes new ones meanwhile has to wait for it."""
    time.sleep(0.2 + nodes * 0.01)


def tell_times(found: dict[int, Figures], rounds: int) -> None:
    rows = []
    for nodes, figures in found.items():
        up_s, down_s = _median(up.wall_s for up in figures.ups), _median(figures.downs)
        floor_s, routes_s = _median(figures.floors), _median(up.routes_s for up in figures.ups)
        rows.append(
            (
                nodes,
                f"{up_s:.2f} s",
                _goal(up_s, _UP_MAX_S.get(nodes), "s"),
                f"{floor_s:.2f} s",
                f"{up_s / floor_s:.1f}",
                f"{routes_s:.2f} s",
                f"{up_s / nodes * 1000:.0f} ms",
                f"{down_s:.2f} s",
                _goal(down_s, _DOWN_MAX_S.get(nodes), "s"),
            )
        )
    header = (
        "nodes",
        "lab up",
        "goal",
        "floor: BIRDs alone",
        "ratio",
        "all routes after",
        "up, each node",
        "lab down",
        "goal",
    )
    print_table(f"A lab until all nodes are ready (medians of {rounds}, load {_load()})", header, rows)


def tell_phases(found: dict[int, Figures]) -> None:
    rows = []
    for nodes, figures in found.items():
        phases = [_median(up.phases.get(phase, 0.0) for up in figures.ups) for phase in _PHASES]
        starts = [statistics.median(up.started_s) for up in figures.ups], [max(up.started_s) for up in figures.ups]
        rows.append((nodes, *(f"{each:.2f}" for each in phases), *(f"{_median(each):.2f}" for each in starts)))
    header = ("nodes", *_PHASES, "an agent's start", "the slowest")
    print_table("Where the time goes, in seconds; the last two happen within `agents` and `ready`", header, rows)


def tell_processor(found: dict[int, Figures]) -> None:
    rows = []
    for nodes, figures in found.items():
        parts = [_median(usage.cpu_s for usage in each) for each in zip(*(up[-3:] for up in figures.ups), strict=True)]
        floor_s, reloads = _median(figures.floor_cpu_s), [max(up.reloads, default=0) for up in figures.ups]
        seconds = (f"{each:.2f}" for each in (*parts, floor_s))
        rows.append((nodes, *seconds, f"{sum(parts) / nodes * 1000:.0f} ms", f"{_median(reloads):.0f}"))
    header = ("nodes", "keeper", "agents", "BIRDs", "floor: BIRDs alone", "all, each node", "most reloads of a BIRD")
    print_table("Processor time until then, in seconds", header, rows)


def tell_changes(changed: tuple[list[float], list[float]], nodes: int) -> None:
    arrivals, last = changed
    if not last:
        return
    rows = [
        ("each kernel", _ms(statistics.median(arrivals)), _ms(max(arrivals)), ""),
        ("the last kernel", _ms(statistics.median(last)), _ms(max(last)), _goal(max(last), _CHANGE_MAX_S, "s")),
    ]
    title = f"A new block of one of {nodes} nodes, from before the commit to the others' kernels ({len(last)} changes)"
    print_table(title, ("what", "p50", "max", "goal"), rows)


def tell_memory(weights: dict[int, Weight]) -> None:
    rows = []
    for nodes, (keeper, agents, birds) in weights.items():
        node_mb = (agents.pss_mb + birds.pss_mb) / nodes
        rows.append(
            (
                nodes,
                f"{agents.pss_mb / nodes:.1f} MB",
                f"{birds.pss_mb / nodes:.1f} MB",
                f"{node_mb:.1f} MB",
                _goal(node_mb, _NODE_MAX_MB if nodes == _NODE_MAX_AT else None, "MB"),
                f"{node_mb + keeper.pss_mb / nodes:.1f} MB",
                f"{agents.rss_mb:.1f} MB",
                _goal(agents.rss_mb, _AGENT_MAX_MB, "MB"),
            )
        )
    pss = ("an agent's PSS", "a BIRD's", "both", "goal", "with its part of the keeper")
    print_table("Memory of a node", ("nodes", *pss, "largest agent's RSS", "goal"), rows)


def _median(numbers: Iterable[float]) -> float:
    return float(statistics.median(numbers))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _goal(found: float, limit: float | None, unit: str) -> str:
    return "" if limit is None else f"{'PASS' if found <= limit else 'FAIL'} (<= {limit:g} {unit})"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="labs of each size")
    parser.add_argument("--nodes", type=int, nargs="+", default=[3, 10, 50, 100])
    parser.add_argument("--changes", type=int, default=20, help="new blocks, one after the other")
    parser.add_argument("--changes-at", type=int, default=50, help="the size of the lab in which that is measured")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that labs are taken down
    measure(options.nodes, options.rounds, options.changes, options.changes_at)
    return 0


if __name__ == "__main__":
    sys.exit(main())

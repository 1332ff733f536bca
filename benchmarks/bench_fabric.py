"""How long does the network of a lab take, compared with `ip -batch`, the fastest way to do it with the usual tool?

Both make the same: a namespace for each node and one for the switch, a cable from each into it, addresses, a default
route, and permanent entries for all neighbours, of which there are N times N. `ip` is told in as few calls as it
allows, one for all namespaces, one for all cables and one for each node; forwarding, which it cannot switch on, it is
let off.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from table import print_table
from tortie.lab.fabric import Fabric
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags

_TARGET = 1.0  # not slower than ip -batch
_SWITCH = "switch"


class Ours(NamedTuple):
    new_s: float
    again_s: float  # nothing to be done
    one_more_s: float


def measure_ours(planned: LabPlan, larger: LabPlan) -> Ours:
    fabric = Fabric()
    try:
        times = []
        for wanted in (planned, planned, larger):
            began = time.perf_counter()
            fabric.apply(wanted)
            times.append(time.perf_counter() - began)
    finally:
        fabric.close()
    return Ours(*times)


def measure_ip(planned: LabPlan) -> float:
    prefix = f"bench-{os.getpid()}-"
    names = [_SWITCH, *(machine.name for machine in planned.machines)]
    try:
        began = time.perf_counter()
        _batch([], [f"netns add {prefix}{name}" for name in names])
        _batch(["-n", f"{prefix}{_SWITCH}"], _cables(planned, prefix))
        for machine in planned.machines:
            _batch(["-n", f"{prefix}{machine.name}"], _insides(machine))
        return time.perf_counter() - began
    finally:
        _batch(["-force"], [f"netns del {prefix}{name}" for name in names])


def _cables(planned: LabPlan, prefix: str) -> list[str]:
    return [
        *(f"link add {segment.name} up type bridge forward_delay 0" for segment in planned.segments),
        *(
            f"link add port{number}-{nic.name} master {nic.segment} up mtu {nic.mtu} type veth "
            f"peer name {nic.name} address {nic.mac} mtu {nic.mtu} netns {prefix}{machine.name}"
            for number, machine in enumerate(planned.machines)
            for nic in machine.nics
        ),
    ]


def _insides(machine: Machine) -> list[str]:
    return [
        "link set lo up",
        *(f"link set {nic.name} up" for nic in machine.nics),
        *(f"addr add {cidr} dev {nic.name}" for nic in machine.nics for cidr in nic.addresses),
        *(f"route add {network} via {gateway}" for network, gateway in machine.routes),
        *(
            f"neigh add {known.address} lladdr {known.mac} dev {known.nic} nud permanent"
            for known in machine.neighbours
        ),
    ]


def _batch(flags: Sequence[str], lines: Sequence[str]) -> None:
    text = "\n".join(lines) + "\n"
    subprocess.run(["ip", *flags, "-batch", "-"], input=text, text=True, check=True, capture_output=True)


def settle(nodes: int) -> None:
    """The kernel removes namespaces in the background, and whoever makes new ones meanwhile has to wait for it."""
    time.sleep(0.2 + nodes * 0.01)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--nodes", type=int, nargs="+", default=[3, 10, 50, 100])
    options = parser.parse_args(argv)
    rows = []
    for nodes in options.nodes:
        planned, larger = (plan(from_flags(count), "bench") for count in (nodes, nodes + 1))
        ours, by_ip = [], []
        for _ in range(options.rounds):
            by_ip.append(measure_ip(planned))
            settle(nodes)
            ours.append(measure_ours(planned, larger))
            settle(nodes)
        median = Ours(*(statistics.median(column) for column in zip(*ours, strict=True)))
        theirs = statistics.median(by_ip)
        ratio = median.new_s / theirs
        rows.append(
            (
                nodes,
                f"{theirs * 1000:.0f} ms",
                f"{median.new_s * 1000:.0f} ms",
                f"{ratio:.2f}",
                f"{'PASS' if ratio <= _TARGET else 'FAIL'} (target <= {_TARGET:.2f})",
                f"{median.again_s * 1000:.0f} ms",
                f"{median.one_more_s * 1000:.0f} ms",
            )
        )
    print_table(
        f"The network of a lab ({options.rounds} alternating rounds, medians)",
        ("nodes", "ip -batch", "ours", "ratio", "verdict", "ours, nothing to do", "ours, one node more"),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

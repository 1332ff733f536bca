"""Thirty pods on each of three nodes, made at the same time, half of them anew, while agents are killed: everybody
reaches everybody, no address is given out twice or lost, and who runs goes on.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import pytest
from tests.support.lab import Lab
from tests.support.pods import assert_reach, pods, reach_all, run_pods
from tests.support.streams import Stream

PER_NODE = 30
COUNT = 3 * PER_NODE
# An agent that is killed takes its BIRD along; the kernel keeps the routes here, and graceful restart keeps them at the
# peers. On a machine that does all of this at once a packet may be late, but no stream may be silent for longer.
SILENT_MAX_S = 1.0

TOPOLOGIES = {
    "plain routing": "nodes: 3",
    "VXLAN across racks": (
        "racks: [left, right]\n"
        "nodes: [{name: node-1, rack: left}, {name: node-2, rack: left}, {name: node-3, rack: right}]\n"
        "pool: {encapsulation: VXLANCrossSubnet}\n"
        "store: etcd"
    ),
    "VXLAN everywhere": "nodes: 3\npool: {encapsulation: VXLAN}",
}


@pytest.fixture(params=TOPOLOGIES)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    file = tmp_path / "lab.yaml"
    file.write_text(f"apiVersion: tortie/v1\nkind: Lab\n{TOPOLOGIES[request.param]}\n")
    with Lab(tmp_path) as lab:
        lab.up("-f", str(file))
        yield lab


@pytest.mark.timeout(300)
def test_pods_in_numbers_while_agents_die(lab: Lab) -> None:
    names = [f"web-{number}" for number in range(1, COUNT + 1)]
    run_pods(lab, "web", "--count", str(COUNT), "--timeout", "90s")
    there = pods(lab)
    assert [node["pods"] for node in lab.status()["nodes"]] == [PER_NODE] * 3
    reach_all(lab)
    assert_reach(lab, COUNT * (COUNT - 1))

    chosen = {pod["node"]: pod for pod in there}  # the last one of each node
    staying = {pod["name"] for pod in chosen.values()}
    half = [name for name in names if name not in staying][: COUNT // 2]
    with ExitStack() as stack:
        streams = [
            stack.enter_context(Stream(lab, source["name"], target["addresses"][0]))
            for source, target in permutations(chosen.values(), 2)
        ]
        lab("stop", "node-1", "--signal", "KILL")
        deleting = lab.start("pod delete", *half, "--timeout", "90s")
        lab("start", "node-1")
        assert_ends_well(deleting)
        running = lab.start("pod run", *half, "--timeout", "90s")
        lab("stop", "node-2", "--signal", "KILL")
        lab("start", "node-2")
        assert_ends_well(running)
        lab.wait_ready()
        reach_all(lab)
        for stream in streams:
            stream.end()
    assert max(stream.longest_gap_s for stream in streams) <= SILENT_MAX_S, streams

    assert_reach(lab, COUNT * (COUNT - 1))
    addresses = [address for pod in pods(lab) for address in pod["addresses"]]
    assert len(set(addresses)) == COUNT
    assert_consistent(lab, COUNT)
    assert lab("pod delete", "--all", "--timeout", "90s").code == 0
    assert_consistent(lab, 0)


def assert_ends_well(command: subprocess.Popen[bytes]) -> None:
    out, err = command.communicate(timeout=120)
    assert command.returncode == 0, (out.decode(), err.decode())


def assert_consistent(lab: Lab, endpoints: int) -> None:
    """What an agent was asked while it was away, it does when it is back."""

    def known() -> int:
        listed = lab.inside("node-1", "tortie", "get", "workloadendpoints", "-n", "default", "-o", "json")
        return len(json.loads(listed)["items"])

    lab.wait(f"{endpoints} endpoints are in the store", lambda: known() == endpoints)
    lab.wait("the addresses agree", lambda: lab("exec", "node-1", "--", "tortie", "ipam", "check").code == 0)

"""Pods of a lab through the shipped CNI plugin and the node's agent, as a person has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab, living
from tests.support.pods import assert_reach, pods, reach_all, run_pods

EXAMPLES = Path(__file__).parents[2] / "examples" / "lab"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        yield lab


def test_a_pod_on_each_node_and_all_reach_each_other(lab: Lab) -> None:
    lab.up("--nodes", "3")
    for number in (1, 2, 3):
        run_pods(lab, f"web-{number}", "--node", f"node-{number}")
    told = pods(lab)
    assert [(pod["name"], pod["node"]) for pod in told] == [(f"web-{n}", f"node-{n}") for n in (1, 2, 3)]
    for number, pod in enumerate(told):
        (address,) = pod["addresses"]
        assert 64 * number <= int(address.rpartition(".")[2]) < 64 * (number + 1), "of the node's own block"
        assert re.fullmatch(r"cali[0-9a-f]{11}", pod["interface"])
    reach_all(lab)
    assert_reach(lab, 6)
    assert lab("pod exec", "web-2", "--", "hostname").stdout == "web-2\n"
    assert "169.254.1.1" in lab("pod exec", "web-2", "--", "ip", "route").stdout
    lab.inside("node-1", "tortie", "ipam", "check")
    assert "10.244.0.64/26" in lab.inside("node-1", "tortie", "ipam", "show", "--show-blocks")
    endpoints = lab.inside("node-1", "tortie", "get", "workloadendpoints", "-n", "default")
    assert all(f"web-{number}" in endpoints for number in (1, 2, 3))

    marks = lab.namespaces()
    assert len(marks) == 8
    down = lab("down")
    assert "nothing remains" in down.stdout
    lab.assert_gone()
    assert not living(marks)


def test_addresses_come_back(lab: Lab) -> None:
    lab.up("--nodes", "2")
    run_pods(lab, "web", "--count", "20")
    half = [f"web-{number}" for number in range(1, 21, 2)]
    assert lab("pod delete", *half).code == 0
    lab.inside("node-1", "tortie", "ipam", "check")
    run_pods(lab, *half)
    reach_all(lab)
    assert_reach(lab, 20 * 19)
    addresses = [address for pod in pods(lab) for address in pod["addresses"]]
    assert len(set(addresses)) == 20
    assert lab("pod delete", "--all").code == 0
    lab.inside("node-1", "tortie", "ipam", "check")
    left = lab.inside("node-1", "tortie", "get", "workloadendpoints", "-n", "default", "-o", "json")
    assert json.loads(left)["items"] == []


def test_a_pod_waits_for_its_nodes_agent_and_says_so(lab: Lab) -> None:
    lab.up("--nodes", "2")
    lab("stop", "node-1", "--signal", "KILL")
    late = lab("pod run", "web-1", "--node", "node-1", "--timeout", "1s")
    assert late.code == 1
    assert "web-1 on node-1: calico (11)" in late.stderr
    assert pods(lab) == []
    waiting = lab.start("pod run", "web-1", "--node", "node-1", "--timeout", "60s")
    lab.wait("it is being made", lambda: [pod["state"] for pod in pods(lab)] == ["starting"])
    lab("start", "node-1")
    out, err = waiting.communicate(timeout=90)
    assert waiting.returncode == 0, (out, err)
    run_pods(lab, "web-2", "--node", "node-2")
    reach_all(lab)
    lab.inside("node-1", "tortie", "ipam", "check")


def test_a_pod_deleted_without_its_agent_is_forgotten_when_that_is_back(lab: Lab) -> None:
    lab.up("--nodes", "2")
    run_pods(lab, "web-1", "web-2", "--node", "node-1")
    lab("stop", "node-1", "--signal", "KILL")
    assert lab("pod delete", "web-1").code == 0
    lab("start", "node-1")
    run_pods(lab, "web-3", "--node", "node-1")

    def forgotten() -> bool:
        listed = lab.inside("node-1", "tortie", "get", "workloadendpoints", "-n", "default", "-o", "json")
        return {item["spec"]["pod"] for item in json.loads(listed)["items"]} == {"web-2", "web-3"}

    lab.wait("the store has forgotten web-1", forgotten)
    reach_all(lab)
    lab.inside("node-1", "tortie", "ipam", "check")


def test_of_a_node_that_leaves_nothing_stays_in_the_store(lab: Lab) -> None:
    lab.up("--nodes", "3")
    run_pods(lab, "web", "--count", "9")
    assert "removed node-3" in lab.up("--nodes", "2").stdout
    assert len(pods(lab)) == 6
    listed = lab.inside("node-1", "tortie", "get", "workloadendpoints", "-n", "default", "-o", "json")
    assert {item["spec"]["node"] for item in json.loads(listed)["items"]} == {"node-1", "node-2"}
    lab.inside("node-1", "tortie", "ipam", "check")
    assert "10.244.0.128/26" not in lab.inside("node-1", "tortie", "ipam", "show", "--show-blocks")
    assert "added node-3" in lab.up("--nodes", "3").stdout
    run_pods(lab, "again", "--node", "node-3")
    reach_all(lab)
    lab.inside("node-1", "tortie", "ipam", "check")


def test_both_families(lab: Lab) -> None:
    lab.up("--nodes", "2", "--ipv6")
    run_pods(lab, "web", "--count", "4")
    assert all(len(pod["addresses"]) == 2 for pod in pods(lab))
    reach_all(lab)
    assert_reach(lab, 2 * 4 * 3)


def test_racks_with_a_tunnel_between_them(lab: Lab) -> None:
    lab.up("-f", str(EXAMPLES / "vxlan-racks.yaml"))
    run_pods(lab, "web", "--count", "8")
    reach_all(lab)
    assert_reach(lab, 8 * 7)
    assert "10.244" not in lab.inside("router", "ip", "route")
    routes = lab.inside("node-1", "ip", "route")
    assert re.search(r"10\.244\.0\.64/26 via 10\.77\.1\.2 dev eth0", routes), "inside of the rack as it is"
    assert re.search(r"10\.244\.0\.128/26 via \S+ dev vxlan\.calico", routes), "to the other rack in the tunnel"
    # A node tells its own block, and not those that the dataplane routes to.
    asked = 'cd "$TORTIE_ROOT/var/run/calico" && birdc -s bird.ctl show route export Mesh_10_77_2_3'
    told = re.findall(r"^10\.244\S+", lab.inside("node-1", "sh", "-c", asked), re.MULTILINE)
    assert told == ["10.244.0.0/26"]
    lab.inside("node-1", "tortie", "ipam", "check")

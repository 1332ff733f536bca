"""Pods of a lab, wired as a container runtime does it, by plugins that know nothing of Tortie."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import COMMAND
from tests.support.lab import Lab, living
from tests.support.plain_cni import held_addresses, plain_network
from tests.support.pods import assert_reach, pods, reach_all, run_pods


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        lab.up("--nodes", "3")
        yield lab


def test_pods_of_three_nodes_reach_each_other_and_go(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "3")
    listed = lab("pod list")
    assert listed.stdout.split()[:5] == ["NAME", "NODE", "ADDRESS", "INTERFACE", "AGE"]
    told = pods(lab)
    assert [(pod["name"], pod["node"], pod["state"]) for pod in told] == [
        (f"web-{number}", f"node-{number}", "running") for number in (1, 2, 3)
    ]
    reach_all(lab)
    drawn = lab("ping")
    assert [line.split()[0] for line in drawn.stdout.splitlines()[:4]] == ["FROM", "web-1", "web-2", "web-3"]
    assert "✓ 6/6 pairs reach each other" in drawn.stdout
    assert lab("pod exec", "web-2", "--", "hostname").stdout == "web-2\n"
    assert lab("exec", "web-2", "--", "hostname").stdout == "web-2\n"
    assert lab("pod exec", "node-2", "--", "true").code == 2
    assert "PODS" in lab("status").stdout.splitlines()[0]
    assert [node["pods"] for node in lab.status()["nodes"]] == [1, 1, 1]

    marks = lab.namespaces()
    assert len(marks) == 8
    assert living(marks) == marks
    assert lab("pod delete", "web-2").stdout == "deleted web-2\n"
    assert held_addresses(lab, "node-2") == []
    assert held_addresses(lab, "node-1") == ["10.244.0.2"]
    down = lab("down")
    assert "7 namespaces" in down.stdout
    assert "nothing remains" in down.stdout
    lab.assert_gone()
    assert not living(marks)


def test_many_at_once_half_of_them_anew(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "30")
    assert [node["pods"] for node in lab.status()["nodes"]] == [10, 10, 10]
    reach_all(lab)
    assert_reach(lab, 30 * 29)
    folded = lab("ping").stdout.splitlines()
    assert folded[0].split() == ["FROM", "node-1", "node-2", "node-3"]
    assert folded[1].split()[:3] == ["node-1", "✓", "90/90"]
    half = [f"web-{number}" for number in range(1, 31, 2)]
    assert lab("pod delete", *half).code == 0
    assert_reach(lab, 15 * 14)
    run_pods(lab, *half)
    assert_reach(lab, 30 * 29)
    everything = lab("pod delete", "--all", "-o", "json")
    assert len(everything.json["deleted"]) == 30
    assert [held_addresses(lab, f"node-{number}") for number in (1, 2, 3)] == [[], [], []]
    assert lab("pod list").stdout.startswith("there are no pods")
    assert not list((lab.folder / "nodes/node-1/var/lib/cni/results").iterdir())


def test_a_chain_is_run_to_its_end(lab: Lab) -> None:
    """`tuning` gets what `ptp` has said, and says it again with a change."""
    plain_network(lab, {"type": "tuning", "mtu": 1400})
    run_pods(lab, "web-1", "--node", "node-1")
    assert "mtu 1400" in lab("pod exec", "web-1", "--", "ip", "link", "show", "eth0").stdout
    (pod,) = pods(lab)
    cached = json.loads((lab.folder / f"nodes/node-1/var/lib/cni/results/plain-{pod['container']}-eth0").read_text())
    assert [ip["address"] for ip in cached["result"]["ips"]] == [f"{pod['addresses'][0]}/26"]
    assert lab("pod delete", "web-1").code == 0


def test_what_cannot_be_wired_is_not_there_afterwards(lab: Lab) -> None:
    plain_network(lab, {"type": "no-such-plugin"})
    done = lab("pod run", "web-1", "web-2", "--node", "node-1")
    assert done.code == 1
    assert "2 of 2 pods got no network" in done.stderr
    assert 'web-1 on node-1: no-such-plugin (999): failed to find plugin "no-such-plugin" in path [' in done.stderr
    assert pods(lab) == []
    assert held_addresses(lab, "node-1") == []
    failed = lab("pod run", "web-1", "--node", "node-1", "-o", "json")
    assert (failed.code, failed.json["pods"]) == (1, [])
    assert failed.json["failed"][0]["plugin"] == "no-such-plugin"
    chinese = lab("pod run", "web-1", "--node", "node-1", "--lang", "zh")
    assert "1 个 pod 中有 1 个在 30 秒内未获得网络" in chinese.stderr


def test_a_pod_that_is_there_stays_and_does_not_move(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web-1", "--node", "node-2")
    (before,) = pods(lab)
    assert "web-1 there already" in lab("pod run", "web-1").stdout
    (after,) = pods(lab)
    assert after["container"] == before["container"]
    moved = lab("pod run", "web-1", "--node", "node-1")
    assert moved.code == 1
    assert "the pod web-1 is on node-2, not on node-1" in moved.stderr
    run_pods(lab, "web-1", "-n", "other")
    assert [pod["namespace"] for pod in pods(lab)] == ["default", "other"]
    assert lab("pod exec", "other/web-1", "--", "hostname").stdout == "web-1\n"
    assert lab("pod exec", "-n", "other", "web-1", "--", "hostname").stdout == "web-1\n"
    assert lab("pod delete", "-n", "other", "web-1").stdout == "deleted other/web-1\n"
    assert lab("pod run", "web-9", "--node", "router").code == 2
    assert lab("pod run", "web-9", "--node", "node-9").code == 2
    assert lab("pod delete", "web-9").code == 2


PATIENT = """#!/bin/sh
cat >/dev/null
echo "$CNI_COMMAND $CNI_CONTAINERID $CNI_NETNS" >>"$0.calls"
if [ "$CNI_COMMAND" = DEL ]; then exit 0; fi
if [ -e "$0.open" ]; then echo '{"cniVersion":"1.0.0","ips":[{"address":"10.244.0.9/32"}]}'; exit 0; fi
echo '{"code":11,"msg":"not yet","details":"the door is closed"}'
exit 1
"""


def test_a_plugin_that_asks_for_it_is_tried_again_with_another_sandbox(lab: Lab) -> None:
    root = lab.folder / "nodes" / "node-1"
    plugin = root / "opt/cni/bin/patient"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(PATIENT)
    plugin.chmod(0o755)
    configuration = root / "etc/cni/net.d/10-patient.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text('{"cniVersion": "1.0.0", "name": "patient", "type": "patient"}')
    late = lab("pod run", "web-1", "--node", "node-1", "--timeout", "1s")
    assert late.code == 1
    assert "web-1 on node-1: patient (11): not yet: the door is closed" in late.stderr
    assert pods(lab) == []
    with lab.start("pod run", "web-1", "--node", "node-1", "--timeout", "60s") as waiting:
        lab.wait("it is being made", lambda: [pod["state"] for pod in pods(lab)] == ["starting"])
        assert lab("pod delete", "web-1").code == 1, "somebody else works on it"
        (root / "opt/cni/bin/patient.open").touch()
        assert waiting.wait(60) == 0
    calls = [line.split() for line in (root / "opt/cni/bin/patient.calls").read_text().splitlines()]
    added = [tuple(words) for command, *words in calls if command == "ADD"]
    deleted = [tuple(words) for command, *words in calls if command == "DEL"]
    assert len({container for container, _ in added}) == len({netns for _, netns in added}) == len(added) > 2
    assert deleted == added[:-1], "each that failed is taken back"


def test_pairs_that_do_not_reach_each_other_are_named(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "3")
    reach_all(lab)
    lab("pod exec", "web-3", "--", "ip", "link", "set", "eth0", "down")
    done = lab("ping", "--timeout", "500ms")
    assert done.code == 3
    assert "✗ 2/6 pairs reach each other" in done.stdout
    assert "4 of 6 pairs do not reach each other" in done.stderr
    assert "web-1 (node-1) -> web-3 (node-3, 10.244.0.130): no answer within 500ms" in done.stderr
    told = lab("ping", "--timeout", "500ms", "-o", "json")
    assert (told.code, told.stderr) == (3, "")
    lost = {(pair["from"], pair["to"]) for pair in told.json["pairs"] if not pair["ok"]}
    assert lost == {("web-1", "web-3"), ("web-3", "web-1"), ("web-2", "web-3"), ("web-3", "web-2")}
    assert lab("ping", "web-1", "web-2", "--count", "5").code == 0


def test_too_few_to_ping(lab: Lab) -> None:
    plain_network(lab)
    none = lab("ping")
    assert none.code == 1
    assert "has 0 pods with an address" in none.stderr
    run_pods(lab, "web-1")
    assert lab("ping").code == 1
    assert lab("ping", "web-7").code == 2


def test_with_a_node_its_pods_go(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "6")
    lab.up("--nodes", "2")
    assert {pod["node"] for pod in pods(lab)} == {"node-1", "node-2"}
    assert_reach(lab, 4 * 3)


def test_pods_stay_while_agents_come_and_go(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "3")
    before = pods(lab)
    lab("stop", "node-1", "--signal", "KILL")
    lab("start", "node-1")
    lab.wait_ready()
    reach_all(lab)
    after = pods(lab)
    assert [pod["container"] for pod in after] == [pod["container"] for pod in before]


def test_descriptors_of_pods_that_went_are_not_used_again(lab: Lab) -> None:
    """An agent that was away may still finish what was asked about a pod that has gone, by the path of its network."""
    plain_network(lab)

    def numbers() -> set[str]:
        pid = json.loads((lab.folder / "lab.json").read_text())["pid"]
        return {number for number in os.listdir(f"/proc/{pid}/fd") if int(number) >= 1024}

    run_pods(lab, "web", "--count", "3")
    first = numbers()
    lab("pod delete", "--all")
    assert numbers() == set()
    run_pods(lab, "web", "--count", "3")
    assert len(first) == len(numbers()) == 3
    assert not first & numbers()


def test_names_of_pods_are_completed(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "2")
    words = [str(COMMAND), "__complete", "lab"]

    def completed(*more: str) -> list[str]:
        done = subprocess.run([*words, *more], env=lab.environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("pod", "exec", "w") == ["web-1", "web-2"]
    assert completed("pod", "delete", "web-1", "") == ["web-2"]
    assert completed("ping", "web-2", "w") == ["web-1"]
    assert completed("exec", "node-1", "") == []
    assert completed("exec", "") == ["node-1", "node-2", "node-3", "router", "web-1", "web-2"]


def test_with_the_keeper_all_pods_end(lab: Lab) -> None:
    plain_network(lab)
    run_pods(lab, "web", "--count", "6")
    record = json.loads((lab.folder / "lab.json").read_text())
    marks = lab.namespaces()
    os.kill(record["pid"], signal.SIGKILL)
    lab.wait("the namespaces are gone", lambda: not living(marks))
    dead = lab("ping")
    assert dead.code == 3
    assert "the lab demo is dead" in dead.stderr


def test_both_families(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        lab.up("--nodes", "2", "--ipv6")
        plain_network(lab)
        run_pods(lab, "web", "--count", "4")
        reach_all(lab)
        pairs = lab("ping", "-o", "json").json["pairs"]
        assert len(pairs) == 2 * 4 * 3
        assert {pair["family"] for pair in pairs} == {4, 6}
        drawn = lab("ping").stdout
        assert "FROM IPv4" in drawn
        assert "FROM IPv6" in drawn

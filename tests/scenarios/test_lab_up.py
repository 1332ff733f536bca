"""A lab from its beginning to its end, as a person has it at the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab, living


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as lab:
        yield lab


def test_three_nodes_come_up_answer_and_go(lab: Lab) -> None:
    done = lab.up("--nodes", "3")
    assert re.fullmatch(
        r" ✓ fabric  ✓ store  ✓ node-1 10\.77\.0\.1 ready  ✓ node-2 10\.77\.0\.2 ready  ✓ node-3 10\.77\.0\.3 ready  "
        r"✓ mesh 3/3 established   [0-9.]+ s\n",
        done.stdout,
    )
    assert done.stderr == ""
    table = lab("status")
    assert table.code == 0
    assert [line.split()[:5] for line in table.stdout.splitlines()] == [
        ["NODE", "ADDRESS", "PHASE", "READY", "SESSIONS"],
        *([f"node-{number}", f"10.77.0.{number}", "running", "yes", "2/2"] for number in (1, 2, 3)),
    ]
    assert "node-to-node mesh" in lab.inside("node-2", "tortie", "node", "status")
    # Sessions are established first, then routes come, and then they are the kernel's.
    way = ("ip", "route", "get", "10.244.0.130")
    lab.wait("node-1 has the route", lambda: "via 10.77.0.3 dev eth0" in lab.inside("node-1", *way))
    assert lab.inside("node-3", "hostname").strip() == "node-3"
    marks = lab.namespaces()
    assert len(marks) == 5
    assert living(marks) == marks

    down = lab("down")
    assert (down.code, down.stderr) == (0, "")
    assert down.stdout == "demo is gone: 5 namespaces, 7 processes, 9 links, 1 folder; nothing remains\n"
    lab.assert_gone()
    assert not living(marks)


def test_up_again_changes_nothing(lab: Lab) -> None:
    lab.up("--nodes", "2")
    before = {node["name"]: node["pid"] for node in lab.status()["nodes"]}
    assert "the lab demo is already up" in lab.up("--nodes", "2").stdout
    assert {node["name"]: node["pid"] for node in lab.status()["nodes"]} == before


def test_up_says_where_the_time_went(lab: Lab) -> None:
    told = lab.up("--nodes", "2", "-o", "json").json
    assert told["fresh"] is True
    assert told["ready"] is True
    assert {"keeper", "fabric", "store", "agents", "ready", "total"} <= told["seconds"].keys()
    assert told["sessions"] == {"up": 1, "expected": 1}
    assert [node["sessions"] for node in told["nodes"]] == [{"up": 1, "expected": 1}] * 2


def test_a_dry_run_does_nothing(lab: Lab) -> None:
    planned = lab("up", "--nodes", "2", "--dry-run")
    assert planned.code == 0
    assert "10.77.0.2/24" in planned.stdout
    assert not lab.labs.exists()
    lab.up("--nodes", "2")
    before = lab.processes()
    assert lab("up", "--nodes", "3", "--dry-run").stdout == "add node-3 (node, 10.77.0.3)\n"
    assert lab("up", "--nodes", "3", "--dry-run", "-o", "json").json["changes"]["added"] == ["node-3"]
    assert lab.processes() == before


def test_the_machine_itself_does_not_change(lab: Lab) -> None:
    before = _machine()
    lab.up("--nodes", "3", "--racks", "2")
    assert _machine() == before
    lab("down")
    assert _machine() == before


def _machine() -> dict[str, str]:
    """What a lab must not touch: links, addresses, routes, rules, filters, settings, mounts, named namespaces."""
    commands = {
        "links": "ip -o link",
        "addresses": "ip -o addr | sed 's/valid_lft.*//'",
        "routes": "ip route show table all; ip -6 route show table all",
        "rules": "ip rule; ip -6 rule",
        "filters": "nft list ruleset",
        "settings": "sysctl -a 2>/dev/null | grep ^net | grep -vE 'conntrack_count|route.flush|stat_refresh'",
        "mounts": "grep -v /run/netns/tt- /proc/self/mountinfo",  # those are of other tests
        "hostname": "hostname",
    }
    return {
        name: subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout
        for name, command in commands.items()
    }


def test_two_labs_do_not_meet(lab: Lab, tmp_path: Path) -> None:
    with Lab(tmp_path, "other") as other:
        lab.up("--nodes", "2")
        other.up("--nodes", "2")
        listed = lab.nameless("list", "-o", "json").json["labs"]
        assert [(each["name"], each["state"], each["nodes"]) for each in listed] == [
            ("demo", "up", 2),
            ("other", "up", 2),
        ]
        which = lab.nameless("status")
        assert which.code == 2
        assert "there are demo, other" in which.stderr
        lab("down")
        assert other("status").code == 0


def test_nodes_come_and_go_without_disturbing_the_others(lab: Lab) -> None:
    lab.up("--nodes", "3")
    before = {node["name"]: node["pid"] for node in lab.status()["nodes"]}
    assert "added node-4, node-5" in lab.up("--nodes", "5").stdout
    after = {node["name"]: node["pid"] for node in lab.status()["nodes"]}
    assert {name: after[name] for name in before} == before
    assert "removed node-2, node-3, node-4, node-5" in lab.up("--nodes", "1").stdout
    assert [node["name"] for node in lab.status()["nodes"]] == ["node-1"]
    assert lab.inside("node-1", "tortie", "get", "nodes", "-o", "name").split() == ["node/node-1"]
    assert not (lab.folder / "nodes" / "node-2").exists()


def test_a_file_says_it_all_and_a_changed_setting_restarts_one_agent(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    text = (
        "apiVersion: tortie/v1\nkind: Lab\nnodes:\n"
        "- name: left\n  bridges: [{name: br-1, address: 172.18.0.1/16}]\n"
        "- name: right\n  labels: {zone: east}\n"
    )
    file.write_text(text)
    lab.up("-f", str(file))
    assert "172.18.0.1/16" in lab.inside("left", "ip", "-o", "addr", "show", "br-1")
    before = {node["name"]: node["pid"] for node in lab.status()["nodes"]}
    assert '"zone":"east"' in lab.inside("left", "tortie", "get", "node", "right", "-o", "json").replace(" ", "")
    file.write_text(text + "  settings: {FELIX_LOGSEVERITYSCREEN: debug}\n")
    assert "changed right" in lab.up("-f", str(file)).stdout
    after = {node["name"]: node["pid"] for node in lab.status()["nodes"]}
    assert (after["left"] == before["left"], after["right"] == before["right"]) == (True, False)
    assert lab.inside("right", "printenv", "FELIX_LOGSEVERITYSCREEN") == "debug\n"


@pytest.mark.parametrize("members", ["1", "3"])
def test_a_real_etcd_is_the_store(lab: Lab, members: str) -> None:
    lab.up("--nodes", "2", "--store", "etcd", "--members", members)
    assert "http://10.77.0.251:2379" in lab.inside("node-1", "printenv", "ETCD_ENDPOINTS")
    keys = lab.inside(
        "etcd-1", "env", "ETCDCTL_API=3", "etcdctl", "get", "--prefix", "--keys-only", "/calico/resources/v3"
    )
    assert "/calico/resources/v3/projectcalico.org/nodes/node-2" in keys
    others = lab.status()["machines"]
    assert [other["name"] for other in others if other["role"] == "store"] == [
        f"etcd-{number}" for number in range(1, int(members) + 1)
    ]
    lab("stop", "etcd-1", "--signal", "KILL")
    assert lab("status").code == 3
    assert "etcd-1: was killed by signal 9" in lab("status").stdout
    lab.up()
    assert lab("status").code == 0


def test_racks_are_routed(lab: Lab) -> None:
    done = lab.up("--nodes", "4", "--racks", "2")
    assert "10/10 BGP sessions established" in done.stdout
    way = ("ip", "route", "get", "10.244.0.130")
    assert "via 10.77.1.254" in lab.inside("node-1", *way)
    lab.wait("the router has learnt the route", lambda: "via 10.77.2.3" in lab.inside("router", *way))
    assert {node["rack"] for node in lab.status()["nodes"]} == {"rack-1", "rack-2"}
    before = {node["name"]: (node["pid"], node["rack"]) for node in lab.status()["nodes"]}
    assert "added node-5" in lab.up("--nodes", "5").stdout  # the racks stay, without being said again
    after = {node["name"]: (node["pid"], node["rack"]) for node in lab.status()["nodes"]}
    assert {name: after[name] for name in before} == before


def test_a_session_that_does_not_come_up_is_waited_for_and_named(lab: Lab) -> None:
    """Nodes that are no longer young are ready without it, but a lab is not what was asked for."""
    lab.up("--nodes", "3")
    peers = "".join(
        "---\napiVersion: projectcalico.org/v3\nkind: BGPPeer\n"
        f"metadata: {{name: nobody-{port}}}\nspec: {{peerIP: '10.77.0.88:{port}', asNumber: 64999}}\n"
        for port in (1790, 1791)
    )
    applied = lab("exec", "node-1", "--", "tortie", "apply", "-f", "-", stdin=peers)
    assert applied.code == 0, applied
    lab.wait("the nodes try", lambda: lab.status()["sessions"] == {"up": 3, "expected": 9})
    lab.wait_ready()
    # Long enough for the keeper to say that it has nothing to do: before that there is something else to be told.
    done = lab("up", "--timeout", "4s")
    assert done.code == 3
    assert "✗ 3/9 BGP sessions established" in done.stdout
    assert "6 of 9 BGP sessions of the lab demo are not established after 4 s" in done.stderr
    assert re.search(r"10\.77\.0\.88:1791 - node-2: not established", done.stderr)
    assert "and 1 more" in done.stderr
    assert "个 BGP 会话中有 6 个" in lab("up", "--timeout", "4s", "--lang", "zh").stderr
    told = lab("up", "--timeout", "4s", "-o", "json")
    assert (told.code, told.json["ready"], len(told.json["missing"])) == (3, True, 6)


def test_what_has_ended_is_told_and_healed(lab: Lab) -> None:
    lab.up("--nodes", "2")
    os.kill(lab.node("node-2")["pid"], signal.SIGKILL)
    lab.wait("the end is noticed", lambda: lab.node("node-2")["phase"] == "stopped")
    told = lab("status")
    assert told.code == 3
    assert "node-2: the agent was killed by signal 9" in told.stdout
    assert lab.node("node-2")["ended"] == {"exit_code": None, "signal": 9}
    assert lab("up", "--dry-run").stdout == "start node-2, which has ended\n"
    assert lab("up", "--dry-run", "-o", "json").json["changes"]["started"] == ["node-2"]
    assert "started node-2" in lab.nameless("up").stdout
    assert lab("stop", "node-1").stdout == "stopped node-1\n"
    assert lab.node("node-1")["ended"] == {"exit_code": 0, "signal": None}
    assert lab("start", "node-1").stdout.startswith("started node-1")
    lab.wait_ready()


def test_everything_dies_with_the_keeper(lab: Lab) -> None:
    lab.up("--nodes", "3")
    os.kill(json.loads((lab.folder / "lab.json").read_text())["pid"], signal.SIGKILL)
    lab.wait("all processes are gone", lambda: not lab.processes())
    told = lab("status")
    assert told.code == 3
    assert "the lab demo is dead" in told.stderr
    assert lab("list", "-o", "json").json["labs"][0]["state"] == "dead"
    lab.up()
    assert len(lab.status()["nodes"]) == 3
    os.kill(json.loads((lab.folder / "lab.json").read_text())["pid"], signal.SIGKILL)
    assert lab("down").code == 0
    lab.assert_gone()


def test_down_ends_also_what_exec_started(lab: Lab) -> None:
    lab.up("--nodes", "1")
    with lab.start("exec", "node-1", "--", "sh", "-c", "echo here; sleep 1000") as sleeper:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == b"here\n"
        assert lab("down").code == 0
        assert sleeper.wait(30) == -signal.SIGKILL


def test_a_lab_that_does_not_get_ready_in_time_says_what_it_waits_for(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "apiVersion: tortie/v1\nkind: Lab\nnodes: [node-1, {name: node-2, settings: {IP_AUTODETECTION_METHOD: "
        "interface=nope}}]\n"
    )
    done = lab("up", "-f", str(file), "--timeout", "12s")  # by then node-2 has seen what it lacks, and node-1 is ready
    assert done.code == 3
    assert "the lab demo is not ready after" in done.stderr
    assert re.search(r"node-2: .*\(fault: ", done.stderr)
    assert lab("up", "-f", str(file), "--timeout", "4s", "-o", "json").json["ready"] is False
    lab.wait("only node-1 is ready", lambda: [node["ready"] for node in lab.status()["nodes"]] == [True, False])


def test_an_agent_that_cannot_start_ends_the_wait(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("apiVersion: tortie/v1\nkind: Lab\nnodes: [{name: node-1, settings: {AS: nonsense}}]\n")
    done = lab("up", "-f", str(file))
    assert done.code == 3
    assert "the lab demo cannot get ready" in done.stderr
    assert "node-1: the agent ended with exit code 2" in done.stderr
    assert "nonsense" in done.stderr
    assert "nonsense" in lab.node("node-1")["not_ready"][0]["why"]
    assert "nonsense" in lab("logs", "node-1").stdout


def test_many_nodes_start_after_a_rehearsal_of_which_nothing_is_left(lab: Lab) -> None:
    assert "✓ 10 nodes ready  ✓ mesh 45/45 established" in lab.up("--nodes", "10").stdout
    assert not (lab.folder / "rehearsal").exists()
    assert "rehearsal" not in lab("logs", "keeper").stdout
    assert len(lab.processes()) == 1 + 2 * 10


def test_agents_look_like_the_command_that_they_are(lab: Lab) -> None:
    lab.up("--nodes", "1")
    listed = subprocess.run(["ps", "-wweo", "comm,args"], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^tortie +tortie node run --root {lab.folder}/nodes/node-1$", listed, re.MULTILINE)
    assert re.search(rf"^tortie +tortie lab keep {lab.folder}$", listed, re.MULTILINE)


def test_a_long_path_is_no_trouble(tmp_path: Path) -> None:
    with Lab(tmp_path / ("long-" * 20)) as lab:
        lab.up("--nodes", "2")
        assert lab("status").code == 0

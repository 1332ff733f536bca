"""`tortie lab kubectl` on real labs: what it shows, what it changes, and that it works without kubelets, too."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.lab import Lab

from tortie.lab.client import KeeperClient
from tortie.lab.registry import LabFolder


def _told(lab: Lab, *words: str) -> str:
    done = lab("kubectl", *words)
    assert done.code == 0, done
    return done.stdout


def _pods(lab: Lab) -> dict[str, list[str]]:
    """By node, the rows of calico-node: name, ready, status, ..."""
    text = _told(lab, "get", "pods", "-n", "kube-system", "-l", "k8s-app=calico-node", "-o", "wide", "--no-headers")
    rows = [line.split() for line in text.splitlines()]
    return {next(word for word in row if word.startswith("node-")): row for row in rows}


def _unit(lab: Lab, node: str, action: str) -> None:
    keeper = KeeperClient.connect(LabFolder(str(lab.folder)))
    assert keeper is not None
    with closing(keeper):
        keeper.ask("unit", machine=node, unit="kubelet", action=action)


def _node_word(lab: Lab, node: str) -> str:
    return _told(lab, "get", "node", node, "--no-headers").split()[1]


@pytest.mark.timeout(300)
def test_pods_are_shown_changed_and_made_anew(tmp_path: Path) -> None:
    with Lab(tmp_path, "kubectl") as lab:
        lab.up("--nodes", "2", "--kubelet", "--hurry", "10")
        before = _pods(lab)
        assert {row[1] + row[2] for row in before.values()} == {"1/1Running"}
        first = before["node-1"][0]

        described = _told(lab, "describe", "pod", first)
        assert f"Name:                 {first}\n" in described
        assert "Controlled By:  DaemonSet/calico-node\n" in described
        assert "Started container calico-node" in described
        assert "Calico node started successfully" in _told(lab, "logs", first, "-n", "kube-system")
        previous = lab("kubectl", "logs", "-p", first)
        assert (previous.code, "previous terminated container" in previous.stderr) == (1, True)

        following = lab.start("kubectl", "logs", "-f", first)
        assert following.stdout is not None
        assert following.stdout.readline()
        assert _told(lab, "delete", "pod", first) == f'pod "{first}" deleted\n'
        following.communicate()
        assert following.returncode == 0
        lab.wait("another pod is there", lambda: _pods(lab).get("node-1", [first])[0] != first)

        changed = _told(lab, "set", "env", "ds/calico-node", "-n", "kube-system", "FELIX_LOGSEVERITYSCREEN=warning")
        assert changed == "daemonset.apps/calico-node env updated\n"
        rolled = _told(lab, "rollout", "status", "ds/calico-node")
        assert rolled.endswith('daemon set "calico-node" successfully rolled out\n')
        environment = json.loads(_told(lab, "get", "pod", _pods(lab)["node-2"][0], "-o", "json"))["spec"]["containers"]
        assert {"name": "FELIX_LOGSEVERITYSCREEN", "value": "warning"} in environment[0]["env"]

        _unit(lab, "node-2", "stop")
        lab.wait("the node controller gives node-2 up", lambda: _node_word(lab, "node-2") == "NotReady")
        lost = _told(lab, "describe", "node", "node-2")
        assert "NodeStatusUnknown   Kubelet stopped posting node status.\n" in lost
        assert "node.kubernetes.io/unreachable:NoExecute\n" in lost
        assert _pods(lab)["node-2"][1:3] == ["1/1", "Running"]
        silent = lab("kubectl", "logs", _pods(lab)["node-2"][0])
        assert (silent.code, "10250: connect: connection refused" in silent.stderr) == (1, True)
        refused = lab("kubectl", "delete", "pod", _pods(lab)["node-2"][0], LANG="zh_CN.UTF-8")
        assert (refused.code, "node-2 的 kubelet 没有应答" in refused.stderr) == (1, True)
        _unit(lab, "node-2", "start")
        lab.wait("node-2 is back", lambda: _node_word(lab, "node-2") == "Ready")


@pytest.mark.timeout(180)
def test_a_lab_without_kubelets_is_shown_too(tmp_path: Path) -> None:
    with Lab(tmp_path, "kubectl-plain") as lab:
        lab.up("--nodes", "2")
        assert {row[1] + row[2] for row in _pods(lab).values()} == {"1/1Running"}
        assert _node_word(lab, "node-2") == "Ready"
        assert lab("kubectl", "get", "events").stderr == "No resources found in kube-system namespace.\n"
        assert "Running" in _told(lab, "describe", "pod", _pods(lab)["node-1"][0])
        lab("pod run", "web-1")
        assert _told(lab, "get", "pods", "-n", "default", "--no-headers").split()[:3] == ["web-1", "1/1", "Running"]
        refused = lab("kubectl", "set", "env", "ds/calico-node", "A=b", LANG="zh_CN.UTF-8")
        assert (refused.code, "没有可更改的 DaemonSet" in refused.stderr) == (1, True)
        stopped = lab("stop", "node-2")
        assert stopped.code == 0, stopped
        lab.wait("its pod has ended", lambda: _pods(lab)["node-2"][1] == "0/1")

"""A lab whose nodes run as pods: restarts, back-offs, probes, and what is left when kubelet or the runtime is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.lab import Lab, processes_naming

Object = dict[str, Any]

pytestmark = pytest.mark.timeout(300)


class Node:
    """A node's records, as anybody may read them."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name
        self.root = lab.folder / "nodes" / name

    def objects(self, kind: str) -> list[Object]:
        try:
            items = json.loads((self.root / "var/lib/kubelet/objects.json").read_text())["items"]
        except FileNotFoundError:
            return []
        return [item for item in items if item["kind"] == kind]

    def pod(self, stem: str) -> Object:
        """The last of that name."""
        return next(
            (pod for pod in reversed(self.objects("Pod")) if pod["metadata"]["name"].startswith(stem)),
            {"metadata": {"name": "", "uid": ""}, "status": {}},
        )

    def container(self, stem: str = "calico-node") -> Object:
        statuses = self.pod(stem)["status"].get("containerStatuses") or [{}]
        return dict(statuses[0])

    def events(self, reason: str, stem: str = "calico-node") -> list[Object]:
        found = self.objects("Event")
        return [one for one in found if one["reason"] == reason and one["involvedObject"]["name"].startswith(stem)]

    def condition(self) -> Object:
        nodes = self.objects("Node")
        found = [each for node in nodes for each in node["status"]["conditions"] if each["type"] == "Ready"]
        return found[0] if found else {"status": "", "message": ""}

    def containers(self) -> list[Object]:
        found: list[Object] = json.loads((self.root / "run/containerd/containers.json").read_text())["containers"]
        return found

    def pid(self, container: str = "calico-node") -> int:
        running = [
            each["pid"]
            for each in self.containers()
            if each["state"] == "CONTAINER_RUNNING" and each["container"] == container
        ]
        return int(running[0]) if running else 0

    def unit(self, name: str) -> int:
        return int((self.root / f"run/{name}.pid").read_text())

    def journal(self) -> str:
        return (self.root / "var/log/kubelet.log").read_text()

    def manifest(self, name: str, **container: Any) -> None:
        spec = {"containers": [{"name": name, "image": "example/app:1", **container}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        place = self.root / "etc/kubernetes/manifests"
        (place / f".{name}").write_text(json.dumps(pod))
        (place / f".{name}").rename(place / f"{name}.json")

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        self.lab.wait(what, is_so)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("kubelet"), "pods") as lab:
        lab.up("--nodes", "2", "--kubelet", "--hurry", "10")
        yield lab


@pytest.fixture
def node(lab: Lab) -> Node:
    """node-1, with its agent ready: a test before this one may have ended it."""
    node = Node(lab, "node-1")
    node.wait(
        "the agent is ready", lambda: bool(node.container().get("ready")) and node.condition()["status"] == "True"
    )
    return node


def test_nodes_run_as_pods(lab: Lab, node: Node) -> None:
    other = Node(lab, "node-2")
    other.wait("node-2 is ready", lambda: bool(other.container().get("ready")))
    listed = lab("kubectl", "get", "pods", "-n", "kube-system", "--no-headers")
    assert listed.code == 0, listed
    agents = [line.split() for line in listed.stdout.splitlines() if line.startswith("calico-node-")]
    assert [line[1:3] for line in agents] == [["1/1", "Running"]] * 2
    inits = node.pod("calico-node")["status"]["initContainerStatuses"]
    assert [(each["name"], each["state"]["terminated"]["exitCode"]) for each in inits] == [
        ("upgrade-ipam", 0),
        ("install-cni", 0),
    ]
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        assert node.events(reason), reason
    assert os.readlink(node.root / "log").endswith("/calico-node/0.log")
    load = node.root / "run/loadavg"  # read twice, it may just have been written between
    node.wait("its own load", lambda: load.read_text() == lab.inside("node-1", "cat", "/proc/loadavg"))


def test_an_agent_that_is_killed_is_started_again(node: Node) -> None:
    before = node.container()
    os.kill(node.pid(), signal.SIGKILL)
    count = before["restartCount"] + 1
    node.wait("it runs again", lambda: node.container()["restartCount"] == count and node.container()["ready"])
    ended = node.container()["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["containerID"]) == (137, "Error", before["containerID"])
    assert node.container()["containerID"] != before["containerID"]
    assert node.pid() > 0


def test_what_always_fails_waits_longer_and_longer(node: Node) -> None:
    node.manifest("report", command=["sh", "-c", "echo no database; exit 3"])

    def waits() -> list[str]:
        lines = [line for line in node.journal().splitlines() if "CrashLoopBackOff" in line and "=report " in line]
        return list(dict.fromkeys(line.partition("back-off ")[2].partition(" ")[0] for line in lines))

    node.wait("three waits", lambda: len(waits()) >= 3)
    assert waits()[:3] == ["1s", "2s", "4s"]
    waiting = node.container("report")["state"].get("waiting") or {"reason": "CrashLoopBackOff"}
    assert waiting["reason"] == "CrashLoopBackOff"
    assert node.container("report")["lastState"]["terminated"]["exitCode"] == 3
    name = node.pod("report")["metadata"]["name"]
    assert name == "report-node-1"
    logs = sorted(path.name for path in node.root.glob(f"var/log/pods/default_{name}_*/report/*.log"))
    assert len(logs) <= 3
    (node.root / "etc/kubernetes/manifests/report.json").unlink()
    node.wait("it is gone", lambda: node.pod("report")["metadata"]["name"] == "")
    node.wait("its containers too", lambda: all(each["container"] != "report" for each in node.containers()))
    assert list(node.root.glob("var/log/pods/default_report*")) == []


def test_liveness_has_a_container_killed(node: Node) -> None:
    probe = {"exec": {"command": ["sh", "-c", "echo stuck; exit 1"]}, "periodSeconds": 1, "failureThreshold": 2}
    node.manifest("stuck", command=["sleep", "600"], livenessProbe=probe)
    node.wait("it was killed", lambda: int(node.container("stuck").get("restartCount") or 0) >= 1)
    assert node.container("stuck")["lastState"]["terminated"]["exitCode"] == 143
    (killing,) = node.events("Killing", "stuck")
    assert killing["message"] == "Container stuck failed liveness probe, will be restarted"
    assert node.events("Unhealthy", "stuck")[0]["message"] == "Liveness probe failed: stuck\n"
    assert '"Killing container with a grace period override" pod="default/stuck-node-1"' in node.journal()
    (node.root / "etc/kubernetes/manifests/stuck.json").unlink()
    node.wait("it is gone", lambda: node.pod("stuck")["metadata"]["name"] == "")


def test_a_manifest_that_nobody_could_run_keeps_kubelet_from_nothing(node: Node) -> None:
    kubelet = node.unit("kubelet")
    node.manifest("broken", command=["sleep", "600"], livenessProbe={"periodSeconds": -1})
    node.manifest("whole", command=["sleep", "600"])
    node.wait("the other one runs", lambda: "running" in node.container("whole").get("state", {}))
    (line,) = [line for line in node.journal().splitlines() if "Could not process manifest file" in line]
    assert "spec.containers[0].livenessProbe: Required value: must specify a handler type" in line
    assert line.endswith('path="/etc/kubernetes/manifests/broken.json"')
    node.manifest("broken", command=["sleep", "600"])
    node.wait("it runs when it is mended", lambda: "running" in node.container("broken").get("state", {}))
    assert node.unit("kubelet") == kubelet
    for name in ("broken", "whole"):
        (node.root / f"etc/kubernetes/manifests/{name}.json").unlink()
    node.wait(
        "both are gone", lambda: not node.pod("broken")["metadata"]["name"] + node.pod("whole")["metadata"]["name"]
    )


def test_containers_outlive_their_kubelet(node: Node) -> None:
    agent, before, kubelet = node.pid(), node.container(), node.unit("kubelet")
    name = node.pod("calico-node")["metadata"]["name"]
    started = node.events("Started")[-1]["count"]
    os.kill(kubelet, signal.SIGKILL)
    node.wait("another kubelet", lambda: node.unit("kubelet") != kubelet)
    starts = "Starting kubelet."
    node.wait(
        "it has taken over",
        lambda: any(each["message"] == starts and each["count"] > 1 for each in node.events("Starting", "node-1")),
    )
    node.wait("it finds the agent ready", lambda: node.container().get("ready") is True)
    assert node.pid() == agent
    assert node.pod("calico-node")["metadata"]["name"] == name
    assert node.container()["restartCount"] == before["restartCount"]
    assert node.container()["containerID"] == before["containerID"]
    assert node.events("Started")[-1]["count"] == started


def test_a_runtime_that_is_stuck_makes_the_node_unready_and_its_records_stale(node: Node) -> None:
    agent, before, runtime = node.pid(), node.container(), node.unit("containerd")
    os.kill(runtime, signal.SIGSTOP)
    try:
        os.kill(agent, signal.SIGKILL)  # nobody notices
        silent = "PLEG is not healthy: pleg was last seen active"
        node.wait("kubelet says so", lambda: silent in node.condition()["message"])
        assert node.condition()["status"] == "False"
        assert "container runtime is down" in node.condition()["message"]
        assert node.container() == {**before, "ready": node.container()["ready"]}
        asked = node.lab("exec", "node-1", "--", "crictl", "ps")
        assert asked.code == 1, asked
        assert "listing containers: rpc error: code = DeadlineExceeded desc = context deadline exceeded" in asked.stderr
        assert "Skipping pod synchronization" in node.journal()
    finally:
        os.kill(runtime, signal.SIGCONT)
    count = before["restartCount"] + 1
    node.wait("the node is ready", lambda: node.condition()["status"] == "True")
    node.wait("the end is noticed", lambda: node.container()["restartCount"] == count and node.container()["ready"])
    assert [each["container"] for each in node.containers() if each["state"] == "CONTAINER_RUNNING"].count(
        "calico-node"
    ) == 1


def test_containers_end_with_their_runtime_and_come_back(node: Node) -> None:
    agent, before = node.pid(), node.container()
    done = node.lab("exec", "node-1", "--", "systemctl", "restart", "containerd")
    assert done.code == 0, done
    count = before["restartCount"] + 1
    node.wait("a new agent", lambda: node.container()["restartCount"] == count and node.container()["ready"])
    ended = node.container()["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (255, "Unknown")
    assert node.pid() != agent
    assert node.lab("exec", "node-1", "--", "systemctl", "is-active", "containerd").stdout == "active\n"


def test_with_swap_kubelet_does_not_start(lab: Lab, node: Node, tmp_path: Path) -> None:
    agent, restarts = node.pid(), node.container()["restartCount"]
    swaps = tmp_path / "swaps"
    swaps.write_text("Filename\t\t\t\tType\t\tSize\tUsed\tPriority\n/dev/sda3 partition 27992060 0 -2\n")
    inside = ("nsenter", f"--mount=/proc/{node.unit('kubelet')}/ns/mnt")
    subprocess.run((*inside, "mount", "--bind", str(swaps), "/proc/swaps"), check=True)
    assert lab("exec", "node-1", "--", "systemctl", "restart", "kubelet").code == 0
    node.wait("it says why", lambda: "failed to run Kubelet: running with swap on" in node.journal())
    told = lab("exec", "node-1", "--", "journalctl", "-u", "kubelet", "--no-pager").stdout
    assert "[Filename\t\t\t\tType\t\tSize\tUsed\tPriority /dev/sda3 partition 27992060 0 -2]" in told
    assert "kubelet.service: Main process exited, code=exited, status=255/n/a" in told

    def waits() -> bool:
        status = lab("exec", "node-1", "--", "systemctl", "status", "kubelet")
        return status.code == 3 and "activating (auto-restart) (Result: exit-code)" in status.stdout

    node.wait("it is started again and again", waits)
    node.wait("the node is given up", lambda: "NotReady" in lab("kubectl", "get", "node", "node-1").stdout)
    assert lab("exec", "node-1", "--", "swapoff", "-a").code == 0
    node.wait("it is back", lambda: " Ready " in lab("kubectl", "get", "node", "node-1").stdout)
    node.wait("the agent counts as ready", lambda: node.container().get("ready") is True)
    assert (node.pid(), node.container()["restartCount"]) == (agent, restarts)


def test_a_pod_that_is_deleted_is_made_anew(lab: Lab, node: Node) -> None:
    before = node.pod("calico-node")["metadata"]
    done = lab("kubectl", "delete", "pod", "-n", "kube-system", before["name"])
    assert done.code == 0, done
    node.wait("another pod", lambda: node.pod("calico-node")["metadata"]["uid"] not in ("", before["uid"]))
    node.wait("it is ready", lambda: bool(node.container().get("ready")))
    after = node.pod("calico-node")["metadata"]
    assert after["name"] != before["name"]
    assert node.container()["restartCount"] == 0
    assert f'"SyncLoop DELETE" source="api" pods=["kube-system/{before["name"]}"]' in node.journal()


def test_another_generation_is_another_pod_with_what_it_says(lab: Lab, node: Node) -> None:
    before = node.pod("calico-node")["metadata"]["uid"]
    path = lab.folder / "daemonset.json"
    owner = json.loads(path.read_text())
    owner["metadata"]["generation"] += 1
    (main,) = owner["spec"]["template"]["spec"]["containers"]
    main["env"] = [*main["env"], {"name": "CALICO_STARTUP_LOGLEVEL", "value": "debug"}]
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(owner))
    beside.rename(path)
    node.wait("another pod", lambda: node.pod("calico-node")["metadata"]["uid"] not in ("", before))
    node.wait("it is ready", lambda: bool(node.container().get("ready")))
    node.wait("it does what it is told", lambda: "Early log level set to debug" in (node.root / "log").read_text())


def test_nothing_is_left(tmp_path: Path) -> None:
    with Lab(tmp_path, "gone") as lab:
        lab.up("--nodes", "1", "--kubelet", "--hurry", "10")
        node = Node(lab, "node-1")
        pids = [each["pid"] for each in node.containers()] + [node.unit("kubelet"), node.unit("containerd")]
        assert processes_naming(str(node.root)) != []
        assert lab("down").code == 0
        lab.assert_gone()
        lab.wait("all processes have ended", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))

"""`tortie lab evidence` and `tortie doctor --lab` on real labs: what a bundle holds, and what it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import COMMAND, Ran
from tests.support.doctor_answers import schema
from tests.support.lab import DEADLINE_S, Lab
from tests.support.nobody import as_nobody, folder_of_nobody

TOPOLOGY = """
apiVersion: tortie/v1
kind: Lab
nodes: 2
settings: {ETCD_PASSWORD: kitten-etcd-7, FELIX_LOGSEVERITYSCREEN: info}
"""
TUNNELS = """
apiVersion: tortie/v1
kind: Lab
nodes: 2
racks: [left, right]
store: {kind: etcd}
pool: {encapsulation: VXLANCrossSubnet}
"""
BGP_PASSWORD = "kitten-bgp-9"
PEER = """
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata: {name: with-password}
spec:
  peerIP: 10.77.0.99
  asNumber: 64999
  password: {secretKeyRef: {name: bgp, key: word}}
"""
PARTS = ("cni-files", "ip-addr", "ip-route", "load", "nft", "node-status", "ports", "sysctl")
LARGEST = 650_000


def doctor(lab: Lab, *words: str, **variables: str) -> Ran:
    command = [str(COMMAND), "doctor", "--lab", "--name", lab.name, *words]
    done = subprocess.run(
        command, capture_output=True, env=lab.environment | variables, timeout=DEADLINE_S, check=False
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_healthy(lab: Lab) -> Any:
    ran = doctor(lab, "-o", "json")
    assert ran.stdout, ran
    answer = ran.json
    assert (ran.code, answer["verdict"], answer["unrelated"]) == (0, "healthy", []), told(answer)
    return answer


def told(answer: Any) -> str:
    return json.dumps({key: answer[key] for key in ("verdict", "causes", "unrelated", "symptoms", "next")}, indent=1)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("plain")
    with Lab(folder) as lab:
        file = folder / "lab.yaml"
        file.write_text(TOPOLOGY)
        lab.up("-f", str(file))
        assert lab("pod run", "web", "--count", "2").code == 0
        yield lab


def test_the_bundle_has_the_layout_of_the_script(plain: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    ran = plain("evidence", "-o", str(folder))
    assert (ran.code, ran.stderr) == (0, ""), ran
    files = texts(folder)
    for node in ("node-1", "node-2"):
        assert [f"nodes/{node}/{part}.txt" for part in PARTS if f"nodes/{node}/{part}.txt" not in files] == []
        assert files[f"nodes/{node}/ip-addr.txt"].startswith(f"[root@{node} ~]# ip addr\n1: lo:")
        assert f"[root@{node} ~]# cat /var/lib/calico/nodename\n{node}\n" in files[f"nodes/{node}/cni-files.txt"]
        assert "| Established |" in files[f"nodes/{node}/node-status.txt"]
        assert "The node would start and become ready." in files[f"nodes/{node}/node-status.txt"]
    assert "kind: IPPoolList" in files["cluster/calico.txt"]
    assert "found 0 problems" in files["cluster/calico.txt"]
    assert files["cluster/traffic.txt"].count(" 0% packet loss") == 4
    meta = json.loads(files["meta.json"])
    assert (meta["by"], meta["lab"], meta["nodes"]) == ("tortie lab evidence", plain.name, ["node-1", "node-2"])
    assert max(map(len, files.values())) < LARGEST
    # Only the node's own processes, and none of those that ask.
    processes = files["nodes/node-1/load.txt"].partition("ps aux")[2].splitlines()[2:]
    assert 1 <= len(processes) <= 4, processes
    assert all("tortie node run" in line or "bird" in line for line in processes), processes


def test_the_order_is_the_same_every_time(plain: Lab) -> None:
    def prompts() -> list[str]:
        ran = plain("evidence", "-o", "-")
        assert ran.code == 0, ran
        return [line for line in ran.stdout.splitlines() if line.startswith("[root@")]

    assert prompts() == prompts()


def test_a_folder_that_is_not_empty_is_refused(plain: Lab, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    ran = plain("evidence", "-o", str(tmp_path))
    assert (ran.code, [path.name for path in tmp_path.iterdir()]) == (2, ["other"])
    assert "not empty" in ran.stderr
    ran = plain("evidence", "-o", str(tmp_path), "--lang", "zh")
    assert (ran.code, "不是空目录" in ran.stderr) == (2, True), ran
    assert plain("evidence").code == 2
    assert plain("evidence", "-o", str(tmp_path / "other" / "below")).code in (1, 2)


def test_what_was_collected_is_told_as_json(plain: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    outcome = plain("evidence", "-o", str(folder), "--format", "json").json
    found = texts(folder)
    assert {each["path"]: each["bytes"] for each in outcome["files"]} == {
        path: len(text.encode()) for path, text in found.items()
    }
    whole = plain("evidence", "-o", "-", "--format", "json").json
    assert {*whole["files"], "meta.json"} == set(found)


def test_secrets_are_nowhere(plain: Lab) -> None:
    for node in ("node-1", "node-2"):
        secret = plain.folder / "nodes" / node / "etc/calico/secrets/bgp/word"
        secret.parent.mkdir(parents=True)
        secret.write_text(BGP_PASSWORD)
    assert plain("exec", "node-1", "--", "tortie", "apply", "-f", "-", stdin=PEER).code == 0
    configuration = plain.folder / "nodes/node-1/etc/calico/confd/config/bird.cfg"
    plain.wait("BIRD has the password", lambda: BGP_PASSWORD in configuration.read_text())
    try:
        ran = plain("evidence", "-o", "-")
        assert ran.code == 0, ran
        assert "with-password" in ran.stdout
        assert "kitten" not in ran.stdout
    finally:
        assert plain("exec", "node-1", "--", "tortie", "delete", "bgppeer", "with-password").code == 0
        plain.wait_ready()


def test_the_doctor_finds_a_healthy_lab_healthy_in_every_form(plain: Lab, tmp_path: Path) -> None:
    plain.wait_ready()
    answer = assert_healthy(plain)
    schema().validate(answer)
    assert "2 BGP sessions, all established" in answer["checked"]
    assert doctor(plain).stdout.startswith("HEALTHY")
    chinese = doctor(plain, "--lang", "zh")
    assert (chinese.code, "BGP 会话全部 Established" in chinese.stdout) == (0, True), chinese
    for form in ("md", "html", "junit", "sarif"):
        ran = doctor(plain, "-o", form)
        assert (ran.code, bool(ran.stdout), ran.stderr) == (0, True, ""), (form, ran)
    # A bundle says the same as the lab itself, and both can be given together.
    folder = tmp_path / "bundle"
    assert plain("evidence", "-o", str(folder)).code == 0
    assert doctor(plain, str(folder)).code == 0


def test_the_doctor_finds_a_lab_healthy_after_an_agent_began_anew(plain: Lab) -> None:
    assert plain("stop", "node-1").code == 0
    assert plain("start", "node-1").code == 0
    plain.wait_ready()
    assert_healthy(plain)


def test_a_lab_that_is_not_there_is_told(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "nobody")
    assert lab("evidence", "-o", str(tmp_path / "bundle")).code == 1
    ran = doctor(lab)
    assert (ran.code, "there is no lab nobody" in ran.stderr) == (1, True), ran
    ran = doctor(lab, "--lang", "zh")
    assert (ran.code, "没有名为 nobody 的实验环境" in ran.stderr) == (1, True), ran
    done = subprocess.run(
        [str(COMMAND), "doctor", "--name", "x"], capture_output=True, env=lab.environment, check=False
    )
    assert (done.returncode, b"--name without --lab" in done.stderr) == (2, True)


def test_an_ordinary_user_collects_the_same() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tl-", dir="/tmp"))  # where another user can get at it
    folder.chmod(0o755)
    try:
        with Lab(folder_of_nobody(folder), before=as_nobody(folder)) as lab:
            lab.up("--nodes", "2")
            ran = lab("evidence", "-o", "-", "--format", "json")
            assert (ran.code, ran.stderr) == (0, ""), ran
            files = ran.json["files"]
            assert "| Established |" in files["nodes/node-2/node-status.txt"]
            assert "inet 10.77.0.2/24" in files["nodes/node-2/ip-addr.txt"]
    finally:
        shutil.rmtree(folder)


@pytest.mark.timeout(180)
def test_etcd_and_tunnels(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        file = tmp_path / "lab.yaml"
        file.write_text(TUNNELS)
        lab.up("-f", str(file))
        assert lab("pod run", "web", "--count", "2").code == 0
        folder = tmp_path / "bundle"
        assert lab("evidence", "-o", str(folder)).code == 0
        files = texts(folder)
        assert "is healthy" in files["nodes/etcd-1/datastore.txt"]
        assert '"health":"true"' in files["nodes/node-1/datastore.txt"]
        assert "vxlan.calico" in files["nodes/node-1/ip-addr.txt"]
        assert "-M do -s 1400" in files["nodes/node-1/node-status.txt"]
        assert_healthy(lab)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", ["--kubelet", "--classic=3.20", "--classic=2.6"])
def test_nodes_in_pods(mode: str, tmp_path: Path) -> None:
    """Logs of all containers, journals and units are there; and a start that is over is no trouble."""
    with Lab(tmp_path) as lab:
        lab.up("--nodes", "2", "--hurry", "10", mode)
        wait_healthy(lab)
        folder = tmp_path / "bundle"
        assert lab("evidence", "-o", str(folder)).code == 0
        files = texts(folder)
        for part in ("units", "journal-kubelet", "journal-runtime", "runtime"):
            assert f"nodes/node-1/{part}.txt" in files
        assert "Active: active (running)" in files["nodes/node-1/units.txt"]
        agents = [path for path in files if path.startswith("cluster/describe/calico-node-")]
        assert len(agents) == 2
        logs = files[agents[0].replace("describe", "logs")]
        assert "-c install-cni --tail=200" in logs
        assert "Calico node started successfully" in logs or "Calico node started" in logs
        assert "Readiness:" in files[agents[0]]
        assert "kind: DaemonSet" in files["cluster/daemonsets.txt"]
        # An agent's pod is made anew.
        gone = agents[0].removeprefix("cluster/describe/").removesuffix(".txt")
        assert lab("kubectl", "--", "delete", "pod", "-n", "kube-system", gone).code == 0
        lab.wait("another pod has taken its place", lambda: gone not in lab("kubectl", "get", "pods", "-A").stdout)
        wait_healthy(lab)


def wait_healthy(lab: Lab) -> None:
    """A classic node is ready some probes after `up` sees its sessions. A BIRD that restarted may say that it waits."""
    answers: list[Any] = []

    def healthy() -> bool:
        ran = doctor(lab, "-o", "json")
        assert ran.stdout, ran
        answers.append(ran.json)
        claimed = [each["cause"] for each in ran.json["causes"] if ran.json["verdict"] == "cause-found"]
        assert claimed in ([], ["graceful-restart-wait"]), told(ran.json)
        return bool(ran.json["verdict"] == "healthy" and not ran.json["unrelated"])

    try:
        lab.wait("the doctor finds the lab healthy", healthy)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{told(answers[-1])}") from None

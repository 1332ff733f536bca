"""`tortie node diags` and `tortie cluster diags`: archives that the doctor reads, without secrets."""

from __future__ import annotations

import gzip
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import COMMAND, Ran, Tortie, assert_three_lines, node, pool

SECRET = "hunter22Tres"


def texts(archive: str | Path) -> dict[str, str]:
    """Every file below the archive's one folder."""
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            if (file := opened.extractfile(member)) is not None:
                found[member.name.partition("/")[2]] = file.read().decode()
    return found


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    shell = Tortie(tmp_path, TORTIE_STORE=str(tmp_path / "store.db"), TMPDIR=str(tmp_path / "tmp"), NODENAME="n1")
    (tmp_path / "tmp").mkdir()
    return shell


def test_a_nodes_bundle_has_what_the_script_collects_and_the_logs(tortie: Tortie) -> None:
    logs = tortie.folder / "logs"
    (logs / "cni").mkdir(parents=True)
    (logs / "felix.log").write_text(f"2024-05-01 12:00:00.000 [INFO][1] x: password: {SECRET}\n")
    (logs / "cni" / "a b'c$(touch spoilt).log").write_text("of the plugin\n")
    (logs / "old.log.gz").write_bytes(gzip.compress(b"of yesterday\n"))
    ran = tortie.run("node", "diags", "--log-dir", str(logs))
    assert ran.code == 0
    archive = ran.stdout.removeprefix("Diags saved to ").rstrip("\n")
    assert ran.stdout == f"Diags saved to {archive}\n"
    assert "Collecting diagnostics\n" in ran.stderr
    assert archive.startswith(str(tortie.folder / "tmp"))
    assert stat.S_IMODE(os.stat(archive).st_mode) == 0o600
    found = texts(archive)
    assert json.loads(found["meta.json"])["by"] == "tortie node diags"
    # Of the script, and beyond it.
    for name in ("load", "ip-addr", "ip-route", "ports", "sysctl", "node-status", "network", "rules", "agent"):
        assert f"nodes/n1/{name}.txt" in found
    assert "# ip -4 route show table all\n" in found["nodes/n1/network.txt"]
    assert "# tortie node explain\n" in found["nodes/n1/node-status.txt"]
    assert "(redacted)" in found["nodes/n1/logs/felix.log.txt"]
    assert "of yesterday" in found["nodes/n1/logs/old.log.gz.txt"]
    assert "of the plugin" in found["nodes/n1/logs/cni/a b'c$(touch spoilt).log.txt"]
    assert SECRET not in "".join(found.values())
    # Nothing is left beside the archive, and nothing was run that a file's name said.
    assert [path.name for path in Path(archive).parent.iterdir()] == [Path(archive).name]
    assert not list(tortie.folder.rglob("spoilt"))
    answer = tortie("doctor", archive, "-o", "json")
    assert answer.json["kind"] == "Diagnosis"


def test_a_node_without_logs_says_so(tortie: Tortie) -> None:
    ran = tortie.run("node", "diags", "--log-dir", str(tortie.folder / "none"))
    assert ran.code == 0
    assert f"No logs found in {tortie.folder / 'none'}; skipping log copying\n" in ran.stderr


def test_without_bash_nothing_is_collected(tortie: Tortie) -> None:
    tortie.variables["PATH"] = str(tortie.folder)
    assert_three_lines(tortie("node", "diags"), 1)


KUBECTL = r"""#!/bin/sh
echo "$*" >> "$ASKED"
case "$*" in
  *"get pods -A -o json"*) cat "$PODS" ;;
  *"api-resources"*) printf 'bgppeers.crd.projectcalico.org\nwidgets.example.com\n;rm -rf x\n' ;;
  *"get pods -A -o wide"*) echo "kube-system calico-node-n1 1/1 Running 0 9d 10.0.0.1 n1 <none> <none>" ;;
  *"get configmaps -A -o yaml"*) printf 'data:\n  password: hunter22Tres\n' ;;
  *"ls -t /var/log/calico/cni"*) printf 'cni.log\n../../etc/shadow\n-rf\n' ;;
  *"map list"*) echo "35: lru_hash  name cali_v4_srmsg  flags 0x0" ;;
  *"get leases"*) echo "Forbidden" >&2; exit 1 ;;
  *" -p"*) echo "previous terminated container not found" >&2; exit 1 ;;
  *) echo "answer" ;;
esac
"""


def pod(name: str, where: str, owner: str = "calico-node", *, ready: bool = True, kind: str = "DaemonSet") -> Any:
    return {
        "metadata": {"name": name, "namespace": "kube-system", "ownerReferences": [{"kind": kind, "name": owner}]},
        "spec": {
            "nodeName": where,
            "initContainers": [{"name": "install-cni"}],
            "containers": [{"name": "calico-node"}],
        },
        "status": {"phase": "Running", "containerStatuses": [{"ready": ready}]},
    }


@pytest.fixture
def kubernetes(tortie: Tortie) -> Tortie:
    """A kubectl that knows a few pods and notes what it is asked."""
    program = tortie.folder / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL)
    program.chmod(0o755)
    pods = [pod(f"calico-node-{name}", name, ready=name != "n3") for name in ("n1", "n2", "n3", "n4")]
    pods += [pod("calico-typha-7c-x", "n1", "calico-typha-7c9f8d", kind="ReplicaSet"), pod("web", "n1", "web")]
    pods += [pod("calico-$(touch spoilt)", "n1")]
    tortie.variables |= {
        "PATH": f"{program.parent}:{COMMAND.parent}:/usr/bin:/bin",
        "PODS": tortie.file("pods.json", json.dumps({"items": pods})),
        "ASKED": str(tortie.folder / "asked"),
    }
    return tortie


@pytest.fixture
def cluster(tortie: Tortie) -> Tortie:
    assert (
        tortie(
            "apply", "-f", tortie.file("c.yaml", node("n1"), node("n2", "10.0.0.2/24"), pool("p", "10.9.0.0/16"))
        ).code
        == 0
    )
    tortie.put("/calico/ipam/v2/handle/h", {"block": {"10.9.0.0/26": 1}, "deleted": False})
    return tortie


def made(tortie: Tortie, *words: str) -> tuple[Ran, dict[str, str]]:
    ran = tortie.run("cluster", "diags", *words)
    assert ran.code == 0, ran
    line = ran.stdout.rstrip("\n")
    assert line.startswith("Diagnostic bundle created at ./calico-diagnostics-")
    return ran, texts(tortie.folder / line.removeprefix("Diagnostic bundle created at "))


@pytest.mark.usefixtures("cluster")
def test_a_clusters_bundle_has_datastore_and_kubernetes(kubernetes: Tortie) -> None:
    ran, found = made(kubernetes, "--max-logs", "2", "--focus-nodes", "n4", "--since", "1h", "--max-parallelism", "3")
    meta = json.loads(found["meta.json"])
    assert meta["by"] == "tortie cluster diags"
    assert meta["missing"] == ["cluster/kubernetes/leases", "cluster/kubernetes/leases-yaml"]
    assert "missing: cluster/kubernetes/leases: Forbidden\n" in ran.stderr
    assert "kind: NodeList" in found["cluster/datastore/nodes.yaml"]
    assert '"key": "/calico/ipam/v2/handle/h"' in found["cluster/datastore/ipam.jsonl"]
    assert "# tortie ipam check --show-problem-ips\n" in found["cluster/ipam.txt"]
    assert "# kubectl get pods -A -o wide\nkube-system calico-node-n1 1/1" in found["cluster/pods.txt"]
    # Of each component two: on the node of interest first, then who is not well.
    assert {path for path in found if path.startswith("cluster/logs/")} == {
        f"cluster/logs/{name}.txt" for name in ("calico-node-n4", "calico-node-n3", "calico-typha-7c-x")
    }
    assert (
        "logs calico-node-n4 -c install-cni --tail=20000 --since=1h\nanswer" in found["cluster/logs/calico-node-n4.txt"]
    )
    assert "previous terminated" not in "".join(found.values())
    assert "-- ip route show table all\nanswer" in found["nodes/n3/ip-route.txt"]
    assert "-- calico-node -bpf nat dump" in found["nodes/n4/bpf.txt"]
    assert "tail -c 2000000 /var/log/calico/cni/cni.log\nanswer" in found["nodes/n4/cni-logs/cni.log.txt"]
    assert "cluster/crd/bgppeers.crd.projectcalico.org.txt" in found
    assert "password: (redacted)" in found["cluster/kubernetes/configmaps-yaml.txt"]
    asked = Path(kubernetes.variables["ASKED"]).read_text()
    assert not any(
        word in asked for word in ("spoilt", "widgets", "rm -rf", "httproutes", "secret", "shadow", "apply", "delete")
    )
    assert kubernetes("doctor", *map(str, kubernetes.folder.glob("*.tar.gz")), "-o", "json").json["kind"] == "Diagnosis"
    assert list((kubernetes.folder / "tmp").iterdir()) == []


def test_without_kubectl_the_datastore_is_told(cluster: Tortie) -> None:
    cluster.variables["PATH"] = str(COMMAND.parent)
    ran, found = made(cluster)
    assert "missing: everything of Kubernetes, pods, logs and events: unable to locate kubectl in PATH\n" in ran.stderr
    assert json.loads(found["meta.json"])["missing"]
    assert "kind: IPPoolList" in found["cluster/datastore/ippools.yaml"]


def test_without_a_datastore_kubernetes_is_told(kubernetes: Tortie) -> None:
    ran, found = made(kubernetes, "--etcd-endpoints", "http://127.0.0.1:1", "--context", "west")
    assert "missing: the datastore: " in ran.stderr
    assert "cluster/pods.txt" in found
    assert not any(path.startswith("cluster/datastore") for path in found)
    assert "--context=west get pods" in Path(kubernetes.variables["ASKED"]).read_text()


def test_the_folder_may_be_left(cluster: Tortie) -> None:
    cluster.variables["PATH"] = str(COMMAND.parent)
    made(cluster, "--skip-temp-dir-cleanup")
    (left,) = (cluster.folder / "tmp").glob("calico*/calico-diagnostics-*")
    assert (left / "meta.json").exists()


def test_with_neither_there_is_no_bundle(tortie: Tortie) -> None:
    tortie.variables["PATH"] = str(COMMAND.parent)
    ran = tortie.run("cluster", "diags")
    assert (ran.code, ran.stdout) == (1, "")
    assert "nothing was collected" in ran.stderr
    assert list(tortie.folder.glob("*.tar.gz")) == []
    assert list((tortie.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "yesterday"), "invalid duration for since flag (try 10s, 5m, or 1h): yesterday"),
        (("--max-logs=-1",), "negative value for max-logs flag"),
        (("--max-logs=x",), "--max-logs is no number: x"),
        (("--max-parallelism=0",), "--max-parallelism is no number: 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(tortie: Tortie, words: tuple[str, ...], said: str) -> None:
    ran = tortie("cluster", "diags", *words)
    assert_three_lines(ran, 2)
    assert said in ran.stderr

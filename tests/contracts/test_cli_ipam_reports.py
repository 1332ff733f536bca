"""Reports of `ipam check` between Tortie and calicoctl, and what Kubernetes knows of load balancers' addresses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.address_records import Records, healthy
from tests.support.cli import Ran, Tortie, assert_three_lines

from tortie.ipam.census import CLUSTER, Census
from tortie.ipam.report import calico_version, same_age
from tortie.model.keys import handle_key

BLOCK = "192.168.36.64/26"
BALANCER = f"lb-{'0a' * 16}"


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    """A locked cluster of Calico v3.32.1 with one leaked handle."""
    shell = Tortie(tmp_path)
    records = healthy()
    records[handle_key("k8s-pod-network.old")] = {"block": {BLOCK: 1}, "deleted": False}
    records.change(CLUSTER, lambda cluster: cluster["spec"].update(calicoVersion="v3.32.1"))
    shell.with_store(records.write)
    assert shell("datastore", "migrate", "lock").code == 0
    return shell


def report(tortie: Tortie, *words: str) -> dict[str, Any]:
    tortie("ipam", "check", *words, "-o", str(tortie.folder / "report.json"))
    content: dict[str, Any] = json.loads((tortie.folder / "report.json").read_text())
    return content


def released(tortie: Tortie, content: dict[str, Any]) -> Ran:
    return tortie("ipam", "release", f"--from-report={tortie.file('of-others.json', json.dumps(content))}")


def test_a_report_speaks_as_the_clusters_own_calicoctl(tortie: Tortie) -> None:
    found = report(tortie)
    assert list(found) == [
        *("version", "clusterGUID", "datastoreLocked", "clusterInformationRevision", "clusterType"),
        *("allocations", "leakedHandles"),
    ]
    assert (found["version"], found["datastoreLocked"]) == ("v3.32.1", True)
    assert [handle["ID"] for handle in found["leakedHandles"]] == ["k8s-pod-network.old"]
    assert (tortie.folder / "report.json").stat().st_mode & 0o777 == 0o600


def test_the_report_is_the_same_by_either_flag(tortie: Tortie) -> None:
    found = report(tortie)
    ran = tortie("ipam", "check", "-o", "json", "--report", str(tortie.folder / "again.json"))
    assert ran.json["kind"] == "IPAMCheck"
    assert json.loads((tortie.folder / "again.json").read_text()) == found
    ran = tortie("ipam", "check", "-o", str(tortie.folder / "a.json"), "--report", str(tortie.folder / "b.json"))
    assert_three_lines(ran, 2)


@pytest.mark.parametrize("version", ["v3.32.1", "v3.32.0", "v3.32.2-rc1"])
def test_a_report_of_calicoctl_of_the_same_age_is_taken(tortie: Tortie, version: str) -> None:
    ran = released(tortie, {**report(tortie), "version": version})
    assert (ran.code, ran.stderr) == (0, "")
    assert "done: delete the handle k8s-pod-network.old" in ran.stdout


@pytest.mark.parametrize("version", ["v3.3.2", "v3.20.0", "0.1.0", "", "master"])
def test_a_report_of_another_age_is_not(tortie: Tortie, version: str) -> None:
    ran = released(tortie, {**report(tortie), "version": version})
    assert_three_lines(ran, 1)
    assert f"was produced by a different version ({version})" in ran.stderr


def test_a_list_of_repairs_is_of_this_very_version(tortie: Tortie) -> None:
    path = tortie.folder / "fix.json"
    tortie("ipam", "check", "--repair-file", str(path))
    wishes = json.loads(path.read_text())
    path.write_text(json.dumps({**wishes, "version": "v3.32.1"}))
    assert_three_lines(tortie("ipam", "repair", str(path)), 1)
    path.write_text(json.dumps(wishes))
    assert tortie("ipam", "repair", str(path)).code == 0


def test_which_release_a_report_names() -> None:
    def of(version: str) -> str:
        census = Census()
        return calico_version(census._replace(cluster=census.cluster._replace(version=version)), "v3.32.1")

    assert [of(each) for each in ("", "v3.28.5", "v3.32.0-12-gabc", "master")] == [
        *("v3.32.1", "v3.28.5", "v3.32.0", "v3.32.1"),
    ]
    assert same_age("v3.28.0", ["v3.32.1", "v3.28.5"])
    assert not same_age("v3.2.0", ["v3.28.5"])


def kubernetes(tortie: Tortie, answer: str, code: int = 0) -> str:
    """A kubectl that gives this answer to whoever asks for Services as one ought to; and a file to reach it by."""
    program = tortie.folder / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"assert sys.argv[1:4] == ['--kubeconfig={tortie.folder}/kubeconfig', 'get', 'services'], sys.argv\n"
        f"sys.stdout.write({answer!r})\n"
        f"sys.exit('no route to host' if {code} else 0)\n"
    )
    program.chmod(0o755)
    tortie.variables["PATH"] = str(program.parent)
    return tortie.file("kubeconfig", "apiVersion: v1\n")


def service(kind: str, *ips: str) -> str:
    status = {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]}}
    item = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"type": kind}, "status": status}
    return json.dumps({"kind": "List", "items": [item, {"metadata": {"name": "x"}, "spec": {}}]})


@pytest.fixture
def balancer(tortie: Tortie) -> str:
    """An address that was handed out for a load balancer."""
    records = Records()
    records.values = dict(tortie.entries())
    ip = records.hold(BLOCK, BALANCER, service="web", namespace="shop")
    tortie.with_store(records.write)
    return str(ip)


def leaked(ran: Ran) -> list[str]:
    return [problem["subject"] for problem in ran.json["problems"] if problem["kind"] == "leaked"]


def test_without_kubernetes_a_balancers_address_counts_as_used(tortie: Tortie, balancer: str) -> None:
    assert leaked(tortie("ipam", "check", "-o", "json")) == []
    assert "load balancer" not in tortie("ipam", "check").stdout
    assert report(tortie)["allocations"][balancer][0]["inUse"] is True


def test_an_address_that_a_service_has_is_used(tortie: Tortie, balancer: str) -> None:
    config = kubernetes(tortie, service("LoadBalancer", balancer, "203.0.113.9"))
    ran = tortie("ipam", "check", "--kubeconfig", config)
    assert "Loading all service load balancer IPs.\nFound 1 service load balancer(s).\n" in ran.stdout
    assert leaked(tortie("ipam", "check", "--kubeconfig", config, "-o", "json")) == []
    assert report(tortie, "--kubeconfig", config)["allocations"][balancer][0]["owners"] == ["Service(shop/web)"]


@pytest.mark.parametrize("answer", [service("LoadBalancer"), service("ClusterIP", "192.168.36.70"), '{"items": []}'])
def test_an_address_that_no_service_has_is_leaked(tortie: Tortie, balancer: str, answer: str) -> None:
    config = kubernetes(tortie, answer)
    assert leaked(tortie("ipam", "check", "--kubeconfig", config, "-o", "json")) == [balancer]


def test_kubernetes_that_cannot_be_asked_is_no_answer(tortie: Tortie) -> None:
    assert_three_lines(tortie("ipam", "check", "--kubeconfig", "/nowhere"), 2)
    config = kubernetes(tortie, "", code=1)
    ran = tortie("ipam", "check", "--kubeconfig", config)
    assert_three_lines(ran, 1)
    assert "no route to host" in ran.stderr
    (tortie.folder / "bin" / "kubectl").unlink()
    ran = tortie("ipam", "check", "--kubeconfig", config)
    assert_three_lines(ran, 1)
    assert "kubectl executable not found in PATH" in ran.stderr


def test_an_answer_that_is_no_list(tortie: Tortie) -> None:
    config = kubernetes(tortie, "[]")
    assert_three_lines(tortie("ipam", "check", "--kubeconfig", config), 1)

"""A list of the whole cluster in which every pod runs ends what a runtime or IPAM complained about before it."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding

ALL = """
$ kubectl get pods -A -o wide
NAMESPACE     NAME                      READY   STATUS    RESTARTS   AGE   IP            NODE
kube-system   calico-node-7xk2p         1/1     Running   0          9d    10.3.0.11     elm
kube-system   calico-node-zm4cd         1/1     Running   0          9d    10.3.0.12     oak
kube-system   coredns-5c69dbb7-8hk4n    1/1     Running   0          2h    10.77.4.2     oak
shop          cart-6d4cf56db6-2xk8p     1/1     Running   0          1h    10.77.9.70    elm
"""
WORDS = {
    "cni-token-expired": 'plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized',
    "stale-cni-config": 'failed to set bridge addr: "cni0" already has an IP address different from 10.244.1.1/24',
    "cni-binary-missing": 'failed to find plugin "calico" in path [/opt/cni/bin]',
    "cni-bin-not-executable": 'plugin type="calico" failed (add): fork/exec /opt/cni/bin/calico: permission denied',
    "selinux-denied": "cp: can't create '/host/opt/cni/bin/calico': Permission denied",
    "host-path-readonly": "Failed to install error=open /host/opt/cni/bin/calico.tmp: read-only file system",
    "cni-binary-libc": 'plugin type="calico" failed (add): fork/exec /opt/cni/bin/calico: no such file or directory',
    "no-ippool-for-node": 'plugin type="calico" failed (add): no configured Calico pools for node elm',
    "route-conflict": (
        "error adding host side routes for interface: cali7e1d7a0b1f2, error: route (Ifindex: 143, Dst: 10.77.9.18/32, "
        "Scope: link) already exists for an interface other than 'cali7e1d7a0b1f2'"
    ),
}


def said(words: str) -> str:
    return f"$ journalctl -u kubelet | tail -1\nNov 02 09:10:11 elm kubelet[911]: E1102 09:10:11.118 911 pod_workers.go:1294] {words}\n"


@pytest.mark.parametrize(("cause", "words"), WORDS.items())
def test_every_pod_runs_since(cause: str, words: str) -> None:
    assert finding(cause, said(words)).state == "found"
    assert finding(cause, said(words) + ALL).state == "ruled-out"


@pytest.mark.parametrize(
    "other",
    [
        ALL.replace("1/1     Running   0          1h ", "0/1     ContainerCreating   0    1h "),  # one waits
        ALL.replace("-A -o wide", "-n kube-system"),  # another namespace may have some that wait
        ALL.replace("-A -o wide", "-A | grep -e calico -e coredns -e cart"),
        "\n".join(line for line in ALL.splitlines() if "calico-node" not in line),  # rows were cut out
        "$ kubectl get nodes\nNAME   STATUS     ROLES    AGE   VERSION\nelm    NotReady   <none>   9d    v1.27.3\n"
        + ALL,
    ],
)
def test_what_is_no_list_of_all_that_run(other: str) -> None:
    assert finding("cni-binary-missing", said(WORDS["cni-binary-missing"]) + other).state == "found"


def test_what_is_said_after_the_list_is_not_over() -> None:
    assert finding("cni-binary-missing", ALL + said(WORDS["cni-binary-missing"])).state == "found"


def test_a_pod_that_is_not_in_the_list_failed_a_moment_ago() -> None:
    event = (
        "$ kubectl get events -A\nNAMESPACE   LAST SEEN   TYPE      REASON                   OBJECT       MESSAGE\n"
        f"shop        9s          Warning   FailedCreatePodSandBox   pod/pay-0    Failed to create pod sandbox: {WORDS['cni-binary-missing']}\n"
    )
    assert finding("cni-binary-missing", event + ALL).state == "found"
    assert finding("cni-binary-missing", event.replace("9s ", "9h ") + ALL).state == "ruled-out"


def test_somebody_says_that_pods_still_fail() -> None:
    told = "New pods do not start on elm since this morning, I scaled the deployment back:\n\n"
    assert finding("cni-binary-missing", told + said(WORDS["cni-binary-missing"]) + ALL).state == "found"


def test_what_the_last_lines_of_a_bundle_say_is_not_over() -> None:
    words = (
        'time="2024-11-02T09:10:11.0Z" level=error msg="failed to find plugin \\"calico\\" in path [/opt/cni/bin]"\n'
    )
    soon = "2024-11-02 09:10:15.254 [INFO][64] felix/summary.go 100: Summarising 12 dataplane reconciliation loops\n"
    later = soon.replace("09:10:15", "09:30:15")
    bundle = {"pods.txt": ALL, "journal.txt": words}
    assert finding("cni-binary-missing", {**bundle, "agent.txt": soon}).state == "found"
    assert finding("cni-binary-missing", {**bundle, "agent.txt": later}).state == "ruled-out"

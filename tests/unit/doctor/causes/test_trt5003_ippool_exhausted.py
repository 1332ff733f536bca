"""TRT5003: the pool is full and pods account for it."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

EVENT = (
    "  Warning  FailedCreatePodSandBox  4s (x12 over 2m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown "
    'desc = failed to set up sandbox container "c0" network for pod "job-1": networkPlugin cni failed to set up pod '
    '"job-1_batch" network: failed to request 1 IPv4 addresses. IPAM allocated only 0'
)
FULL = """
$ calicoctl ipam show
+----------+----------------+-----------+------------+----------+
| GROUPING |      CIDR      | IPS TOTAL | IPS IN USE | IPS FREE |
+----------+----------------+-----------+------------+----------+
| IP Pool  | 172.21.8.0/23  |       512 | 512 (100%) | 0 (0%)   |
+----------+----------------+-----------+------------+----------+
"""


def test_full_with_pods_to_match() -> None:
    text = f"{FULL}$ kubectl get pod -A -o wide --no-headers | grep -c ' 172.21.'\n497\n$ kubectl describe pod job-1\n{EVENT}"
    answer = finding("ippool-exhausted", text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert answer.objects[0] == "172.21.8.0/23"


def test_full_and_a_person_counts_the_pods() -> None:
    text = f"集群里目前有 505 个 pod，都在正常跑，新的 pod 一直 ContainerCreating。\n\n{FULL}\n$ kubectl describe pod job-1\n{EVENT}"
    answer = finding("ippool-exhausted", text)
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_far_fewer_pods_is_a_leak() -> None:
    text = f"{FULL}$ kubectl get pod -A -o wide --no-headers | grep -c ' 172.21.'\n61\n$ kubectl describe pod job-1\n{EVENT}"
    assert finding("ippool-exhausted", text).state == "ruled-out"


def test_low_use_rules_it_out() -> None:
    text = FULL.replace("512 (100%) | 0 (0%) ", "88 (17%)   | 424 (83%)") + f"$ kubectl describe pod job-1\n{EVENT}"
    assert finding("ippool-exhausted", text).state == "ruled-out"


def test_the_message_alone_is_no_claim() -> None:
    assert finding("ippool-exhausted", f"$ kubectl describe pod job-1\n{EVENT}").strength < 0.8

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


def test_a_namespace_alone_fills_its_small_pool() -> None:
    small = """
$ calicoctl ipam show
+----------+----------------+-----------+------------+-------------+
| GROUPING |      CIDR      | IPS TOTAL | IPS IN USE |  IPS FREE   |
+----------+----------------+-----------+------------+-------------+
| IP Pool  | 172.21.0.0/16  |     65536 | 300 (0%)   | 65236 (99%) |
| IP Pool  | 10.9.3.32/27   |        32 | 32 (100%)  | 0 (0%)      |
+----------+----------------+-----------+------------+-------------+
$ kubectl -n edge get pod -o wide --no-headers | grep -c ' 10\\.9\\.3\\.'
"""
    full = finding("ippool-exhausted", f"{small}32\n$ kubectl describe pod job-1\n{EVENT}")
    assert full.strength >= 0.9
    assert full.objects[0] == "10.9.3.32/27"
    some = finding("ippool-exhausted", f"{small}7\n$ kubectl describe pod job-1\n{EVENT}")
    assert some.strength < 0.8


def test_a_namespace_that_asks_for_the_pool_by_name() -> None:
    counted = (
        f"{FULL}$ kubectl -n batch get pod -o wide | grep Running | wc -l\n512\n$ kubectl describe pod job-1\n{EVENT}"
    )
    pinned = "$ kubectl get ns batch -o yaml | grep pools\n    cni.projectcalico.org/ipv4pools: '[\"batch\"]'"
    assert finding("ippool-exhausted", f"{counted}\n{pinned}").strength >= 0.9
    assert finding("ippool-exhausted", counted).strength < 0.8


def test_a_further_pool_has_room() -> None:
    row = "+----------+----------------+-----------+------------+----------+\n"
    further = "| IP Pool  | 10.53.0.0/20   |      4096 | 77 (2%)    | 4019     |\n"
    shown = f"{FULL.rstrip()[: -len(row) + 1]}{further}{row}$ kubectl get pod -A -o wide --no-headers | grep -c ' 172.21.'\n497\n"
    assert finding("ippool-exhausted", shown).state == "ruled-out"
    assert finding("ippool-exhausted", shown.replace(further, "")).strength >= 0.9
    assert finding("ippool-exhausted", f"{shown}$ kubectl describe pod job-1\n{EVENT}").strength >= 0.9  # may be pinned


CHECK = """
$ calicoctl ipam check
Checking IPAM for inconsistencies...

Loading all IPAM blocks...
Found 2 IPAM blocks.
 IPAM block 172.29.0.0/26 affinity=host:elm:
 IPAM block 172.29.0.64/26 affinity=host:oak:
IPAM blocks record 128 allocations.

Loading all IPAM pools...
  172.29.0.0/25
Found 1 active IP pools.

Loading all workload endpoints.
Found 126 workload IPs.
Workloads and nodes are using 128 IPs.
"""


def test_a_check_counts_what_is_allocated() -> None:
    assert finding("ippool-exhausted", f"{CHECK}$ kubectl describe pod job-1\n{EVENT}").strength >= 0.95
    few = CHECK.replace("Found 126", "Found 19").replace("using 128", "using 21")
    assert finding("ippool-exhausted", f"{few}$ kubectl describe pod job-1\n{EVENT}").state == "ruled-out"
    assert finding("ipam-leak", f"{few}$ kubectl describe pod job-1\n{EVENT}").strength >= 0.9

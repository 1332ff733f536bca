"""TRT5002: far more addresses in use than pods, or owners that are no nodes; pods that account for them rule it out."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

FATAL = (
    "2022-02-11 03:10:09.511 [FATAL][31] tunnel-ip-allocator/allocateip.go 402: Unable to autoassign an address - pools "
    'are likely exhausted. type="vxlanTunnelAddress"'
)


def table(used: int, total: int = 1024) -> str:
    return (
        "$ calicoctl ipam show\n"
        "+----------+---------------+-----------+------------+----------+\n"
        "| GROUPING |     CIDR      | IPS TOTAL | IPS IN USE | IPS FREE |\n"
        "+----------+---------------+-----------+------------+----------+\n"
        f"| IP Pool  | 10.77.0.0/22  |      {total} | {used} ({100 * used // total}%) | {total - used} (0%)   |\n"
        "+----------+---------------+-----------+------------+----------+\n"
    )


def test_in_use_far_above_the_pods() -> None:
    text = f"{table(1020)}$ kubectl get pods -A -o wide --no-headers | grep -c ' 10.77.'\n96\n$ kubectl logs x\n{FATAL}"
    answer = finding("ipam-leak", text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.77.0.0/22" in answer.objects


def test_the_check_counts_leaks_and_the_sandbox_fails() -> None:
    answer = finding(
        "ipam-leak",
        """
        Pods hang in ContainerCreating on our autoscaled pool since this morning.

        # kubectl describe pod web-1 | tail -1
          Warning  FailedCreatePodSandBox  11s (x40 over 9m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "ab12": plugin type="calico" failed (add): failed to request 1 IPv4 addresses. IPAM allocated only 0
        # calicoctl ipam check | tail -6
        Found 812 IPs that are allocated in IPAM but not actually in use.
        Scanning for IPs that are in use by a workload or node but not allocated in IPAM...
        Found 0 in-use IPs that are not in active IP pools.
        Found 0 in-use IPs that are in active IP pools but have no corresponding IPAM allocation.
        Check complete; found 812 problems.
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_blocks_of_hosts_that_are_no_nodes() -> None:
    answer = finding(
        "ipam-leak",
        f"""
        $ kubectl logs -n kube-system calico-node-7sx2m | tail -1
        {FATAL}
        $ kubectl get nodes
        NAME    STATUS   ROLES    AGE   VERSION
        pool-a  Ready    <none>   3d    v1.21.2
        pool-b  Ready    <none>   3d    v1.21.2
        $ kubectl get ipamblocks -o yaml | grep affinity:
            affinity: host:pool-a
            affinity: host:pool-b
            affinity: host:pool-old-1
            affinity: host:pool-old-2
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "pool-old-1" in answer.objects


def test_pods_account_for_the_addresses() -> None:
    text = (
        f"{table(1024)}$ kubectl get pods -A -o wide --no-headers | grep -c ' 10.77.'\n1003\n$ kubectl logs x\n{FATAL}"
    )
    assert finding("ipam-leak", text).state == "ruled-out"


def test_the_message_alone_is_no_claim() -> None:
    assert finding("ipam-leak", f"$ kubectl logs x\n{FATAL}").strength < 0.8


def test_a_small_leak_in_a_pool_with_room_is_an_aside() -> None:
    text = f"{table(300)}$ kubectl get pods -A --no-headers | wc -l\n80\n"
    answer = finding("ipam-leak", text)
    assert answer.aside or answer.strength < 0.8


def test_pods_that_are_stuck_are_not_all_pods() -> None:
    text = (
        f"3 pods are stuck in ContainerCreating since noon.\n\n{table(1024)}"
        f"$ kubectl get pod -A | grep -c ContainerCreating\n3\n$ kubectl logs x\n{FATAL}"
    )
    assert finding("ipam-leak", text).strength < 0.8


def test_owners_counted_by_uniq() -> None:
    answer = finding(
        "ipam-leak",
        f"""
$ kubectl get nodes
NAME   STATUS   ROLES    AGE   VERSION
sp-8   Ready    <none>   2d    v1.25.1
sp-9   Ready    <none>   2d    v1.25.1
$ kubectl get ipamblocks.crd.projectcalico.org -o jsonpath='{{..affinity}}' | tr ' ' '\\n' | sort | uniq -c
     14 host:sp-2
      1 host:sp-8
      1 host:sp-9
      1 virtual:load-balancer
$ kubectl logs x
{FATAL}
""",
    )
    assert answer.strength >= 0.9
    assert "sp-2" in answer.objects
    assert not [name for name in answer.objects if "balancer" in name]


def test_pods_counted_by_the_beginning_of_the_pools_addresses() -> None:
    text = """
            ~]# calicoctl ipam show
            | IP Pool  | 10.233.64.0/20 |      4096 | 4096 (100%)  | 0 (0%)   |
            ~]# kubectl get pods -A -o wide --field-selector=status.phase=Running | grep -c 10.233.
            {0}
        failed to request 1 IPv4 addresses. IPAM allocated only 0
        """
    assert finding("ipam-leak", text.replace("{0}", "611")).strength >= 0.9
    assert finding("ipam-leak", text.replace("{0}", "4090")).state == "ruled-out"
    of_some = text.replace("{0}", "611").replace("pods -A", "pods -n shop")
    assert finding("ipam-leak", of_some).strength < 0.8


def test_pods_of_one_node_are_not_all_pods() -> None:
    one_node = "$ kubectl get po -A -o wide --field-selector spec.nodeName=w-3 | grep -vc ContainerCreating\n31\n"
    assert finding("ipam-leak", FATAL + "\n" + table(800) + one_node).strength < 0.8


NODE_RANGE = """
Apr 11 00:52:45 w8 kubelet: E0411 00:52:45.083738 19237 pod_workers.go:186] Error syncing pod, skipping: NetworkPlugin cni failed to set up pod "a_default" network: failed to allocate for range 0: no IP addresses available in range set: 172.22.5.1-172.22.5.254
"""


def test_files_of_pods_that_are_gone_fill_a_nodes_range() -> None:
    counted = """
    [root@w8 ~]# ls -1 /var/lib/cni/networks/k8s-pod-network | wc -l
    256
    [root@w8 ~]# docker ps | grep pause | wc -l
    19
    """
    answer = finding("ipam-leak", NODE_RANGE + counted)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "node-range-leaks", True)
    assert finding("ippool-exhausted", NODE_RANGE + counted).state == "ruled-out"


def test_as_many_pods_as_the_range_has_addresses_are_no_leak() -> None:
    counted = "\n[root@w8 ~]# crictl pods -q | wc -l\n251\n"
    assert finding("ipam-leak", NODE_RANGE + counted).strength < 0.8
    answer = finding("ippool-exhausted", NODE_RANGE + counted)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "node-range-full", True)


def test_a_full_range_alone_is_a_doubt_of_both() -> None:
    for cause in ("ipam-leak", "ippool-exhausted"):
        answer = finding(cause, NODE_RANGE)
        assert (answer.state, answer.strength < 0.8) == ("found", True)

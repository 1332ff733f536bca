"""TRT5005: IPAM's own words, a disabled pool, or a selector that misses the node's labels."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding


def test_ipam_says_so_and_the_pool_is_disabled() -> None:
    answer = finding(
        "no-ippool-for-node",
        """
        $ kubectl -n kube-system logs calico-node-ppq8s | tail -1
        2021-09-09 01:02:03.444 [FATAL][41] tunnel-ip-allocator/allocateip.go 398: Unable to autoassign an address error=no configured Calico pools for node rack2-n3 type="ipipTunnelAddress"
        $ calicoctl get ippool -o wide
        NAME         CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        rack1-pool   10.50.0.0/18    true   Always     Never       true       all()
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "rack1-pool" in answer.objects
    assert "rack2-n3" in answer.objects


def test_only_the_event() -> None:
    answer = finding(
        "no-ippool-for-node",
        """
        新加的机柜上的 Pod 全部起不来：
        Warning  FailedCreatePodSandBox  3s  kubelet, r9-w1  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "77": plugin type="calico" failed (add): no configured Calico pools for node r9-w1
        """,
    )
    assert answer.strength >= 0.9
    assert "r9-w1" in answer.objects


def test_a_pool_that_does_not_exist() -> None:
    answer = finding(
        "no-ippool-for-node", "network: error getting pools: the given pool (10.123.0.0/16) does not exist"
    )
    assert answer.strength >= 0.9
    assert "10.123.0.0/16" in answer.objects


def test_an_enabled_pool_for_all_rules_it_out() -> None:
    answer = finding(
        "no-ippool-for-node",
        """
        $ calicoctl get ippool -o wide
        NAME                  CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        default-ipv4-ippool   10.50.0.0/18    true   Always     Never       false      all()
        """,
    )
    assert answer.state == "ruled-out"


def test_nothing_said() -> None:
    assert finding("no-ippool-for-node", "$ kubectl get nodes\nNAME STATUS\nw1 Ready").state == "cannot-tell"


def test_a_pool_that_was_refused_comes_first() -> None:
    answer = finding(
        "no-ippool-for-node",
        """
        $ calicoctl create -f edge.yaml
        Failed to create 'IPPool' resource: [error with field IPPool.Spec.CIDR = '10.5.16.0/20' (IPPool(edge) CIDR overlaps with IPPool(main) CIDR 10.5.0.0/16)]
        $ kubectl describe pod e-0 | tail -1
          Warning  FailedCreatePodSandBox  4s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "b4": the given pool (10.5.16.0/20) does not exist, or is not enabled
        """,
    )
    assert answer.state == "ruled-out"


def test_pods_that_run_without_any_enabled_pool() -> None:
    pools = """
$ calicoctl get ippool -o wide
NAME      CIDR             NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
default   192.168.0.0/16   false   Never      Never       true       all()
"""
    pods = """$ kubectl get pods -A -o wide
NAMESPACE     NAME                     READY   STATUS    RESTARTS   AGE   IP            NODE
kube-system   aws-node-tx7lm           1/1     Running   0          12d   172.16.0.11   elm
kube-system   calico-node-2f5rk        1/1     Running   0          12d   172.16.0.11   elm
kube-system   coredns-5c69dbb7-8hk4n   1/1     Running   0          12d   172.16.0.77   elm
"""
    assert finding("no-ippool-for-node", pools).strength >= 0.8
    assert finding("no-ippool-for-node", pools + pods).strength < 0.8


DUAL = """
$ calicoctl get ippool -o wide
NAME   CIDR           NAT    IPIPMODE  VXLANMODE  DISABLED  SELECTOR
four   10.61.0.0/16   true   Always    Never      {off}     {selector}
six    fd61::/64      true   Never     Never      false     all()
"""
REFUSED = """
$ kubectl describe pod web-0
  Warning  FailedCreatePodSandBox  3s  kubelet  failed to setup network: no configured Calico pools
"""
EXHAUSTED = "failed to request 1 IPv4 addresses. IPAM allocated only 0\n"


def test_a_pool_of_the_other_family_is_no_help() -> None:
    closed = DUAL.format(off="true ", selector="all()")
    answer = finding("no-ippool-for-node", closed + EXHAUSTED)
    assert (answer.strength >= 0.9, answer.objects[0]) == (True, "four")
    assert finding("no-ippool-for-node", closed + REFUSED).strength >= 0.9
    # Nobody lacks an address: one family may be closed on purpose.
    assert finding("no-ippool-for-node", closed).state == "cannot-tell"
    assert finding("no-ippool-for-node", DUAL.format(off="false", selector="all()")).state == "ruled-out"


def test_a_selector_of_one_family_misses_a_node() -> None:
    labels = (
        "$ kubectl get nodes --show-labels\nNAME STATUS ROLES AGE VERSION LABELS\nw1 Ready <none> 9d v1.28.1 zone=b\n"
    )
    pools = DUAL.format(off="false", selector="zone == 'a'")
    answer = finding("no-ippool-for-node", pools + labels + EXHAUSTED)
    assert (answer.strength >= 0.8, "w1" in answer.objects) == (True, True)

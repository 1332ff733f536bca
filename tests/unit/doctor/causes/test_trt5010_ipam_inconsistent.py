"""TRT5010: one address with two owners; a clean check rules it out."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes


def test_a_pod_holds_a_tunnels_address() -> None:
    answer = finding(
        "ipam-inconsistent",
        """
        [root@k4 ~]# ip addr show tunl0
        9: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN group default qlen 1000
            link/ipip 0.0.0.0 brd 0.0.0.0
            inet 10.88.3.64/32 scope global tunl0
               valid_lft forever preferred_lft forever
        $ kubectl get pod -A -o wide
        NAMESPACE   NAME     READY   STATUS    RESTARTS   AGE   IP           NODE   NOMINATED NODE   READINESS GATES
        shop        cart-0   1/1     Running   0          5d    10.88.3.64   k2     <none>           <none>
        shop        cart-1   1/1     Running   0          5d    10.88.3.70   k2     <none>           <none>
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.88.3.64" in answer.objects


def test_two_pods_on_two_nodes_with_one_address() -> None:
    answer = finding(
        "ipam-inconsistent",
        """
        两个业务 Pod 拿到了相同的 IP，访问时好时坏：
        $ kubectl get pod -n shop -o wide
        NAME      READY   STATUS    RESTARTS   AGE   IP            NODE   NOMINATED NODE   READINESS GATES
        pay-a     1/1     Running   0          5d    10.88.9.12    k2     <none>           <none>
        pay-b     1/1     Running   0          1d    10.88.9.12    k6     <none>           <none>
        """,
    )
    assert answer.strength >= 0.9
    assert "10.88.9.12" in answer.objects


def test_the_node_says_that_its_address_is_occupied() -> None:
    answer = finding(
        "ipam-inconsistent",
        "2022-01-01 09:00:00.000 [INFO][70] tunnel-ip-allocator/allocateip.go 209: Current address is occupied, assign a new "
        'one currentAddr="10.88.3.64" type="ipipTunnelAddress"',
    )
    assert answer.state == "found"
    assert "10.88.3.64" in answer.objects


def test_a_clean_check_rules_it_out() -> None:
    assert (
        finding("ipam-inconsistent", "$ calicoctl ipam check | tail -1\nCheck complete; found 0 problems.").state
        == "ruled-out"
    )


def test_pods_of_the_hosts_network_share_an_address() -> None:
    answer = finding(
        "ipam-inconsistent",
        """
        $ kubectl get pod -A -o wide
        NAMESPACE     NAME                READY   STATUS    RESTARTS   AGE   IP           NODE   NOMINATED NODE   READINESS GATES
        kube-system   calico-node-aaaaa   1/1     Running   0          5d    10.1.1.4     k2     <none>           <none>
        kube-system   kube-proxy-bbbbb    1/1     Running   0          5d    10.1.1.4     k2     <none>           <none>
        mon           agent-x             1/1     Running   0          5d    10.1.1.4     k2     <none>           <none>
        """,
    )
    assert answer.state != "found"


CHECK = """
$ calicoctl ipam check
Found 0 IPs that are allocated in IPAM but not actually in use.
Found 4 in-use IPs that are in active IP pools but have no corresponding IPAM allocation.
Check complete; found 4 problems.
"""


def test_host_local_allocates_without_calicos_ipam() -> None:
    assert finding("ipam-inconsistent", CHECK).strength >= 0.8
    conf = '$ grep -A1 ipam /etc/cni/net.d/10-calico.conflist\n      "ipam": {\n        "type": "host-local",\n'
    assert finding("ipam-inconsistent", CHECK + conf).state == "ruled-out"


def test_an_agent_that_crashes_suffers_from_something_else() -> None:
    line = (
        "2022-01-01 09:00:00.000 [INFO][70] tunnel-ip-allocator/allocateip.go 209: Current address is occupied, assign a new "
        'one currentAddr="10.88.3.64" type="ipipTunnelAddress"\n'
    )
    pod = "$ kubectl get pods -A\nkube-system   calico-node-2f5rk   0/1   CrashLoopBackOff   7   20m\n"
    assert finding("ipam-inconsistent", line + pod).strength < 0.8


ONE_NODE = """
        $ kubectl get pod -A -o wide | grep 10.88.3.71
        shop   cart-0   1/1   Running   0   3d    10.88.3.71   k2   <none>   <none>
        shop   cart-1   1/1   Running   0   61m   10.88.3.71   k2   <none>   <none>
        $ calicoctl ipam check | tail -2
"""


def test_two_pods_on_one_node_that_ipam_knows_nothing_of() -> None:
    check = "Found 1 in-use IPs that are in active IP pools but have no corresponding IPAM allocation.\n"
    answer = finding("ipam-inconsistent", f"{ONE_NODE}        {check}        Check complete; found 1 problems.\n")
    assert answer.strength >= 0.8
    assert "10.88.3.71" in answer.objects


def test_two_pods_on_one_node_may_be_on_its_own_network() -> None:
    assert finding("ipam-inconsistent", f"{ONE_NODE}        Check complete; found 0 problems.\n").strength < 0.8


TUNNEL = """
root@crow:~# ip -4 addr show tunl0
5: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN group default qlen 1000
    inet 10.88.3.64/32 scope global tunl0
root@{host}:~# ip route
10.88.3.64 dev cali12ab34 scope link
blackhole 10.88.3.64/26 proto bird
"""


def test_a_pod_behind_a_link_has_the_tunnels_address() -> None:
    answer = finding("ipam-inconsistent", TUNNEL.format(host="crow"))
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert {"10.88.3.64", "cali12ab34", "crow"} <= set(answer.objects)


AFFINITIES = """
$ kubectl get blockaffinities
NAME                       AGE
crow-10-88-3-64-26         300d
{}-10-88-3-{}-26         3d
"""


def test_two_nodes_claim_one_block() -> None:
    answer = finding("ipam-inconsistent", AFFINITIES.format("rook-w2", 64))
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert {"10.88.3.64/26", "crow", "rook-w2"} <= set(answer.objects)


def test_the_holder_is_the_node_with_pods_in_the_block() -> None:
    """Both drop what none of their pods has: that alone says nothing of who is right."""
    crow = "root@crow:~# ip route\nblackhole 10.88.3.64/26 proto bird\n{}"
    pod = "10.88.3.70 dev cali12ab34 scope link\n"
    text = AFFINITIES.format("rook-w2", 64)
    assert finding("ipam-inconsistent", text + crow.format(pod)).objects[0] == "rook-w2-10-88-3-64-26"
    other = "root@rook-w2:~# ip route\nblackhole 10.88.3.64/26 proto bird\n"
    answer = finding("ipam-inconsistent", text + crow.format("") + other + pod)
    assert answer.objects[0] == "crow-10-88-3-64-26"
    assert finding("ipam-inconsistent", text + crow.format("")).value("affinity") == ""


def test_two_nodes_claim_one_block_in_etcd() -> None:
    text = """
$ etcdctl get --prefix /calico/ipam/v2/host/ --keys-only | grep 10.88.3
/calico/ipam/v2/host/crow/ipv4/block/10.88.3.64-26
/calico/ipam/v2/host/rook/ipv4/block/10.88.3.64-26
$ etcdctl get --print-value-only /calico/ipam/v2/assignment/ipv4/block/10.88.3.64-26
{"cidr":"10.88.3.64/26","affinity":"host:crow","allocations":[null,1,2]}
"""
    answer = finding("ipam-inconsistent", text)
    assert answer.objects[0] == "/calico/ipam/v2/host/rook/ipv4/block/10.88.3.64-26"
    assert "etcdctl del /calico/ipam/v2/host/rook/ipv4/block/10.88.3.64-26" in fixes("ipam-inconsistent", text)


def test_a_block_for_each_is_normal() -> None:
    assert finding("ipam-inconsistent", AFFINITIES.format("rook-w2", 128)).state == "cannot-tell"


def test_two_pods_of_one_node_and_an_owner() -> None:
    pods = """
shop    cart-0                     1/1  Running  0  5h1m  10.88.3.70   crow
pay     pay-7b9c-gk2mn             1/1  Running  0  47m   10.88.3.70   crow
"""
    owner = """
$ calicoctl ipam show --ip=10.88.3.70
IP 10.88.3.70 is in use
Attributes:
  namespace: pay
  node: crow
  pod: pay-7b9c-gk2mn
"""
    assert finding("ipam-inconsistent", pods + owner).strength >= 0.95
    assert "cart-0" in " ".join(fixes("ipam-inconsistent", pods + owner))
    assert finding("ipam-inconsistent", pods).strength < 0.8

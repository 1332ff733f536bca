"""TRT8006: chains without an owner."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

RULES = """
[root@old-1 ~]# iptables -S | grep -v cali | head -5
-P INPUT ACCEPT
-P FORWARD DROP
-A FORWARD -o weave -j WEAVE-NPC
-A FORWARD -o weave -j DROP
-A WEAVE-NPC -m state --state NEW -j WEAVE-NPC-DEFAULT
"""

LOST = "$ kubectl exec a -- ping -c2 10.244.7.4\n2 packets transmitted, 0 packets received, 100% packet loss\n"


def test_chains_of_a_plugin_that_is_gone() -> None:
    text = (
        RULES
        + """
$ kubectl get ds -A
NAMESPACE     NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
kube-system   calico-node   3         3         3       3            3           kubernetes.io/os=linux   4h
kube-system   kube-proxy    3         3         3       3            3           kubernetes.io/os=linux   90d
"""
    )
    answer = finding("leftover-iptables", text + LOST)
    assert answer.strength >= 0.9
    assert "WEAVE-NPC" in answer.objects
    assert finding("leftover-iptables", text).strength < 0.8  # nobody suffers from them


def test_kube_router_and_dead_pods() -> None:
    text = """
    [root@old-2 ~]# iptables-save | grep -c KUBE-NWPLCY
    31
    [root@old-2 ~]# iptables-save | grep KUBE-ROUTER | head -2
    -A FORWARD -m comment --comment "kube-router netpol" -j KUBE-ROUTER-FORWARD
    -A KUBE-ROUTER-FORWARD -j DROP
    [root@old-2 ~]# ping -c2 -W1 10.31.7.4
    2 packets transmitted, 0 received, 100% packet loss, time 1001ms
    """
    answer = finding("leftover-iptables", text)
    assert answer.strength >= 0.8
    assert any("KUBE-ROUTER" in name for name in answer.objects)


def test_the_owner_runs() -> None:
    text = (
        RULES
        + """
$ kubectl -n kube-system get pods
NAME              READY   STATUS    RESTARTS   AGE
weave-net-4xk2p   2/2     Running   0          90d
"""
    )
    assert finding("leftover-iptables", text).state == "ruled-out"


def test_a_forward_policy_alone_is_no_claim() -> None:
    assert finding("leftover-iptables", "[root@d ~]# iptables -S FORWARD | head -1\n-P FORWARD DROP").strength < 0.8


REFUSED = """
跨节点 Pod 不通
[root@old-3 ~]# curl -m3 10.31.7.5:8080
curl: (7) Failed to connect to 10.31.7.5 port 8080: No route to host
[root@old-3 ~]# systemctl is-active firewalld
{}
[root@old-3 ~]# iptables -S FORWARD
-A FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD
-A FORWARD -j REJECT --reject-with icmp-host-prohibited
"""


def test_a_refusal_that_no_service_owns() -> None:
    assert finding("leftover-iptables", REFUSED.format("inactive")).strength >= 0.8
    taken = "iptables -D FORWARD -j REJECT --reject-with icmp-host-prohibited"
    assert taken in fixes("leftover-iptables", REFUSED.format("inactive"))


def test_a_refusal_of_a_service_that_runs() -> None:
    assert finding("leftover-iptables", REFUSED.format("active")).strength < 0.8


def test_a_node_with_relics_is_emptied_and_booted() -> None:
    commands = fixes("leftover-iptables", RULES + "[root@old-1 ~]# ip -br link\nweave UP\n")
    assert any(command.startswith("kubectl drain old-1 ") for command in commands)
    assert "ssh old-1 'systemctl reboot'" in commands


def test_k3s_brings_a_controller_of_policies_along() -> None:
    text = """
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE   VERSION
    s1     Ready    master   9d    v1.27.4{}
    $ iptables -S | grep KUBE-ROUTER
    -N KUBE-ROUTER-INPUT
    -A INPUT -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-INPUT
    $ kubectl get ds -A
    NAMESPACE       NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
    calico-system   calico-node   3         3         3       3            3           <none>          2d
    """
    assert finding("leftover-iptables", text.format("") + LOST).strength >= 0.9
    assert finding("leftover-iptables", text.format("+k3s1") + LOST).state == "ruled-out"


FLANNEL_NAT = """
上个月从 flannel 迁移到 calico，flannel 的 ds 已删除。{told}

n3 上 iptables-save -t nat | grep -i postr （节选）
:POSTROUTING ACCEPT [812:49210]
:FLANNEL-POSTRTG - [0:0]
-A POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
-A FLANNEL-POSTRTG -s 10.21.0.0/16 ! -d 224.0.0.0/4 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
"""
POLICY = "加了 NetworkPolicy 之后，跨节点的 pod 全部超时，同节点正常。"
DEAD = "现在跨节点的 pod 全部不通，同节点正常。"


def test_a_nat_chain_that_is_left_gives_packets_the_address_of_the_tunnel() -> None:
    answer = finding("leftover-iptables", FLANNEL_NAT.format(told=POLICY))
    assert (answer.state, answer.say) == ("found", "rewriting")
    assert answer.strength >= 0.9
    assert "FLANNEL-POSTRTG" in answer.objects


def test_such_a_chain_stops_no_packet() -> None:
    assert finding("leftover-iptables", FLANNEL_NAT.format(told=DEAD)).strength < 0.8


def test_nor_is_it_left_where_flannel_runs() -> None:
    pods = "\n$ kubectl -n kube-flannel get pods\nNAME   READY   STATUS   RESTARTS   AGE\nkube-flannel-ds-4xk2p   1/1   Running   0   90d\n"
    assert finding("leftover-iptables", FLANNEL_NAT.format(told=POLICY) + pods).state == "ruled-out"


OLD_FLANNEL = """
We replaced flannel with calico and deleted its daemonset. With a NetworkPolicy in place pods of other nodes time out.

# iptables-save -t nat | grep POSTROUTING
-A POSTROUTING -s 10.21.0.0/16 -d 10.21.0.0/16 -j RETURN
-A POSTROUTING -s 10.21.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE
"""
LISTED = """
We replaced flannel with calico and deleted its daemonset. With a NetworkPolicy in place pods of other nodes time out.

# iptables -t nat -nvL POSTROUTING
Chain POSTROUTING (policy ACCEPT 12 packets, 720 bytes)
 pkts bytes target     prot opt in     out     source               destination
  812 49210 MASQUERADE  all  --  *      *       10.21.0.0/16        !224.0.0.0/4
"""


def test_rules_of_an_old_flannel_have_no_chain() -> None:
    for text in (OLD_FLANNEL, LISTED):
        answer = finding("leftover-iptables", text)
        assert (answer.say, answer.strength >= 0.9) == ("rewriting", True)


def test_rules_for_a_bridge_are_others() -> None:
    docker = OLD_FLANNEL.replace("-s 10.21.0.0/16 ! -d 224.0.0.0/4", "-s 172.17.0.0/16 ! -o docker0")
    assert finding("leftover-iptables", docker).strength < 0.8


def test_k3s_runs_flannel_without_a_pod() -> None:
    node = (
        "\n$ kubectl get nodes\nNAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   9d    v1.28.4+k3s2\n"
    )
    assert finding("leftover-iptables", OLD_FLANNEL + node).state == "ruled-out"
    off = "\n$ cat /etc/rancher/k3s/config.yaml\nflannel-backend: none\n"
    assert finding("leftover-iptables", OLD_FLANNEL + node + off).strength >= 0.9


def test_the_other_relics_right_below_a_sentence() -> None:
    text = """
    kube-router 的 ds 早删了，换成 calico 之后 pod 之间偶发不通。
    n5 上 iptables -S（只贴不认识的）
    -N KUBE-ROUTER-FORWARD
    -A KUBE-POD-FW-2YJ4QZ5Y2Q7KX3BM -m comment --comment "rule to REJECT traffic" -j REJECT --reject-with icmp-port-unreachable
    """
    assert finding("leftover-iptables", text).strength >= 0.8

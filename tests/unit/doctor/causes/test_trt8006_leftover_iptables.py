"""TRT8006: chains without an owner."""

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

"""TRT8005: the forward chain rejects."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

CHAIN = """
[root@fw-1 ~]# nft list chain inet firewalld filter_FORWARD | tail -4
                jump filter_FORWARD_IN_ZONES
                ct state invalid drop
                counter packets 5120 bytes 430080 reject with icmpx type admin-prohibited
        }
"""


def test_the_counter_grows() -> None:
    answer = finding("firewalld-interference", CHAIN)
    assert answer.strength >= 0.9
    assert "firewalld" in answer.objects


def test_a_whole_table() -> None:
    text = """
    BGP 都是 Established，但 pod 访问 service 报 No route to host。
    [root@fw-1 ~]# systemctl is-active firewalld
    active
    [root@fw-1 ~]# nft list table inet firewalld
    table inet firewalld {
            chain filter_INPUT {
                    reject with icmpx admin-prohibited
            }
            chain filter_FORWARD {
                    type filter hook forward priority filter + 10; policy accept;
                    counter packets 77 bytes 4620 reject with icmpx admin-prohibited
            }
    }
    """
    assert finding("firewalld-interference", text).strength >= 0.9


def test_an_input_chain_is_not_meant() -> None:
    text = """
    [root@fw-1 ~]# nft list chain inet firewalld filter_INPUT | tail -2
                    counter packets 77 bytes 4620 reject with icmpx type admin-prohibited
    """
    assert finding("firewalld-interference", text).strength < 0.8


def test_not_running() -> None:
    assert (
        finding("firewalld-interference", "[root@fw-1 ~]# systemctl is-active firewalld\ninactive").state == "ruled-out"
    )


def test_with_bgp_down_a_port_of_the_host_is_meant() -> None:
    text = """
    When I stop firewalld everything works.
    Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.0.0.4
    """
    assert finding("firewalld-interference", text).strength < 0.8


def test_the_kernel_logs_what_it_rejects() -> None:
    text = """
    Pods on this node cannot reach pods on other nodes.
    [root@fw-1 ~]# journalctl -k | tail -1
    Mar 01 10:00:00 fw-1 kernel: "filter_FWD_trust_REJECT: "IN=eth0 OUT=cali0a1b2c3d4e5 MAC=aa SRC=10.1.2.3 DST=10.1.9.4
    """
    answer = finding("firewalld-interference", text)
    assert answer.strength >= 0.9
    assert "cali0a1b2c3d4e5" in text
    to_the_host = text.replace("FWD_trust", "IN_public").replace("OUT=cali0a1b2c3d4e5", "OUT=")
    assert finding("firewalld-interference", to_the_host).strength < 0.8


FORWARD = """
跨节点 Pod 不通
[root@fw-1 ~]# kubectl exec web-0 -- wget -T3 -O- 10.244.9.8:8080
wget: can't connect to remote host (10.244.9.8): No route to host
[root@fw-1 ~]# systemctl is-active firewalld
active
[root@fw-1 ~]# iptables -S FORWARD
-P FORWARD ACCEPT
-A FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD
"""
REJECT = "-A FORWARD -j REJECT --reject-with icmp-host-prohibited\n"
ACCEPT = '-A FORWARD -m comment --comment "cali:S93hcgKJrXEqnTfs" -m mark --mark 0x10000/0x10000 -j ACCEPT\n'


def test_its_reject_in_forward_stands_before_calicos_accept() -> None:
    answer = finding("firewalld-interference", FORWARD + REJECT + ACCEPT)
    assert answer.strength >= 0.9
    assert answer.objects[0] == "firewalld"


def test_a_reject_behind_calicos_accept_harms_no_pod() -> None:
    assert finding("firewalld-interference", FORWARD + ACCEPT + REJECT).strength < 0.8


TO_THE_NODE = """
[root@fw-1 ~]# systemctl is-active firewalld
active
[root@fw-1 ~]# dmesg | tail -1
[881.12] FINAL_REJECT: IN=cali6f1e2d3c4b5 OUT= MAC=ee:ee SRC=10.244.40.3 DST=192.168.10.11 PROTO=TCP DPT=6443 SYN
"""


def test_what_a_pod_sends_to_its_own_node() -> None:
    assert finding("firewalld-interference", TO_THE_NODE).strength >= 0.9
    outside = TO_THE_NODE.replace("IN=cali6f1e2d3c4b5", "IN=eth0")
    assert finding("firewalld-interference", outside).strength < 0.8


def test_the_chains_end_and_dns_that_is_not_ready_prove_nothing() -> None:
    chain = CHAIN.replace("counter packets 5120 bytes 430080 ", "")
    pods = "$ kubectl -n kube-system get pods\ncoredns-5d78c9869d-mk2xn   0/1   Running   0   30m\n"
    assert finding("firewalld-interference", chain + pods).strength < 0.8
    assert (
        finding("firewalld-interference", "pods on different nodes cannot reach each other\n" + chain).strength >= 0.8
    )


@pytest.mark.parametrize(
    "told",
    [
        "As soon as I run systemctl stop firewalld pods can reach each other again.",
        "service firewalld stop fixes it.",
        "firewalld off -> works, that is all I know of it.",
        "Once the host firewall is stopped DNS resolves.",
        "把防火墙关了就好了",
        "防火墙一关就通，一开就不通",
        "我 systemctl stop firewalld 一下，马上就能解析了",
        "停掉 firewalld 之后立刻就通了",
    ],
)
def test_stopping_it_helps_in_other_words(told: str) -> None:
    assert picture(told).said("firewalld-stop-helps")


@pytest.mark.parametrize(
    "told",
    [
        "Stopping firewalld did not help.",
        "关了防火墙也不行",
        "执行`iptables -F`命令后，可以 ping 通了",
        "iptables -F and it works again.",
        "关闭防火墙后还是不通",
        "把防火墙关了还是不通",
        "防火墙都关了，网络正常",
        "firewalld is off on all nodes.",
        "systemctl stop firewalld changed nothing, it never works.",
    ],
)
def test_stopping_it_does_not_help(told: str) -> None:
    assert not picture(told).said("firewalld-stop-helps")


PROHIBITED = """
[root@w2 ~]# tcpdump -ni ens192 tcp port 8080
11:20:41.300718 IP 10.244.41.10.46822 > 10.244.180.7.8080: Flags [S], seq 2711834061, win 64860, length 0
11:20:41.300861 IP 10.9.70.33 > 10.244.41.10: ICMP host 10.244.180.7 unreachable - admin prohibited filter, length 68
"""
STATE = "[root@w2 ~]# firewall-cmd --state\nrunning\n"


def test_a_packet_of_a_pod_that_is_answered_with_a_refusal() -> None:
    answer = finding("firewalld-interference", "pods on different nodes cannot reach each other\n" + PROHIBITED + STATE)
    assert (answer.rule, answer.strength >= 0.9) == ("answered", True)
    assert finding("firewalld-interference", PROHIBITED + STATE.replace("running", "not running")).state == "ruled-out"
    assert finding("firewalld-interference", PROHIBITED).strength < 0.8


def test_the_end_of_input_refuses_what_comes_to_the_host() -> None:
    text = """
        [root@m1 ~]# systemctl status firewalld
        ● firewalld.service - firewalld - dynamic firewall daemon
           Active: active (running) since Mon 2023-08-21 12:21:07 CST; 1h 42min ago
        [root@m1 ~]# iptables -nL INPUT | tail -2
        DROP       all  --  0.0.0.0/0            0.0.0.0/0            ctstate INVALID
        REJECT     all  --  0.0.0.0/0            0.0.0.0/0            reject-with icmp-host-prohibited
        $ kubectl logs -n kube-system coredns-6d8c4cb4d-kxsm9
        [WARNING] plugin/kubernetes: Kubernetes API connection failure: Get "https://10.96.0.1:443/version": dial tcp 10.96.0.1:443: connect: no route to host
        """  # noqa: E501
    answer = finding("firewalld-interference", text)
    assert (answer.rule, answer.value("chain")) == ("forward-closed", "INPUT")
    assert finding("firewalld-interference", text.replace("no route to host", "i/o timeout")).strength < 0.8


def test_a_ping_that_is_filtered_and_zones_that_are_listed() -> None:
    zones = "[root@w41 ~]# firewall-cmd --list-all\npublic (active)\n  target: default\n  ports: 179/tcp 4789/udp\n"
    ping = "[root@m40 ~]# ping 172.16.143.5\nFrom 172.16.143.0 icmp_seq=1 Packet filtered\n"
    assert finding("firewalld-interference", ping + zones).strength >= 0.9
    assert finding("firewalld-interference", zones).strength < 0.8


def test_pods_get_no_route_to_what_their_machine_reaches() -> None:
    text = """
        $ kubectl logs calico-kube-controllers-77d6cbc65f-wdjrg -n kube-system
        2020-07-12 10:16:27.148 [FATAL][1] main.go 114: Failed to initialize Calico datastore error=Get https://10.233.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default: dial tcp 10.233.0.1:443: connect: no route to host
        [root@m1 ~]# curl -k https://10.233.0.1:443/version
        {
          "major": "1",
        [root@m1 ~]# systemctl is-active firewalld
        active
        """  # noqa: E501
    assert finding("firewalld-interference", text).strength >= 0.8
    assert finding("firewalld-interference", text.replace("no route to host", "i/o timeout")).strength < 0.8


HISTORY = """
Only the pods on owl-3 stopped answering an hour ago.
[root@owl-3 ~]# history | tail -3
  811  firewall-cmd --add-port=31234/tcp --permanent
  812  firewall-cmd {}
  813  history | tail -3
[root@owl-3 ~]# iptables -S | grep -c KUBE
0
[root@owl-3 ~]# iptables -S | grep -c cali
0
kube-system   canal-n4d8x   2/2   Running   0   57d   10.0.0.3   owl-3
"""


def test_a_reload_in_the_history_and_no_rules_left() -> None:
    answer = finding("firewalld-interference", HISTORY.format("--reload"))
    assert (answer.state, answer.rule, answer.strength >= 0.95) == ("found", "wiped", True)
    assert "owl-3" in answer.objects
    assert finding("firewalld-interference", HISTORY.format("--list-all")).state != "found"
    other = HISTORY.format("--reload").replace("2/2   Running", "0/2   Init:0/1")
    assert finding("firewalld-interference", other).strength < 0.9

"""TRT2016: the source of what goes to the service address is not the node's own."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "vip-route-wrong-nic"
NODES = """\
$ kubectl get nodes -o wide
NAME    STATUS     ROLES           AGE   VERSION   INTERNAL-IP     EXTERNAL-IP   OS-IMAGE
oak1    Ready      control-plane   3h    v1.27.4   192.168.61.11   <none>        Ubuntu 22.04
oak2    NotReady   <none>          2h    v1.27.4   192.168.61.12   <none>        Ubuntu 22.04
"""
LOG = """\
$ kubectl -n kube-system logs calico-node-mx5zt -c install-cni
[ERROR][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig error=Post "https://10.96.0.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": dial tcp 10.96.0.1:443: i/o timeout
"""  # noqa: E501
GET = "root@oak2:~# ip route get 10.96.0.1\n10.96.0.1 via 10.0.2.2 dev enp0s3 src 10.0.2.15 uid 0\n    cache\n"
LINKS = """\
root@oak2:~# ip -br -4 addr
lo               UNKNOWN        127.0.0.1/8
enp0s3           UP             10.0.2.15/24
enp0s8           UP             192.168.61.12/24
"""
RULES = "root@oak2:~# iptables-save -t nat | grep -c KUBE-SVC\n38\n"
DIRECT = "root@oak2:~# curl -sk -m3 https://192.168.61.11:6443/healthz; echo\nok\n"
TABLE = """\
root@oak2:~# ip route
default via 10.0.2.2 dev enp0s3 proto dhcp src 10.0.2.15 metric 100
10.0.2.0/24 dev enp0s3 proto kernel scope link src 10.0.2.15 metric 100
192.168.61.0/24 dev enp0s8 proto kernel scope link src 192.168.61.12
"""


def test_route_get_with_the_nats_source_is_proof() -> None:
    answer = finding(ID, NODES + LOG + GET + LINKS + RULES + DIRECT)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("enp0s3", "10.0.2.15")
    assert "oak2" in answer.objects


def test_without_rules_and_trials_it_is_still_a_claim() -> None:
    assert finding(ID, NODES + LOG + GET).strength >= LIKELY


def test_the_table_says_the_same_where_nobody_asked() -> None:
    assert finding(ID, NODES + LOG + TABLE + LINKS + RULES + DIRECT).strength >= LIKELY
    assert finding(ID, NODES + LOG + TABLE + LINKS).state == "cannot-tell"


def test_the_service_range_over_the_right_card() -> None:
    right = GET.replace("via 10.0.2.2 dev enp0s3 src 10.0.2.15", "dev enp0s8 src 192.168.61.12")
    assert finding(ID, NODES + LOG + right + LINKS).state == "ruled-out"


def test_without_rules_it_is_kube_proxys_fault() -> None:
    assert finding(ID, NODES + LOG + GET + LINKS + RULES.replace("38", "0") + DIRECT).state == "ruled-out"


def test_two_cards_alone_are_no_trouble() -> None:
    assert finding(ID, NODES + GET + LINKS).state == "cannot-tell"


def test_an_address_that_answers_is_history() -> None:
    now = "root@oak2:~# curl -sk -m3 https://10.96.0.1:443/healthz; echo\nok\n"
    assert finding(ID, NODES + LOG + GET + LINKS + RULES + DIRECT + now).state == "ruled-out"


def test_who_is_refused_has_got_an_answer() -> None:
    refused = LOG.replace("i/o timeout", "connect: connection refused")
    assert finding(ID, NODES + refused + GET + LINKS).state == "cannot-tell"


def test_the_route_goes_over_the_nodes_own_card() -> None:
    cause, seen = cause_named(ID), picture(NODES + LOG + GET + LINKS + RULES)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert "ip route add 10.96.0.1/32 dev enp0s8" in commands


def test_an_answer_to_another_source_address_is_no_answer_to_the_node() -> None:
    pinned = "root@oak2:~# curl -sk -m4 {}https://10.96.0.1/healthz; echo\nok\n"
    seen = NODES + LOG + GET + LINKS + RULES + DIRECT
    assert finding(ID, seen + pinned.format("--interface 192.168.61.12 ")).strength >= PROVEN
    assert finding(ID, seen + pinned.format("")).state == "ruled-out"


def test_a_virtual_machines_nat_tells_without_any_list_of_cards() -> None:
    end = "root@oak2:~# kubectl get ep kubernetes\nNAME         ENDPOINTS            AGE\nkubernetes   {}:6443   1h\n"
    seen = LOG + GET + RULES + DIRECT
    assert finding(ID, seen + end.format("192.168.61.11")).strength >= STRONG
    assert finding(ID, LOG + GET + end.format("192.168.61.11")).state != "found"
    real = GET.replace("10.0.2.2 ", "10.9.2.1 ").replace("10.0.2.15", "10.9.2.15")
    assert finding(ID, LOG + real + RULES + DIRECT + end.format("192.168.61.11")).state != "found"


def test_packets_to_the_api_server_with_the_nats_source_are_proof() -> None:
    endpoint = (
        "$ kubectl get ep kubernetes\nNAME         ENDPOINTS            AGE\nkubernetes   192.168.61.11:6443   3h\n"
    )
    packet = (
        "root@oak2:~# tcpdump -ni enp0s8 port 6443\n"
        "20:14:31.002113 IP 10.0.2.15.41210 > 192.168.61.11.6443: Flags [S], seq 1833911402, win 64240, length 0\n"
    )
    answer = finding(ID, LOG + endpoint + GET + DIRECT + packet)
    assert answer.strength >= PROVEN
    own = packet.replace("10.0.2.15", "192.168.61.12")
    assert finding(ID, LOG + endpoint + GET + DIRECT + own).state != "found"

"""TRT1005: two live nodes, one address; neither a relic nor a bridge."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG
from tortie.doctor.causes.nodes.trt1005_duplicate_node_ip import CAUSE

ID = "duplicate-node-ip"

TWINS = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
t-1    Ready    master   9d    v1.21.3   10.44.0.20    <none>        Debian 11  5.10.0           containerd://1.5.2
t-2    Ready    <none>   1h    v1.21.3   10.44.0.21    <none>        Debian 11  5.10.0           containerd://1.5.2
t-3    Ready    <none>   1h    v1.21.3   10.44.0.21    <none>        Debian 11  5.10.0           containerd://1.5.2
"""
LOG = """
2022-02-02 02:02:02.002 [INFO][9] startup/startup.go 425: Determined node name: t-3
2022-02-02 02:02:02.120 [WARNING][9] startup/startup.go 1166: Calico node 't-2' is already using the IPv4 address 10.44.0.21.
2022-02-02 02:02:02.120 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501
ARP = """
root@t-3:~# arping -D -c2 -I ens3 10.44.0.21
ARPING 10.44.0.21 from 0.0.0.0 ens3
Unicast reply from 10.44.0.21 [52:54:00:AB:CD:EF]  0.9ms
Sent 1 probes (1 broadcast(s))
Received 1 response(s)
"""


def test_two_ready_nodes_have_one_internal_ip() -> None:
    answer = finding(ID, TWINS + LOG)
    assert answer.strength >= PROVEN
    assert {"10.44.0.21", "t-2", "t-3"} <= set(answer.objects)


def test_somebody_answers_for_the_address() -> None:
    answer = finding(ID, LOG + ARP)
    assert answer.strength >= LIKELY
    assert "10.44.0.21" in answer.objects


def test_a_person_says_that_the_machine_is_a_clone() -> None:
    assert finding(ID, "t-3 这台虚拟机是从 t-2 克隆出来的。\n" + LOG).strength >= LIKELY


def test_the_conflict_alone_is_a_candidate() -> None:
    answer = finding(ID, LOG)
    assert answer.state == "found"
    assert answer.strength < LIKELY


def test_an_owner_that_is_no_node_is_a_relic() -> None:
    text = TWINS.replace(
        "10.44.0.21    <none>        Debian 11  5.10.0           containerd://1.5.2\nt-3",
        "10.44.0.29    <none>  a\nt-3",
    )
    assert finding(ID, text + LOG.replace("'t-2'", "'old-name'")).state == "ruled-out"


def test_different_addresses_rule_it_out() -> None:
    text = TWINS.replace(
        "t-3    Ready    <none>   1h    v1.21.3   10.44.0.21", "t-3    Ready    <none>   1h    v1.21.3   10.44.0.22"
    )
    assert finding(ID, text).state == "ruled-out"


def test_the_link_is_asked_with_names_from_the_evidence() -> None:
    links = "t-3:~$ ip -br -4 addr\nens3   UP   10.44.0.21/24\n"
    seen = picture(TWINS + LOG + links)
    steps = CAUSE.fix(seen, CAUSE.judge(seen))
    assert steps[0].command == "arping -D -c3 -I ens3 10.44.0.21"
    assert "t-3" in steps[-1].command


def test_an_answer_for_another_address_is_none_for_this() -> None:
    ended = "Calico node 'k-1' is already using the IPv4 address 10.0.0.7.\nTerminating\n"
    answer = "Unicast reply from 10.0.0.7 [52:54:00:AA:10:07]  0.811ms\n"
    assert finding(ID, ended + answer).strength >= STRONG
    assert finding(ID, ended + answer.replace("0.7 ", "0.1 ")).strength < LIKELY

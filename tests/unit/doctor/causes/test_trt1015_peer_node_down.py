"""TRT1015: everybody misses one machine, and it does not answer."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "peer-node-down"

NODES = """
$ kubectl get nodes -o wide
NAME   STATUS     ROLES    AGE    VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
c-1    Ready      master   200d   v1.13.4   10.50.0.1     <none>        CentOS 7   3.10.0           docker://18.9.2
c-2    Ready      <none>   200d   v1.13.4   10.50.0.2     <none>        CentOS 7   3.10.0           docker://18.9.2
c-3    NotReady   <none>   200d   v1.13.4   10.50.0.3     <none>        CentOS 7   3.10.0           docker://18.9.2
"""
EVENTS = """
$ kubectl -n kube-system get events | grep Unhealthy
2m   Warning   Unhealthy   pod/calico-node-9xk2p   Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.50.0.3
2m   Warning   Unhealthy   pod/calico-node-zz81q   Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.50.0.3
"""  # noqa: E501
SILENT = """
[root@c-1 ~]# ping -c 3 10.50.0.3
PING 10.50.0.3 (10.50.0.3) 56(84) bytes of data.
From 10.50.0.1 icmp_seq=1 Destination Host Unreachable

--- 10.50.0.3 ping statistics ---
3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2000ms
"""


def test_the_node_is_not_ready_and_silent() -> None:
    answer = finding(ID, NODES + EVENTS + SILENT)
    assert answer.strength >= PROVEN
    assert {"c-3", "10.50.0.3"} <= set(answer.objects)


def test_the_neighbour_table_has_failed() -> None:
    text = NODES + EVENTS + "[root@c-2 ~]# ip neigh show 10.50.0.3\n10.50.0.3 dev eth0  FAILED\n"
    assert finding(ID, text).strength >= LIKELY


def test_a_person_says_that_the_machine_lost_power() -> None:
    text = "机房那边说 c-3 这台机器已经断电关机了。\n" + NODES + EVENTS
    assert finding(ID, text).strength >= LIKELY


def test_a_machine_that_answers_is_up() -> None:
    alive = "[root@c-1 ~]# ping -c 1 10.50.0.3\n64 bytes from 10.50.0.3: icmp_seq=1 ttl=64 time=0.4 ms\n"
    assert finding(ID, NODES + EVENTS + alive).strength < LIKELY


def test_a_dead_kubelet_on_a_live_machine_is_another_cause() -> None:
    text = NODES + EVENTS + "[root@c-3 ~]# systemctl is-active kubelet\nfailed\n"
    assert finding(ID, text).strength < LIKELY


def test_the_symptom_alone_is_no_claim() -> None:
    assert finding(ID, EVENTS).strength < LIKELY


def test_a_login_that_failed_is_no_sign_of_life() -> None:
    text = (
        NODES + EVENTS + "[root@c-1 ~]# ping -c 2 -W 1 10.50.0.3\n2 packets transmitted, 0 received, 100% packet loss\n"
    )
    tried = "[root@c-1 ~]# ssh c-3 uptime\nssh: connect to host c-3 port 22: No route to host\n"
    assert finding(ID, text + tried).strength >= PROVEN


def test_a_dead_machine_is_not_drained() -> None:
    seen = picture(NODES + EVENTS + SILENT)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert "kubectl delete node c-3" in commands
    assert not [command for command in commands if "drain" in command]


def test_nobody_answers_for_its_address_on_the_link() -> None:
    asked = (
        "[root@c-1 ~]# arping -c 2 -I eth0 10.50.0.3\nARPING 10.50.0.3 from 10.50.0.1 eth0\n"
        "Sent 2 probes (2 broadcast(s))\nReceived 0 response(s)\n"
    )
    assert finding(ID, NODES + EVENTS + asked).strength >= PROVEN
    # From another network arping never gets an answer.
    apart = NODES.replace("10.50.0.1 ", "10.51.0.1 ").replace("10.50.0.2 ", "10.52.0.2 ")
    assert finding(ID, apart + EVENTS + asked).strength < LIKELY


def test_the_machine_has_no_power() -> None:
    chassis = "$ ipmitool -H c-3-bmc power status\nChassis Power is off\n"
    guests = (
        "$ virsh list --all\n Id   Name   State\n----------------------\n 4    c-2    running\n -    c-3    shut off\n"
    )
    for off in (chassis, guests):
        assert finding(ID, NODES + EVENTS + off).strength >= PROVEN
        assert finding(ID, NODES + EVENTS + off.replace("c-3", "c-9")).strength < LIKELY  # another machine
    assert finding(ID, NODES + EVENTS + chassis.replace("is off", "is on")).strength < LIKELY


def test_people_say_that_the_machine_died() -> None:
    nodes = """
$ kubectl get nodes -o wide
NAME   STATUS     ROLES    AGE    VERSION   INTERNAL-IP
ma1    Ready      master   212d   v1.14.1   10.61.3.12
ma3    NotReady   master   212d   v1.14.1   10.61.3.14
"""
    complaint = "\nBIRD is not ready: BGP not established with 10.61.3.14\n"
    assert finding("peer-node-down", "One of our masters died yesterday.\n" + nodes + complaint).strength >= 0.9
    crashing = "calico-node on one of our masters crashes since yesterday.\n"
    assert finding("peer-node-down", crashing + nodes + complaint).strength < 0.8


def test_one_lost_node_and_one_missing_peer_without_addresses() -> None:
    text = """
昨天 worker4 物理机主板坏了，现在其余的 calico-node 都 0/1 了

calico/node is not ready: BIRD is not ready: BGP not established with 10.20.30.44

$ kubectl get node
NAME      STATUS     ROLES    AGE    VERSION
master    Ready      master   500d   v1.16.3
worker4   NotReady   <none>   500d   v1.16.3
"""
    answer = finding("peer-node-down", text)
    assert (answer.strength >= 0.9, "worker4" in answer.objects) == (True, True)
    two = text.replace("10.20.30.44", "10.20.30.44,10.20.30.45")
    assert finding("peer-node-down", two).strength < 0.8

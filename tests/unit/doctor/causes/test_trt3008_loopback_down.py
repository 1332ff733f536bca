"""TRT3008: lo down or without its address; not where 127.0.0.1 answers."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "loopback-down"
DIAL = (
    '  Warning  Unhealthy  1m (x9 over 4m)  kubelet  Liveness probe failed: Get "http://127.0.0.1:9099/liveness": '
    "dial tcp 127.0.0.1:9099: i/o timeout"
)


def test_lo_is_down() -> None:
    text = f"""
{DIAL}
root@vm-14:~# ip addr show lo
1: lo: <LOOPBACK> mtu 65536 qdisc noqueue state DOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "lo" in answer.objects
    assert "vm-14" in answer.objects


def test_the_ping_fails() -> None:
    text = f"""
{DIAL}
[root@vm-14 ~]# ping -c2 127.0.0.1
PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.

--- 127.0.0.1 ping statistics ---
2 packets transmitted, 0 received, 100% packet loss, time 1017ms
"""
    assert finding(ID, text).strength >= 0.8


def test_no_route_to_the_loopback() -> None:
    text = "Readiness probe failed: Get http://127.0.0.1:9099/readiness: dial tcp 127.0.0.1:9099: connect: network is unreachable"
    assert finding(ID, text).strength >= 0.8


def test_a_healthy_lo_rules_it_out() -> None:
    text = f"""
{DIAL}
root@vm-14:~# ip addr show lo
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
"""
    assert finding(ID, text).state == "ruled-out"


def test_a_time_out_alone_is_no_claim() -> None:
    assert finding(ID, DIAL).strength < 0.8


DOWN = """1: lo: <LOOPBACK> mtu 65536 qdisc noop state DOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
"""


def test_lo_of_a_pod_is_not_the_machines() -> None:
    assert finding(ID, f"root@r7:~# ip netns exec cni-8f1c2d0e ip a\n{DOWN}").state != "found"
    assert finding(ID, f"$ kubectl exec web-0 -- ip a\n{DOWN}").state != "found"
    assert finding(ID, f"root@r7:~# ip a\n{DOWN}").strength >= 0.9


def test_the_agent_has_the_machines_lo() -> None:
    assert finding(ID, f"$ kubectl -n kube-system exec calico-node-x2q9d -- ip a\n{DOWN}").strength >= 0.9


def test_who_leaves_lines_out_leaves_the_address_out() -> None:
    text = """
root@r7:~# ip a
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
{below}
2: ens3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP group default qlen 1000
    inet 10.9.9.7/24 brd 10.9.9.255 scope global ens3
"""
    assert finding(ID, text.format(below="...")).state != "found"
    lost = text.format(below="    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00")
    assert finding(ID, lost).strength >= 0.9

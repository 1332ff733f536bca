"""Captures that are told: what leaves one machine and does not come in at the other (TRT9001, TRT8004)."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

ROUTES = """
$ ip route
10.120.4.64/26 via 10.6.0.12 dev {} proto bird onlink

"""
DEAD = "Pods on different nodes cannot reach each other.\n"
TOLD = [
    "- tcpdump on sending node: packets go out via eth0\n- tcpdump on receiving node: nothing",
    "tcpdump:\n- sending node: goes out eth0\n- receiving node: no packets",
    "In tcpdump I see the traffic leaving the node, but don't see anything on the destination node.",
    "I captured on both ends. The packets leave the source node; they never arrive at the target node.",
    "在 A 虚机 eth0 上抓包能看到报文发出去，在 B 虚机 eth0 上抓包一个包都没有。",
    "tcpdump on node1: the packets leave eth0. tcpdump on node2: nothing.",
    "抓包发现：源节点 eth0 上能看到报文发出，目标节点上什么都没有收到。",
]
LOCAL = [
    "tcpdump on sending node: packets go out via eth0\ntcpdump on receiving node: nothing on the cali interface",
    "tcpdump: packets leave the sender and arrive on eth0 of the receiving node",
    "tcpdump on node1: the packets leave eth0. tcpdump on node1: nothing on eth1",
    "tcpdump on receiving node: nothing, tcpdump on sending node: nothing either",
]


@pytest.mark.parametrize("said", TOLD)
def test_packets_leave_and_none_come(said: str) -> None:
    ipip = DEAD + ROUTES.format("tunl0") + said
    assert finding("ipip-blocked-by-cloud", ipip).strength >= 0.8
    assert finding("vxlan-port-blocked", ipip).strength < 0.8
    vxlan = DEAD + ROUTES.format("vxlan.calico") + said
    assert finding("vxlan-port-blocked", vxlan).strength >= 0.8
    assert finding("ipip-blocked-by-cloud", vxlan).strength < 0.8


@pytest.mark.parametrize("said", LOCAL)
def test_where_they_come_or_nobody_sends(said: str) -> None:
    assert finding("ipip-blocked-by-cloud", DEAD + ROUTES.format("tunl0") + said).strength < 0.8
    assert finding("vxlan-port-blocked", DEAD + ROUTES.format("vxlan.calico") + said).strength < 0.8


def test_ends_that_are_listed_by_their_names() -> None:
    said = (
        "Pods can't resolve names when coredns is on another node.\n\nWhat I found with tcpdump:\n"
        " * worker-2 (client): sends UDP 4789 to worker-5\n * {}: no packets on UDP 4789 at all\n"
    )
    assert finding("vxlan-port-blocked", said.format("worker-5 (coredns)")).strength >= 0.8
    assert finding("vxlan-port-blocked", said.format("worker-2 (client)")).strength < 0.8


def test_without_a_cover_the_cloud_drops_pods_addresses() -> None:
    said = (
        "{} with calico, ipipMode: Never, vxlanMode: Never. Pods of other nodes do not answer.\n"
        "- tcpdump on the sending node: the echo request leaves eth0\n- tcpdump on the receiving node: {}\n"
    )
    assert finding("cloud-src-dst-check", said.format("AWS", "nothing")).strength >= 0.9
    assert finding("ipip-blocked-by-cloud", said.format("AWS", "nothing")).strength < 0.8
    assert finding("cloud-src-dst-check", said.format("Bare metal", "nothing")).strength < 0.8
    assert finding("cloud-src-dst-check", said.format("AWS", "it arrives on eth0")).strength < 0.8


def test_a_node_that_answers_no_ping_itself() -> None:
    said = DEAD + ROUTES.format("{}") + TOLD[0]
    ping = "\n$ ping -c2 10.6.0.12\n2 packets transmitted, {} received, {}% packet loss\n"
    for cause, device in (("ipip-blocked-by-cloud", "tunl0"), ("vxlan-port-blocked", "vxlan.calico")):
        assert finding(cause, said.format(device) + ping.format(2, 0)).strength >= 0.8
        assert finding(cause, said.format(device) + ping.format(0, 100)).strength < 0.8


def test_of_packets_without_a_cover() -> None:
    said = DEAD + "- tcpdump on sending node: packets go out via eth0\n- tcpdump on receiving node: nothing"
    assert finding("ipip-blocked-by-cloud", said).strength < 0.8
    assert finding("vxlan-port-blocked", said).strength < 0.8


POOL = """
DNS from pods times out unless CoreDNS is on the same node.
$ calicoctl get ippool -o wide
NAME      CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default   10.120.0.0/16   true   Always     Never       false      false              all()
"""
GROUP = """
$ openstack security group rule list k8s-workers
+------+-------------+-----------+-----------+-------------+-----------+
| ID   | IP Protocol | Ethertype | IP Range  | Port Range  | Direction |
+------+-------------+-----------+-----------+-------------+-----------+
| 0b0a | tcp         | IPv4      | 0.0.0.0/0 | 10250:10250 | ingress   |
| 0b0b | {}       | IPv4      | 0.0.0.0/0 |             | ingress   |
+------+-------------+-----------+-----------+-------------+-----------+
"""
ON_HYPERVISOR = """
$ iptables -nvL neutron-openvswi-i0b3c5f1e-9
    0     0 RETURN     {}   --  *      *       0.0.0.0/0            0.0.0.0/0            match-set NIPv45e18ab60 src
"""


def test_a_rule_for_ipip_that_is_not_protocol_4() -> None:
    answer = finding("ipip-blocked-by-cloud", POOL + GROUP.format("ipip"))
    assert answer.strength >= 0.8
    assert answer.rule == "wrong-number"
    assert finding("ipip-blocked-by-cloud", POOL + GROUP.format("ipip") + ON_HYPERVISOR.format("94")).strength >= 0.8
    assert finding("ipip-blocked-by-cloud", POOL + GROUP.format("4   ")).strength < 0.8
    assert finding("ipip-blocked-by-cloud", POOL + GROUP.format("ipip") + ON_HYPERVISOR.format("4 ")).strength < 0.8
    healthy = POOL.replace("times out unless CoreDNS is on the same node", "works")
    assert finding("ipip-blocked-by-cloud", healthy + GROUP.format("ipip")).strength < 0.8

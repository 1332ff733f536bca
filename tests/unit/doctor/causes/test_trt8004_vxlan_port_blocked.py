"""TRT8004: packets leave and do not arrive."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding
from tests.support.fixes import fixes

ROUTES = """
[root@vx-a ~]# ip route | grep vxlan
10.88.7.0/26 via 10.88.7.0 dev vxlan.calico onlink
[root@vx-a ~]# ping -c2 -W1 10.88.7.12
2 packets transmitted, 0 received, 100% packet loss, time 1021ms
"""


def test_seen_here_not_there() -> None:
    text = (
        ROUTES
        + """
[root@vx-a ~]# tcpdump -ni ens3 udp port 4789 -c 1
10:11:12.000001 IP 10.1.1.4.38211 > 10.1.1.5.4789: VXLAN, flags [I] (0x08), vni 4096
[root@vx-b ~]# timeout 10 tcpdump -ni ens3 udp port 4789
0 packets captured
"""
    )
    answer = finding("vxlan-port-blocked", text)
    assert answer.strength >= 0.95
    assert "4789" in answer.objects


def test_a_firewall_with_another_port() -> None:
    text = (
        ROUTES
        + """
[root@vx-b ~]# firewall-cmd --list-ports
6443/tcp 10250/tcp 179/tcp 8472/udp
$ calicoctl get felixconfig default -o yaml | grep vxlanPort
  vxlanPort: 4789
"""
    )
    assert finding("vxlan-port-blocked", text).strength >= 0.8


def test_calico_drops_unknown_senders() -> None:
    text = (
        ROUTES
        + """
[root@vx-b ~]# iptables -nvL cali-INPUT | grep -i vxlan
 8812  969K DROP  udp  --  *  *  0.0.0.0/0  0.0.0.0/0  /* cali:x */ /* Drop IPv4 VXLAN packets from non-whitelisted hosts */
"""  # noqa: E501
    )
    assert finding("vxlan-port-blocked", text).strength >= 0.9


def test_bad_sums_arrive() -> None:
    text = (
        ROUTES
        + """
[root@vx-b ~]# tcpdump -nvi ens3 udp port 4789 -c 1
    10.1.1.4.38211 > 10.1.1.5.4789: [bad udp cksum 0x0e1c -> 0x93ab!] VXLAN, flags [I] (0x08), vni 4096
"""
    )
    assert finding("vxlan-port-blocked", text).state == "ruled-out"


def test_the_symptom_alone_is_no_claim() -> None:
    assert finding("vxlan-port-blocked", ROUTES).strength < 0.8


def test_other_encapsulation() -> None:
    text = "[root@a ~]# ip route | grep tunl0\n10.88.7.0/26 via 10.1.1.5 dev tunl0 proto bird onlink\n"
    assert finding("vxlan-port-blocked", text).state == "ruled-out"


def test_tcpdump_takes_port_8472_for_otv() -> None:
    text = """
    [root@vx-1 ~]# tcpdump -ni ens192 udp port 8472 -c 1
    10:00:01.000001 IP 10.9.0.1.50001 > 10.9.0.2.8472: OTV, flags [I] (0x08), overlay 0, instance 4096
    [root@vx-2 ~]# timeout 20 tcpdump -ni ens192 udp port 8472
    0 packets captured
    """
    answer = finding("vxlan-port-blocked", text)
    assert answer.strength >= 0.9


def test_a_bad_sum_at_the_sender_does_not_show_that_packets_arrive() -> None:
    text = """
    [root@vx-1 ~]# ip -4 addr show ens192
    2: ens192: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
        inet 10.9.0.1/24 brd 10.9.0.255 scope global ens192
    [root@vx-1 ~]# tcpdump -nvi ens192 udp port 4789 -c 1
        10.9.0.1.50001 > 10.9.0.2.4789: [bad udp cksum 0x0e1c -> 0x93ab!] VXLAN, flags [I] (0x08), vni 4096
    [root@vx-2 ~]# timeout 20 tcpdump -nvi ens192 udp port 4789
    0 packets captured
    """
    assert finding("vxlan-port-blocked", text).strength >= 0.9
    assert finding("vxlan-checksum-offload", text).state == "ruled-out"


def test_packets_that_calico_drops_are_no_matter_of_a_port() -> None:
    text = (
        ROUTES
        + """
[root@vx-b ~]# iptables -nvL cali-INPUT | grep VXLAN
  412 61800 DROP  udp  --  *  *  0.0.0.0/0  0.0.0.0/0  /* Drop IPv4 VXLAN packets from non-allowed hosts */
"""
    )
    assert finding("vxlan-port-blocked", text).strength >= 0.9
    commands = fixes("vxlan-port-blocked", text)
    assert not any("--add-port" in command or "-j ACCEPT" in command for command in commands)


ROUTES = "[root@n1 ~]# ip route | grep vxlan\n10.244.35.0/26 via 10.244.35.0 dev vxlan.calico onlink\n"
ZONE = "[root@n1 ~]# firewall-cmd --list-all\n{} (active)\n  target: {}\n  interfaces: eth1\n  ports: 179/tcp\n"
LOST = "[root@n1 ~]# ping -c2 10.244.35.7\n2 packets transmitted, 0 received, 100% packet loss, time 1001ms\n"


def test_a_zone_that_accepts_everything_lists_no_ports() -> None:
    assert finding("vxlan-port-blocked", ROUTES + ZONE.format("public", "default") + LOST).strength >= 0.9
    assert finding("vxlan-port-blocked", ROUTES + ZONE.format("trusted", "ACCEPT") + LOST).strength < 0.8


def test_pods_behind_the_tunnel_answer() -> None:
    answer = "64 bytes from 10.244.35.7: icmp_seq=1 ttl=62 time=0.411 ms\n"
    passed = LOST.replace("2 packets", f"{answer}2 packets").replace("0 received, 100%", "2 received, 0%")
    assert finding("vxlan-port-blocked", ROUTES + ZONE.format("public", "default") + passed).state == "ruled-out"


def test_what_lies_outside_is_not_reached_by_the_tunnel() -> None:
    outside = LOST.replace("10.244.35.7", "8.8.8.8")
    assert finding("vxlan-port-blocked", ROUTES + outside).state == "cannot-tell"
    assert finding("vxlan-port-blocked", ROUTES + LOST).state == "found"


def test_none_is_any_protocol_to_openstack() -> None:
    rules = """
    $ openstack security group rule list k8s
    | ID | IP Protocol | Ethertype | IP Range | Port Range | Direction |
    | a1 | tcp         | IPv4      | 0.0.0.0/0 | 22:22     | ingress   |
    """
    within = "    | a2 | None        | IPv4      | 10.0.0.0/24 |         | ingress   |\n"
    out = "    | a2 | None        | IPv4      | 0.0.0.0/0 |           | egress    |\n"
    assert finding("vxlan-port-blocked", rules + out + ROUTES + LOST).strength >= 0.9
    assert finding("vxlan-port-blocked", rules + within + ROUTES + LOST).strength < 0.8


OWN_PORT = """
[root@n1 ~]# calicoctl get felixconfig default -o yaml | grep -i vxlanport
  vxlanPort: 4799
[root@n1 ~]# tcpdump -ni ens160 udp port 4799
14:01:22.100121 IP 192.168.186.40.38123 > 192.168.186.41.4799: UDP, length 110
14:01:23.120601 IP 192.168.186.41 > 192.168.186.40: ICMP host 192.168.186.41 unreachable - admin prohibited, length 156
"""


def test_on_a_port_of_its_own_it_looks_like_any_udp() -> None:
    assert finding("vxlan-port-blocked", OWN_PORT).strength >= 0.9
    assert finding("vxlan-port-blocked", OWN_PORT.replace("  vxlanPort: 4799\n", "")).strength < 0.8


def test_the_hosts_filter_logs_what_it_blocks() -> None:
    line = (
        "[ 881.1] [UFW BLOCK] IN=enp7s0 OUT= MAC=86:00 SRC=10.0.0.3 DST=10.0.0.2 LEN=134 TOS=0x00 PREC=0x00 TTL=64 "
        "ID=5721 PROTO=UDP SPT=50211 DPT={} LEN=114"
    )
    dead = "pods on different nodes cannot reach each other\n\n"
    assert finding("vxlan-port-blocked", dead + line.format(4789)).strength >= 0.9
    assert finding("vxlan-port-blocked", line.format(4789)).strength < 0.8
    assert finding("vxlan-port-blocked", dead + line.format(5353)).strength < 0.8
    assert finding("vxlan-port-blocked", dead + line.format(4789).replace("=10.0.0.3", "=8.8.4.4")).strength < 0.8


def test_who_refuses_inside_of_the_tunnel_got_the_packet_through_it() -> None:
    inside = """
        [root@w1 ~]# tcpdump -nni vxlan.calico -c2
        13:20:22.510771 IP 172.16.219.64.40112 > 172.16.104.14.4654: Flags [S], seq 1829912244, win 64860, length 0
        13:20:22.510828 IP 172.16.104.0 > 172.16.219.64: ICMP host 172.16.104.14 unreachable - admin prohibited filter
        [root@w1 ~]# ip route get 172.16.104.14
        172.16.104.14 via 172.16.104.0 dev vxlan.calico src 172.16.219.64 uid 0
        """
    assert finding("vxlan-port-blocked", inside).state == "ruled-out"
    outside = inside.replace("-nni vxlan.calico", "-nni ens160 udp port 4789")
    assert finding("vxlan-port-blocked", outside).state == "found"


@pytest.mark.parametrize("where", ["worker-1", "worker-2"])
def test_a_silent_capture_at_the_sender_says_nothing_of_the_other_end(where: str) -> None:
    text = f"""
        tcpdump on {where} for udp port 4789 shows nothing.

        $ kubectl get pods -o wide
        web-a  1/1 Running 0 2d 10.244.1.7 worker-1
        web-b  1/1 Running 0 2d 10.244.2.9 worker-2
        $ calicoctl get ippool -o wide
        NAME   CIDR            NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        pods   10.244.0.0/16   true   Never      Always      false      all()
        $ kubectl exec web-a -- ping -c 3 10.244.2.9
        3 packets transmitted, 0 received, 100% packet loss
        """
    assert (finding("vxlan-port-blocked", text).strength >= 0.8) is (where == "worker-2")

"""TRT5008: a capture, or a pool that is switched off, shows that addresses of machines lie in a range of pods."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

POOL = """
$ calicoctl get ippool -o wide
NAME     CIDR          NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
main     10.6.0.0/16   {nat}   Always     Never       false      all()
"""
ROUTES = """
[root@w7 ~]# ip route
default via {net}.1 dev eth0 proto static
{net}.0/24 dev eth0 proto kernel scope link src {net}.17
10.6.90.64/26 via 10.44.2.31 dev tunl0 proto bird onlink
"""
CAPTURE = """
[root@w7 ~]# tcpdump -nni eth0 host 10.6.2.80
09:14:50.418830 IP 10.6.90.9 > 10.6.2.80: ICMP echo request, id 7, seq 0, length 64
09:14:51.418830 IP 10.6.90.9 > 10.6.2.80: ICMP echo request, id 7, seq 1, length 64
"""
REPLY = "09:14:51.418990 IP 10.6.2.80 > 10.6.90.9: ICMP echo reply, id 7, seq 1, length 64\n"


def shown(nat: str = "true", net: str = "10.6.2", capture: str = CAPTURE) -> str:
    return POOL.format(nat=nat) + ROUTES.format(net=net) + capture


def test_a_pods_packet_to_a_machine_on_the_nodes_own_network() -> None:
    answer = finding("cidr-overlap", shown())
    assert (answer.state, answer.rule, answer.strength >= 0.95) == ("found", "service-outside", True)
    assert answer.objects[:3] == ("10.6.0.0/16", "10.6.2.80", "10.6.2.0/24")


@pytest.mark.parametrize(
    "text",
    [
        shown(net="10.44.2"),  # the nodes are elsewhere: a packet of one pod for another, without a route
        shown(nat="false"),  # nothing is translated at all
        shown(capture=CAPTURE + REPLY),  # it is answered
        shown(capture=CAPTURE.replace("10.6.90.9 >", "10.6.2.17 >")),  # the node's own packet, or a translated one
    ],
)
def test_look_alikes_are_not_claimed(text: str) -> None:
    assert finding("cidr-overlap", text).rule != "service-outside"


OFF = """
$ calicoctl get ippool -o wide
NAME     CIDR          NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
first    10.6.0.0/16   {nat}   Never      Always      true       all()
pods     10.9.0.0/16   true    Never      Always      false      all()
/ # ping -c 3 10.6.2.80
PING 10.6.2.80 (10.6.2.80): 56 data bytes
3 packets transmitted, 0 packets received, 100% packet loss
[root@w7 ~]# ping -c1 10.6.2.80
64 bytes from 10.6.2.80: icmp_seq=1 ttl=57 time=9.11 ms
1 packets transmitted, 1 received, 0% packet loss, time 0ms
"""
BARE = """
[root@w7 ~]# tcpdump -ni eth0 icmp
14:22:31.660117 IP 10.9.116.193 > 10.6.2.80: ICMP echo request, id 18, seq 0, length 64
"""


def test_a_pool_that_is_switched_off_still_takes_the_nat_away() -> None:
    answer = finding("cidr-overlap", OFF.format(nat="true") + BARE)
    assert (answer.state, answer.strength >= 0.9, answer.objects[0]) == ("found", True, "10.6.0.0/16")
    commands = fixes("cidr-overlap", OFF.format(nat="true") + BARE)
    assert "-s 10.9.0.0/16 -d 10.6.2.80" in commands[0]
    assert commands[-1] == "calicoctl delete ippool first"


def test_a_pool_without_nat_that_is_switched_off_was_made_for_that() -> None:
    assert finding("cidr-overlap", OFF.format(nat="false") + BARE).strength < 0.8


def test_a_pod_that_kept_its_address_of_the_old_pool_is_none_outside() -> None:
    pods = "$ kubectl get pods -o wide\nNAME READY STATUS RESTARTS AGE IP NODE\ncrm-0 1/1 Running 0 1d 10.6.2.80 m2\n"
    assert finding("cidr-overlap", pods + OFF.format(nat="true") + BARE).state != "found"

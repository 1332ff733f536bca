"""TRT1001: tunnels that end in a network of the machines which is not the one of their InternalIPs."""

from __future__ import annotations

from tests.support.doctor import finding

TEXT = """
Pods of different nodes cannot reach each other.
[root@teal-2 ~]# ip route
default via 10.40.0.1 dev eth0 proto dhcp metric 100
10.40.0.0/22 dev eth0 proto kernel scope link src 10.40.1.52 metric 100
192.168.250.0/24 dev eth1 proto kernel scope link src 192.168.250.52 metric 101
[root@teal-2 ~]# bridge fdb show dev vxlan.calico
66:8b:01:c4:5d:aa dst 192.168.250.51 self permanent
66:31:f9:0e:7b:02 dst 192.168.250.53 self permanent
[root@teal-2 ~]# ping -c 2 192.168.250.53
2 packets transmitted, {} received, {}% packet loss, time 1001ms
NAME     STATUS   ROLES    VERSION   INTERNAL-IP
teal-1   Ready    <none>   v1.27.6   {net}.51
teal-2   Ready    <none>   v1.27.6   {net}.52
"""


def test_a_network_that_does_not_join_the_machines() -> None:
    answer = finding("autodetect-wrong-interface", TEXT.format(0, 100, net="10.40.1"))
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert "eth1" in answer.objects


def test_a_network_for_tunnels_that_works_is_meant() -> None:
    assert finding("autodetect-wrong-interface", TEXT.format(2, 0, net="10.40.1")).strength < 0.8


def test_nodes_that_kubernetes_knows_by_that_network() -> None:
    assert finding("autodetect-wrong-interface", TEXT.format(0, 100, net="192.168.250")).strength < 0.8

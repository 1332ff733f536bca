"""TRT1001 by a list of annotations that names no node, beside the nodes' own addresses."""

from __future__ import annotations

from tests.support.doctor import finding

ID = "autodetect-wrong-interface"

NODES = """
Pods on different nodes cannot talk to each other.

$ kubectl get nodes -o wide
NAME   STATUS   ROLES           AGE   VERSION   INTERNAL-IP
ctl    Ready    control-plane   40m   v1.27.1   192.168.56.10
w-1    Ready    <none>          33m   v1.27.1   192.168.56.11
w-2    Ready    <none>          31m   v1.27.1   192.168.56.12
"""


def listed(*addresses: str) -> str:
    rows = "".join(f"      projectcalico.org/IPv4Address: {address}/24\n" for address in addresses)
    return NODES + "\n$ kubectl get nodes -o yaml | grep IPv4Address\n" + rows


def test_one_nat_address_on_every_machine() -> None:
    answer = finding(ID, listed("10.0.2.15", "10.0.2.15", "10.0.2.15"))
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert "10.0.2.15" in answer.objects


def test_one_strange_address_among_right_ones() -> None:
    assert finding(ID, listed("192.168.56.10", "172.18.0.1", "192.168.56.12")).strength >= 0.9


def test_the_nodes_own_addresses() -> None:
    assert finding(ID, listed("192.168.56.10", "192.168.56.11", "192.168.56.12")).state != "found"


def test_a_network_of_its_own_may_be_a_decision() -> None:
    assert finding(ID, listed("10.9.0.10", "10.9.0.11", "10.9.0.12")).strength < 0.8


def test_peers_elsewhere_than_the_told_addresses() -> None:
    text = """
Cross-node traffic is dead since the install.

| 10.0.2.132   | node-to-node mesh | start | 02:11:40 | Passive |
| 10.0.2.133   | node-to-node mesh | start | 02:11:40 | Connect |

In kubectl get node -o wide the INTERNAL-IP is 192.168.100.131 for the first one.
"""
    assert finding(ID, text).strength >= 0.9
    assert finding(ID, text.replace("192.168.100.131", "10.0.2.131")).strength < 0.8

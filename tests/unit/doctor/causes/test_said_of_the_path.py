"""What people say of the path between pods decides: without its cover it passes, with an open policy it passes."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

DEAD = "Pods on different nodes cannot reach each other.\n"
ROUTES = "\n$ ip route\n10.120.4.64/26 via 10.6.0.12 dev tunl0 proto bird onlink\n\n"


@pytest.mark.parametrize(
    "said",
    [
        "After setting ipipMode from Always to CrossSubnet, communication began working again between pods.",
        "When I set the IPIP encap to Never, pod to pod communication across the 3 nodes is functioning.",
        "把 ipipMode 改成 Never 之后就通了。",
    ],
)
def test_without_ipip_it_passes(said: str) -> None:
    assert finding("ipip-blocked-by-cloud", DEAD + said + ROUTES).strength >= 0.8


@pytest.mark.parametrize(
    "said",
    [
        "IPIP never worked in this cluster, VXLAN works.",
        "I set ipipMode to Never, it does not help.",
        "We use ipipMode: CrossSubnet.",
    ],
)
def test_where_that_is_not_said(said: str) -> None:
    assert finding("ipip-blocked-by-cloud", DEAD + said + ROUTES).strength < 0.8


CHAIN = """
$ iptables -nvL FORWARD
Chain FORWARD (policy DROP 3 packets, 188 bytes)
 pkts bytes target     prot opt in     out     source               destination
76887  119M cali-FORWARD  all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:wUHhoiAYhphO9Mso */
"""


@pytest.mark.parametrize(
    "said",
    [
        "After iptables -P FORWARD ACCEPT it works on all nodes.",
        "Each time I curl the NodePort, the policy DROP counter increments.",
        "执行 iptables -P FORWARD ACCEPT 之后就恢复了。",
    ],
)
def test_the_policy_of_forward(said: str) -> None:
    answer = finding("host-firewall-blocks-pods", DEAD + said + CHAIN)
    assert answer.strength >= 0.8
    assert answer.rule == "policy-drops"


@pytest.mark.parametrize("said", ["I tried iptables -P FORWARD ACCEPT, no change.", "We use Docker 24."])
def test_a_policy_that_nobody_blames(said: str) -> None:
    assert finding("host-firewall-blocks-pods", DEAD + said + CHAIN).strength < 0.8


def test_a_host_endpoint_without_policy_or_profile() -> None:
    text = """
$ calicoctl get hep
NAME         NODE
node1-eth0   node1
$ iptables -nvL cali-fh-eth0 | grep DROP
{}  494K DROP       all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:H0ZgBv7Q1yPRqvQz */ /* Drop if no profiles matched */
"""  # noqa: E501
    assert finding("policy-blocks-host", text.format(" 8233")).strength >= 0.9
    assert finding("policy-blocks-host", text.format("    0")).strength < 0.8


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Pods on different hypervisors cannot reach each other.", "cross-node-dead"),
        ("All traffic between pods of different nodes is refused.", "cross-node-dead"),
        ("I gave worker2 a new address with netplan.", "ip-changed"),
        ("Pods between the two data centers don't talk.", "cross-node-dead"),
        ("All pods of the host lose access to services for about a minute.", "network-lost-sometimes"),
        ("后来把三台机器的 firewalld 全部 systemctl stop 之后，马上就好了。", "firewalld-stop-helps"),
    ],
)
def test_other_words(said: str, kind: str) -> None:
    assert picture(said).said(kind)


def test_pulls_that_hang_are_no_broken_runtime() -> None:
    assert not picture("docker pulls inside of pods hang").said("runtime-broken")
    assert picture("On that node docker images hangs forever.").said("runtime-broken")

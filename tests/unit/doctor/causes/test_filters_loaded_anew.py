"""Rules that are loaded anew and take those of others away (TRT8005, TRT8008), and rules before Calico's."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

DEAD = "Pods on this node cannot reach any service for a while.\n\n"
COUNTS = """
[root@srv-2 ~]# {list} | grep -c cali-
412
[root@srv-2 ~]# {load}
[root@srv-2 ~]# {list} | grep -c cali-
{after}
"""


@pytest.mark.parametrize(
    ("load", "cause"),
    [
        ("firewall-cmd --reload", "firewalld-interference"),
        ("systemctl restart firewalld", "firewalld-interference"),
        ("systemctl reload nftables", "host-firewall-blocks-pods"),
        ("nft -f /etc/nftables.conf", "host-firewall-blocks-pods"),
        ("netfilter-persistent reload", "host-firewall-blocks-pods"),
        ("service iptables restart", "host-firewall-blocks-pods"),
    ],
)
def test_rules_are_counted_before_and_after(load: str, cause: str) -> None:
    lists = {"list": "nft list ruleset", "load": load}
    answer = finding(cause, DEAD + COUNTS.format(after=0, **lists))
    assert answer.strength >= 0.9
    assert answer.rule == "wiped"
    other = {"firewalld-interference", "host-firewall-blocks-pods"} - {cause}
    assert finding(other.pop(), DEAD + COUNTS.format(after=0, **lists)).strength < 0.8
    assert finding(cause, DEAD + COUNTS.format(after=409, **lists)).strength < 0.8


@pytest.mark.parametrize(
    "said",
    [
        "Each firewall-cmd --reload flushes all iptables rules of calico and kube-proxy.",
        "After a reload of firewalld all pods are unreachable on that node.",
        "Every time firewalld is restarted, the rules of kube-proxy are wiped.",
        "每次重载 firewalld 之后，该节点的 pod 全部不通。",
        "firewalld reload 之后 calico 的 iptables 规则全没了。",
    ],
)
def test_people_say_what_a_reload_breaks(said: str) -> None:
    answer = finding("firewalld-interference", said + "\n[root@srv-2 ~]# systemctl is-active firewalld\nactive\n")
    assert answer.strength >= 0.8
    assert answer.rule == "wiped"


@pytest.mark.parametrize(
    "said",
    [
        "We opened 179/tcp in firewalld and reloaded it, but BGP is still down.",
        "Pods are unreachable. We reloaded firewalld, nothing changed.",
        "After a reload of firewalld all pods work again.",
        "Last week a firewall-cmd --reload wiped the iptables rules and pods were cut off for a minute.",
    ],
)
def test_a_reload_that_is_only_tried(said: str) -> None:
    text = said + "\n[root@srv-2 ~]# firewall-cmd --reload\nsuccess\n"
    assert finding("firewalld-interference", text).strength < 0.8


FORWARD = """
{said}
root@w-7:~# iptables -S FORWARD
-P FORWARD ACCEPT
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
{first}
{second}
"""
JUMP = '-A FORWARD -m comment --comment "cali:wUHhoiAYhphO9Mso" -j cali-FORWARD'


def test_a_rule_of_anybody_before_calicos() -> None:
    broken = "Pods can only reach pods on the same node.\n3 packets transmitted, 0 packets received, 100% packet loss"
    before = FORWARD.format(said=broken, first="-A FORWARD -j DROP", second=JUMP)
    assert finding("host-firewall-blocks-pods", before).strength >= 0.8
    behind = FORWARD.format(said=broken, first=JUMP, second="-A FORWARD -j DROP")
    assert finding("host-firewall-blocks-pods", behind).strength < 0.8
    harmless = FORWARD.format(said="All is well.", first="-A FORWARD -j DROP", second=JUMP)
    assert finding("host-firewall-blocks-pods", harmless).strength < 0.8


@pytest.mark.parametrize("matches", ["-s 10.233.64.0/18", "-i cali+", "-s 10.233.0.0/16"])
def test_a_rule_for_pods(matches: str) -> None:
    pool = """
Pods on different nodes cannot reach each other.
$ calicoctl get ippool -o wide
NAME      CIDR             NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default   10.233.64.0/18   true   Always     Never       false      false              all()
"""
    text = pool + FORWARD.format(said="", first=f"-A FORWARD {matches} -j DROP", second=JUMP)
    assert finding("host-firewall-blocks-pods", text).strength >= 0.8
    other = text.replace(matches, "-s 172.31.0.0/16")
    assert finding("host-firewall-blocks-pods", other).strength < 0.8
    narrow = text.replace(matches, f"{matches} -p tcp --dport 25")
    assert finding("host-firewall-blocks-pods", narrow).strength < 0.8

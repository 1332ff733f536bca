"""Packet filters: what drops, what is let through, whose tables they are."""

from __future__ import annotations

from tests.support.doctor import source

from tortie.doctor.picture.facts import Fact, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import firewall


def facts(text: str, command: str = "") -> list[Fact]:
    return list(firewall.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def rules(text: str, command: str = "") -> list[tuple[str, str]]:
    return [
        (fact.name, fact.owner)
        for fact in facts(text, command)
        if isinstance(fact, Setting) and fact.scope == "firewall"
    ]


def test_saved_rules() -> None:
    text = """
        *filter
        :INPUT DROP [12:720]
        :FORWARD ACCEPT [0:0]
        -A INPUT -p tcp -m multiport --dports 22,6443 -j ACCEPT
        -A INPUT -i lo -j cali-INPUT
        -A cali-INPUT -p udp -m comment --comment "cali:x" -j ACCEPT
        [9:540] -A INPUT -j REJECT --reject-with icmp-host-prohibited
        """
    assert rules(text) == [
        ("INPUT", "policy-drop"),
        ("FORWARD", "policy-accept"),
        ("INPUT", "accept"),
        ("INPUT", "reject"),
    ]


def test_listed_rules() -> None:
    text = """
        Chain INPUT (policy ACCEPT 0 packets, 0 bytes)
         pkts bytes target     prot opt in     out     source               destination
          812 48720 DROP       tcp  --  *      *       0.0.0.0/0            0.0.0.0/0            tcp dpt:179
        Chain OTHER (1 references)
        REJECT     all  --  anywhere             anywhere             reject-with icmp-host-prohibited
        """
    assert rules(text) == [("INPUT", "policy-accept"), ("INPUT", "drop"), ("OTHER", "reject")]


def test_nft() -> None:
    text = """
        table inet filter {
            chain incoming {
                type filter hook input priority 0; policy drop;
                tcp dport { 22, 443 } accept
                ct state invalid drop
            }
        }
        """
    assert rules(text, "nft list ruleset") == [
        ("incoming", "policy-drop"),
        ("incoming", "accept"),
        ("incoming", "drop"),
    ]


def test_backends_tell_container_from_machine() -> None:
    inside = facts("iptables v1.8.7 (legacy)", "kubectl exec calico-node-x -- iptables -V")
    outside = facts("iptables v1.8.7 (nf_tables)", "iptables --version")
    assert [(f.value, f.owner) for f in inside + outside if isinstance(f, Setting)] == [
        ("legacy", "container"),
        ("nf_tables", ""),
    ]
    assert any(isinstance(fact, Version) and fact.version == "1.8.7" for fact in inside)


def test_firewalld_and_ufw() -> None:
    found = facts(
        "work (active)\n  target: DROP\n  services: ssh\n  ports: 179/tcp\n  rich rules:", "firewall-cmd --list-all"
    )
    values = {fact.name: (fact.value, fact.owner) for fact in found if isinstance(fact, Setting)}
    assert values["ports"] == ("179/tcp", "work")
    assert values["target"] == ("DROP", "work")
    (state,) = facts("not running", "firewall-cmd --state")
    assert isinstance(state, Setting)
    assert state.value == "not running"
    found = facts("Status: active\n22/tcp   ALLOW IN   Anywhere\n179   DENY   10.0.0.0/8", "ufw status")
    assert [(f.name, f.owner) for f in found if isinstance(f, Setting)] == [
        ("state", ""),
        ("22/tcp", "allow"),
        ("179", "deny"),
    ]


def test_ipvs() -> None:
    found = facts("TCP  10.96.0.1:443 rr\n  -> 10.0.0.1:6443   Masq    1   0   0", "ipvsadm -Ln")
    assert [(f.name, f.value) for f in found if isinstance(f, Setting)] == [("10.96.0.1:443", "10.0.0.1:6443")]

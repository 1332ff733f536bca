"""TRT1019: a rule of a host makes the address that peers do not know."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bgp-source-nat"
NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME
w-1    Ready    master   9d    v1.21.3   10.61.0.1     <none>        Debian 11  5.10.0           containerd://1.5.2
w-2    Ready    <none>   9d    v1.21.3   10.61.0.2     <none>        Debian 11  5.10.0           containerd://1.5.2
"""
CALLED = """
$ kubectl -n kube-system logs calico-node-t5t5t | tail -1
bird: BGP: Unexpected connect from unknown address 10.61.0.250 (port 51000)
"""
DOWN = """
[root@w-2 ~]# calicoctl node status
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |                INFO                |
| 10.61.0.1    | node-to-node mesh | start | 11:00:00 | Active Socket: Connection closed   |
"""
LINK = "[root@w-2 ~]# ip -4 -br a\neth0             UP             10.61.0.250/24 10.61.0.2/24\n"


def rules(*lines: str) -> str:
    return "[root@w-2 ~]# iptables -t nat -S POSTROUTING\n-P POSTROUTING ACCEPT\n" + "\n".join(lines) + "\n"


def test_a_rule_puts_that_very_address_in() -> None:
    answer = finding(ID, NODES + CALLED + DOWN + rules("-A POSTROUTING -o eth0 -j SNAT --to-source 10.61.0.250"))
    assert answer.strength >= PROVEN
    assert answer.value("node") == "w-2"
    assert "10.61.0.250" in answer.objects


def test_masquerading_takes_the_first_address_of_the_link() -> None:
    assert finding(ID, NODES + CALLED + DOWN + LINK + rules("-A POSTROUTING -o eth0 -j MASQUERADE")).strength >= PROVEN


@pytest.mark.parametrize(
    "shown",
    [
        '[root@w-2 ~]# nft list table ip nat\ntable ip nat {\n\tchain postrouting {\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n\t\toifname "eth0" masquerade\n\t}\n}\n',  # noqa: E501
        "[root@w-2 ~]# firewall-cmd --list-all\npublic (active)\n  target: default\n  interfaces: eth0\n  masquerade: yes\n  forward-ports:\n",  # noqa: E501
    ],
)
def test_other_filters_say_it_in_other_words(shown: str) -> None:
    assert finding(ID, NODES + CALLED + DOWN + LINK + shown).strength >= PROVEN
    assert finding(ID, NODES + CALLED + DOWN + shown).strength >= LIKELY


@pytest.mark.parametrize(
    "rule",
    [
        "-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE",
        "-A POSTROUTING -s 192.168.122.0/24 ! -d 192.168.122.0/24 -j MASQUERADE",
        "-A POSTROUTING -s 10.61.0.0/24 ! -d 10.61.0.0/24 -j MASQUERADE",
        "-A POSTROUTING -p udp -j MASQUERADE",
        "-A POSTROUTING -m mark --mark 0x4000 -j MASQUERADE",
        "-A POSTROUTING -o tunl0 -j MASQUERADE",
    ],
)
def test_rules_for_other_packets_rule_it_out(rule: str) -> None:
    assert finding(ID, NODES + CALLED + DOWN + LINK + rules(rule)).state == "ruled-out"


def test_a_stranger_without_a_rule_says_nothing() -> None:
    assert finding(ID, NODES + CALLED + DOWN).state == "cannot-tell"


def test_a_rule_alone_says_nothing() -> None:
    assert finding(ID, NODES + rules("-A POSTROUTING -o eth0 -j MASQUERADE")).state == "cannot-tell"


def test_sessions_that_stand_again_rule_it_out() -> None:
    up = DOWN.replace("start", "up   ").replace(
        "Active Socket: Connection closed  ", "Established                       "
    )
    assert finding(ID, NODES + CALLED + up + rules("-A POSTROUTING -o eth0 -j MASQUERADE")).state == "ruled-out"


def test_the_router_that_nobody_told_about_is_not_blamed_for_it() -> None:
    text = NODES + CALLED + DOWN + rules("-A POSTROUTING -o eth0 -j SNAT --to-source 10.61.0.250")
    assert finding("bgp-peer-misconfigured", text).state == "ruled-out"


def test_firewalld_is_told_about_its_zone() -> None:
    seen = picture(
        NODES
        + CALLED
        + DOWN
        + LINK
        + "[root@w-2 ~]# firewall-cmd --list-all\npublic (active)\n  target: default\n  masquerade: yes\n"
    )
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert any("--zone=public --remove-masquerade" in command for command in commands)


SEEN_TWICE = """
$ kubectl get nodes -o wide
NAME         STATUS   ROLES    AGE   VERSION   INTERNAL-IP
kubemaster   Ready    master   24d   v1.20.0   192.168.123.201
slave01      Ready    <none>   24d   v1.20.0   192.168.122.168
$ kubectl logs calico-node-x2x4p
bird: BGP: Unexpected connect from unknown address 192.168.122.1 (port 46957)
$ calicoctl node status
| 192.168.122.168 | node-to-node mesh | start | 2022-05-09 | Active Socket: Connection reset by peer |
hv2:~$ sudo tcpdump -ni any port 179 -c 2
14:20:31.118240 wg0   In  IP 192.168.123.201.46957 > 192.168.122.168.179: Flags [S], seq 1180722109, win 64860, length 0
14:20:31.118301 virbr0 Out IP 192.168.122.1.{port} > 192.168.122.168.179: Flags [S], seq 1180722109, win 64860, length 0
"""


def test_a_connection_that_is_seen_with_two_sources_was_translated_on_the_way() -> None:
    text = SEEN_TWICE.format(port=46957)
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert {"192.168.122.1", "kubemaster"} <= set(answer.objects)
    assert finding("bgp-peer-misconfigured", text).state == "ruled-out"


def test_two_connections_are_two() -> None:
    text = SEEN_TWICE.format(port=1234)
    assert finding(ID, text).strength < LIKELY
    assert finding("bgp-peer-misconfigured", text).strength < LIKELY  # nobody configured a peer, and the mesh is down

"""What people did between two looks, and trials that ran inside of a pod."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.picture.facts import Action, Ping, PortTest


def test_actions_with_their_object() -> None:
    text = """\
[root@wren ~]# systemctl stop firewalld.service
[root@wren ~]# sudo iptables -P FORWARD ACCEPT
[root@wren ~]# iptables -t nat -F
[root@wren ~]# sysctl -w net.ipv4.ip_forward=1
net.ipv4.ip_forward = 1
[root@wren ~]# kubectl -n kube-system delete pod calico-node-x7k2p
pod "calico-node-x7k2p" deleted
[root@wren ~]# systemctl restart calico
Failed to restart calico.service: Unit calico.service not found.
[root@wren ~]# systemctl status firewalld
"""
    actions = picture(text).of(Action)
    assert [(a.verb, a.object, a.failed) for a in actions] == [
        ("stop", "firewalld", False),
        ("set", "-P FORWARD ACCEPT", False),
        ("flush", "", False),
        ("set", "net.ipv4.ip_forward=1", False),
        ("delete", "pod calico-node-x7k2p", False),
        ("restart", "calico", True),
    ]
    assert [a.place.first for a in actions[:2]] == [1, 2]
    assert {a.host for a in actions} == {"wren"}


def test_a_command_that_somebody_advises_was_not_done() -> None:
    assert picture("Somebody wrote that one should run `systemctl stop firewalld` there.\n").of(Action) == []


def test_trials_inside_of_pods_are_told_from_those_of_the_machine() -> None:
    text = """\
[root@wren ~]# kubectl exec -it web-0 -- wget -T3 -O- 10.96.0.1:443
wget: download timed out
[root@wren ~]# nc -vz -w3 10.96.0.1 443
Connection to 10.96.0.1 443 port [tcp/https] succeeded!
[root@wren ~]# kubectl run tmp --rm -it --image=busybox -- ping -c1 10.0.0.5
PING 10.0.0.5 (10.0.0.5): 56 data bytes
1 packets transmitted, 0 packets received, 100% packet loss
"""
    seen = picture(text)
    assert [(test.result, test.pod) for test in seen.of(PortTest)] == [("timeout", "web-0"), ("open", "")]
    assert [(ping.ok, ping.pod) for ping in seen.of(Ping)] == [(False, "tmp")]

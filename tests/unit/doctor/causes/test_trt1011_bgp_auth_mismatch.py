"""TRT1011: the kernel or BIRD speaks of MD5."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "bgp-auth-mismatch"

STATUS = """
[root@k-5 ~]# calicoctl node status
IPv4 BGP status
+--------------+---------------+-------+----------+---------+
| PEER ADDRESS |   PEER TYPE   | STATE |  SINCE   |  INFO   |
+--------------+---------------+-------+----------+---------+
| 10.90.0.1    | node specific | start | 11:00:00 | Connect |
+--------------+---------------+-------+----------+---------+
"""


def test_the_kernel_drops_unsigned_packets() -> None:
    text = (
        STATUS
        + "[root@k-5 ~]# dmesg -T | grep -i md5 | tail -1\n[Mon Mar 1 10:00:00 2021] TCP: MD5 Hash failed for (10.90.0.1, 41234)->(10.90.0.5, 179)\n"  # noqa: E501
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "10.90.0.1" in answer.objects
    port = finding(
        "bgp-port-blocked",
        text + "[root@k-5 ~]# nc -vz -w3 10.90.0.1 179\nnc: connect to 10.90.0.1 port 179 (tcp) timed out\n",
    )
    assert port.strength < LIKELY


def test_the_password_cannot_be_read() -> None:
    text = STATUS + "2021-03-01 10:00:00.000 [WARNING][70] confd/client.go 500: Can't read password for BGPPeer tor-a\n"
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "tor-a" in answer.objects


def test_connect_alone_says_nothing() -> None:
    assert finding(ID, STATUS).state == "cannot-tell"


def test_a_password_in_the_configuration_is_only_a_candidate() -> None:
    text = (
        STATUS.replace("node specific", "node-to-node mesh")
        + "  nodeMeshPassword:\n    secretKeyRef:\n      name: bgp\n"
    )
    assert finding(ID, text).strength < LIKELY


def test_the_router_misses_the_signature() -> None:
    text = (
        STATUS
        + """
[root@k-5 ~]# nc -vz -w3 10.90.0.1 179
nc: connect to 10.90.0.1 port 179 (tcp) timed out
leaf-2> show log messages | match digest
Apr  2 08:11:09 leaf-2 kernel: tcp_auth_ok: Packet from 10.90.0.5:179 missing MD5 digest
[root@k-5 ~]# calicoctl get bgppeer leaf-2 -o yaml
apiVersion: projectcalico.org/v3
kind: BGPPeer
metadata:
  name: leaf-2
spec:
  asNumber: 65002
  peerIP: 10.90.0.1
"""
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert answer.objects[0] == "leaf-2"
    assert finding("bgp-port-blocked", text).strength < LIKELY


def test_an_agent_that_cannot_read_the_password_says_so() -> None:
    text = (
        STATUS
        + "2026-11-16 16:27:10.598 [WARNING][6799] monitor-addresses/mesh.py 189: BGPPeer(leaf-2): no session: its "
        + "password, the key mesh of the secret bgp-secrets, cannot be had: there is no such file\n"
    )
    answer = finding(ID, text)
    assert answer.strength >= STRONG
    assert answer.objects[0] == "leaf-2"


@pytest.mark.parametrize("count", [17, 0])
def test_the_kernel_counts_wrong_signatures(count: int) -> None:
    text = (
        STATUS
        + "[root@k-5 ~]# nstat -asz TcpExtTCPMD5NotFound TcpExtTCPMD5Failure\n#kernel\n"
        + f"TcpExtTCPMD5NotFound            0                  0.0\nTcpExtTCPMD5Failure             {count}      0.0\n"
    )
    assert finding(ID, text).state == "cannot-tell"  # of a password that is no more
    configured = "[root@k-5 ~]# calicoctl get bgppeer -o yaml\nspec:\n  password:\n    secretKeyRef:\n      name: s\n"
    assert (finding(ID, text + configured).strength >= STRONG) == (count > 0)


def test_a_peer_without_a_password_does_not_overwrite_the_secret_of_another() -> None:
    text = (
        STATUS
        + """
Apr  2 08:11:09 leaf-2 kernel: tcp_auth_ok: Packet from 10.90.0.5:179 missing MD5 digest
$ calicoctl get bgppeer -o yaml
apiVersion: projectcalico.org/v3
items:
- apiVersion: projectcalico.org/v3
  kind: BGPPeer
  metadata:
    name: leaf-1
  spec:
    asNumber: 65001
    password:
      secretKeyRef:
        key: bgp
        name: leaves
    peerIP: 10.90.1.1
- apiVersion: projectcalico.org/v3
  kind: BGPPeer
  metadata:
    name: leaf-2
  spec:
    asNumber: 65002
    peerIP: 10.90.0.1
kind: BGPPeerList
"""
    )
    seen = picture(text)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert any("patch bgppeer leaf-2" in command for command in commands)
    assert not [command for command in commands if "leaves" in command]


def test_a_key_that_the_kernel_does_not_take_says_nothing_of_passwords() -> None:
    """BIRD prints the same words; no packet was ever compared."""
    text = """
bird> show protocols
Node_10_128_122_175 BGP      master   up     2024-12-13  Established
Node_10_128_122_176 BGP      master   down   2024-12-20  Error: Kernel MD5 auth failed
$ kubectl logs calico-node-x7f2p | grep 176
bird: Node_10_128_122_176: Socket error: TCP_MD5SIG: Out of memory
"""
    assert finding(ID, text).state == "ruled-out"
    compared = text + "$ dmesg\n[1.0] TCP: MD5 Hash failed for (10.128.122.176, 36411)->(10.128.122.2, 179)\n"
    assert finding(ID, compared).strength >= 0.9


def test_signatures_of_other_ports_and_of_strangers_say_nothing() -> None:
    line = "TCP: MD5 Hash NOT found for (10.4.1.9, 42211)->(10.4.1.7, 179)\n"
    down = "| 10.4.1.9 | node-to-node mesh | start | 08:00:00 | Active Socket: Connection timed out |\n"
    assert finding(ID, line + down).strength >= PROVEN
    assert finding(ID, line.replace("179", "646") + down).state != "found"
    assert finding(ID, line + down.replace("10.4.1.9 ", "10.4.1.20")).state != "found"

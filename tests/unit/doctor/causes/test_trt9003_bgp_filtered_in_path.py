"""TRT9003: TCP connects, BGP's words do not arrive."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bgp-filtered-in-path"

STATUS = """
[root@b-1 ~]# calicoctl node status
IPv4 BGP status
+--------------+-------------------+-------+----------+----------+
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |   INFO   |
+--------------+-------------------+-------+----------+----------+
| 10.99.4.1    | node-to-node mesh | start | 11:00:00 | OpenSent |
+--------------+-------------------+-------+----------+----------+
"""
OPEN = """
[root@b-1 ~]# nc -vz -w3 10.99.4.1 179
Connection to 10.99.4.1 179 port [tcp/bgp] succeeded!
"""
CAPTURE = """
[root@b-1 ~]# tcpdump -nvi eth0 port 179 and host 10.99.4.1
11:00:01.000100 IP 10.99.3.1.40123 > 10.99.4.1.179: Flags [P.], cksum 0x1c2f (correct), seq 1:54, ack 1, length 53: BGP
11:00:01.400100 IP 10.99.3.1.40123 > 10.99.4.1.179: Flags [P.], cksum 0x1c2f (correct), seq 1:54, ack 1, length 53: BGP
11:00:02.200100 IP 10.99.3.1.40123 > 10.99.4.1.179: Flags [P.], seq 1:54, ack 1, win 502, length 53: BGP
"""


def test_the_open_is_sent_again_and_again() -> None:
    answer = finding(ID, STATUS + OPEN + CAPTURE)
    assert answer.strength >= PROVEN
    assert "10.99.4.1" in answer.objects


def test_an_open_port_and_a_session_that_stops() -> None:
    assert finding(ID, STATUS + OPEN).strength >= LIKELY
    assert finding("bgp-port-blocked", STATUS + OPEN).state == "ruled-out"


def test_a_port_that_does_not_connect_is_blocked() -> None:
    text = (
        STATUS
        + "[root@b-1 ~]# nc -vz -w3 10.99.4.1 179\nnc: connect to 10.99.4.1 port 179 (tcp) timed out: Operation now in progress\n"  # noqa: E501
    )
    assert finding(ID, text).state == "ruled-out"


def test_opensent_alone_is_no_claim() -> None:
    assert finding(ID, STATUS).strength < LIKELY


def test_a_password_message_rules_it_out() -> None:
    text = STATUS + OPEN + "TCP: MD5 Hash failed for (10.99.4.1, 40000)->(10.99.3.1, 179)\n"
    assert finding(ID, text).state == "ruled-out"


def test_bytes_that_nobody_acknowledges() -> None:
    sockets = (
        "[root@b-1 ~]# ss -tno '( sport = :179 or dport = :179 )'\n"
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "ESTAB 0      82         10.99.3.1:40123     10.99.4.1:179 timer:({timer})\n"
    )
    assert finding(ID, STATUS + OPEN + sockets.replace("{timer}", "on,1.740ms,5")).strength >= PROVEN
    assert finding(ID, STATUS + OPEN + sockets.replace("{timer}", "keepalive,27sec,0")).strength < PROVEN

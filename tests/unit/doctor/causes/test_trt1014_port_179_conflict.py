"""TRT1014: another speaker owns the port."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "port-179-conflict"

STATUS = """
[root@m-8 ~]# calicoctl node status
IPv4 BGP status
+--------------+-------------------+-------+----------+----------------------------+
| PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |            INFO            |
+--------------+-------------------+-------+----------+----------------------------+
| 10.70.0.1    | node-to-node mesh | down  | 11:00:00 | Error: No listening socket |
+--------------+-------------------+-------+----------+----------------------------+
"""
OWNER = """
[root@m-8 ~]# ss -lntp | grep :179
LISTEN 0      128          *:179              *:*    users:(("bgpd",pid=812,fd=11))
"""


def test_frr_has_the_port() -> None:
    answer = finding(ID, STATUS + OWNER)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("bgpd", "179")


def test_bird_says_that_it_cannot_listen() -> None:
    text = "$ kubectl -n kube-system logs calico-node-m8m8m | grep bird\nbird: BGP: Cannot open listening socket\nbird: bind: Address in use\n"  # noqa: E501
    assert finding(ID, text).strength >= LIKELY


def test_birds_own_listener_rules_it_out() -> None:
    assert finding(ID, OWNER.replace("bgpd", "bird")).state == "ruled-out"


def test_refused_is_something_else() -> None:
    text = STATUS.replace("| down  |", "| start |").replace("Error: No listening socket", "Connection refused        ")
    assert finding(ID, text).state == "cannot-tell"

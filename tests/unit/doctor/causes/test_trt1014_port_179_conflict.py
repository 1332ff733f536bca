"""TRT1014: another speaker owns the port."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
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
    assert answer.objects[0] == "bgpd"
    assert "179" in answer.objects


def test_bird_says_that_it_cannot_listen() -> None:
    text = "$ kubectl -n kube-system logs calico-node-m8m8m | grep bird\nbird: BGP: Cannot open listening socket\nbird: bind: Address in use\n"
    assert finding(ID, text).strength >= LIKELY


def test_birds_own_listener_rules_it_out() -> None:
    assert finding(ID, OWNER.replace("bgpd", "bird")).state == "ruled-out"


def test_refused_is_something_else() -> None:
    text = STATUS.replace("| down  |", "| start |").replace("Error: No listening socket", "Connection refused        ")
    assert finding(ID, text).state == "cannot-tell"


def test_a_bird_that_listens_and_has_sessions_has_got_over_it() -> None:
    text = "$ kubectl -n kube-system logs calico-node-m8m8m | grep bird\nbird: BGP: bind: Address in use\n"
    up = STATUS.replace("| down  |", "| up    |").replace("Error: No listening socket", "Established               ")
    assert finding(ID, text + OWNER.replace("bgpd", "bird") + up).state == "ruled-out"
    assert finding(ID, text + OWNER.replace("bgpd", "bird")).strength >= LIKELY


def test_the_unit_of_the_daemon_is_stopped_not_its_program() -> None:
    def commands(text: str) -> list[str]:
        seen = picture(text)
        cause = cause_named(ID)
        assert cause is not None
        return [step.command for step in cause.fix(seen, cause.judge(seen))]

    assert "systemctl disable --now frr" in commands(STATUS + OWNER)
    shown = "[root@m-8 ~]# systemctl is-active quagga\nactive\n"
    assert "systemctl disable --now quagga" in commands(STATUS + OWNER + shown)
    speaker = commands(STATUS + OWNER.replace("bgpd", "speaker"))
    assert not [command for command in speaker if command.startswith("systemctl")]


def test_on_a_router_such_a_daemon_is_at_home() -> None:
    pods = "$ kubectl -n kube-system get pods -o wide\ncalico-node-4lw9v   0/1   Running   0   2d   10.9.1.21   w1   <none>   <none>\n"
    owner = '[root@w1 ~]# ss -lntp | grep 179\nLISTEN 0 128 0.0.0.0:179 0.0.0.0:* users:(("bgpd",pid=1433,fd=21))\n'
    assert finding(ID, pods + owner).strength >= LIKELY
    assert finding(ID, pods + owner.replace("@w1", "@leaf1")).state != "found"


def test_a_bird_of_the_machines_own() -> None:
    listens = (
        "[root@n1 ~]# ss -lntp 'sport = :179'\nLISTEN  0  8  0.0.0.0:179  0.0.0.0:*  users:((\"bird\",pid=771,fd=7))\n"
    )
    unit = "[root@n1 ~]# ps -o pid,ppid,cmd -p 771\n    PID    PPID CMD\n    771       1 /usr/sbin/bird -f -u bird -g bird\n"
    log = "\n$ kubectl logs -n kube-system calico-node-x7k2p\nbird: BGP: bind: Address already in use\n"
    assert finding("port-179-conflict", listens + unit + log).strength >= 0.9
    assert finding("port-179-conflict", listens + unit).state != "found"
    assert finding("port-179-conflict", listens + log).strength < 0.95

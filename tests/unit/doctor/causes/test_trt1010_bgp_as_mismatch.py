"""TRT1010: BIRD says Bad peer AS."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "bgp-as-mismatch"

STATUS = """
[root@rr-c ~]# calicoctl node status
IPv4 BGP status
+--------------+---------------+-------+----------+--------------------------------+
| PEER ADDRESS |   PEER TYPE   | STATE |  SINCE   |              INFO              |
+--------------+---------------+-------+----------+--------------------------------+
| 10.80.0.1    | global        | start | 11:00:00 | Idle BGP Error: Bad peer AS    |
+--------------+---------------+-------+----------+--------------------------------+
"""


def test_the_table_says_so() -> None:
    answer = finding(ID, STATUS)
    assert answer.strength >= LIKELY
    assert {"10.80.0.1", "asNumber"} <= set(answer.objects)


def test_birds_log_and_the_rendered_file() -> None:
    text = """
    $ kubectl -n kube-system logs calico-node-k9k9k | grep bird: | tail -1
    bird: Global_10_80_0_1: Received: Bad peer AS: 64512
    $ kubectl -n kube-system exec calico-node-k9k9k -- grep -E 'local as|neighbor' /etc/calico/confd/config/bird.cfg
      local as 64512;
      neighbor 10.80.0.1 as 65010;
    """
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert {"10.80.0.1", "64512", "65010"} <= set(answer.objects)


def test_a_session_that_came_up_rules_it_out() -> None:
    text = STATUS.replace("start", "up   ").replace("Idle BGP Error: Bad peer AS", "Established                ")
    assert finding(ID, text).state == "ruled-out"


def test_a_timeout_is_no_as_number() -> None:
    assert (
        finding(ID, STATUS.replace("Idle BGP Error: Bad peer AS", "Connect                    ")).state == "cannot-tell"
    )


def test_the_router_says_what_it_expected() -> None:
    text = STATUS + (
        "rpd[2011]: bgp_process_open:4012: NOTIFICATION sent to 10.80.0.7 (External AS 65120): code 2 (Open Message "
        "Error) subcode 2 (bad peer AS number), Reason: peer 10.80.0.7 (External AS 65120) claims 64512, 65120 "
        "configured\n"
    )
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert {"65120", "64512"} <= set(answer.objects)


def commands(text: str) -> list[str]:
    seen = picture(text)
    cause = cause_named(ID)
    assert cause is not None
    return [step.command for step in cause.fix(seen, cause.judge(seen))]


def test_a_node_that_rendered_an_old_number_is_restarted_and_nothing_is_changed() -> None:
    text = STATUS + (
        "[root@rr-c ~]# docker exec calico-node grep -nE 'local as' /etc/calico/confd/config/bird.cfg\n"
        "46:  local as 64512;\n"
        "[root@m ~]# calicoctl get node rr-c -o wide\nNAME   ASN       IPV4           IPV6\n"
        "rr-c   (64901)   10.80.0.7/24\n"
    )
    steps = commands(text)
    assert any("spec.nodeName=rr-c" in step for step in steps)
    assert not [step for step in steps if "patch" in step]


def test_the_number_that_the_router_expects_is_filled_in() -> None:
    told = STATUS + "%BGP: 10.80.0.7 remote AS is 64512, expected 65120\n"
    assert any('"asNumber":65120' in step for step in commands(told))


def test_a_table_that_the_terminal_cut() -> None:
    row = "| 10.7.12.140  | node specific | start | 12:33:20 | Idle Received: Bad peer A\n"
    assert finding("bgp-as-mismatch", row).strength >= 0.9


def test_a_nexus_says_which_number_it_wants() -> None:
    log = "%BGP-3-BADPEERAS:  bgp-65100 [14021]  VRF default, Peer 10.55.1.21 - bad remote-as, expecting 64513 received 64512."
    answer = finding("bgp-as-mismatch", log)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert {"64513", "64512"} <= set(answer.objects)

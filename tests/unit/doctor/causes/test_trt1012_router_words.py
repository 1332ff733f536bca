"""TRT1012: the router itself says that it knows no such neighbor."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

from tortie.doctor.causes.cause import LIKELY, STRONG

ID = "bgp-peer-misconfigured"
DOWN = """
$ calicoctl node status
| PEER ADDRESS | PEER TYPE | STATE |  SINCE   |              INFO              |
| 10.50.1.1    | global    | start | 09:12:40 | Active Socket: Connection reset by peer |
"""
WORDS = (
    "Bgp: %BGP-5-PEER-UNCONFIGURED: Rejected connection from unconfigured peer 10.50.1.23 in VRF default",
    "rpd[1843]: bgp_listen_accept: NOTIFICATION sent to 10.50.1.23+41873 (proto): code 6 (Cease) subcode 5 "
    "(Connection Rejected), Reason: no group for 10.50.1.23 (proto) from AS 64512 found (unconfigured peer) in master",
    "bgpd[712]: [Event] 10.50.1.23 connection rejected(VRF default:0:Up) - not configured and not valid for dynamic",
    '{"level":"info","msg":"Can\'t find configuration for a new passive connection from:10.50.1.23","topic":"Peer"}',
)
NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
w-1    Ready    <none>   9d    v1.21.3   10.50.1.{}    <none>
w-2    Ready    <none>   9d    v1.21.3   10.50.1.24    <none>
"""


@pytest.mark.parametrize("word", WORDS)
def test_the_router_rejects_a_neighbor_that_nobody_told_it_of(word: str) -> None:
    assert finding(ID, DOWN + "\nThe switch says:\n" + word + "\n").strength >= STRONG


def test_the_fix_is_on_the_router() -> None:
    assert not any("calicoctl apply" in command for command in fixes(ID, DOWN + "\n" + WORDS[0] + "\n"))


def test_a_caller_that_is_no_node_may_be_a_translated_one() -> None:
    assert finding(ID, DOWN + WORDS[0] + "\n" + NODES.format(23)).strength >= STRONG
    assert finding(ID, DOWN + WORDS[0] + "\n" + NODES.format(22)).strength < LIKELY


def test_over_when_the_session_stands_by_now() -> None:
    up = DOWN.replace("start", "up   ").replace("Active Socket: Connection reset by peer", "Established")
    assert finding(ID, WORDS[0] + "\n" + up).state != "found"

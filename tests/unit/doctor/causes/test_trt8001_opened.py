"""TRT8001 by what people opened themselves: the port that was let in, and what came of it."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.judgement.judge import judge

ID = "bgp-port-blocked"
DOWN = """
[root@r-1 ~]# kubectl -n kube-system get pods | grep calico-node
calico-node-2fkz8   0/1   Running   0   9m
[root@r-1 ~]# kubectl -n kube-system describe pod calico-node-2fkz8 | tail -1
  Warning  Unhealthy  2s  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.6.0.12
"""
OPENED = """
[root@r-1 ~]# firewall-cmd --permanent --zone=public --add-port=179/tcp
success
[root@r-1 ~]# firewall-cmd --reload
success
"""
UP = """
[root@r-1 ~]# kubectl -n kube-system get pods | grep calico-node
calico-node-2fkz8   1/1   Running   0   14m
"""


def test_the_sessions_came_up_after_the_port_was_opened() -> None:
    answer = finding(ID, DOWN + OPENED + UP)
    assert (answer.state, answer.say, answer.strength >= 0.9) == ("found", "opened", True)
    told = judge(picture(DOWN + OPENED + UP))
    assert (told.verdict, told.causes[0].cause.id) == ("cause-found", ID)


def test_without_the_trouble_before_it_the_cluster_is_well() -> None:
    assert finding(ID, OPENED + UP).state != "found"


def test_a_port_that_was_new_to_the_firewall_was_not_open() -> None:
    answer = finding(ID, DOWN + OPENED)
    assert (answer.state, answer.strength >= 0.8) == ("found", True)


@pytest.mark.parametrize(
    "opened",
    [
        "[root@r-1 ~]# ufw allow 179/tcp\nRule added\n",
        "[root@r-1 ~]# firewall-cmd --add-port=179/tcp --add-port=4789/udp --permanent\nsuccess\n",
        "[root@r-1 ~]# firewall-cmd --permanent --add-service=bgp\nsuccess\n",
    ],
)
def test_other_ways_to_open_it(opened: str) -> None:
    assert finding(ID, DOWN + opened).strength >= 0.8


@pytest.mark.parametrize(
    "opened",
    [
        "[root@r-1 ~]# firewall-cmd --permanent --add-port=179/tcp\nWarning: ALREADY_ENABLED: 179:tcp\nsuccess\n",
        "[root@r-1 ~]# firewall-cmd --permanent --add-port=6443/tcp\nsuccess\n",
        "[root@r-1 ~]# firewall-cmd --permanent --add-port=179/udp\nsuccess\n",
        "[root@r-1 ~]# firewall-cmd --permanent --add-port=179/tcp\nFirewallD is not running\n",
    ],
)
def test_what_says_nothing_of_the_port(opened: str) -> None:
    assert finding(ID, DOWN + opened).strength < 0.8


def test_where_the_trouble_goes_on_it_was_not_the_port() -> None:
    assert finding(ID, DOWN + OPENED + DOWN).strength < 0.8


def test_people_say_that_opening_it_helped() -> None:
    text = """\
We opened TCP 179 in the security group and now it works.

calico/node is not ready: BIRD is not ready: BGP not established with 10.6.0.12
"""
    assert finding(ID, text).strength >= 0.8

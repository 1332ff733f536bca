"""TRT5004: the last node has no block, and borrowed its tunnel address from another node's."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

ID = "ippool-blocks-exhausted"

DEAD = "The node that joined last can not reach pods of other nodes.\n"
LINK = """\
root@kn-17:~# ip -br -4 a
ens3          UP        192.0.2.17/24
vxlan.calico  UNKNOWN   10.8.0.41/32
"""
ROUTE = """\
root@kn-03:~# ip r | grep vxlan
10.8.0.32/28 via 10.8.0.32 dev vxlan.calico onlink
"""
BGP = """\
root@kn-17:~# ip -br -4 a
ens3    UP        192.0.2.17/24
tunl0   UNKNOWN   10.8.0.41/32
root@kn-03:~# ip r | grep bird
10.8.0.32/28 via 192.0.2.5 dev tunl0 proto bird onlink
"""
BORROWED = """\
$ calicoctl ipam show --show-borrowed
+-----------+----------------+--------------+-------------+------+------------------------+
|    IP     | BORROWING-NODE |    BLOCK     | BLOCK OWNER | TYPE |     ALLOCATED-TO       |
+-----------+----------------+--------------+-------------+------+------------------------+
| 10.8.0.41 | kn-17          | 10.8.0.32/28 | kn-05       |      | vxlanTunnelAddress     |
+-----------+----------------+--------------+-------------+------+------------------------+
"""
RECORDS = """\
$ kubectl describe node kn-05 kn-17 | grep -e ^Name -e Tunnel
Name:               kn-05
                    projectcalico.org/IPv4VXLANTunnelAddr: 10.8.0.32
Name:               kn-17
                    projectcalico.org/IPv4VXLANTunnelAddr: 10.8.0.41
"""
GREPPED = """\
$ kubectl get node kn-05 kn-17 -o yaml | grep -e IPIPTunnelAddr -e hostname:
      projectcalico.org/IPv4IPIPTunnelAddr: 10.8.0.32
      kubernetes.io/hostname: kn-05
      projectcalico.org/IPv4IPIPTunnelAddr: 10.8.0.41
      kubernetes.io/hostname: kn-17
"""
POOL = "$ calicoctl get ippool -o yaml | grep -e cidr -e blockSize\n    blockSize: 28\n    cidr: 10.8.0.0/24\n"
USE = """\
$ calicoctl ipam show
| GROUPING |    CIDR     | IPS TOTAL | IPS IN USE | IPS FREE  |
| IP Pool  | 10.8.0.0/24 |       256 | 90 (35%)   | 166 (65%) |
"""
COUNTED = "$ kubectl get blockaffinities | wc -l\n17\n"
BARE = "$ kubectl get blockaffinities.crd.projectcalico.org --no-headers | wc -l\n16\n"
ROWS = "".join(f"| Block    | 10.8.0.{16 * n}/28 |        16 | 6 (38%)    | 10 (62%)  |\n" for n in range(16))
BLOCKS = USE.replace("ipam show", "ipam show --show-blocks") + ROWS
LISTED = "$ kubectl get blockaffinities\nNAME                  AGE\n"
LISTED += "".join(f"kn-{n:02}-10-8-0-{16 * n}-28   9d\n" for n in range(16))


@pytest.mark.parametrize("taken", [USE + COUNTED, USE + BARE, BLOCKS, USE + LISTED])
def test_as_many_owners_as_there_are_blocks(taken: str) -> None:
    answer = finding(ID, DEAD + LINK + ROUTE + POOL + taken)
    assert (answer.rule, answer.say, answer.strength >= 0.95) == ("tunnel-borrowed", "tunnel-borrowed", True)
    assert {"10.8.0.0/24", "kn-17", "10.8.0.41"} <= set(answer.objects)


@pytest.mark.parametrize("shown", [LINK + ROUTE, BGP, BORROWED, RECORDS, GREPPED])
def test_whatever_shows_that_it_is_borrowed(shown: str) -> None:
    answer = finding(ID, "最后加入的节点上，Pod 访问不了其他节点的 Pod。\n" + shown + POOL + USE + BARE)
    assert (answer.rule, answer.strength >= 0.9) == ("tunnel-borrowed", True)


def test_a_head_is_no_block() -> None:
    one_free = COUNTED.replace("17", "16")
    assert finding(ID, DEAD + LINK + ROUTE + POOL + USE + one_free).strength < 0.8


def test_an_address_out_of_its_own_block_is_not_borrowed() -> None:
    own = ROUTE.replace("via 10.8.0.32", "via 10.8.0.41")
    assert finding(ID, DEAD + LINK + own + POOL + USE + BARE).strength < 0.8
    own = BGP.replace("192.0.2.5", "192.0.2.17")
    assert finding(ID, DEAD + own + POOL + USE + BARE).strength < 0.8
    of_a_pod = BORROWED.replace("vxlanTunnelAddress", "shop/web-0")
    assert finding(ID, DEAD + of_a_pod + POOL + USE + BARE).strength < 0.8


def test_while_nobody_suffers_it_is_no_trouble() -> None:
    assert finding(ID, LINK + ROUTE + POOL + USE + BARE).strength < 0.8


def test_the_address_is_given_back_after_there_is_a_second_pool() -> None:
    commands = fixes(ID, DEAD + LINK + ROUTE + POOL + USE + BARE)
    assert "second-ipv4-ippool" in commands[0]
    assert "calicoctl ipam release --ip=10.8.0.41" in commands[1]

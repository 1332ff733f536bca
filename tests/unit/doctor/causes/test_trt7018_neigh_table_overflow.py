"""TRT7018: found by the kernel's line and the count; a table with room is not this cause."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

DMESG = """\
[root@crake ~]# dmesg -T | tail -2
[Mon Jul  7 09:31:02 2025] neighbour: arp_cache: neighbor table overflow!
[Mon Jul  7 09:31:07 2025] net_ratelimit: 417 callbacks suppressed
"""
COUNT = """\
[root@crake ~]# ip neigh | wc -l
{entries}
[root@crake ~]# sysctl net.ipv4.neigh.default.gc_thresh3
net.ipv4.neigh.default.gc_thresh3 = {limit}
"""


def test_a_full_table_and_the_kernel_s_line_prove_it() -> None:
    answer = finding("neigh-table-overflow", DMESG + COUNT.format(entries=1019, limit=1024))
    assert (answer.rule, answer.strength >= 0.95) == ("full", True)
    assert answer.objects[:2] == ("net.ipv4.neigh.default.gc_thresh3", "crake")


@pytest.mark.parametrize(
    "line",
    [
        "内核一直报 Neighbour table overflow.",
        "Feb 11 10:01:22 crake kernel: IPv4: Neighbour table overflow.",
        "kernel: neighbour: arp_cache: neighbor table overflow!",
    ],
)
def test_the_kernel_s_line_alone_is_strong(line: str) -> None:
    answer = finding("neigh-table-overflow", line)
    assert (answer.state, 0.9 <= answer.strength < 0.95) == ("found", True)


def test_neighbours_of_ipv6_have_a_limit_of_their_own() -> None:
    answer = finding("neigh-table-overflow", "kernel: neighbour: ndisc_cache: neighbor table overflow!")
    assert answer.objects[0] == "net.ipv6.neigh.default.gc_thresh3"


def test_a_full_table_without_a_complaint_of_the_kernel_is_likely() -> None:
    answer = finding("neigh-table-overflow", COUNT.format(entries=1024, limit=1024))
    assert (answer.state, 0.8 <= answer.strength < 0.9) == ("found", True)


def test_a_table_with_room_since_it_was_raised() -> None:
    answer = finding("neigh-table-overflow", DMESG + COUNT.format(entries=1400, limit=16384))
    assert answer.state == "ruled-out"


def test_a_full_table_of_connections_is_another_cause() -> None:
    text = "kernel: nf_conntrack: nf_conntrack: table full, dropping packet"
    assert finding("neigh-table-overflow", text).state == "cannot-tell"


def test_an_invalid_argument_alone_is_only_possible() -> None:
    answer = finding("neigh-table-overflow", "$ ping 10.2.0.9\nping: sendmsg: Invalid argument")
    assert (answer.state, answer.strength < 0.8) == ("found", True)


def test_a_limit_that_was_raised_and_agents_that_are_well() -> None:
    text = """
    kernel: neighbour: arp_cache: neighbor table overflow!
    [root@m1 ~]# sysctl net.ipv4.neigh.default.gc_thresh3
    net.ipv4.neigh.default.gc_thresh3 = 80000
    $ kubectl -n kube-system get pods
    calico-node-5k2jv   1/1   Running   0   12d
    """
    assert finding("neigh-table-overflow", text).state == "ruled-out"
    assert 0 < finding("neigh-table-overflow", text.replace("80000", "1024")).strength < 0.8  # nobody suffers
    assert finding("neigh-table-overflow", text.replace("1/1", "0/1")).strength >= 0.9

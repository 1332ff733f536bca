"""How full pools are, what is reserved, what is borrowed; and the tables, byte for byte as calicoctl draws them."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from tests.support.address_records import Records, healthy

from tortie.cli.ipam.frame import framed
from tortie.ipam.census import RESERVATIONS
from tortie.ipam.figures import borrowed, utilization


def figures(records: Records) -> dict[str, tuple[int, int, int, int]]:
    found = utilization(records.census())
    rows = [row for pool in found.pools for row in (pool.whole, *(block for block, _ in pool.blocks))]
    rows += [block for block, _ in found.orphans]
    return {str(row.cidr): (row.total, row.used, row.reserved, row.free) for row in rows}


def test_a_pool_is_as_full_as_its_blocks() -> None:
    assert figures(healthy()) == {
        "192.168.0.0/16": (65536, 4, 1, 65531),
        "192.168.36.64/26": (64, 2, 1, 61),
        "192.168.104.0/26": (64, 2, 0, 62),
        "fd00:10:244::/112": (65536, 2, 0, 65534),
        "fd00:10:244::a680/122": (64, 2, 0, 62),
    }


@pytest.mark.parametrize(
    ("reserved", "expected"),
    [
        ([], 0),
        (["192.168.36.70"], 1),
        (["192.168.36.70/32", "192.168.36.70/31"], 2),  # they overlap
        (["192.168.0.0/16"], 65536 - 4),  # what somebody has is used, not reserved
        (["192.168.36.64/31"], 0),
        (["192.168.36.0/24"], 256 - 2),  # wider than the block
        (["10.0.0.0/8", "fd00::/8", "192.168.200.0/24"], 256),
    ],
)
def test_what_is_reserved_is_neither_used_nor_free(reserved: list[str], expected: int) -> None:
    records = healthy()
    records[f"{RESERVATIONS}odd"] = {"spec": {"reservedCIDRs": reserved}}
    total, used, held_back, free = figures(records)["192.168.0.0/16"]
    assert (used, held_back) == (4, expected)
    assert total == used + held_back + free


def test_blocks_of_no_pool_are_told_apart_whatever_their_family() -> None:
    records = healthy()
    records.claim("node1", "172.16.0.0/26")
    records.claim("node1", "fd99::/122")
    found = utilization(records.census())
    assert [str(block.cidr) for block, _ in found.orphans] == ["172.16.0.0/26", "fd99::/122"]


def test_borrowed_addresses_name_both_nodes() -> None:
    found, unknown = borrowed(healthy().census())
    assert [(each.node, str(each.block), each.owner, each.type, each.allocated_to) for each in found] == [
        ("node1", "192.168.104.0/26", "node2", "pod", "default/borrower")
    ]
    assert unknown == 0


def test_of_an_address_without_a_node_nobody_can_tell() -> None:
    records = healthy()
    records.hold("192.168.104.0/26", "default.old", note="of Calico 2")
    assert borrowed(records.census())[1] == 1


def test_a_damaged_queue_makes_nothing_free_that_is_not() -> None:
    records = healthy()
    key = "/calico/ipam/v2/assignment/ipv4/block/192.168.104.0-26"
    records.change(key, lambda block: block["unallocated"].extend([5, 99, -3]))
    assert figures(records)["192.168.104.0/26"] == (64, 2, 0, 62)


def test_the_table_is_calicoctls() -> None:
    rows = [
        ["IP Pool", "192.168.0.0/16", "65536", "12 (0%)", "65524 (100%)"],
        ["Block", "192.168.36.64/26", "64", "5 (8%)", "59 (92%)"],
    ]
    assert framed(["GROUPING", "CIDR", "IPS TOTAL", "IPS IN USE", "IPS FREE"], rows) == (
        "+----------+------------------+-----------+------------+--------------+\n"
        "| GROUPING |       CIDR       | IPS TOTAL | IPS IN USE |   IPS FREE   |\n"
        "+----------+------------------+-----------+------------+--------------+\n"
        "| IP Pool  | 192.168.0.0/16   |     65536 | 12 (0%)    | 65524 (100%) |\n"
        "| Block    | 192.168.36.64/26 |        64 | 5 (8%)     | 59 (92%)     |\n"
        "+----------+------------------+-----------+------------+--------------+\n"
    )


def test_a_large_pool_of_ipv6_is_counted_whole() -> None:
    records = Records()
    records.pool("six", "fd00::/48")
    assert figures(records)["fd00::/48"] == (2**80, 0, 0, 2**80)
    assert utilization(records.census()).pools[0].whole.cidr == ip_network("fd00::/48")

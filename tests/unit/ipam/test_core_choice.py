"""Which block a host tries first: the places that Calico computes."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from tortie.ipam.block import block_cidr
from tortie.ipam.choice import Taken, blocks_in_order, first_block_index, fnv1
from tortie.ipam.go_random import GoRandom
from tortie.ipam.reservations import Reservations


def test_the_numbers_are_those_of_go() -> None:
    assert GoRandom(1).int63() == 5577006791947779410


@pytest.mark.parametrize(
    ("host", "seed", "index", "sixteen", "small", "large"),
    [
        ("node1", 3957252814, 666, "192.168.166.128/26", "10.0.0.112/28", "10.69.149.0/26"),
        ("node2", 3957252813, 416, "192.168.104.0/26", "10.0.0.0/28", "10.69.11.0/26"),
        ("master", 4056684167, 877, "192.168.219.64/26", "10.0.0.96/28", "10.218.219.64/26"),
        ("k8s-node1", 676203741, 145, "192.168.36.64/26", None, None),
        ("k8s-node2", 676203742, 678, "192.168.169.128/26", None, None),
        ("k8s-master", 3076233826, 943, "192.168.235.192/26", None, None),
    ],
)
def test_first_block(host: str, seed: int, index: int, sixteen: str, small: str | None, large: str | None) -> None:
    assert fnv1(host) == seed
    assert first_block_index(host, 1024) == index
    for pool, size, expected in (
        ("192.168.0.0/16", 26, sixteen),
        ("10.0.0.0/24", 28, small),
        ("10.0.0.0/8", 26, large),
    ):
        if expected:
            assert str(next(blocks_in_order(ip_network(pool), size, host))) == expected


def test_ipv6() -> None:
    assert str(next(blocks_in_order(ip_network("fd00:10:244::/112"), 122, "node1"))) == "fd00:10:244::a680/122"


def test_every_block_once_from_the_start_around_the_end() -> None:
    pool = ip_network("10.0.0.0/24")
    blocks = list(blocks_in_order(pool, 28, "node1"))
    assert sorted(blocks) == list(pool.subnets(new_prefix=28))
    assert [str(blocks[place]) for place in (0, 8, 9)] == ["10.0.0.112/28", "10.0.0.240/28", "10.0.0.0/28"]
    assert list(blocks_in_order(ip_network("10.0.0.0/30"), 28, "node1")) == []


def test_what_is_taken_is_passed_over_whatever_its_size() -> None:
    taken = Taken(map(ip_network, ("10.0.0.0/26", "10.0.0.70/31", "10.0.0.128/28", "fd00::/64")))
    free = sorted(blocks_in_order(ip_network("10.0.0.0/24"), 28, "node1", taken=taken))
    assert [str(block) for block in free][:3] == ["10.0.0.80/28", "10.0.0.96/28", "10.0.0.112/28"]
    assert len(free) == 10


def test_what_is_reserved_as_a_whole_is_passed_over_in_one_step() -> None:
    most = Reservations([ip_network("fd00::/65"), ip_network("fd00:0:0:0:8000::/66")])
    first = next(blocks_in_order(ip_network("fd00::/64"), 122, "node1", reservations=most))
    assert int(first.network_address) >= int(ip_address("fd00:0:0:0:c000::"))
    every = Reservations([ip_network("fd00::/64")])
    assert list(blocks_in_order(ip_network("fd00::/64"), 122, "node1", reservations=every)) == []
    some = Reservations([ip_network("10.0.0.0/25"), ip_network("10.0.0.200/32")])
    blocks = list(blocks_in_order(ip_network("10.0.0.0/24"), 28, "node1", reservations=some))
    assert sorted(blocks) == list(ip_network("10.0.0.128/25").subnets(new_prefix=28))


@pytest.mark.parametrize(
    ("ip", "size", "block", "ordinal"),
    [
        ("10.244.166.131", 26, "10.244.166.128/26", 3),
        ("192.168.0.64", 26, "192.168.0.64/26", 0),
        ("10.0.0.37", 28, "10.0.0.32/28", 5),
        ("fd00:10:244::a6bf", 122, "fd00:10:244::a680/122", 63),
    ],
)
def test_block_of_an_address(ip: str, size: int, block: str, ordinal: int) -> None:
    cidr = block_cidr(ip_address(ip), size)
    assert (str(cidr), int(ip_address(ip)) - int(cidr.network_address)) == (block, ordinal)


def test_reservations_are_merged_and_counted() -> None:
    reserved = Reservations(map(ip_network, ("10.0.0.0/26", "10.0.0.64/26", "10.0.1.5/32")))
    assert reserved.has(ip_address("10.0.0.127"))
    assert not reserved.has(ip_address("10.0.0.128"))
    assert not reserved.has(ip_address("::10.0.0.1"))
    assert reserved.cover(ip_network("10.0.0.0/25"))
    assert not reserved.cover(ip_network("10.0.0.0/24"))
    assert reserved.touch(ip_network("10.0.1.0/24"))
    assert not reserved.touch(ip_network("10.0.2.0/24"))
    assert reserved.count(ip_network("10.0.0.0/16")) == 129

"""Which address a tunnel has: kept, taken, taken anew, given back, in Calico's words."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tortie.ipam.block import Attribute, Block, new_block
from tortie.model.wire import decode
from tortie.node.tunnel_choice import (
    IPIP,
    VXLAN,
    VXLAN_6,
    choose,
    current_address,
    home_of,
    labels_of,
    read_pool,
    usable_pools,
    why_not_readable,
    with_address,
)

POOL: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"cidr": "10.244.0.0/16", "vxlanMode": "Always"}}
NODE: dict[str, Any] = {
    "kind": "Node",
    "apiVersion": "projectcalico.org/v3",
    "metadata": {"name": "n"},
    "spec": {"bgp": {"ipv4Address": "10.0.0.1/24"}},
}
IP = ip_address("10.244.0.3")


def held(handle: str | None = "vxlan-tunnel-addr-n", **secondary: str) -> Block:
    block = new_block(ip_network("10.244.0.0/30"), "host:n", datetime(2026, 1, 1, tzinfo=UTC))
    attribute = Attribute(handle, secondary or None)
    return block._replace(allocations=(None, None, None, 0), unallocated=(0, 1, 2), attributes=(attribute,))


OURS = held(node="n", type="vxlanTunnelAddress")

CHOICES = [
    pytest.param(None, ["10.244.0.0/16"], None, "assign", "Assign a new tunnel address", id="none yet"),
    pytest.param(IP, ["10.244.0.0/16"], OURS, "keep", "Current address is still valid, do nothing", id="ours"),
    pytest.param(
        IP, ["10.99.0.0/16"], OURS, "reassign", "not in a valid pool, release it and reassign", id="other pool"
    ),
    pytest.param(IP, ["10.244.0.0/16"], None, "assign", "is not assigned, assign a new one", id="no block"),
    pytest.param(
        IP,
        ["10.244.0.0/16"],
        held(node="other", type="vxlanTunnelAddress"),
        "assign",
        "is occupied",
        id="another node's",
    ),
    pytest.param(IP, ["10.244.0.0/16"], held(node="n", pod="web"), "assign", "is occupied", id="a pod's"),
    pytest.param(IP, ["10.244.0.0/16"], held(None), "adopt", "with allocation attributes", id="without attributes"),
    pytest.param(IP, [], OURS, "release", "", id="no pool wants it"),
    pytest.param(None, [], None, "nothing", "", id="nothing at all"),
]


@pytest.mark.parametrize(("current", "pools", "block", "action", "said"), CHOICES)
def test_choices(current: Any, pools: list[str], block: Any, action: str, said: str) -> None:
    choice = choose(VXLAN, "n", current, [ip_network(pool) for pool in pools], block)
    assert choice.action == action
    assert said in choice.said


POOLS: list[Any] = [
    pytest.param({}, True, id="as it is"),
    pytest.param({"vxlanMode": "CrossSubnet"}, True, id="across networks"),
    pytest.param({"vxlanMode": "Never"}, False, id="without VXLAN"),
    pytest.param({"disabled": True}, False, id="disabled"),
    pytest.param({"allowedUses": ["Workload"]}, False, id="for pods only"),
    pytest.param({"nodeSelector": "zone == 'a'"}, True, id="for nodes like this"),
    pytest.param({"nodeSelector": "zone == 'b'"}, False, id="for other nodes"),
    pytest.param({"cidr": "fd00::/64"}, False, id="of the other family"),
]


@pytest.mark.parametrize(("spec", "usable"), POOLS)
def test_which_pools_may_give_one(spec: dict[str, Any], usable: bool) -> None:
    pool = {**POOL, "spec": {**POOL["spec"], **spec}}
    assert bool(usable_pools(VXLAN, {"p": read_pool(pool)}, {"zone": "a"})) is usable
    leaving = {**pool, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert not usable_pools(VXLAN, {"p": read_pool(leaving)}, {"zone": "a"})


NO_POOLS: list[Any] = [
    {},
    {"spec": 5},
    {"spec": None},
    {"spec": [1]},
    {"metadata": 5, "spec": {}},
    {"metadata": 5, "spec": POOL["spec"]},
    *(
        {"spec": {**POOL["spec"], **wrong}}
        for wrong in (
            {"allowedUses": 5},
            {"allowedUses": {"Tunnel": 1}},
            {"cidr": "x"},
            {"cidr": None},
            {"cidr": ["10.0.0.0/8"]},
            {"blockSize": "abc"},
            {"blockSize": [1]},
            {"blockSize": -1},
            {"blockSize": 33},
            {"blockSize": True},
            {"blockSize": 26.5},
            {"nodeSelector": "zone =="},
            {"nodeSelector": "(" * 5000},
        )
    ),
]


@pytest.mark.parametrize("pool", NO_POOLS, ids=lambda pool: str(pool)[:60])
def test_a_pool_that_makes_no_sense_says_why(pool: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        read_pool(pool)


NO_NODES: list[Any] = [
    {},
    {**NODE, "kind": 5},
    *({**NODE, "spec": spec} for spec in (None, 5, [1], {"bgp": 5})),
    *({**NODE, "metadata": metadata} for metadata in (None, 5, {"labels": [1]}, {"labels": {"a": 5}})),
]


@pytest.mark.parametrize("node", NO_NODES, ids=str)
def test_a_node_that_makes_no_sense_says_why(node: dict[str, Any]) -> None:
    assert why_not_readable(node)
    assert current_address(IPIP, node) is None


def test_a_node_that_makes_sense() -> None:
    assert why_not_readable(NODE) == ""
    assert labels_of(NODE) == {}
    bare = {**NODE, "spec": {"bgp": None, "ipv4VXLANTunnelAddr": 5}}
    assert why_not_readable(bare) == ""
    assert current_address(VXLAN, bare) is None
    assert current_address(IPIP, decode(with_address(IPIP, bare, IP), "")) == IP


@pytest.mark.parametrize(
    ("kind", "ip", "path"),
    [
        (VXLAN, "10.244.0.3", ("ipv4VXLANTunnelAddr",)),
        (VXLAN_6, "fd00::3", ("ipv6VXLANTunnelAddr",)),
        (IPIP, "10.244.0.3", ("bgp", "ipv4IPIPTunnelAddr")),
    ],
)
def test_it_stands_where_calico_looks_for_it(kind: Any, ip: str, path: tuple[str, ...]) -> None:
    written = decode(with_address(kind, NODE, ip_address(ip)), "")
    part: Any = written["spec"]
    for name in path:
        part = part[name]
    assert part == ip
    assert written["spec"]["bgp"]["ipv4Address"] == "10.0.0.1/24"
    assert current_address(kind, written) == ip_address(ip)
    assert decode(with_address(kind, written, None), "")["spec"] == NODE["spec"]


def test_the_block_of_an_address() -> None:
    small = {"spec": {"cidr": "10.9.0.0/24", "blockSize": 28}}
    pools = {"p": read_pool(POOL), "q": read_pool(small)}
    assert home_of(ip_address("10.244.1.70"), pools) == ip_network("10.244.1.64/26")
    assert home_of(ip_address("10.9.0.17"), pools) == ip_network("10.9.0.16/28")
    assert home_of(ip_address("10.8.0.1"), pools) is None

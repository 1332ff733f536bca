"""The rest of a node's plan: its id, its port, its blocks, and what it says of pools, services and prefixes."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.speakers import StoreEntry, block, default, node, own, planned, pool, refused

from tortie.bgp.plan import Advertisement, Pool
from tortie.bgp.router import hashed_id

A = node("a", "10.0.0.1/24")
SIX = node("a", ipv6="fd00::1/64")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The first four bytes of SHA-256 over the name, the first one lowered by 32 where it is above 223.
        ("a", "202.151.129.18"),
        ("node-3", "168.76.254.138"),
        ("node-18", "213.194.139.227"),
    ],
)
def test_an_id_out_of_the_name(name: str, expected: str) -> None:
    assert str(hashed_id(name)) == expected


@pytest.mark.parametrize(
    ("entry", "wish", "expected"),
    [
        pytest.param(A, "", "10.0.0.1", id="the node's IPv4 address"),
        pytest.param(A, "192.0.2.7", "192.0.2.7", id="what CALICO_ROUTER_ID says"),
        pytest.param(A, "hash", str(hashed_id("a")), id="the hash, if it says so"),
        pytest.param(SIX, "", str(hashed_id("a")), id="with IPv6 alone the hash, too"),
        pytest.param(SIX, "192.0.2.7", "192.0.2.7", id="or what it says"),
        pytest.param(node("other", "10.0.0.2/24"), "", str(hashed_id("a")), id="without a record the hash"),
    ],
)
def test_the_router_id(entry: StoreEntry, wish: str, expected: str) -> None:
    made = planned("a", entry, router_id=wish)
    assert made.router_id == IPv4Address(expected)
    assert made.refusals == ()


@pytest.mark.parametrize("wish", ["HASH", "10.0.0.300", "fd00::1", "0.0.0.0"])
def test_a_router_id_that_is_none(wish: str) -> None:
    made = planned("a", A, router_id=wish)
    assert made.router_id == IPv4Address("10.0.0.1")
    assert "CALICO_ROUTER_ID" in refused(made, "router id").why


def test_the_node_itself() -> None:
    made = planned("a", node("a", "10.0.0.1/24", "fd00::1/64", asn=65001), default(asNumber=65000))
    assert (made.node, made.as_number) == ("a", 65001)
    assert made.networks == (ip_interface("10.0.0.1/24"), ip_interface("fd00::1/64"))
    assert planned("a", A, default(asNumber=65000)).as_number == 65000


SETTINGS: list[tuple[dict[str, Any], dict[str, Any], str, object]] = [
    ({}, {}, "listen_port", 179),
    ({"listenPort": 1790}, {}, "listen_port", 1790),
    ({"listenPort": 1790}, {"listenPort": 1791}, "listen_port", 1791),
    ({}, {}, "bind_to_node", False),
    ({"bindMode": "NodeIP"}, {}, "bind_to_node", True),
    ({"bindMode": "NodeIP"}, {"bindMode": "None"}, "bind_to_node", False),
    ({}, {}, "log_level", "info"),
    ({"logSeverityScreen": "Info"}, {"logSeverityScreen": "Debug"}, "log_level", "debug"),
    ({"logSeverityScreen": "Trace"}, {}, "log_level", "debug"),
    ({"logSeverityScreen": "Warning"}, {}, "log_level", "none"),
    ({"ignoredInterfaces": ["docker*", "eth1"]}, {}, "ignored_interfaces", ("docker*", "eth1")),
    ({"ignoredInterfaces": ["docker*"]}, {"ignoredInterfaces": ["br-*"]}, "ignored_interfaces", ("br-*",)),
    ({}, {}, "normal_priority", {4: 1024, 6: 1024}),
    ({"ipv4NormalRoutePriority": 900}, {"ipv6NormalRoutePriority": 800}, "normal_priority", {4: 900, 6: 800}),
]


@pytest.mark.parametrize(("cluster", "this_node", "field", "expected"), SETTINGS)
def test_settings_of_the_node_come_before_those_of_the_cluster(
    cluster: dict[str, Any], this_node: dict[str, Any], field: str, expected: object
) -> None:
    made = planned("a", A, default(**cluster), own("a", **this_node), own("b", listenPort=1, bindMode="NodeIP"))
    assert getattr(made, field) == expected
    assert made.refusals == ()


def test_a_pattern_that_ignores_everything_is_passed_over() -> None:
    made = planned("a", A, default(ignoredInterfaces=["*", "docker*"]))
    assert made.ignored_interfaces == ("docker*",)
    assert "no interface at all" in refused(made, "ignoredInterfaces").why


POOLS = [
    pytest.param({}, "none", False, True, id="as they are"),
    pytest.param({"ipipMode": "Never", "vxlanMode": "Never"}, "none", False, True, id="neither"),
    pytest.param({"vxlanMode": "Always"}, "vxlan", False, True, id="VXLAN"),
    pytest.param({"vxlanMode": "CrossSubnet"}, "vxlan", True, True, id="VXLAN to other networks"),
    pytest.param({"ipipMode": "Always"}, "ipip", False, True, id="IPIP"),
    pytest.param({"ipipMode": "CrossSubnet"}, "ipip", True, True, id="IPIP to other networks"),
    pytest.param({"disableBGPExport": True}, "none", False, False, id="not told to anybody"),
    pytest.param({"disabled": True}, "none", False, True, id="no new addresses, but routes as before"),
]


@pytest.mark.parametrize(("spec", "encapsulation", "cross_subnet", "exported"), POOLS)
def test_how_the_routes_of_a_pool_are_treated(
    spec: dict[str, Any], encapsulation: Any, cross_subnet: bool, exported: bool
) -> None:
    made = planned("a", A, pool("p", "10.244.0.0/16", **spec))
    assert made.pools == (Pool("p", ip_network("10.244.0.0/16"), encapsulation, cross_subnet, exported),)
    # Nobody shall wonder where the routes of such a pool are.
    assert ["makes no IPIP tunnels yet" in told.why for told in made.refusals] == [True] * (encapsulation == "ipip")


def test_a_kernel_without_ipip_is_named_and_the_pool_stays() -> None:
    pools = [pool("p", "10.244.0.0/16", ipipMode="Always"), pool("q", "10.245.0.0/16", vxlanMode="Always")]
    made = planned("a", A, *pools, has_ipip=False)
    assert [found.name for found in made.pools] == ["p", "q"]
    refusal = refused(made, "IPPool(p)")
    assert "CONFIG_NET_IPIP" in refusal.why
    assert "vxlanMode to Always" in refusal.fix


def test_ipip_is_for_ipv4_only() -> None:
    made = planned("a", A, pool("p", "fd00:10:244::/64", ipipMode="Always"))
    assert made.pools[0].encapsulation == "none"
    assert "IPv6" in refused(made, "IPPool(p)").why


def test_pools_and_blocks_stand_in_the_order_of_their_addresses() -> None:
    ranges = ["10.9.0.0/16", "10.10.0.0/16", "10.10.0.0/17", "fd00:10:244::/64"]
    made = planned("a", A, *(pool(f"p{at}", cidr) for at, cidr in enumerate(reversed(ranges))))
    assert [str(found.cidr) for found in made.pools] == ranges
    assert [str(found) for found in planned("a", A, block("a", "10.9.1.0/26")).blocks] == ["10.9.1.0/26"]


SERVICES: dict[str, Any] = {
    "serviceClusterIPs": [{"cidr": "10.96.0.0/12"}, {"cidr": "fd00:96::/112"}, {}],
    "serviceExternalIPs": [{"cidr": "198.51.100.0/24"}, {"cidr": "203.0.113.7/32"}],
    "serviceLoadBalancerIPs": [{"cidr": "192.0.2.0/24"}, {"cidr": "198.51.100.0/24"}],
}


def test_ranges_of_services_are_announced_by_every_node_alike() -> None:
    """A single address belongs to one service, which only some nodes may serve."""
    found = planned("a", A, default(**SERVICES)).services
    assert list(map(str, found)) == ["10.96.0.0/12", "192.0.2.0/24", "198.51.100.0/24", "fd00:96::/112"]


@pytest.mark.parametrize(
    ("entry", "aggregation", "announced"),
    [
        (A, "Enabled", True),
        (A, "Disabled", False),
        (node("a", "10.0.0.1/24", **{"node.kubernetes.io/exclude-from-external-load-balancers": "true"}), None, False),
        (node("a", "10.0.0.1/24", **{"node.kubernetes.io/exclude-from-external-load-balancers": "false"}), None, True),
        (node("b", "10.0.0.2/24"), None, False),
    ],
)
def test_who_does_not_announce_load_balancers(entry: StoreEntry, aggregation: str | None, announced: bool) -> None:
    made = planned("a", entry, default(**SERVICES, serviceLoadBalancerAggregation=aggregation))
    assert (ip_network("192.0.2.0/24") in made.services) is announced


COMMUNITIES: dict[str, Any] = {
    "communities": [{"name": "gold", "value": "65000:100"}, {"name": "large", "value": "65000:1:2"}],
    "prefixAdvertisements": [
        {"cidr": "10.244.0.0/16", "communities": ["gold", "65000:200", "65000:100"]},
        {"cidr": "fd00:10:244::/64", "communities": ["large"]},
    ],
}


def test_communities_by_name_and_by_value() -> None:
    made = planned("a", A, default(**COMMUNITIES))
    assert made.advertisements == (
        Advertisement(ip_network("10.244.0.0/16"), ("65000:100", "65000:200")),
        Advertisement(ip_network("fd00:10:244::/64"), ("65000:1:2",)),
    )


def test_advertisements_of_the_node_replace_those_of_the_cluster() -> None:
    mine = {"prefixAdvertisements": [{"cidr": "10.1.0.0/16", "communities": ["65000:7"]}]}
    made = planned("a", A, default(**COMMUNITIES), own("a", **mine))
    assert made.advertisements == (Advertisement(ip_network("10.1.0.0/16"), ("65000:7",)),)


def test_a_community_that_nobody_defined_is_left_out_and_named() -> None:
    spec = {"prefixAdvertisements": [{"cidr": "10.1.0.0/16", "communities": ["silver", "65000:7"]}]}
    made = planned("a", A, default(**spec))
    assert made.advertisements == (Advertisement(ip_network("10.1.0.0/16"), ("65000:7",)),)
    assert "no name out of communities" in refused(made, "'silver'").why
    alone = planned("a", A, default(prefixAdvertisements=[{"cidr": "10.1.0.0/16", "communities": ["silver"]}]))
    assert alone.advertisements == ()

"""What the kernel shall have, for each thing that a datastore may say."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_interface, ip_network
from typing import Any

import pytest
from tests.support.dataplane_states import (
    BLOCKS,
    ETH0,
    LINKS,
    ME,
    NEAR,
    PLAIN,
    POOL,
    POOL6,
    block,
    link,
    peer,
    pod,
    state,
)

from tortie.dataplane.desired import desired
from tortie.dataplane.known import State
from tortie.dataplane.things import BOOT, FELIX, Desired, Device, DeviceAddress, Forwarding, Neighbour, Route, Setting
from tortie.model.names import vtep_mac

CROSS = POOL._replace(vxlan="CrossSubnet")


def routes(made: Desired) -> set[Route]:
    return set(made.routes)


def to(cidr: str, metric: int, protocol: int, *rest: Any, **more: Any) -> Route:
    return Route(ip_network(cidr), metric, protocol, *rest, **more)


def test_a_pod_has_a_route_a_neighbour_and_its_link_is_set() -> None:
    made = desired(
        state(pools=(PLAIN,), blocks=(), endpoints=(pod("web", "10.244.0.5", "fd00:10:244::5"),)), LINKS, "2"
    )
    assert routes(made) == {
        to("10.244.0.5/32", 1024, BOOT, "cali1", this_link=True),
        to("fd00:10:244::5/128", 1024, BOOT, "cali1"),
    }
    assert set(made.routes.values()) == {"pod default/web"}
    assert Neighbour("cali1", ip_address("10.244.0.5"), "02:00:00:00:00:01") in made.neighbours
    told = {setting.path.removeprefix("net/"): setting.value for setting in made.settings if "cali1" in setting.path}
    assert told == {
        "ipv4/conf/cali1/route_localnet": "1",
        "ipv4/neigh/cali1/proxy_delay": "0",
        "ipv4/conf/cali1/proxy_arp": "1",
        "ipv4/conf/cali1/forwarding": "1",
        "ipv4/conf/cali1/rp_filter": "2",
        "ipv6/conf/cali1/accept_ra": "0",
        "ipv6/conf/cali1/proxy_ndp": "1",
        "ipv6/conf/cali1/forwarding": "1",
    }


def test_settings_of_felix_reach_the_routes_of_pods() -> None:
    said: dict[str, Any] = {"priority4": 99, "route_protocol": 80, "ipv6": False}
    said["route_source4"] = IPv4Address("10.0.0.1")
    made = desired(state(pools=(), endpoints=(pod("web", "10.244.0.5", "fd00:10:244::5"),), **said), LINKS)
    source = ip_address("10.0.0.1")
    assert routes(made) == {to("10.244.0.5/32", 99, 80, "cali1", this_link=True, source=source)}


@pytest.mark.parametrize(
    ("links", "why"), [((), "cali1 is not there"), ((link(7, "cali1", up=False),), "cali1 is down")]
)
def test_a_pod_whose_link_is_not_up_is_waited_for(links: tuple[Any, ...], why: str) -> None:
    made = desired(state(pools=(), endpoints=(pod("web", "10.244.0.5"),)), (ETH0, *links))
    assert not made.routes
    assert made.waiting == {"default/web": why}


def test_two_pods_with_one_address_are_told() -> None:
    pods = (pod("one", "10.244.0.5"), pod("two", "10.244.0.5", interface="cali2"))
    made = desired(state(pools=(), endpoints=pods), (*LINKS, link(8, "cali2")))
    assert [route.device for route in made.routes] == ["cali1"]
    assert "default/one and default/two" in made.concerns[0].what


def test_vxlan_always() -> None:
    made = desired(state(), LINKS)
    local = ip_address("10.0.0.1")
    assert made.devices == {"vxlan.calico": Device("vxlan.calico", 4096, 4789, local, "eth0", vtep_mac("me"), 1450)}
    assert set(made.addresses) == {DeviceAddress("vxlan.calico", ip_interface("10.244.0.1/32"))}
    assert routes(made) == {
        to("10.244.0.0/26", 0, FELIX),
        to("10.244.1.0/26", 0, BOOT, "vxlan.calico", ip_address("10.244.1.1"), on_link=True),
        to("10.244.2.0/26", 0, BOOT, "vxlan.calico", ip_address("10.244.2.1"), on_link=True),
    }
    assert set(made.neighbours) == {
        Neighbour("vxlan.calico", ip_address("10.244.1.1"), vtep_mac("near")),
        Neighbour("vxlan.calico", ip_address("10.244.2.1"), vtep_mac("far")),
    }
    assert set(made.forwardings) == {
        Forwarding("vxlan.calico", vtep_mac("near"), ip_address("10.0.0.2")),
        Forwarding("vxlan.calico", vtep_mac("far"), ip_address("10.9.0.3")),
    }
    assert made.mtu == 1450


def test_vxlan_across_networks_only() -> None:
    made = desired(state(pools=(CROSS,)), LINKS)
    assert routes(made) == {
        to("10.244.0.0/26", 0, FELIX),
        to("10.244.1.0/26", 0, FELIX, "eth0", ip_address("10.0.0.2"), on_link=True),
        to("10.244.2.0/26", 0, BOOT, "vxlan.calico", ip_address("10.244.2.1"), on_link=True),
    }


def test_vxlan_over_ipv6_has_a_metric_that_is_not_birds() -> None:
    blocks = (block("fd00:10:244::/122", "me"), block("fd00:10:244::100/122", "near"))
    made = desired(state(pools=(POOL6,), blocks=blocks), LINKS)
    assert list(made.devices) == ["vxlan-v6.calico"]
    assert made.devices["vxlan-v6.calico"].mtu == made.mtu == 1430
    assert routes(made) == {
        to("fd00:10:244::/122", 512, FELIX),
        to("fd00:10:244::100/122", 512, BOOT, "vxlan-v6.calico", ip_address("fd00:10:244::101"), on_link=True),
    }
    assert Setting("net/ipv6/conf/all/forwarding", "1") in made.settings


def test_a_pool_without_tunnel_is_birds() -> None:
    made = desired(state(pools=(PLAIN,)), LINKS)
    assert not made.routes
    assert not made.devices
    assert made.mtu == 1500


BORROWED = [
    pytest.param(POOL, block("10.244.1.0/26", "near", far="10.244.1.9"), "vxlan.calico", "10.244.2.1", id="tunnel"),
    pytest.param(POOL, block("10.244.0.0/26", "me", far="10.244.0.9"), "vxlan.calico", "10.244.2.1", id="out of ours"),
    pytest.param(CROSS, block("10.244.2.0/26", "far", near="10.244.2.9"), "eth0", "10.0.0.2", id="same network"),
]


@pytest.mark.parametrize(("pool", "lent", "device", "gateway"), BORROWED)
def test_a_borrowed_address_has_a_route_of_its_own(pool: Any, lent: Any, device: str, gateway: str) -> None:
    made = desired(state(pools=(pool,), blocks=(lent,)), LINKS)
    ip = lent.lent[0][0]
    found = [route for route in made.routes if route.destination == ip_network(ip)]
    assert [(route.device, str(route.gateway), route.on_link) for route in found] == [(device, gateway, True)]


def test_a_tunnels_own_address_out_of_another_nodes_block_is_the_neighbour_itself() -> None:
    near = peer("near", "10.0.0.2/24", "10.244.2.40")
    lent = block("10.244.2.0/26", "far", near="10.244.2.40")
    made = desired(state(nodes=(ME, near, peer("far", "10.9.0.3/24", "10.244.2.1")), blocks=(lent,)), LINKS)
    assert to("10.244.2.40/32", 0, BOOT, "vxlan.calico", this_link=True) in made.routes


def test_a_pod_here_comes_before_what_a_block_says_about_its_address() -> None:
    lent = block("10.244.0.0/26", "me", far="10.244.0.5")
    made = desired(state(blocks=(lent,), endpoints=(pod("web", "10.244.0.5"),)), LINKS)
    found = [route for route in made.routes if route.destination == ip_network("10.244.0.5/32")]
    assert [route.device for route in found] == ["cali1"]


def test_no_blackhole_for_a_block_of_one_address() -> None:
    made = desired(state(blocks=(block("10.244.0.7/32", "me"),)), LINKS)
    assert not made.routes


UNDECIDED = [
    pytest.param(state(nodes=(ME._replace(vtep4=None), NEAR)), LINKS, "no address for the tunnel", id="no address"),
    pytest.param(state(), (link(1, "lo"),), "10.0.0.1, is on no link", id="address gone"),
    pytest.param(state(nodes=(ME._replace(ipv4=None), NEAR)), LINKS, "no IPv4 address", id="node without address"),
]


@pytest.mark.parametrize(("said", "links", "why"), UNDECIDED)
def test_what_cannot_be_decided_is_told_and_left_alone(said: State, links: Any, why: str) -> None:
    without = desired(said, links)
    assert not without.devices
    assert not without.left_alone
    assert why in without.concerns[0].why
    there = desired(said, (*links, link(9, "vxlan.calico")))
    assert there.left_alone == {"vxlan.calico"}


def test_a_tunnel_that_felix_forbids_is_told() -> None:
    made = desired(state(vxlan_enabled=False), LINKS)
    assert not made.devices
    assert "vxlanEnabled" in made.concerns[0].why


@pytest.mark.parametrize(
    ("said", "links", "device", "pods"),
    [
        ({}, (link(3, "ens5", mtu=9001),), 1450, 1450),
        ({}, (link(3, "ens5", mtu=1400, up=False),), 1450, 1450),
        ({"mtu_pattern": "^ens"}, (link(3, "ens5", mtu=9001),), 8951, 8951),
        ({"vxlan_mtu": 1300}, (), 1300, 1300),
        ({"mtu_pattern": "^none"}, (), 1410, 1410),
    ],
)
def test_the_smallest_link_of_the_machine_decides_on_the_mtu(said: Any, links: Any, device: int, pods: int) -> None:
    made = desired(state(**said), (*LINKS, *links))
    assert made.devices["vxlan.calico"].mtu == device
    assert made.mtu == pods


def test_forwarding_may_be_left_to_others() -> None:
    assert not desired(state(pools=(), forwarding=False), LINKS).settings
    assert Setting("net/ipv4/ip_forward", "1") in desired(state(pools=()), LINKS).settings


def test_blocks_of_nodes_that_are_gone_have_no_route() -> None:
    made = desired(state(nodes=(ME, NEAR), blocks=BLOCKS), LINKS)
    assert ip_network("10.244.2.0/26") not in {route.destination for route in made.routes}

"""The tables of NAT: what they say, and that a change of anything gives them another mark."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_network
from typing import Any

import pytest
from tests.support.dataplane_states import ME, PLAIN, POOL, POOL6, state

from tortie.dataplane.nat import nat_tables
from tortie.dataplane.records import Pool


def text(tunnels: tuple[Any, ...] = (), family: int = 4, **said: Any) -> str:
    return next(table.text for table in nat_tables(state(**said), tunnels) if table.family == family)


def test_nobody_needs_it() -> None:
    assert [table.text for table in nat_tables(state(pools=(PLAIN,)), ())] == ["", ""]


def test_one_rule_for_what_leaves_the_pools_behind_kube_proxy() -> None:
    told = text()
    assert told.startswith("table ip calico\ndelete table ip calico\ntable ip calico {\n")
    assert "type nat hook postrouting priority 110" in told
    rule = "ip saddr @cali40masq-ipam-pools ip daddr != @cali40network-ip-pools counter masquerade"
    assert told.count(rule) == 1
    assert "oifname" not in told


def test_each_family_has_its_own() -> None:
    tables = nat_tables(state(pools=(POOL, POOL6)), ())
    assert "fd00:10:244::/64" in tables[1].text
    assert "fd00:10:244::/64" not in tables[0].text
    assert tables[1].text.startswith("table ip6 calico\n")


def test_pools_of_load_balancers_and_what_lies_in_other_pools_are_left_out() -> None:
    pools = (
        POOL,
        PLAIN._replace(cidr=ip_network("10.244.128.0/17")),
        Pool("lb", ip_network("192.0.2.0/24"), of_pods=False),
    )
    told = text(pools=pools)
    assert "192.0.2.0/24" not in told
    assert "10.244.128.0/17" not in told


SETTINGS: list[Any] = [
    pytest.param({"nat_address": IPv4Address("192.0.2.9")}, "counter snat to 192.0.2.9", id="an address"),
    pytest.param({"nat_ports": (1000, 2000)}, "tcp counter masquerade to :1000-2000", id="ports"),
    pytest.param({"nat_interfaces": "eth+"}, 'oifname "eth*" counter masquerade', id="links"),
    pytest.param({"nat_spares_hosts": True}, "ip daddr != @cali40all-hosts-net counter", id="not to nodes"),
    pytest.param(
        {"nat_ports": (1000, 2000), "nat_address": IPv4Address("192.0.2.9")},
        "udp counter snat to 192.0.2.9:1000-2000",
        id="ports of an address",
    ),
]


@pytest.mark.parametrize(("said", "rule"), SETTINGS)
def test_settings_of_felix(said: Any, rule: str) -> None:
    assert rule in text(**said)


def test_addresses_of_all_nodes_are_hosts() -> None:
    told = text(nat_spares_hosts=True)
    for address in ("10.0.0.1/32", "10.0.0.2/32", "10.9.0.3/32"):
        assert address in told


def test_into_a_tunnel_never_from_the_port_of_vxlan() -> None:
    told = text((4,), vxlan_port=8472)
    assert 'oifname "vxlan.calico" fib saddr . oif type != local fib saddr type local' in told
    assert "meta l4proto udp counter masquerade to :8473-65535" in told


def test_the_same_cluster_has_the_same_mark_and_another_one_another() -> None:
    same = nat_tables(state(), ())[0]
    assert same == nat_tables(state(nodes=(ME,)), ())[0]
    assert same.mark in same.text
    assert same.rules == same.text.count("counter")
    other = PLAIN._replace(cidr=ip_network("10.99.0.0/16"))
    others = {nat_tables(state(**said), ())[0].mark for said in ({"nat_spares_hosts": True}, {"pools": (POOL, other)})}
    assert same.mark not in others

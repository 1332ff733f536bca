"""The default pool: chosen so that it overlaps nothing known, or not at all."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network, ip_interface, ip_network
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.addressing.pools import (
    DEFAULTS,
    PoolChoice,
    PoolSettings,
    choose_default_pool,
    created_message,
    pool_document,
)
from tortie.model.network import Address, Family, HostNetwork, Interface, Network, Route
from tortie.model.resource import stored_form, validate


def ula() -> Network:
    return ip_network("fd12:3456:789a::/48")


def choose(family: Family = 4, settings: PoolSettings | None = None, **known: Any) -> PoolChoice:
    nothing_known: dict[str, Any] = {
        "host": HostNetwork(),
        "existing": (),
        "service_ranges": (),
        "node_addresses": (),
        "random_ula": ula,
    }
    return choose_default_pool(family, settings or DEFAULTS[family], **(nothing_known | known))


def host(*addresses: str, routes: tuple[str, ...] = ()) -> HostNetwork:
    interface = Interface(2, "eth0", addresses=tuple(Address(ip_interface(each)) for each in addresses))
    return HostNetwork((interface,), tuple(Route(ip_network(each), 2) for each in routes))


def networks(*texts: str) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


SITUATIONS = {
    "nothing known": ({}, "192.168.0.0/16"),
    "only a default route": ({"host": host(routes=("0.0.0.0/0",))}, "192.168.0.0/16"),
    "a VPN that writes its default route in halves": (
        {"host": host(routes=("0.0.0.0/1", "128.0.0.0/1"))},
        "192.168.0.0/16",
    ),
    "a host in 192.168.1.0/24": ({"host": host("192.168.1.5/24")}, "172.16.0.0/16"),
    "a host in a network larger than the pool": ({"host": host("172.16.0.5/14", "192.168.1.5/24")}, "172.20.0.0/16"),
    "a route to 192.168.50.0/24": ({"host": host(routes=("192.168.50.0/24",))}, "172.16.0.0/16"),
    "the first address of a candidate in use": ({"host": host("192.168.0.0/32")}, "172.16.0.0/16"),
    "the last address of a candidate in use": ({"host": host("192.168.255.255/32")}, "172.16.0.0/16"),
    "the neighbours of a candidate in use": ({"host": host("192.167.255.255/32", "192.169.0.0/32")}, "192.168.0.0/16"),
    "another node in 192.168.0.0/16": ({"node_addresses": (ip_interface("192.168.7.7/24"),)}, "172.16.0.0/16"),
    "services in 192.168.0.0/20": ({"service_ranges": networks("192.168.0.0/20")}, "172.16.0.0/16"),
    "docker's bridges": (
        {"host": host("192.168.1.5/24", "172.17.0.1/16", "172.18.0.1/16", routes=("172.16.0.0/16",))},
        "172.19.0.0/16",
    ),
    "only 10.0.0.0/8 left, services at the top": (
        {"host": host(routes=("192.168.0.0/16", "172.16.0.0/12")), "service_ranges": networks("10.255.0.0/16")},
        "10.254.0.0/16",
    ),
    "pools of the other family": ({"existing": networks("fd00::/48")}, "192.168.0.0/16"),
    "an address that claims everything": ({"host": host("203.0.113.9/0")}, "192.168.0.0/16"),
}


@pytest.mark.parametrize(("known", "cidr"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_first_free_range_is_chosen(known: dict[str, Any], cidr: str) -> None:
    choice = choose(**known)
    assert str(choice.cidr) == cidr
    assert choice.messages[-1].text == f"Selected default IP pool is '{cidr}'"
    assert choice.reasons
    assert not choice.skipped


def test_every_range_passed_over_has_its_reason() -> None:
    known = host("192.168.1.5/24", routes=("172.16.9.0/24",))
    choice = choose(
        host=known, node_addresses=(ip_interface("172.17.0.9/16"),), service_ranges=networks("172.18.0.0/16")
    )
    reasons = {str(cidr): reason for cidr, reason in choice.rejected}
    assert reasons == {
        "192.168.0.0/16": "overlaps 192.168.1.5/24 of eth0",
        "172.16.0.0/16": "overlaps the route to 172.16.9.0/24 through eth0",
        "172.17.0.0/16": "overlaps the node address 172.17.0.9/16",
        "172.18.0.0/16": "overlaps the services' range 172.18.0.0/16",
    }
    assert "192.168.0.0/16 is not taken" in choice.messages[0].text


def test_when_all_private_ranges_are_routed_none_is_chosen_and_the_setting_named() -> None:
    choice = choose(host=host(routes=("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
    assert choice.cidr is None
    assert len(choice.rejected) == 1 + 16 + 256
    assert "No default IPv4 pool can be chosen" in choice.failure
    assert "CALICO_IPV4POOL_CIDR" in choice.fix
    assert choice.messages[-1].level == "error"


@pytest.mark.parametrize(
    ("family", "settings", "known", "why"),
    [
        (4, DEFAULTS[4], {"existing": networks("10.244.0.0/16")}, "10.244.0.0/16"),
        (4, PoolSettings(cidr=ip_network("10.0.0.0/16")), {"existing": networks("10.244.0.0/16")}, "10.244.0.0/16"),
        (6, DEFAULTS[6], {"existing": networks("fd00::/48")}, "fd00::/48"),
        (4, PoolSettings(disabled=True), {}, "NO_DEFAULT_POOLS"),
        (6, DEFAULTS[6], {"unsupported": "the kernel has no IPv6"}, "the kernel has no IPv6"),
    ],
)
def test_no_pool_where_none_is_needed(family: Family, settings: PoolSettings, known: dict[str, Any], why: str) -> None:
    choice = choose(family, settings, **known)
    assert choice.cidr is None
    assert why in choice.skipped
    assert not choice.failure


@pytest.mark.parametrize("family", [4, 6])
def test_a_family_that_is_switched_off_is_told_in_calicos_words(family: Family) -> None:
    choice = choose(family, PoolSettings(disabled=True))
    assert [message.text for message in choice.messages] == [f"Skipping IPv{family} pool configuration"]


def test_an_explicit_range_is_taken_and_every_overlap_named() -> None:
    known = host("10.0.1.5/24", routes=("10.0.2.0/24", "0.0.0.0/0", "10.0.1.0/24"))
    choice = choose(
        4,
        PoolSettings(cidr=ip_network("10.0.0.0/16")),
        host=known,
        service_ranges=networks("10.0.0.0/20"),
        node_addresses=(ip_interface("10.0.3.7/24"), ip_interface("10.1.0.7/24")),
    )
    assert str(choice.cidr) == "10.0.0.0/16"
    assert {message.level for message in choice.messages} == {"warning"}
    assert [
        message.text.split(": ")[0].removeprefix("CALICO_IPV4POOL_CIDR=10.0.0.0/16 ") for message in choice.messages
    ] == [
        "overlaps 10.0.1.5/24 of eth0",
        "overlaps the services' range 10.0.0.0/20",
        "overlaps the route to 10.0.2.0/24 through eth0",
        "overlaps the node address 10.0.3.7/24",
    ]


def test_the_kernels_own_entries_for_an_address_are_not_told_again() -> None:
    routes = tuple(
        Route(ip_network(to), 2, table=255, kind=kind)
        for to, kind in (("10.0.1.5/32", "local"), ("10.0.1.255/32", "broadcast"))
    )
    known = host("10.0.1.5/24")._replace(routes=routes)
    assert len(choose(4, PoolSettings(cidr=ip_network("10.0.0.0/16")), host=known).messages) == 1


def test_a_whole_range_that_is_local_counts() -> None:
    known = HostNetwork(routes=(Route(ip_network("192.168.0.0/16"), 1, table=255, kind="local"),))
    assert str(choose(host=known).cidr) == "172.16.0.0/16"


def test_thousands_of_overlaps_are_not_thousands_of_lines() -> None:
    nodes = tuple(IPv4Interface((int(ip_interface("10.0.0.1").ip) + number, 32)) for number in range(5000))
    choice = choose(4, PoolSettings(cidr=ip_network("10.0.0.0/8")), node_addresses=nodes)
    assert len(choice.messages) == 11
    assert "4,990 more" in choice.messages[-1].text


def test_an_explicit_range_that_overlaps_nothing_is_taken_without_a_word() -> None:
    choice = choose(4, PoolSettings(cidr=ip_network("10.244.0.0/16")), host=host("192.168.1.5/24"))
    assert str(choice.cidr) == "10.244.0.0/16"
    assert choice.messages == ()


def test_a_range_of_the_other_family_is_refused_with_its_right_place() -> None:
    choice = choose(4, PoolSettings(cidr=ip_network("fd00::/48")))
    assert choice.cidr is None
    assert choice.failure == "CALICO_IPV4POOL_CIDR=fd00::/48 is an IPv6 range"
    assert choice.fix == "CALICO_IPV6POOL_CIDR=fd00::/48"


def test_ipv6_gets_a_random_range_unless_it_cannot_be_used() -> None:
    assert (choose(6).cidr, choose(6).random) == (ula(), True)
    wanted = PoolSettings(cidr=ip_network("fd00:10::/48"))
    assert (choose(6, wanted).cidr, choose(6, wanted).random) == (wanted.cidr, False)
    refused = choose(6, wanted, unsupported="the kernel has no IPv6")
    assert (refused.cidr, refused.skipped) == (None, "the kernel has no IPv6")
    assert [message.text for message in refused.messages] == [
        "CALICO_IPV6POOL_CIDR=fd00:10::/48 makes no pool: the kernel has no IPv6"
    ]


def test_a_random_range_that_is_in_use_is_drawn_again() -> None:
    draws = count(1)
    choice = choose(6, host=host("fd00:0:1::5/64"), random_ula=lambda: ip_network(f"fd00:0:{next(draws)}::/48"))
    assert str(choice.cidr) == "fd00:0:2::/48"


def test_a_route_to_all_unique_local_addresses_ends_the_drawing() -> None:
    choice = choose(6, host=host(routes=("fc00::/7",)))
    assert choice.cidr is None
    assert "CALICO_IPV6POOL_CIDR" in choice.fix


DOCUMENTS = {
    "IPv4 defaults": (4, "192.168.0.0/16", DEFAULTS[4]),
    "IPv6 defaults": (6, "fd12:3456:789a::/48", DEFAULTS[6]),
    "IPIP": (4, "10.244.0.0/16", PoolSettings(ipip="Always", block_size=24, node_selector="zone == 'a'")),
    "VXLAN": (6, "fd00::/64", PoolSettings(vxlan="CrossSubnet", nat_outgoing=False, disable_bgp_export=True)),
    "IPIP meant for the other family": (6, "fd00::/64", PoolSettings(ipip="Always")),
}


@pytest.mark.parametrize(("family", "cidr", "settings"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_pool_is_one_that_may_be_stored(family: Family, cidr: str, settings: PoolSettings) -> None:
    document = pool_document(family, ip_network(cidr), settings)
    assert validate(document) == []
    assert document["metadata"]["name"] == f"default-ipv{family}-ippool"


def test_the_pool_is_stored_as_calico_stores_its_own() -> None:
    settings = PoolSettings(ipip="Always")
    assert stored_form(pool_document(4, ip_network("192.168.0.0/16"), settings))["spec"] == {
        "cidr": "192.168.0.0/16",
        "vxlanMode": "Never",
        "ipipMode": "Always",
        "natOutgoing": True,
        "blockSize": 26,
        "nodeSelector": "all()",
        "allowedUses": ["Workload", "Tunnel"],
        "assignmentMode": "Automatic",
    }


def test_a_created_pool_is_told_in_calicos_words() -> None:
    message = created_message(4, ip_network("192.168.0.0/16"), PoolSettings(ipip="CrossSubnet"))
    assert message.level == "info"
    assert message.text == (
        "Created default IPv4 pool (192.168.0.0/16) with NAT outgoing true. IPIP mode: CrossSubnet, VXLAN mode: Never, "
        "DisableBGPExport: false"
    )


PRIVATE = st.sampled_from(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]).map(IPv4Network)


@st.composite
def inside_private(draw: st.DrawFn) -> IPv4Interface:
    private = draw(PRIVATE)
    offset = draw(st.integers(0, private.num_addresses - 1))
    return IPv4Interface((int(private.network_address) + offset, draw(st.integers(private.prefixlen, 32))))


@given(
    st.lists(inside_private(), max_size=12),
    st.lists(inside_private(), max_size=12),
    st.lists(inside_private(), max_size=3),
    st.lists(inside_private(), max_size=12),
)
def test_no_default_pool_overlaps_anything_it_was_told_about(
    addresses: list[IPv4Interface],
    routes: list[IPv4Interface],
    services: list[IPv4Interface],
    nodes: list[IPv4Interface],
) -> None:
    known = host(*map(str, addresses), routes=("0.0.0.0/0", *(str(route.network) for route in routes)))
    choice = choose(host=known, service_ranges=tuple(each.network for each in services), node_addresses=tuple(nodes))
    in_use = [each.network for each in (*addresses, *routes, *services, *nodes)]
    if choice.cidr is not None:
        assert isinstance(choice.cidr, IPv4Network)
        assert not [network for network in in_use if network.overlaps(choice.cidr)]
    else:
        assert choice.failure
        assert len(choice.rejected) == 273
    for rejected, reason in choice.rejected:
        assert reason
        assert isinstance(rejected, IPv4Network)
        assert any(network.overlaps(rejected) for network in in_use)


@pytest.mark.parametrize("settings", [PoolSettings(), PoolSettings(cidr=ip_network("10.7.0.0/16"))])
def test_no_pool_is_made_beside_one_that_cannot_be_read(settings: PoolSettings) -> None:
    choice = choose(4, settings, unreadable=("default-ipv4-ippool", "mine"))
    assert (choice.cidr, choice.failure) == (None, "")
    assert "cannot be read: default-ipv4-ippool, mine" in choice.skipped
    [warning] = choice.messages
    assert warning.level == "warning"
    assert "No default IPv4 pool is created" in warning.text
    assert "default-ipv4-ippool, mine" in warning.text
    assert "`tortie get ippool default-ipv4-ippool -o yaml`" in warning.text
    assert ".." not in warning.text


def test_a_pool_that_cannot_be_read_matters_only_where_one_would_be_made() -> None:
    for known in ({"existing": networks("10.1.0.0/16")}, {"settings": PoolSettings(disabled=True)}):
        choice = choose(4, unreadable=("mine",), **known)
        assert choice.skipped
        assert not any("mine" in message.text for message in choice.messages)


def test_a_hundred_pools_that_cannot_be_read_are_one_short_line() -> None:
    [warning] = choose(4, unreadable=tuple(f"pool-{each}" for each in range(100))).messages
    assert "and 90 more" in warning.text
    assert len(warning.text) < 400

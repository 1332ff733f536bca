"""Which way the kernel would send, and from which address."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from tests.support.worlds import OFF, host, link, route

from tortie.addressing.routing import Path, Router
from tortie.model.network import MAIN_TABLE, Family, HostNetwork, Route

TWO_LINKS = host(
    link(2, "eth0", "10.0.0.5/24", "10.0.0.6/24 secondary", "10.9.0.5/16", "fd00:a::5/64", "2001:db8:a::5/64"),
    link(3, "eth1", "192.168.56.11/24", "fd00:b::5/64"),
    routes=(
        route("default", 2, via="10.0.0.1"),
        route("default6", 2, via="fe80::1", metric=1024),
        route("172.16.0.0/12", 2, via="10.9.0.1"),
        route("172.20.0.0/16", 3, via="192.168.56.1"),
        route("203.0.113.0/24", 3, via="192.168.56.1", src="10.9.0.5"),
        route("198.51.100.0/24", 3, metric=50),
        route("198.51.100.0/24", 2, metric=10),
    ),
)


def sent_from(network: HostNetwork, destination: str) -> str:
    family: Family = 6 if ":" in destination else 4
    return str(Router(network, family).source(ip_address(destination)))


@pytest.mark.parametrize(
    ("destination", "source"),
    [
        ("10.0.0.77", "10.0.0.5"),  # on the link
        ("8.8.8.8", "10.0.0.5"),  # the gateway's network
        ("172.16.0.1", "10.9.0.5"),  # another gateway, another network of the same link
        ("172.20.0.1", "192.168.56.11"),  # the longer prefix
        ("203.0.113.9", "10.9.0.5"),  # what the route prefers
        ("198.51.100.9", "10.0.0.5"),  # the lower metric
        ("192.168.56.11", "192.168.56.11"),  # ourselves
        ("10.0.0.6", "10.0.0.5"),  # our secondary address, from the primary one
        ("127.0.0.53", "127.0.0.1"),
        ("2606:4700::1", "2001:db8:a::5"),  # the world, from a global address
        ("fd00:a::77", "fd00:a::5"),
        ("fd00:b::77", "fd00:b::5"),
        ("fd00:c::77", "fd00:a::5"),  # unique local to unique local, by the default route
        ("::1", "::1"),
    ],
)
def test_sends_from_the_address_that_the_kernel_takes(destination: str, source: str) -> None:
    assert sent_from(TWO_LINKS, destination) == source


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("unreachable", "no route to host"),
        ("blackhole", "invalid argument"),
        ("prohibit", "permission denied"),
        ("throw", "network is unreachable"),
    ],
)
def test_routes_that_lead_nowhere_say_so_as_the_system_does(kind: str, error: str) -> None:
    nowhere = Route(route("10.5.0.0/16").destination, kind=kind)
    network = host(link(2, "eth0", "10.0.0.5/24"), routes=(route("default", 2, via="10.0.0.1"), nowhere))
    assert sent_from(network, "10.5.1.1") == error
    assert sent_from(network, "10.6.1.1") == "10.0.0.5"


def test_without_a_route_the_network_is_unreachable() -> None:
    assert sent_from(host(link(2, "eth0", "10.0.0.5/24")), "8.8.8.8") == "network is unreachable"
    assert sent_from(host(link(2, "eth0", "10.0.0.5/24")), "2001:db8::1") == "network is unreachable"


def test_an_interface_that_is_off_carries_nothing() -> None:
    network = host(
        link(2, "eth0", "10.0.0.5/24", flags=OFF),
        link(3, "eth1", "10.1.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1"), route("default", 3, via="10.1.0.1", metric=100)),
    )
    assert sent_from(network, "8.8.8.8") == "10.1.0.5"


def test_other_tables_do_not_count() -> None:
    elsewhere = route("default", 2, via="10.0.0.1")._replace(table=MAIN_TABLE + 1)
    assert sent_from(host(link(2, "eth0", "10.0.0.5/24"), routes=(elsewhere,)), "8.8.8.8") == "network is unreachable"


def test_an_interface_without_an_address_borrows_one() -> None:
    network = host(link(2, "lan", "10.0.0.5/24"), link(3, "uplink"), routes=(route("default", 3),))
    assert sent_from(network, "8.8.8.8") == "10.0.0.5"
    path = Router(network, 4).path(ip_address("8.8.8.8"))
    assert isinstance(path, Path)
    assert path.interface.name == "uplink"


def test_without_any_address_an_ipv4_socket_connects_from_nowhere() -> None:
    assert sent_from(host(link(2, "eth0"), routes=(route("default", 2),)), "8.8.8.8") == "0.0.0.0"


def test_a_single_address_with_a_gateway_on_the_link() -> None:
    network = host(
        link(2, "ens4", "10.128.0.5/32"),
        routes=(route("10.128.0.1/32", 2), route("default", 2, via="10.128.0.1")),
    )
    assert sent_from(network, "10.128.0.9") == "10.128.0.5"


def test_deprecated_addresses_come_last() -> None:
    network = host(
        link(2, "eth0", "2001:db8:a::1/64 deprecated", "2001:db8:b::1/64"),
        routes=(route("default6", 2, via="fe80::1"),),
    )
    assert sent_from(network, "2606:4700::1") == "2001:db8:b::1"


def test_addresses_of_one_label_belong_together_before_any_prefix() -> None:
    network = host(link(2, "eth0", "2002:a00:1::5/64", "2a00:1::5/64"), routes=(route("default6", 2, via="fe80::1"),))
    assert sent_from(network, "2003::1") == "2a00:1::5"


def test_an_address_on_two_interfaces_is_the_first_ones() -> None:
    network = host(link(2, "eth0", "10.2.0.43/8", "10.2.0.247/8 secondary"), link(3, "eth1", "10.2.0.247/24"))
    assert sent_from(network, "10.2.0.247") == "10.2.0.43"


def test_a_secondary_address_never_sends_by_itself() -> None:
    network = host(
        link(2, "eth0", "10.0.0.6/24 secondary", "10.0.0.5/24"), routes=(route("default", 2, via="10.0.0.1"),)
    )
    assert sent_from(network, "8.8.8.8") == "10.0.0.5"

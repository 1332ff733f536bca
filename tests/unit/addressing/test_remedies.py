"""Two candidates or none: what is told is what would help, and it does."""

from __future__ import annotations

import pytest
from tests.support.worlds import NO_CARRIER, address, host, link, nodes, route

from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import AGREED
from tortie.model.network import Family, HostNetwork

NIC = link(2, "eth0", "10.0.0.5/24")


def agreed(network: HostNetwork, *others: str, family: Family = 4) -> Choice:
    return choose(AGREED, family, Surroundings(network, nodes(*others)))


def test_two_that_cannot_be_told_apart_are_both_named() -> None:
    choice = agreed(host(NIC, link(3, "eth1", "192.168.0.5/24")))
    assert choice.chosen is None
    assert [(each.address, each.interface) for each in choice.tied] == [
        ("10.0.0.5/24", "eth0"),
        ("192.168.0.5/24", "eth1"),
    ]
    for name in ("10.0.0.5/24 on eth0", "192.168.0.5/24 on eth1"):
        assert name in choice.failure
    assert choice.fix.startswith(
        "say which: IP_AUTODETECTION_METHOD=interface=eth0 for 10.0.0.5/24, "
        "or IP_AUTODETECTION_METHOD=interface=eth1 for 192.168.0.5/24; "
    )
    assert "a default route from one of them" in choice.fix


def even_routes(*metrics: int) -> HostNetwork:
    """Two ways out that are equally good, or not."""
    first, second = metrics
    return host(
        NIC,
        link(3, "eth1", "192.168.0.5/24"),
        routes=(
            route("default", 2, via="10.0.0.1", metric=first),
            route("default", 3, via="192.168.0.1", metric=second),
        ),
    )


def test_two_equal_default_routes_are_not_told_to_get_a_default_route() -> None:
    choice = agreed(even_routes(100, 100))
    assert [each.reason for each in choice.tied] == ["it carries a default route"] * 2
    assert "a default route from" not in choice.fix
    assert "a lower metric for one of their default routes" in choice.fix
    assert agreed(even_routes(100, 99)).interface == "eth1"  # the advice holds


def test_one_default_route_for_two_addresses_of_an_interface_needs_a_source() -> None:
    network = host(link(2, "eth0", "10.0.0.5/24", "192.168.0.5/24"), routes=(route("default", 2, via="172.16.0.1"),))
    assert "a source address (src) in the default route" in agreed(network).fix


def test_a_default_route_elsewhere_that_was_outvoted_is_not_asked_for_again() -> None:
    network = host(NIC, link(3, "eth1", "192.168.0.5/24"), link(4, "eth2", "172.16.0.5/24"))
    network = network._replace(routes=(*network.routes, route("default", 4, via="172.16.0.1")))
    choice = agreed(network, "10.0.0.6/24", "192.168.0.6/24")
    assert [each.interface for each in choice.tied] == ["eth0", "eth1"]
    assert "default route" not in choice.fix
    assert "another node would decide it" in choice.fix


def test_a_hundred_equal_networks_are_not_all_explained() -> None:
    network = host(*(link(2 + each, f"eth{each}", f"10.{each}.0.5/24") for each in range(100)))
    choice = agreed(network)
    assert len(choice.tied) == 100
    assert "interface=^eth1$ for 10.1.0.5/24" in choice.fix  # a plain eth1 would also mean eth10
    assert "and so on for 94 more" in choice.fix


IPV6_ALONE = link(2, "eth0", "2001:db8::5/64", "fe80::5/64")


@pytest.mark.parametrize(
    "network",
    [
        host(IPV6_ALONE),
        host(IPV6_ALONE, link(3, "docker0", "172.17.0.1/16", kind="bridge", flags=NO_CARRIER)),
        host(IPV6_ALONE, link(3, "eth1", "fd00::5/64")),
    ],
    ids=["one address", "beside docker", "two candidates"],
)
def test_a_machine_with_ipv6_alone_is_told_how_to_say_so(network: HostNetwork) -> None:
    fix = agreed(network).fix
    assert "IP=none" in fix
    assert fix.index("IP6=autodetect") < fix.index("CALICO_ROUTER_ID=hash") < fix.index("give eth0 an IPv4 address")


@pytest.mark.parametrize(
    "network",
    [
        host(link(2, "eth0", "fe80::5/64")),
        host(link(2, "eth0", "2001:db8::5/64 tentative")),
        host(link(2, "eth0", "10.0.0.5/24", "2001:db8::5/64", flags=NO_CARRIER)),
        host(link(2, "eth0", "169.254.9.9/16", "2001:db8::5/64")),
    ],
    ids=["link-local", "tentative", "no cable", "a lease that did not come"],
)
def test_ipv6_alone_is_not_advised_where_it_would_not_do(network: HostNetwork) -> None:
    assert "IP=none" not in agreed(network).fix


def test_a_machine_with_ipv4_alone_may_do_without_ipv6() -> None:
    fix = agreed(host(NIC._replace(addresses=(*NIC.addresses, address("fe80::5/64")))), family=6).fix
    assert "IP6=none" in fix
    assert "give eth0 an IPv6 address" in fix


def test_advice_for_a_tie_would_break_the_tie() -> None:
    one_link = agreed(host(link(2, "eth0", "10.0.0.5/24", "192.168.0.5/24")))
    assert "interface=" not in one_link.fix
    assert "cidr=10.0.0.0/24" in one_link.fix
    assert "cidr=192.168.0.0/24" in one_link.fix
    ipv6 = agreed(host(link(2, "eth0", "fd00:a::5/64"), link(3, "eth1", "fd00:b::5/64")), family=6)
    assert "IP6_AUTODETECTION_METHOD=interface=eth0" in ipv6.fix
    assert "IP6_AUTODETECTION_METHOD=interface=eth1" in ipv6.fix
    one_network = agreed(host(NIC, link(3, "eth0.7", "10.0.0.6/24", kind="vlan", parent=2)))
    assert "interface=^eth0$ for 10.0.0.5/24" in one_network.fix  # eth0 alone would mean both
    assert "interface=eth0.7 for 10.0.0.6/24" in one_network.fix
    # The method takes the first address of an interface, whatever it is; here that is not the one meant.
    hidden = agreed(host(link(2, "eth0", "10.0.9.9/24 deprecated", "10.0.0.5/24"), link(3, "eth1", "10.0.0.6/24")))
    assert "cidr=" not in hidden.fix
    assert "IP=10.0.0.5/24 for 10.0.0.5/24" in hidden.fix
    assert "interface=eth1 for 10.0.0.6/24" in hidden.fix

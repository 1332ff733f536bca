"""Tortie's own choice: right in the incidents without configuration, and honest where it cannot know."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest
from tests.support.worlds import NO_CARRIER, OFF, UP, host, link, nodes, route

from tortie.addressing.agreed import worth_waiting
from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import AGREED
from tortie.model.network import Family, HostNetwork, Interface

NIC = link(2, "eth0", "10.0.0.5/24")
WAY_OUT = (route("default", 2, via="10.0.0.1"),)


def agreed(
    network: HostNetwork,
    *others: str,
    family: Family = 4,
    stored: str = "",
    pools: tuple[str, ...] = (),
) -> Choice:
    own = (ip_interface(stored),) if stored else ()
    surroundings = Surroundings(network, nodes(*others), own, tuple(map(ip_network, pools)))
    return choose(AGREED, family, surroundings)


def why_not(choice: Choice, interface: str) -> str:
    reasons = [each.reason for each in choice.rejected if each.interface == interface]
    assert len(reasons) == 1, f"{interface} has {len(reasons)} reasons"
    return reasons[0]


def docker_bridge(index: int, *, used: bool = True) -> tuple[Interface, ...]:
    """A network that docker compose made, with a container in it or idle."""
    bridge = link(index, "br-3a10a9384428", "172.18.0.1/16", kind="bridge", flags=UP if used else NO_CARRIER)
    container = link(index + 1, "veth7f0c2d1", kind="veth", master=index, parent=5, elsewhere=True)
    return (bridge, container) if used else (bridge,)


@pytest.mark.parametrize("used", [True, False], ids=["used", "idle"])
@pytest.mark.parametrize("index", [3, 14], ids=["bridge first", "bridge last"])
@pytest.mark.parametrize(
    "others",
    [
        (),
        ("10.0.0.6/24",),
        ("172.18.0.1/16",),  # the other node fell for its own bridge
        ("10.1.0.6/24", "10.2.0.6/24"),  # racks with a router between
        ("10.0.0.6/24", "172.18.0.1/16", "172.18.0.1/16", "172.18.0.9/16"),
    ],
    ids=["first node", "two nodes", "misled peer", "racks", "mostly misled peers"],
)
@pytest.mark.parametrize("stored", ["", "172.18.0.1/16", "10.0.0.5/24"])
def test_a_docker_bridge_is_never_the_node(used: bool, index: int, others: tuple[str, ...], stored: str) -> None:
    nic = NIC._replace(index=10)
    network = host(nic, *docker_bridge(index, used=used), routes=(route("default", 10, via="10.0.0.1"),))
    choice = agreed(network, *others, stored=stored)
    assert (str(choice.chosen), choice.interface) == ("10.0.0.5/24", "eth0")
    assert choice.messages[0].text == "Using autodetected IPv4 address on interface eth0: 10.0.0.5/24"
    assert "br-3a10a9384428" in why_not(choice, "br-3a10a9384428")


@pytest.mark.parametrize("order", [(2, 3), (3, 2)], ids=["ens18 first", "ens19 first"])
@pytest.mark.parametrize(
    "others",
    [
        (),
        ("172.17.73.65/22",),
        ("172.17.73.65/22", "10.0.0.63/24"),
        ("172.17.73.65/22", "172.17.73.60/22", "10.0.0.63/24"),
    ],
    ids=["first node", "two nodes", "one peer misled", "three peers"],
)
@pytest.mark.parametrize("stored", ["", "10.0.0.66/24", "172.18.0.1/16", "172.17.73.66/22"])
def test_a_second_nic_and_a_virtual_address_do_not_mislead(
    order: tuple[int, int], others: tuple[str, ...], stored: str
) -> None:
    network = host(
        link(order[0], "ens18", "172.17.73.66/22", "172.17.73.63/22 secondary"),
        link(order[1], "ens19", "10.0.0.66/24"),
        link(4, "cali0a1b2c3d4e5", kind="veth", parent=4, elsewhere=True),
        link(5, "tunl0", "10.109.169.0/32", kind="ipip"),
        link(6, "kube-ipvs0", "10.96.0.1/32", "10.99.214.53/32", kind="dummy", flags=OFF),
        routes=(route("default", order[0], via="172.17.72.1"),),
    )
    choice = agreed(network, *others, stored=stored)
    assert (str(choice.chosen), choice.interface) == ("172.17.73.66/22", "ens18")
    reasons = {each.address: each.reason for each in choice.rejected}
    assert "secondary" in reasons["172.17.73.63/22"]
    assert "172.17.73.66/22 on ens18" in reasons["10.0.0.66/24"]


VAGRANT = host(
    link(2, "eth0", "10.0.2.15/24"),
    link(3, "eth1", "192.168.56.11/24"),
    routes=(route("default", 2, via="10.0.2.2"),),
)


def test_other_nodes_outvote_the_default_route_with_a_warning() -> None:
    choice = agreed(VAGRANT, "192.168.56.12/24", "192.168.56.13/24")
    assert (str(choice.chosen), choice.interface) == ("192.168.56.11/24", "eth1")
    assert choice.reasons == ("2 of 2 other nodes are reached from it",)
    assert [message.level for message in choice.messages] == ["info", "info", "warning"]
    assert "10.0.2.15/24 on eth0" in choice.messages[-1].text


def test_a_node_at_our_own_address_has_no_vote() -> None:
    choice = agreed(VAGRANT, "10.0.2.15/24", "10.0.2.15/24", "192.168.56.12/24")
    assert choice.interface == "eth1"
    assert choice.reasons == ("1 of 1 other nodes are reached from it",)


def test_racks_are_reached_by_the_default_route() -> None:
    network = host(NIC, link(3, "eth1", "192.168.0.5/24"), routes=WAY_OUT)
    choice = agreed(network, "10.1.0.5/24", "10.2.0.5/24", "10.3.0.5/24")
    assert choice.interface == "eth0"
    assert choice.reasons == ("3 of 3 other nodes are reached from it", "it carries the default route")
    assert not any(message.level == "warning" for message in choice.messages)


def test_a_single_address_with_a_gateway_beside_it_as_in_google_cloud() -> None:
    network = host(
        link(2, "ens4", "10.128.0.5/32"),
        routes=(route("10.128.0.1/32", 2), route("default", 2, via="10.128.0.1")),
    )
    choice = agreed(network, "10.128.0.6/32")
    assert str(choice.chosen) == "10.128.0.5/32"
    assert choice.reasons == (
        "it is the only candidate",
        "1 of 1 other nodes are reached from it",
        "it carries the default route",
    )


def test_what_leaves_by_a_tunnel_is_no_vote() -> None:
    tunnel = link(3, "wg0", kind="wireguard")
    network = host(NIC, tunnel, link(4, "eth1", "10.9.0.5/24"), routes=(route("10.50.0.0/16", 3), *WAY_OUT))
    choice = agreed(network, "10.50.0.1/16", "10.50.0.2/16", "10.9.0.6/24")
    assert choice.interface == "eth1"


def test_an_address_of_another_interface_is_no_vote_for_the_way_out() -> None:
    routed = link(4, "dummy0", "10.255.0.1/32", kind="dummy")
    network = host(
        NIC,
        link(3, "eth1", "192.168.0.5/24"),
        routed,
        routes=(route("10.50.0.0/16", 2, src="10.255.0.1"), route("default", 3, via="192.168.0.1")),
    )
    assert agreed(network, "10.50.0.1/16").interface == "eth1"


def test_no_warning_where_several_have_the_default_route() -> None:
    network = host(
        NIC,
        link(3, "eth1", "192.168.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1"), route("default", 3, via="192.168.0.1")),
    )
    choice = agreed(network, "192.168.0.6/24")
    assert choice.interface == "eth1"
    assert {message.level for message in choice.messages} == {"info"}


def test_the_record_decides_what_nothing_else_does() -> None:
    network = host(NIC, link(3, "eth1", "192.168.0.5/24"))
    choice = agreed(network, stored="192.168.0.5/24")
    assert (choice.interface, choice.reasons) == ("eth1", ("it was registered before",))


def test_the_gateways_network_decides_on_one_interface() -> None:
    network = host(link(2, "eth0", "192.168.0.5/24", "10.0.0.5/24"), routes=WAY_OUT)
    assert str(agreed(network).chosen) == "10.0.0.5/24"
    preferred = host(
        link(2, "eth0", "192.168.0.5/24", "10.0.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1", src="192.168.0.5"),),
    )
    assert str(agreed(preferred).chosen) == "192.168.0.5/24"


def test_the_default_route_with_the_lowest_metric_counts() -> None:
    network = host(
        NIC,
        link(3, "eth1", "192.168.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1", metric=200), route("default", 3, via="192.168.0.1", metric=100)),
    )
    assert agreed(network).interface == "eth1"
    even = host(
        NIC,
        link(3, "eth1", "192.168.0.5/24"),
        routes=(route("default", 2, via="10.0.0.1", metric=100), route("default", 3, via="192.168.0.1", metric=100)),
    )
    assert len(agreed(even).tied) == 2


def test_a_vpn_with_the_default_route_does_not_have_the_node() -> None:
    network = host(
        NIC,
        link(3, "tun0", "10.8.0.2/24", kind="tun"),
        link(4, "eth1", "192.168.0.5/24"),
        routes=(route("default", 3), route("default", 2, via="10.0.0.1", metric=100)),
    )
    assert agreed(network).interface == "eth0"


def test_equal_addresses_of_one_network_are_said_to_be_equal() -> None:
    network = host(link(2, "eth0", "fd00::a/64 mngtmpaddr", "fd00::b/64 permanent"))
    choice = agreed(network, family=6)
    assert str(choice.chosen) == "fd00::b/64"
    assert choice.reasons == ("it is as good as fd00::a/64 and is permanent",)
    assert why_not(choice, "eth0") == "in the same network as fd00::b/64, which is permanent"
    assert str(agreed(host(link(2, "eth0", "fd00::a/64", "fd00::b/64")), family=6).chosen) == "fd00::a/64"


def test_the_world_is_reached_from_a_global_address() -> None:
    network = host(link(2, "eth0", "fd00::5/64", "2001:db8::5/64"), routes=(route("default6", 2, via="fe80::1"),))
    assert str(agreed(network, family=6).chosen) == "2001:db8::5/64"
    assert str(agreed(network, "fd00::6/64", family=6).chosen) == "fd00::5/64"


def test_privacy_addresses_vote_for_their_stable_neighbour() -> None:
    network = host(link(2, "eth0", "2001:db8::5/64", "2001:db8::abcd/64 temporary"))
    choice = agreed(network, "2001:db8::6/64", family=6)
    assert str(choice.chosen) == "2001:db8::5/64"
    assert "1 of 1 other nodes are reached from it" in choice.reasons
    preferred = host(
        link(2, "eth0", "2001:db8::5/64", "2001:db8::abcd/64 temporary"),
        link(3, "eth1", "fd00::5/64"),
        routes=(route("2001:db8:9::/48", 2, src="2001:db8::abcd"), route("default6", 3, via="fd00::1")),
    )
    assert agreed(preferred, "2001:db8:9::6/64", family=6).interface == "eth0"


def test_an_overlapping_pool_is_named_as_what_stands_in_the_way() -> None:
    choice = agreed(host(NIC, routes=WAY_OUT), pools=("10.0.0.0/8",))
    assert choice.chosen is None
    assert (
        choice.failure == "Unable to auto-detect an IPv4 address: no valid IPv4 addresses found on the host interfaces"
    )
    assert "the pool overlaps the network of this node" in choice.fix
    assert "IP=10.0.0.5/24" in choice.fix


def test_waits_for_a_cable_or_a_lease() -> None:
    for coming in (link(2, "eth0", flags=NO_CARRIER), link(2, "eth0"), link(2, "eth0", "169.254.9.9/16")):
        choice = agreed(host(coming))
        assert choice.pending == ("eth0",)
        assert worth_waiting(choice)
        assert "give eth0 an IPv4 address" in choice.fix


def test_does_not_wait_for_what_cannot_come() -> None:
    network = host(
        NIC,
        link(3, "eth1", flags=OFF),
        link(4, "docker0", kind="bridge", flags=NO_CARRIER),
        link(5, "cali1", kind="veth", parent=3, elsewhere=True),
        link(6, "eth2", master=2),
        link(7, "wg0", kind="wireguard"),
    )
    choice = agreed(network)
    assert choice.pending == ()
    assert not worth_waiting(choice)


def test_waits_only_while_nothing_stands_behind_the_choice() -> None:
    coming = link(3, "eth1", flags=NO_CARRIER)
    alone = agreed(host(NIC, coming))
    assert (alone.interface, alone.pending) == ("eth0", ("eth1",))
    assert worth_waiting(alone)
    assert not worth_waiting(agreed(host(NIC, coming, routes=WAY_OUT)))
    assert not worth_waiting(agreed(host(NIC, coming), "10.0.0.6/24"))


def test_a_fixed_address_without_a_cable_is_waited_for() -> None:
    choice = agreed(host(link(2, "eth0", "10.0.0.5/24", flags=NO_CARRIER)))
    assert (choice.chosen, choice.pending) == (None, ("eth0",))


def test_a_tentative_address_is_worth_waiting_for() -> None:
    choice = agreed(host(link(2, "eth0", "fd00::5/64 tentative")), family=6)
    assert choice.pending == ("eth0",)
    assert worth_waiting(choice)


def test_families_do_not_mix() -> None:
    network = host(link(2, "eth0", "10.0.0.5/24", "fd00::5/64"), routes=WAY_OUT)
    surroundings = Surroundings(network, {"a": (ip_interface("10.0.0.6/24"), ip_interface("fd00::6/64"))})
    for family, address in ((4, "10.0.0.5/24"), (6, "fd00::5/64")):
        choice = choose(AGREED, 4 if family == 4 else 6, surroundings)
        assert str(choice.chosen) == address
        assert "1 of 1 other nodes are reached from it" in choice.reasons
        assert all(ip_interface(each.address).version == family for each in choice.rejected if each.address)

"""What is real on a machine and what software made up: named interfaces of both sorts, each with its reason."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest
from tests.support.worlds import NO_CARRIER, OFF, UP, host, link, nodes, route

from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import AGREED
from tortie.model.network import Family, HostNetwork, Interface

NIC = link(2, "eth0", "10.0.0.5/24")
WAY_OUT = (route("default", 2, via="10.0.0.1"),)


def agreed(network: HostNetwork, family: Family = 4) -> Choice:
    return choose(AGREED, family, Surroundings(network))


def why_not(choice: Choice, interface: str) -> str:
    reasons = [each.reason for each in choice.rejected if each.interface == interface]
    assert len(reasons) == 1, f"{interface} has {len(reasons)} reasons"
    return reasons[0]


REAL = [
    host(link(2, "br0", "10.0.0.5/24", kind="bridge"), link(3, "ens3", master=2)),
    host(link(2, "br-lan", "10.0.0.5/24", kind="bridge"), link(3, "ens3", master=2)),
    host(link(2, "vmbr0", "10.0.0.5/24", kind="bridge"), link(3, "bond0", kind="bond", master=2)),
    host(link(2, "bond0", "10.0.0.5/24", kind="bond"), link(3, "ens3", master=2), link(4, "ens4", master=2)),
    host(link(2, "ens3"), link(3, "ens3.100", "10.0.0.5/24", kind="vlan", parent=2)),
    host(link(2, "bond0", kind="bond"), link(3, "bond0.7", "10.0.0.5/24", kind="vlan", parent=2)),
    host(link(2, "eth0", "10.0.0.5/24", kind="veth", parent=7, elsewhere=True)),
    host(link(2, "eth0", "10.0.0.5/24", kind="veth", parent=1, elsewhere=True)),  # the number is another namespace's
    host(link(2, "eth0", "10.0.0.5/24", kind="veth")),
    host(link(2, "eth0", "10.0.0.5/24", kind="macvlan", parent=7, elsewhere=True)),
    host(link(2, "blue", kind="vrf"), link(3, "ens3", "10.0.0.5/24", master=2)),
    host(
        link(2, "ovs-system", kind="openvswitch", flags=OFF),
        link(3, "ens3", master=2),
        link(4, "br-ex", "10.0.0.5/24", kind="openvswitch"),
    ),
    host(link(2, "lorawan0", "10.0.0.5/24")),
    host(link(2, "wlp3s0", "10.0.0.5/24 dynamic")),
]


@pytest.mark.parametrize("network", REAL, ids=lambda network: "+".join(each.name for each in network.interfaces[1:]))
def test_real_interfaces_are_taken(network: HostNetwork) -> None:
    choice = agreed(network)
    assert str(choice.chosen) == "10.0.0.5/24", choice.rejected


ADDRESS = "172.30.0.5/24"
MADE_UP = [
    (link(3, "eth9", ADDRESS, flags=OFF), "is down"),
    (link(3, "eth9", ADDRESS, flags=NO_CARRIER), "no carrier"),
    (link(3, "eth9", ADDRESS)._replace(state="dormant"), "no carrier"),
    (link(3, "docker0", ADDRESS, kind="bridge"), "^docker.*"),
    (link(3, "mynet", ADDRESS, kind="bridge"), "without a real interface as its port"),
    (link(3, "br-lan", ADDRESS, kind="bridge"), "without a real interface as its port"),
    (link(3, "br-lan", ADDRESS), "^br-.*"),
    (link(3, "cni0", ADDRESS, kind="bridge"), "^cni.*"),
    (link(3, "weave", ADDRESS, kind="bridge"), "call their devices"),
    (link(3, "cilium_host", ADDRESS), "call their devices"),
    (link(3, "tailscale0", ADDRESS), "call their devices"),
    (link(3, "zt5u4y6ejv", ADDRESS), "call their devices"),
    (link(3, "antrea-gw0", ADDRESS), "call their devices"),
    (link(3, "kube-bridge", ADDRESS, kind="bridge"), "call their devices"),
    (link(3, "veth12ab", ADDRESS, kind="veth", parent=9, elsewhere=True), "^veth.*"),
    (link(3, "eth9", ADDRESS, kind="veth", parent=2), "other end is on this machine"),
    (link(3, "uplink", ADDRESS, kind="dummy"), "(dummy)"),
    (link(3, "overlay", ADDRESS, kind="vxlan"), "(vxlan)"),
    (link(3, "vpn", ADDRESS, kind="wireguard"), "(wireguard)"),
    (link(3, "vpn", ADDRESS, kind="tun"), "(tun)"),
    (link(3, "vpn", ADDRESS, kind="gre"), "(gre)"),
    (link(3, "eth9", ADDRESS, master=2), "a port of eth0"),
    (link(3, "eth9", ADDRESS, master=77), "a port of another interface"),
    (link(3, "br-ex", ADDRESS, kind="openvswitch"), "no real interface is a port"),
    (link(3, "eth9", "172.30.0.5/24 deprecated"), "deprecated"),
    (link(3, "eth9", "172.30.0.5/24 tentative"), "whether it is free"),
    (link(3, "eth9", "172.30.0.5/24 dadfailed"), "another machine"),
    (link(3, "eth9", "172.30.0.5/24 scope=link"), "scope is link"),
    (link(3, "eth9", "169.254.7.7/16"), "link-local"),
    (link(3, "eth9", "10.244.0.1/24"), "the pool 10.244.0.0/16"),
    (link(3, "eth9"), "has no IPv4 address"),
]


@pytest.mark.parametrize(
    ("other", "reason"), MADE_UP, ids=lambda each: each.name if isinstance(each, Interface) else ""
)
def test_what_cannot_be_the_node_is_ruled_out_with_its_reason(other: Interface, reason: str) -> None:
    # Everything speaks for the other one: the default route, the record, and a peer in its network.
    network = host(NIC, other, routes=(route("default", 3), route("10.0.0.99/32", 3)))
    stored, pools = (ip_interface("172.30.0.5/24"),), (ip_network("10.244.0.0/16"),)
    choice = choose(AGREED, 4, Surroundings(network, nodes("10.0.0.99/24"), stored, pools))
    assert (str(choice.chosen), choice.interface) == ("10.0.0.5/24", "eth0")
    assert reason in why_not(choice, other.name)


def test_the_loopback_is_never_the_node() -> None:
    choice = agreed(HostNetwork((link(1, "lo", "127.0.0.1/8", "10.255.0.1/32", flags=UP | {"loopback"}),)))
    assert choice.chosen is None
    assert {each.reason for each in choice.rejected} == {"the loopback interface"}


def test_a_vlan_on_something_made_up_is_made_up() -> None:
    network = host(NIC, link(3, "docker0", kind="bridge"), link(4, "lan7", "172.30.0.5/24", kind="vlan", parent=3))
    assert "built on docker0" in why_not(agreed(network), "lan7")


def test_a_circle_of_interfaces_ends() -> None:
    network = host(
        link(2, "left", "10.0.0.5/24", kind="vlan", parent=3), link(3, "right", "10.1.0.5/24", kind="macvlan", parent=2)
    )
    assert len(agreed(network).tied) == 2


def test_a_single_address_beside_a_network_looks_virtual() -> None:
    network = host(link(2, "eth0", "10.0.0.100/32", "10.0.0.5/24"), routes=WAY_OUT)
    choice = agreed(network)
    assert str(choice.chosen) == "10.0.0.5/24"
    assert "looks like a virtual one" in why_not(choice, "eth0")


def test_a_single_ipv6_address_beside_a_temporary_one_is_all_there_is() -> None:
    network = host(link(2, "eth0", "2001:db8::5/128", "2001:db8::abcd/64 temporary"))
    assert str(agreed(network, 6).chosen) == "2001:db8::5/128"


def test_one_bit_of_the_kernel_means_temporary_in_ipv6() -> None:
    network = host(link(2, "eth0", "2001:db8::5/64", "2001:db8::abcd/64 secondary"))
    assert "temporary" in why_not(agreed(network, 6), "eth0")

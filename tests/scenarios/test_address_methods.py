"""Every way to an address on real links: what the kernel reports goes in, as it does in the agent."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface, ip_network
from typing import Any

import pytest
from tests.support.netns import Namespace

from tortie.addressing.choice import Choice, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import CanReach, parse_method
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.host.links import observe
from tortie.host.reach import source_towards
from tortie.model.network import Family

V3_20, V3_24_2, V3_25 = CalicoVersion(3, 20), CalicoVersion(3, 24, 2), CalicoVersion(3, 25)


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """In the order of creation, which is that of indexes: a NIC, docker's bridges, a second NIC, a NIC that is down."""
    with Namespace("methods") as machine, Namespace("network") as network:
        machine.veth("eth0", network, "port0")
        machine.bridge("docker0")
        machine.veth("eth1", network, "port1")
        machine.bridge("br-3a10a9384428")
        machine.veth("plover0", network, "port2")
        machine.veth("eth2", network, "port3")
        for name, *addresses in (
            ("eth0", "10.0.0.5/24", "10.0.0.50/24", "fd00:a::5/64"),
            ("docker0", "172.17.0.1/16"),
            ("eth1", "192.168.7.5/24", "fd00:b::5/64"),
            ("br-3a10a9384428", "172.18.0.1/16", "fd00:c::1/64"),
            ("plover0", "10.9.9.9/24"),
            ("eth2", "10.8.8.8/24"),
        ):
            for address in addresses:
                machine.ip("addr", "add", address, "dev", name, *(["nodad"] if ":" in address else []))
        machine.ip("link", "set", "eth2", "down")
        machine.ip("route", "add", "default", "via", "10.0.0.254")
        machine.ip("route", "add", "10.50.0.0/16", "via", "192.168.7.254")
        machine.ip("-6", "route", "add", "default", "via", "fd00:b::fe")
        yield machine


def chosen(host: Namespace, method: str, family: Family = 4, version: CalicoVersion = LATEST, **known: Any) -> Choice:
    parsed = parse_method(method)

    def look() -> Choice:
        surroundings = Surroundings(observe())._replace(**known)
        if isinstance(parsed, CanReach):
            reach = {(parsed.destination, family): source_towards(parsed.destination, family, 2.0)}
            surroundings = surroundings._replace(reach=reach)
        return choose(parsed, family, surroundings, version)

    choice = host.call(look)
    named = [each.address for each in (*choice.rejected, *choice.tied) if each.address]
    assert len(named) == len(set(named)), "every address has one fate"
    return choice


@pytest.mark.parametrize(
    ("method", "family", "version", "address", "interface"),
    [
        # Up to v3.24.2 the list is unanchored: `lo` in plover0 is enough. It ignores that eth2 is down.
        ("first-found", 4, V3_20, "10.8.8.8/24", "eth2"),
        ("skip-interface=eth2", 4, V3_24_2, "172.18.0.1/16", "br-3a10a9384428"),
        ("skip-interface=eth2", 4, V3_25, "10.9.9.9/24", "plover0"),
        ("skip-interface=eth2,plover", 4, V3_25, "192.168.7.5/24", "eth1"),
        ("skip-interface=eth2,plover", 6, V3_24_2, "fd00:c::1/64", "br-3a10a9384428"),
        ("first-found", 6, V3_25, "fd00:b::5/64", "eth1"),
        ("first-found", 6, V3_20, "fd00:c::1/64", "br-3a10a9384428"),
        ("interface=docker.*", 4, LATEST, "172.17.0.1/16", "docker0"),
        ("interface=eth[01]", 4, LATEST, "192.168.7.5/24", "eth1"),
        ("interface=^eth0$,^docker0$", 4, LATEST, "172.17.0.1/16", "docker0"),
        ("interface=eth0", 6, LATEST, "fd00:a::5/64", "eth0"),
        ("cidr=10.0.0.0/24", 4, LATEST, "10.0.0.5/24", "eth0"),
        ("cidr=172.16.0.0/12", 4, LATEST, "172.18.0.1/16", "br-3a10a9384428"),
        ("cidr=fd00:a::/64", 6, LATEST, "fd00:a::5/64", "eth0"),
        ("can-reach=8.8.8.8", 4, LATEST, "10.0.0.5/24", "eth0"),
        ("can-reach=10.50.1.1", 4, LATEST, "192.168.7.5/24", "eth1"),
        ("can-reach=172.18.5.5", 4, LATEST, "172.18.0.1/16", "br-3a10a9384428"),
        ("can-reach=2001:db8::1", 6, LATEST, "fd00:b::5/64", "eth1"),
        ("agreed", 4, LATEST, "10.0.0.5/24", "eth0"),
        ("agreed", 6, LATEST, "fd00:b::5/64", "eth1"),
    ],
)
def test_each_method_takes_what_it_says(
    host: Namespace, method: str, family: Family, version: CalicoVersion, address: str, interface: str
) -> None:
    choice = chosen(host, method, family, version)
    assert (str(choice.chosen), choice.interface) == (address, interface), choice


def test_the_internal_ip_gets_the_prefix_of_its_interface(host: Namespace) -> None:
    ips = (ip_interface("192.168.7.5/32").ip, ip_interface("fd00:a::5").ip)
    assert str(chosen(host, "kubernetes-internal-ip", internal_ips=ips).chosen) == "192.168.7.5/24"
    assert str(chosen(host, "kubernetes-internal-ip", 6, internal_ips=ips).chosen) == "fd00:a::5/64"
    nobody = chosen(host, "kubernetes-internal-ip")
    assert (nobody.chosen, nobody.failure) == (
        None,
        "Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster",
    )


@pytest.mark.parametrize(
    ("method", "failure"),
    [
        ("interface=wlan.*", "Unable to auto-detect an IPv4 address using interface regexes [wlan.*]: no valid host"),
        ("cidr=203.0.113.0/24", "Unable to auto-detect an IPv4 address using interface cidr"),
        ("can-reach=2001:db8::1", "Unable to auto-detect IPv4 address by connecting to 2001:db8::1: "),
    ],
)
def test_a_method_that_finds_nothing_says_so_in_calicos_words(host: Namespace, method: str, failure: str) -> None:
    choice = chosen(host, method)
    assert choice.chosen is None
    assert choice.failure.startswith(failure)


def test_the_others_outvote_the_default_route(host: Namespace) -> None:
    others = {f"n{index}": (ip_interface(f"192.168.7.{index}/24"),) for index in range(10, 13)}
    choice = chosen(host, "agreed", others=others)
    assert str(choice.chosen) == "192.168.7.5/24"
    assert "3 of 3 other nodes are reached from it" in choice.reasons


def test_every_candidate_that_was_not_taken_has_its_reason(host: Namespace) -> None:
    reasons = {each.address or each.interface: each.reason for each in chosen(host, "agreed").rejected}
    assert "loopback" in reasons["127.0.0.1/8"]
    assert "secondary" in reasons["10.0.0.50/24"]
    assert "default route" in reasons["192.168.7.5/24"]
    assert "down" in reasons["10.8.8.8/24"]
    assert {"172.17.0.1/16", "172.18.0.1/16"} <= set(reasons)


@pytest.mark.parametrize("bridge_first", [True, False])
@pytest.mark.parametrize("others", [(), ("10.0.0.2/24",), ("10.0.0.2/24", "172.18.0.1/16")])
def test_incident_2_in_any_order_and_any_company(bridge_first: bool, others: tuple[str, ...]) -> None:
    """The docker bridge before or after the NIC; first node of all, second, and beside one that fell for its bridge."""
    with Namespace("incident2") as machine, Namespace("network") as network:
        if bridge_first:
            machine.bridge("br-3a10a9384428")
        machine.veth("eth0", network, "port0")
        if not bridge_first:
            machine.bridge("br-3a10a9384428")
        machine.ip("addr", "add", "172.18.0.1/16", "dev", "br-3a10a9384428")
        machine.ip("addr", "add", "10.0.0.1/24", "dev", "eth0")
        registered = {f"n{index}": (ip_interface(address),) for index, address in enumerate(others)}
        for stored in ((), (ip_interface("172.18.0.1/16"),)):
            choice = chosen(machine, "agreed", others=registered, stored=stored)
            assert str(choice.chosen) == "10.0.0.1/24", choice
        calico = chosen(machine, "first-found", 4, V3_24_2, others=registered)
        assert str(calico.chosen) == ("10.0.0.1/24" if bridge_first else "172.18.0.1/16")


@pytest.mark.parametrize("second_card_first", [True, False])
@pytest.mark.parametrize("others", [(), ("172.17.73.65/22",), ("172.17.73.65/22", "10.0.0.63/24")])
def test_incident_6_in_any_order_and_any_company(second_card_first: bool, others: tuple[str, ...]) -> None:
    with Namespace("incident6") as machine, Namespace("network") as network:
        names = ["ens19", "ens18"] if second_card_first else ["ens18", "ens19"]
        for name in names:
            machine.veth(name, network, f"to-{name}")
        for address, name in (("172.17.73.66/22", "ens18"), ("172.17.73.63/22", "ens18"), ("10.0.0.66/24", "ens19")):
            machine.ip("addr", "add", address, "dev", name)
        machine.ip("route", "add", "default", "via", "172.17.72.1")
        registered = {f"n{index}": (ip_interface(address),) for index, address in enumerate(others)}
        for stored in ((), (ip_interface("10.0.0.66/24"),)):
            choice = chosen(machine, "agreed", others=registered, stored=stored)
            assert str(choice.chosen) == "172.17.73.66/22", choice


def test_a_healthy_node_does_not_move_because_one_other_is_registered_wrongly() -> None:
    with Namespace("healthy") as machine, Namespace("network") as network:
        for name, address in (("ens18", "172.17.73.66/22"), ("ens19", "10.0.0.66/24")):
            machine.veth(name, network, f"to-{name}")
            machine.ip("addr", "add", address, "dev", name)
        machine.ip("route", "add", "default", "via", "172.17.72.1")
        stored = (ip_interface("172.17.73.66/22"),)
        wrong = {"k8scephnode": (ip_interface("10.0.0.63/24"),)}
        assert str(chosen(machine, "agreed", others=wrong, stored=stored).chosen) == "172.17.73.66/22"


def test_an_address_of_a_pool_is_not_a_nodes(host: Namespace) -> None:
    choice = chosen(host, "agreed", pools=(ip_network("10.0.0.0/12"),))
    assert str(choice.chosen) == "192.168.7.5/24"


def test_a_bridge_with_a_real_port_is_real() -> None:
    with Namespace("br0") as machine, Namespace("network") as network:
        machine.veth("eth0", network, "port0")
        machine.bridge("br0", "eth0")
        machine.wait_up("br0")  # without a carrier its address would not be taken
        machine.ip("addr", "add", "10.0.0.1/24", "dev", "br0")
        assert str(chosen(machine, "agreed").chosen) == "10.0.0.1/24"

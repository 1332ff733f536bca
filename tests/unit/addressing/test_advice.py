"""What is told to whom one of Calico's methods failed: it fits the method, and it works."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from tests.support.worlds import NO_CARRIER, host, link, route

from tortie.addressing.choice import Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import parse_method
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.model.network import IP, Family, HostNetwork

ONE = host(link(2, "eth0", "10.0.0.5/24"), routes=(route("default", 2, via="10.0.0.1"),))
TWO = host(link(2, "eth0", "10.0.0.5/24"), link(3, "eth1", "192.168.0.5/24"))
BARE = host(link(2, "eth0"), link(3, "docker0", "172.17.0.1/16", kind="bridge", flags=NO_CARRIER))
IPV6_ALONE = host(link(2, "eth0", "2001:db8::5/64"))

FAILING = {
    "interface=bond0": "correct the pattern: this machine has eth0",
    "skip-interface=eth": "skip fewer interfaces: this machine has eth0",
    "cidr=172.30.0.0/16": "give an interface an address in 172.30.0.0/16",
    "cidr=fd00::/64": "name an IPv4 network in IP_AUTODETECTION_METHOD",
    "can-reach=router.example.org": "write an IPv4 address in place of the name router.example.org",
    "can-reach=2001:db8::1": "name an IPv4 destination",
    "can-reach=203.0.113.1": "give this machine a route to 203.0.113.1",
    "kubernetes-internal-ip": "run it on a Kubernetes node",
}


def fix(method: str, surroundings: Surroundings, family: Family = 4, version: CalicoVersion = LATEST) -> str:
    choice = choose(parse_method(method), family, surroundings, version)
    assert choice.chosen is None, f"{method} found {choice.chosen}"
    return choice.fix


@pytest.mark.parametrize(("method", "lacking"), FAILING.items(), ids=FAILING)
def test_two_candidates_are_told_apart_by_a_person_and_by_nothing_else(method: str, lacking: str) -> None:
    told = fix(method, Surroundings(TWO))
    assert told.startswith(lacking)
    assert "interface=eth0 for 10.0.0.5/24, or IP_AUTODETECTION_METHOD=interface=eth1 for 192.168.0.5/24" in told
    assert "would decide" not in told
    assert "default route" not in told


@pytest.mark.parametrize("method", [each for each in FAILING if each != "can-reach=203.0.113.1"])
def test_what_the_method_lacks_comes_before_what_would_be_found_otherwise(method: str) -> None:
    told = fix(method, Surroundings(ONE))
    assert told.startswith(FAILING[method])
    assert told.endswith("; or choose what finds 10.0.0.5/24 on eth0, such as IP_AUTODETECTION_METHOD=cidr=10.0.0.0/24")


@pytest.mark.parametrize(
    ("ips", "lacking"),
    [
        (("fd00::5",), "give the Kubernetes node an IPv4 InternalIP (--node-ip of its kubelet)"),
        (("10.7.7.7",), "give 10.7.7.7 to an interface of this machine, or correct the InternalIP"),
    ],
)
@pytest.mark.parametrize("network", [ONE, TWO, BARE], ids=["one", "two", "none"])
def test_an_internal_ip_that_does_not_help_is_what_has_to_be_mended(
    network: HostNetwork, ips: tuple[str, ...], lacking: str
) -> None:
    told = fix("kubernetes-internal-ip", Surroundings(network, internal_ips=tuple(map(ip_address, ips))))
    assert told.startswith(lacking)
    assert "default route" not in told


def test_a_destination_that_is_reached_from_nowhere_is_replaced() -> None:
    reach: dict[tuple[str, Family], IP | str] = {("203.0.113.1", 4): ip_address("10.99.0.1")}
    assert fix("can-reach=203.0.113.1", Surroundings(ONE, reach=reach)).startswith("name a destination to which")
    unreachable: dict[tuple[str, Family], IP | str] = {("203.0.113.1", 4): "network is unreachable"}
    assert fix("can-reach=203.0.113.1", Surroundings(ONE, reach=unreachable)).startswith("give this machine a route")


def test_an_interface_without_an_address_is_named() -> None:
    assert fix("interface=eth.*", Surroundings(BARE)) == "give eth0 an IPv4 address"
    assert fix("first-found", Surroundings(BARE)) == "give eth0 an IPv4 address; the node notices by itself"


@pytest.mark.parametrize("method", ["first-found", *FAILING])
def test_a_machine_with_ipv6_alone_is_told_so_first(method: str) -> None:
    assert fix(method, Surroundings(IPV6_ALONE)).startswith(
        "this machine has IPv6 alone: set IP=none and IP6=autodetect, and for Calico CALICO_ROUTER_ID=hash"
    )


def test_a_release_that_does_not_know_the_method_is_not_offered_another_that_it_does_not_know() -> None:
    told = fix("cidr=10.0.0.0/24", Surroundings(ONE), version=CalicoVersion(3, 15))
    assert told == (
        "run Calico v3.16.0 or later, where cidr is known; "
        "or choose what finds 10.0.0.5/24 on eth0, such as IP_AUTODETECTION_METHOD=interface=eth0"
    )

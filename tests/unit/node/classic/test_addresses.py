"""Which address a release takes: its list of exclusions, the highest index, its table of settings."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest

from tortie.addressing.choice import Surroundings
from tortie.model.network import CIDR, Address, Family, HostNetwork, Interface
from tortie.node.classic.addresses import Found, default_pool, find_addresses
from tortie.node.classic.release import read_release

DETECT = {"IP": "autodetect"}


def interface(index: int, name: str, *addresses: str) -> Interface:
    return Interface(index, name, addresses=tuple(Address(ip_interface(each)) for each in addresses))


HOST = HostNetwork(
    (
        interface(1, "lo", "127.0.0.1/8"),
        interface(2, "eth0", "10.0.0.1/24"),
        interface(9, "br-3a10a9384428", "172.18.0.1/16"),
    )
)


def found(version: str, environment: dict[str, str], stored: str = "", network: HostNetwork = HOST) -> Found:
    registered: dict[Family, CIDR] = {4: ip_interface(stored)} if stored else {}
    return find_addresses(environment, registered, Surroundings(network), read_release(version))


def chosen(outcome: Found) -> str:
    return str(outcome.addressed[0].decision.address)


@pytest.mark.parametrize(
    ("version", "address"),
    [("2.6", "172.18.0.1/16"), ("3.9", "172.18.0.1/16"), ("3.20", "172.18.0.1/16"), ("3.28", "10.0.0.1/24")],
)
def test_a_compose_bridge_is_taken_until_it_is_on_the_list(version: str, address: str) -> None:
    assert chosen(found(version, DETECT)) == address


def test_a_stored_address_is_detected_anew_only_when_asked_for() -> None:
    assert chosen(found("3.20", {}, stored="10.0.0.1/24")) == "10.0.0.1/24"
    outcome = found("3.20", DETECT, stored="10.0.0.1/24")
    assert (chosen(outcome), outcome.changed) == ("172.18.0.1/16", True)


def test_a_method_of_a_later_release_ends_the_start() -> None:
    outcome = found("3.15", DETECT | {"IP_AUTODETECTION_METHOD": "cidr=10.0.0.0/8"})
    assert outcome.failed
    assert outcome.messages[-1].text == "Invalid IP autodetection method: cidr=10.0.0.0/8"
    assert chosen(found("3.16", DETECT | {"IP_AUTODETECTION_METHOD": "cidr=10.0.0.0/8"})) == "10.0.0.1/24"


@pytest.mark.parametrize("text", ["eth0", "agreed"])
def test_words_that_it_does_not_know(text: str) -> None:
    outcome = found("3.20", DETECT | {"IP_AUTODETECTION_METHOD": text})
    assert (outcome.failed, outcome.forget) == (True, ())
    assert outcome.messages[-1] == ("error", f"Invalid IP autodetection method: {text}")


def test_nothing_found_is_the_end_and_the_stored_one_is_forgotten() -> None:
    outcome = found("3.20", DETECT | {"IP_AUTODETECTION_METHOD": "interface=wlan.*"})
    assert (outcome.failed, outcome.forget) == (True, (4,))
    assert [message.text for message in outcome.messages] == [
        "Unable to auto-detect an IPv4 address using interface regexes [wlan.*]: no valid host interfaces found",
        "Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection method. Otherwise "
        "provide an explicit address.",
    ]


def test_an_address_that_is_none() -> None:
    outcome = found("3.20", {"IP": "10.0.0"})
    assert outcome.failed
    assert outcome.messages[-1].text == "Environment does not contain a valid IPv4 address: IP=10.0.0"


def test_an_address_from_the_environment() -> None:
    outcome = found("3.8", {"IP": "10.0.0.1"})
    assert chosen(outcome) == "10.0.0.1/32"
    assert [message.text for message in outcome.messages][:2] == [
        "Using IPv4 address from environment: IP=10.0.0.1",
        "IPv4 address 10.0.0.1 discovered on interface eth0",
    ]


def test_the_default_pool_looks_at_this_host_only() -> None:
    at_home = HostNetwork((interface(2, "eth0", "192.168.1.5/24"),))
    assert default_pool(HOST, read_release("3.20")) == ip_network("192.168.0.0/16")
    assert default_pool(at_home, read_release("3.20")) == ip_network("172.16.0.0/16")
    assert default_pool(at_home, read_release("3.8")) == ip_network("192.168.0.0/16")

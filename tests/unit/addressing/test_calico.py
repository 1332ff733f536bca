"""Calico's methods with their exact choices and words, by release. The doctor replays them, so they may not drift."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from tests.support.worlds import NO_CARRIER, OFF, host, link, route

from tortie.addressing.choice import Choice, Message, Surroundings
from tortie.addressing.choose import choose
from tortie.addressing.methods import FIRST_FOUND, parse_method
from tortie.addressing.versions import LATEST, CalicoVersion
from tortie.model.network import IP, Family, HostNetwork

PLAIN = host(
    link(2, "eth0", "10.0.0.5/24", "fd00::5/64", "fe80::5/64 scope=link"), routes=(route("default", 2, via="10.0.0.1"),)
)
DOCKER = host(
    link(2, "eth0", "10.0.0.5/24", "fd00::5/64"),
    link(3, "docker0", "172.17.0.1/16", kind="bridge", flags=NO_CARRIER),
    link(14, "br-3a10a9384428", "172.18.0.1/16", "fe80::42:3aff:fef3:4518/64 scope=link", kind="bridge"),
    routes=(route("default", 2, via="10.0.0.1"),),
)
TWO_NICS = host(
    link(2, "ens18", "172.17.73.66/22", "172.17.73.63/22 secondary"),
    link(3, "ens19", "10.0.0.66/24"),
    link(4, "cali123"),
    routes=(route("default", 2, via="172.17.72.1"),),
)
OLD_KINDS = host(
    link(2, "wlo1", "10.0.0.5/24"),
    link(3, "vxlan.calico", "10.244.0.0/32", kind="vxlan"),
    link(4, "nodelocaldns", "169.254.25.10/32", "10.96.0.10/32", kind="dummy"),
)


def chosen(
    method: str, network: HostNetwork, family: Family = 4, version: str = "", reach: dict[str, IP | str] | None = None
) -> Choice:
    release = CalicoVersion.parse(version) if version else LATEST
    answers = {(destination, family): answer for destination, answer in (reach or {}).items()}
    return choose(parse_method(method, FIRST_FOUND), family, Surroundings(network, reach=answers), release)


def why_not(choice: Choice, address: str, interface: str) -> str:
    reasons = [each.reason for each in choice.rejected if (each.address, each.interface) == (address, interface)]
    assert len(reasons) == 1, f"{address} on {interface} has {len(reasons)} reasons"
    return reasons[0]


@pytest.mark.parametrize(
    ("method", "network", "version", "address", "text"),
    [
        ("", PLAIN, "v3.30.0", "10.0.0.5/24", "Using autodetected IPv4 address on interface eth0: 10.0.0.5/24"),
        # The incident: until v3.24 the bridge of a docker network wins, because it came last.
        ("", DOCKER, "v3.9.5", "172.18.0.1/16", "address on interface br-3a10a9384428: 172.18.0.1/16"),
        ("", DOCKER, "v3.24.6", "172.18.0.1/16", "address on interface br-3a10a9384428: 172.18.0.1/16"),
        ("", DOCKER, "v3.25.0", "10.0.0.5/24", "address on interface eth0: 10.0.0.5/24"),
        # The other one: a second real NIC wins in every release.
        ("", TWO_NICS, "v3.9.5", "10.0.0.66/24", "address on interface ens19: 10.0.0.66/24"),
        ("", TWO_NICS, "v3.32.1", "10.0.0.66/24", "address on interface ens19: 10.0.0.66/24"),
        ("", OLD_KINDS, "v3.24.6", "10.0.0.5/24", "address on interface wlo1: 10.0.0.5/24"),
        ("", OLD_KINDS, "v3.24.4", "10.96.0.10/32", "address on interface nodelocaldns: 10.96.0.10/32"),
        ("interface=ens.*", TWO_NICS, "", "10.0.0.66/24", "address 10.0.0.66/24 on matching interface ens19"),
        ("interface=ens18", TWO_NICS, "", "172.17.73.66/22", "address 172.17.73.66/22 on matching interface ens18"),
        # Order is the host's, not the list's.
        ("interface=ens18,ens19", TWO_NICS, "", "10.0.0.66/24", "address 10.0.0.66/24 on matching interface ens19"),
        # No exclusions here.
        ("interface=docker0", DOCKER, "", "172.17.0.1/16", "address 172.17.0.1/16 on matching interface docker0"),
        ("interface=", DOCKER, "", "172.18.0.1/16", "on matching interface br-3a10a9384428"),
        (
            "skip-interface=br-.*",
            DOCKER,
            "v3.9.5",
            "10.0.0.5/24",
            "Using autodetected IPv4 address on interface eth0: 10.0.0.5/24 while skipping matching interfaces",
        ),
        (
            "cidr=172.17.0.0/16",
            DOCKER,
            "",
            "172.17.0.1/16",
            "Using autodetected IPv4 address 172.17.0.1/16 on interface docker0 matching cidrs [172.17.0.0/16]",
        ),
        ("cidr=10.9.9.9/8,192.168.0.0/16", TWO_NICS, "", "10.0.0.66/24", "matching cidrs [10.0.0.0/8 192.168.0.0/16]"),
    ],
)
def test_takes_what_calico_takes_and_says_what_it_says(
    method: str, network: HostNetwork, version: str, address: str, text: str
) -> None:
    choice = chosen(method, network, version=version)
    assert str(choice.chosen) == address
    assert choice.messages[-1].level == "info"
    assert text in choice.messages[-1].text
    assert choice.failure == ""
    assert choice.reasons


@pytest.mark.parametrize(
    ("method", "family", "failure"),
    [
        ("", 6, "Unable to auto-detect an IPv6 address: no valid IPv6 addresses found on the host interfaces"),
        (
            "interface=bond.*,team0",
            4,
            "Unable to auto-detect an IPv4 address using interface regexes [bond.* team0]: "
            "no valid host interfaces found",
        ),
        (
            "interface=cali.*",
            4,
            "Unable to auto-detect an IPv4 address using interface regexes [cali.*]: "
            "no valid IPv4 addresses found on the host interfaces",
        ),
        (
            "skip-interface=ens.*",
            4,
            "Unable to auto-detect an IPv4 address while excluding [ens.*]: no valid host interfaces found",
        ),
        (
            "skip-interface=",
            4,
            "Unable to auto-detect an IPv4 address while excluding []: no valid host interfaces found",
        ),
        (
            "cidr=192.168.0.0/16",
            4,
            "Unable to auto-detect an IPv4 address using interface cidr [192.168.0.0/16]: "
            "no valid IPv4 addresses found on the host interfaces",
        ),
        (
            "can-reach=2001:db8::1",
            4,
            "Unable to auto-detect IPv4 address by connecting to 2001:db8::1: "
            "dial udp4: address 2001:db8::1: no suitable address found",
        ),
        (
            "can-reach=2001:db8::1",
            6,
            "Unable to auto-detect IPv6 address by connecting to 2001:db8::1: "
            "dial udp6 [2001:db8::1]:80: connect: network is unreachable",
        ),
        (
            "kubernetes-internal-ip",
            4,
            "Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster",
        ),
    ],
)
def test_fails_in_calicos_words_with_advice(method: str, family: Family, failure: str) -> None:
    choice = chosen(method, TWO_NICS, family)
    assert choice.chosen is None
    assert choice.failure == failure
    assert failure in [message.text for message in choice.messages]
    if family == 4:
        assert "IP_AUTODETECTION_METHOD=cidr=172.17.72.0/22" in choice.fix
    assert choice.fix


@pytest.mark.parametrize(
    ("method", "version", "failure"),
    [
        ("cidr=10.0.0.0/8", "v3.15.5", "Invalid IP autodetection method: cidr=10.0.0.0/8"),
        ("cidr=10.0.0.0/8", "v3.8.9", "Invalid IP autodection method: cidr=10.0.0.0/8"),
        ("kubernetes-internal-ip", "v3.21.6", "Invalid IP autodetection method: kubernetes-internal-ip"),
    ],
)
def test_a_method_newer_than_the_release_ends_the_start(method: str, version: str, failure: str) -> None:
    choice = chosen(method, PLAIN, version=version)
    assert choice.chosen is None
    assert choice.messages == (Message("error", failure),)
    assert why_not(choice, "10.0.0.5/24", "eth0") == f"{version} does not know {method.partition('=')[0]}"


def test_every_candidate_has_its_reason() -> None:
    choice = chosen("", DOCKER, version="v3.9.5")
    assert why_not(choice, "172.17.0.1/16", "docker0") == "excluded by docker.*"
    assert why_not(choice, "127.0.0.1/8", "lo") == "excluded by lo"
    assert (
        why_not(choice, "10.0.0.5/24", "eth0")
        == "interface eth0 comes after br-3a10a9384428: Calico takes the highest index first"
    )
    ipv6 = chosen("", DOCKER, 6, "v3.9.5")
    assert str(ipv6.chosen) == "fd00::5/64"
    assert why_not(ipv6, "fe80::42:3aff:fef3:4518/64", "br-3a10a9384428") == "is link-local"
    assert why_not(ipv6, "", "docker0") == "excluded by docker.*"
    names = chosen("interface=ens18", TWO_NICS)
    assert why_not(names, "172.17.73.63/22", "ens18") == (
        "comes after 172.17.73.66/22: Calico takes the first address of an interface"
    )
    assert why_not(names, "10.0.0.66/24", "ens19") == "the name does not match ens18"
    assert why_not(chosen("cidr=10.0.0.0/8", TWO_NICS), "172.17.73.66/22", "ens18") == "not in 10.0.0.0/8"
    assert why_not(chosen("", TWO_NICS, 6), "", "ens18") == "has no IPv6 address"


def test_link_state_and_flags_are_not_looked_at_and_that_is_told() -> None:
    network = host(link(2, "eth0", "10.0.0.5/24"), link(3, "eth1", "10.1.0.5/24 deprecated", flags=OFF))
    choice = chosen("", network)
    assert str(choice.chosen) == "10.1.0.5/24"
    assert "the link is down, which Calico does not look at" in choice.reasons
    assert "the address is deprecated, which Calico does not look at" in choice.reasons


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("10.0.0.5/24", True),
        ("192.168.1.1/32", True),
        ("240.0.0.1/24", True),
        ("100.64.0.1/10", True),
        ("169.254.1.1/16", False),
        ("127.0.0.2/8", False),
        ("224.0.0.5/24", False),
        ("255.255.255.255/32", False),
        ("0.0.0.0/0", False),
        ("fd00::1/64", True),
        ("fec0::1/64", True),
        ("2001:db8::1/128", True),
        ("fe80::1/64", False),
        ("ff02::1/128", False),
        ("::1/128", False),
    ],
)
def test_global_unicast_is_what_go_calls_so(address: str, good: bool) -> None:
    choice = chosen("", host(link(2, "eth0", address)), 6 if ":" in address else 4)
    assert (choice.chosen is not None) is good


def test_can_reach_takes_the_kernels_answer() -> None:
    choice = chosen("can-reach=8.8.8.8", DOCKER, reach={"8.8.8.8": ip_address("172.17.0.1")})
    assert [message.text for message in choice.messages] == [
        'Auto-detected address by connecting to remote Destination="8.8.8.8" IP=172.17.0.1',
        "Using autodetected IPv4 address 172.17.0.1/16, detected by connecting to 8.8.8.8",
    ]
    assert choice.interface == "docker0"
    assert why_not(choice, "10.0.0.5/24", "eth0") == "the kernel sends to 8.8.8.8 from 172.17.0.1"


def test_can_reach_without_an_answer_follows_the_routes() -> None:
    assert str(chosen("can-reach=8.8.8.8", TWO_NICS).chosen) == "172.17.73.66/22"
    assert str(chosen("can-reach=10.0.0.1", TWO_NICS).chosen) == "10.0.0.66/24"
    # As in can-reach=$(NODEIP), which many installers write.
    assert str(chosen("can-reach=10.0.0.66", TWO_NICS).chosen) == "10.0.0.66/24"


def test_can_reach_knows_no_names_of_its_own() -> None:
    named = chosen("can-reach=www.google.com", PLAIN)
    assert named.failure.endswith("the address of www.google.com is not known here")
    refused = chosen("can-reach=www.google.com", PLAIN, reach={"www.google.com": "lookup www.google.com: no such host"})
    assert refused.failure == (
        "Unable to auto-detect IPv4 address by connecting to www.google.com: lookup www.google.com: no such host"
    )


def test_each_family_has_its_own_answer() -> None:
    network = host(link(2, "eth0", "10.0.0.5/24", "fd00::5/64"))
    answers: dict[tuple[str, Family], IP | str] = {
        ("router", 4): ip_address("10.0.0.5"),
        ("router", 6): ip_address("fd00::5"),
    }
    method, surroundings = parse_method("can-reach=router"), Surroundings(network, reach=answers)
    assert str(choose(method, 4, surroundings).chosen) == "10.0.0.5/24"
    assert str(choose(method, 6, surroundings).chosen) == "fd00::5/64"


def test_can_reach_needs_the_address_on_an_interface() -> None:
    choice = chosen("can-reach=8.8.8.8", PLAIN, reach={"8.8.8.8": ip_address("10.7.7.7")})
    assert choice.failure == (
        "Unable to auto-detect IPv4 address by connecting to 8.8.8.8: "
        "autodetected IPv4 address does not match any addresses found on local interfaces: 10.7.7.7"
    )


def internal(ips: tuple[str, ...], family: Family = 4, version: CalicoVersion = LATEST) -> Choice:
    surroundings = Surroundings(PLAIN, internal_ips=tuple(map(ip_address, ips)))
    return choose(parse_method("kubernetes-internal-ip"), family, surroundings, version)


def test_internal_ip_gets_the_prefix_of_its_interface() -> None:
    choice = internal(("10.0.0.5", "fd00::5"))
    assert (str(choice.chosen), choice.interface) == ("10.0.0.5/24", "eth0")
    assert choice.messages == (Message("info", 'Including CIDR information from host interface. CIDR="10.0.0.5/24"'),)
    assert str(internal(("10.0.0.5", "fd00::5"), 6).chosen) == "fd00::5/64"


def test_the_first_internal_ip_of_the_family_counts() -> None:
    assert (
        internal(("10.7.7.7", "10.0.0.5")).failure == "Unable to parse CIDR 10.7.7.7 : invalid CIDR address: 10.7.7.7"
    )


def test_an_internal_ip_on_no_interface_does_not_parse() -> None:
    choice = internal(("10.7.7.7",))
    assert choice.messages == (
        Message("warning", "Unable to find matching host interface for IP 10.7.7.7"),
        Message("error", "Unable to parse CIDR 10.7.7.7 : invalid CIDR address: 10.7.7.7"),
    )
    assert internal(("10.0.0.5",), 6).failure == "Unable to parse CIDR  : invalid CIDR address: "


@pytest.mark.parametrize(
    ("version", "address"),
    [
        ("v3.22.3", "10.0.0.0/24"),
        ("v3.22.4", "10.0.0.5/24"),
        ("v3.23.1", "10.0.0.0/24"),
        ("v3.23.2", "10.0.0.5/24"),
        ("v3.24.0", "10.0.0.5/24"),
    ],
)
def test_the_first_releases_with_internal_ip_lost_the_host_bits(version: str, address: str) -> None:
    choice = internal(("10.0.0.5",), version=CalicoVersion.parse(version))
    assert str(choice.chosen) == address


def test_a_failed_method_waits_for_interfaces_that_may_come() -> None:
    network = host(link(2, "eth0", flags=NO_CARRIER), link(3, "docker0", "172.17.0.1/16", kind="bridge"))
    assert chosen("interface=eth0", network).pending == ("eth0",)

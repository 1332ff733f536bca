"""Which address a release takes: its list of exclusions, the highest index, its table of settings."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from tortie.addressing.choice import Surroundings
from tortie.model.network import CIDR, Address, Family, HostNetwork, Interface
from tortie.node.classic.addresses import Found, find_addresses
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


def said(outcome: Found) -> list[str]:
    """As the log has it, without what only those see who ask for it."""
    return [
        f"[{line.level}] {line.text}" + "".join(f" {name}={value}" for name, value in line.fields.items())
        for line in outcome.lines
        if line.level != "debug"
    ]


def test_a_method_of_a_later_release_ends_the_start() -> None:
    outcome = found("3.15", DETECT | {"IP_AUTODETECTION_METHOD": "cidr=10.0.0.0/8"})
    assert outcome.ended
    assert said(outcome) == ["[error] Invalid IP autodetection method: cidr=10.0.0.0/8"]
    assert chosen(found("3.16", DETECT | {"IP_AUTODETECTION_METHOD": "cidr=10.0.0.0/8"})) == "10.0.0.1/24"


@pytest.mark.parametrize("text", ["eth0", "agreed"])
def test_words_that_it_does_not_know(text: str) -> None:
    outcome = found("3.20", DETECT | {"IP_AUTODETECTION_METHOD": text})
    assert (outcome.ended, outcome.failed) == (True, False)
    assert said(outcome) == [f"[error] Invalid IP autodetection method: {text}"]
    assert said(found("3.8", DETECT | {"IP_AUTODETECTION_METHOD": text})) == [
        f"[error] Invalid IP autodection method: {text}"
    ]


NOTHING = (
    "[warning] Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection method. "
    "Otherwise provide an explicit address."
)


@pytest.mark.parametrize(
    ("method", "lines"),
    [
        (
            "interface=wlan.*, usb",
            [
                "[warning] Unable to auto-detect an IPv4 address using interface regexes [wlan.* usb]: no valid host "
                "interfaces found",
            ],
        ),
        (
            "interface=eth(",
            [
                "[warning] Invalid interface regex error=error parsing regexp: missing closing ): `(eth()`",
                "[warning] Unable to auto-detect an IPv4 address using interface regexes [eth(]: error parsing regexp: "
                "missing closing ): `(eth()`",
            ],
        ),
        ("cidr=10.0.0.0", ['[error] Invalid CIDR "10.0.0.0" for IP autodetection method: cidr=10.0.0.0']),
        (
            "cidr=11.0.0.0/8,12.0.0.0/8",
            [
                "[warning] Unable to auto-detect an IPv4 address using interface cidr [11.0.0.0/8 12.0.0.0/8]: no "
                "valid IPv4 addresses found on the host interfaces",
            ],
        ),
        (
            "kubernetes-internal-ip",
            ["[error] Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster"],
        ),
    ],
)
def test_a_method_that_finds_nothing(method: str, lines: list[str]) -> None:
    outcome = found("3.28", DETECT | {"IP_AUTODETECTION_METHOD": method})
    assert (outcome.failed, outcome.ended) == (True, False)
    assert said(outcome) == [*lines, NOTHING]
    kept = found("3.28", DETECT | {"IP_AUTODETECTION_METHOD": method}, stored="10.0.0.1/24")
    assert said(kept) == [
        *lines,
        "[warning] Autodetection of IPv4 address failed, keeping existing value: 10.0.0.1/24",
    ]
    assert (chosen(kept), kept.changed) == ("10.0.0.1/24", False)


CHANGED = "[info] Node IPv4 changed, will check for conflicts"


@pytest.mark.parametrize(
    ("version", "told", "address", "lines"),
    [
        (
            "3.8",
            "10.0.0.1",
            "10.0.0.1/32",
            [
                "[info] Using IPv4 address from environment: IP=10.0.0.1",
                "[info] IPv4 address 10.0.0.1 discovered on interface eth0",
                CHANGED,
            ],
        ),
        ("3.17", "10.0.0.1", "10.0.0.1/32", ["[info] Using IPv4 address from environment: IP=10.0.0.1", CHANGED]),
        (
            "3.18",
            "10.0.0.1",
            "10.0.0.1/24",
            [
                "[info] Including CIDR information from host interface. CIDR=10.0.0.1/24",
                "[info] Using IPv4 address from environment: IP=10.0.0.1/24",
                CHANGED,
            ],
        ),
        (
            "3.28",
            "10.9.9.9",
            "10.9.9.9/32",
            [
                "[warning] Unable to find matching host interface for IP 10.9.9.9",
                "[info] Using IPv4 address from environment: IP=10.9.9.9",
                "[warning] Unable to confirm IPv4 address 10.9.9.9 is assigned to this host",
                CHANGED,
            ],
        ),
        # What no peer can reach is taken all the same.
        (
            "3.28",
            "0.0.0.0/0",
            "0.0.0.0/0",
            [
                "[info] Using IPv4 address from environment: IP=0.0.0.0/0",
                "[warning] Unable to confirm IPv4 address 0.0.0.0 is assigned to this host",
                CHANGED,
            ],
        ),
    ],
)
def test_an_address_from_the_environment(version: str, told: str, address: str, lines: list[str]) -> None:
    outcome = found(version, {"IP": told})
    assert (chosen(outcome), said(outcome)) == (address, lines)


@pytest.mark.parametrize("told", ["1.2.3", "eth0", "fd00::1", " 10.0.0.1", "Autodetect"])
def test_an_address_that_is_none(told: str) -> None:
    refused = f"[warning] Environment does not contain a valid IPv4 address: IP={told}"
    old, new = found("3.17", {"IP": told}, stored="10.0.0.1/24"), found("3.18", {"IP": told}, stored="10.0.0.1/24")
    assert said(old) == [refused]
    assert said(new) == [f"[warning] Attempt to get the local CIDR: {told} failed, {told} is invalid.", refused]
    assert (new.ended, new.failed) == (True, False)


@pytest.mark.parametrize(
    ("version", "stored", "lines"),
    [
        ("3.0", "", ["[warning] Environment does not contain a valid IPv4 address: IP=none"]),
        ("3.8", "", ["[warning] No IP Addresses configured, and autodetection is not enabled"]),
        ("3.8", "10.0.0.1/24", ["[warning] No IP Addresses configured, and autodetection is not enabled"]),
        ("3.20", "", ["[error] No IPv4 or IPv6 addresses configured or detected, required for Calico networking"]),
        ("3.20", "10.0.0.1/24", ["[info] Autodetection for IPv4 disabled, keeping existing value: 10.0.0.1/24"]),
    ],
)
def test_no_address_at_all(version: str, stored: str, lines: list[str]) -> None:
    outcome = found(version, {"IP": "none"}, stored=stored)
    assert said(outcome) == lines
    assert outcome.ended is (len(lines) == 1 and "keeping" not in lines[0])


def test_of_two_changes_only_the_first_is_told_and_after_both_are_known() -> None:
    outcome = found("3.28", DETECT | {"IP6": "fd99::1"})
    assert said(outcome) == [
        "[info] Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
        "[info] Using IPv6 address from environment: IP6=fd99::1",
        "[warning] Unable to confirm IPv6 address fd99::1 is assigned to this host",
        CHANGED,
    ]
    assert [str(each.decision.address) for each in outcome.addressed] == ["10.0.0.1/24", "fd99::1/128"]


def test_a_policy_only_node_is_told_of_in_two_ways() -> None:
    told = {"IP": "none", "CALICO_NETWORKING_BACKEND": "none"}
    tail = "No IPv4 or IPv6 addresses configured or detected. Some features may not work properly."
    assert said(found("3.20", told)) == [f"[warning] {tail}"]
    assert said(found("3.24", told)) == [f"[info] {tail}"]

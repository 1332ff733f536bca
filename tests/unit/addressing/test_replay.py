"""What Calico of a release would register: its whole table, not autodetection alone."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.worlds import NO_CARRIER, host, link, nodes, route

from tortie.addressing.choice import Surroundings
from tortie.addressing.decision import AUTODETECT, DISABLED, UNSET, AddressDecision, AddressSetting, Given
from tortie.addressing.methods import AGREED, FIRST_FOUND, Method, parse_method
from tortie.addressing.replay import calico_decision
from tortie.addressing.versions import CalicoVersion
from tortie.model.network import CIDR, Family

# The second NIC wins in Calico, though everything speaks for the first.
NETWORK = host(
    link(2, "eth0", "10.0.0.5/24", "fd00::5/64"),
    link(3, "eth1", "192.168.0.5/24"),
    routes=(route("default", 2, via="10.0.0.1"),),
)
SURROUNDINGS = Surroundings(NETWORK, nodes("10.0.0.6/24"))
OLD, NEW = CalicoVersion(3, 17), CalicoVersion(3, 18)
STORED = ip_interface("10.9.9.9/24")


def registered(
    setting: AddressSetting,
    stored: CIDR | None = None,
    family: Family = 4,
    version: CalicoVersion = NEW,
    method: Method = AGREED,
) -> AddressDecision:
    choice, decision = calico_decision(family, setting, stored, method, SURROUNDINGS, version)
    assert choice is None or not choice.pending
    return decision


def texts(decision: AddressDecision) -> list[str]:
    return [message.text for message in decision.messages]


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("setting", [UNSET, AUTODETECT])
def test_the_own_method_of_tortie_is_calicos_default(setting: AddressSetting, version: CalicoVersion) -> None:
    choice, decision = calico_decision(4, setting, None, AGREED, SURROUNDINGS, version)
    assert choice is not None
    assert (choice.method, str(choice.chosen)) == ("first-found", "192.168.0.5/24")
    assert (str(decision.address), decision.interface, decision.source) == ("192.168.0.5/24", "eth1", "autodetected")
    assert texts(decision) == [
        "Using autodetected IPv4 address on interface eth1: 192.168.0.5/24",
        "Node IPv4 changed, will check for conflicts",
    ]


def test_a_stored_address_stays_when_nobody_asks_for_another() -> None:
    choice, decision = calico_decision(4, UNSET, STORED, AGREED, SURROUNDINGS, NEW)
    assert choice is None
    assert (decision.address, decision.source, decision.changed) == (STORED, "stored", False)
    assert texts(decision) == ["Unable to confirm IPv4 address 10.9.9.9 is assigned to this host"]
    assert str(registered(AUTODETECT, STORED).address) == "192.168.0.5/24"


def test_ipv6_is_only_looked_for_when_asked() -> None:
    assert registered(UNSET, family=6) == AddressDecision(None, "", "none", False, False)
    assert str(registered(AUTODETECT, family=6).address) == "fd00::5/64"


def test_none_registers_nothing_and_removes_nothing() -> None:
    assert registered(DISABLED).address is None
    kept = registered(DISABLED, STORED)
    assert kept.address == STORED
    assert texts(kept)[0] == f"Autodetection for IPv4 disabled, keeping existing value: {STORED}"


@pytest.mark.parametrize(
    ("family", "told", "version", "address"),
    [
        (4, "10.0.0.5", OLD, "10.0.0.5/32"),
        (4, "10.0.0.5", NEW, "10.0.0.5/24"),
        (6, "fd00::5", OLD, "fd00::5/128"),
        (6, "fd00::5", NEW, "fd00::5/128"),
    ],
)
def test_a_bare_address_has_the_prefix_length_of_the_release(
    family: Family, told: str, version: CalicoVersion, address: str
) -> None:
    choice, decision = calico_decision(
        family, Given(ip_interface(told), False), STORED if family == 4 else None, AGREED, SURROUNDINGS, version
    )
    assert choice is None
    assert (str(decision.address), decision.source) == (address, "environment")
    shown = address if (family, version) == (4, NEW) else told
    including = [f'Including CIDR information from host interface. CIDR="{address}"'] if shown != told else []
    assert texts(decision) == [
        *including,
        f"Using IPv{family} address from environment: {'IP' if family == 4 else 'IP6'}={shown}",
        f"IPv{family} address {told} discovered on interface eth0",
        f"Node IPv{family} changed, will check for conflicts",
    ]


def test_an_address_with_its_prefix_is_taken_as_it_is() -> None:
    for version in (OLD, NEW):
        decision = registered(Given(ip_interface("10.0.0.5/16"), True), version=version)
        assert str(decision.address) == "10.0.0.5/16"
        assert "Using IPv4 address from environment: IP=10.0.0.5/16" in texts(decision)
        assert not any("prefix length" in text for text in texts(decision))  # Calico does not compare


def test_the_highest_index_lends_its_prefix() -> None:
    network = host(link(2, "eth0", "10.0.0.5/24"), link(3, "dummy0", "10.0.0.5/32", kind="dummy"))
    bare = Given(ip_interface("10.0.0.5"), False)
    _, decision = calico_decision(4, bare, None, AGREED, Surroundings(network), NEW)
    assert (str(decision.address), decision.interface) == ("10.0.0.5/32", "dummy0")


def test_calico_ends_where_it_finds_nothing_and_does_not_wait() -> None:
    surroundings = Surroundings(host(link(2, "eth0", flags=NO_CARRIER)))
    choice, decision = calico_decision(4, UNSET, None, AGREED, surroundings, NEW)
    assert choice is not None
    assert choice.pending == ()
    assert decision.address is None
    assert (
        decision.failure
        == "Unable to auto-detect an IPv4 address: no valid IPv4 addresses found on the host interfaces"
    )
    assert decision.fix
    assert "notices by itself" not in decision.fix
    assert texts(decision)[-1].startswith("Couldn't autodetect an IPv4 address. ")
    _, kept = calico_decision(4, AUTODETECT, STORED, AGREED, surroundings, NEW)
    assert kept.address == STORED
    assert f"Autodetection of IPv4 address failed, keeping existing value: {STORED}" in texts(kept)


def test_a_method_that_the_release_does_not_know_ends_it_whatever_is_stored() -> None:
    decision = registered(AUTODETECT, STORED, version=CalicoVersion(3, 15), method=parse_method("cidr=10.0.0.0/24"))
    assert (decision.address, decision.failure) == (None, "Invalid IP autodetection method: cidr=10.0.0.0/24")
    assert "v3.16.0" in decision.fix
    # It is not read at all where an address is given.
    given_one = Given(ip_interface("10.0.0.5/24"), True)
    fine = registered(given_one, version=CalicoVersion(3, 15), method=parse_method("cidr=10.0.0.0/24"))
    assert fine.failure == ""


SETTINGS: list[AddressSetting] = [UNSET, AUTODETECT, DISABLED, Given(ip_interface("10.0.0.5"), False)]


@given(
    st.sampled_from(SETTINGS),
    st.sampled_from([None, STORED, ip_interface("10.0.0.5/24")]),
    st.sampled_from(["agreed", "first-found", "interface=bond0", "can-reach=203.0.113.1", "kubernetes-internal-ip"]),
    st.sampled_from([CalicoVersion(3, 9, 5), OLD, NEW, CalicoVersion(3, 32, 1)]),
)
def test_every_row_ends_in_an_address_a_failure_or_nothing_wanted(
    setting: AddressSetting, stored: CIDR | None, method: str, version: CalicoVersion
) -> None:
    choice, decision = calico_decision(4, setting, stored, parse_method(method), SURROUNDINGS, version)
    assert (choice is not None) is (setting is AUTODETECT or (setting is UNSET and stored is None))
    assert choice is None or (not choice.pending and not choice.tied and choice.method != "agreed")
    assert not decision.failure or (decision.address is None and decision.fix)
    assert decision.address or decision.failure or setting is DISABLED
    if method == "first-found":
        assert decision == calico_decision(4, setting, stored, FIRST_FOUND, SURROUNDINGS, version)[1]

"""Which address is registered: every row of Calico's table, for both families, and what is done better."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_interface
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.addressing.choice import Choice, Message, Rejected
from tortie.addressing.decision import (
    AUTODETECT,
    DISABLED,
    UNSET,
    AddressDecision,
    AddressSetting,
    Given,
    decide,
    no_address_error,
    parse_address_setting,
    wants_choice,
)
from tortie.model.errors import UsageError
from tortie.model.network import CIDR, Address, Family, HostNetwork, Interface

NETWORK = HostNetwork(
    (
        Interface(1, "lo", addresses=(Address(ip_interface("127.0.0.1/8"), "host"),)),
        Interface(2, "eth0", addresses=(Address(ip_interface("10.0.0.5/24")), Address(ip_interface("fd00::5/64")))),
        Interface(3, "eth1", addresses=(Address(ip_interface("172.16.0.5/20")), Address(ip_interface("fd01::5/56")))),
    )
)
FOUND_MESSAGE = Message("info", "Using autodetected address on interface eth0")
TIED = (Rejected("10.0.0.5/24", "eth0", "the default route"), Rejected("172.16.0.5/20", "eth1", "two peers there"))
FAMILIES: tuple[Family, ...] = (4, 6)


class Here(NamedTuple):
    """The same roles in both families."""

    own: CIDR  # on eth0
    second: CIDR  # on eth1
    gone: CIDR  # on no interface
    variable: str


HERE: dict[Family, Here] = {
    4: Here(ip_interface("10.0.0.5/24"), ip_interface("172.16.0.5/20"), ip_interface("10.9.9.9/24"), "IP"),
    6: Here(ip_interface("fd00::5/64"), ip_interface("fd01::5/56"), ip_interface("fd09::9/64"), "IP6"),
}


def found(family: Family) -> Choice:
    return Choice(family, "agreed", HERE[family].own, "eth0", ("it suits",), (), messages=(FOUND_MESSAGE,))


def nothing(family: Family, *, failure: str = "no valid host interfaces found", fix: str = "plug in a cable") -> Choice:
    return Choice(family, "agreed", None, "", (), (), failure=failure, fix=fix)


def tied(family: Family) -> Choice:
    return Choice(family, "agreed", None, "", (), (), tied=TIED)


def told(decision: AddressDecision, level: str) -> list[str]:
    return [message.text for message in decision.messages if message.level == level]


@pytest.mark.parametrize("family", FAMILIES)
class TestCalicosTable:
    def test_autodetect_takes_what_was_found_whatever_was_stored(self, family: Family) -> None:
        here = HERE[family]
        for stored in (None, here.second, here.gone):
            decision = decide(family, AUTODETECT, stored, found(family), NETWORK)
            assert (decision.address, decision.interface, decision.source) == (here.own, "eth0", "autodetected")
            assert decision.changed
            assert decision.confirmed
            assert decision.messages == (
                FOUND_MESSAGE,
                Message("info", f"Node IPv{family} changed, will check for conflicts"),
            )

    def test_autodetect_of_what_is_stored_changes_nothing(self, family: Family) -> None:
        decision = decide(family, AUTODETECT, HERE[family].own, found(family), NETWORK)
        assert not decision.changed
        assert decision.messages == (FOUND_MESSAGE,)

    def test_a_new_prefix_length_is_a_change(self, family: Family) -> None:
        own = HERE[family].own
        decision = decide(family, AUTODETECT, ip_interface(own.ip), found(family), NETWORK)
        assert decision.address == own
        assert decision.changed

    def test_autodetect_without_result_keeps_the_stored_address(self, family: Family) -> None:
        own = HERE[family].own
        decision = decide(family, AUTODETECT, own, nothing(family), NETWORK)
        assert (decision.address, decision.source, decision.changed) == (own, "stored", False)
        assert decision.failure == ""
        assert told(decision, "warning") == [
            f"Autodetection of IPv{family} address failed, keeping existing value: {own}"
        ]
        assert told(decision, "info") == [f"IPv{family} address {own.ip} discovered on interface eth0"]
        assert decision.fix == "plug in a cable"

    def test_autodetect_without_result_and_without_stored_address_fails(self, family: Family) -> None:
        decision = decide(family, AUTODETECT, None, nothing(family), NETWORK)
        assert (decision.address, decision.source, decision.confirmed) == (None, "none", False)
        assert decision.failure == "no valid host interfaces found"
        assert decision.fix == "plug in a cable"
        assert told(decision, "warning") == [
            f"Couldn't autodetect an IPv{family} address. If auto-detecting, choose a different autodetection method. "
            "Otherwise provide an explicit address."
        ]

    def test_unset_keeps_and_confirms_the_stored_address(self, family: Family) -> None:
        own = HERE[family].own
        decision = decide(family, UNSET, own, None, NETWORK)
        assert (decision.address, decision.source, decision.interface) == (own, "stored", "eth0")
        assert decision.messages == (Message("info", f"IPv{family} address {own.ip} discovered on interface eth0"),)
        assert decision.fix == ""

    def test_none_keeps_the_stored_address_and_says_so(self, family: Family) -> None:
        own = HERE[family].own
        decision = decide(family, DISABLED, own, None, NETWORK)
        assert (decision.address, decision.changed) == (own, False)
        assert told(decision, "info") == [
            f"Autodetection for IPv{family} disabled, keeping existing value: {own}",
            f"IPv{family} address {own.ip} discovered on interface eth0",
        ]

    def test_none_without_stored_address_is_nothing(self, family: Family) -> None:
        assert decide(family, DISABLED, None, None, NETWORK) == AddressDecision(None, "", "none", False, False)

    def test_an_address_that_no_interface_has_is_doubted_but_used(self, family: Family) -> None:
        gone, variable = HERE[family].gone, HERE[family].variable
        settings: tuple[AddressSetting, ...] = (UNSET, DISABLED, Given(gone, True))
        for setting in settings:
            decision = decide(family, setting, gone, None, NETWORK)
            assert decision.address == gone
            assert not decision.confirmed
            assert decision.interface == ""
            assert told(decision, "warning") == [
                f"Unable to confirm IPv{family} address {gone.ip} is assigned to this host"
            ]
            assert f"{variable}=autodetect" in decision.fix

    def test_an_address_from_the_environment_replaces_the_stored_one(self, family: Family) -> None:
        here = HERE[family]
        decision = decide(family, Given(here.second, True), here.own, None, NETWORK)
        assert (decision.address, decision.source, decision.interface) == (here.second, "environment", "eth1")
        assert decision.changed
        assert told(decision, "info") == [
            f"Using IPv{family} address from environment: {here.variable}={here.second}",
            f"IPv{family} address {here.second.ip} discovered on interface eth1",
            f"Node IPv{family} changed, will check for conflicts",
        ]

    def test_a_bare_address_takes_the_prefix_length_of_its_interface(self, family: Family) -> None:
        here = HERE[family]
        decision = decide(family, Given(ip_interface(here.own.ip), False), None, None, NETWORK)
        assert decision.address == here.own
        assert told(decision, "warning") == []
        assert f"Using IPv{family} address from environment: {here.variable}={here.own}" in told(decision, "info")

    def test_a_bare_address_that_no_interface_has_stands_alone(self, family: Family) -> None:
        here = HERE[family]
        decision = decide(family, Given(ip_interface(here.gone.ip), False), None, None, NETWORK)
        assert decision.address == ip_interface(here.gone.ip)
        assert told(decision, "warning") == [
            f"Unable to find matching host interface for IP {here.gone.ip}",
            f"Unable to confirm IPv{family} address {here.gone.ip} is assigned to this host",
        ]
        assert f"Using IPv{family} address from environment: {here.variable}={here.gone.ip}" in told(decision, "info")

    def test_a_prefix_length_other_than_the_interfaces_is_used_and_mentioned(self, family: Family) -> None:
        own = HERE[family].own
        lone = ip_interface(own.ip)
        decision = decide(family, UNSET, lone, None, NETWORK)
        assert decision.address == lone
        assert any(f"/{own.network.prefixlen}" in text and str(lone) in text for text in told(decision, "info"))

    def test_a_tie_keeps_the_stored_address_and_names_both(self, family: Family) -> None:
        here = HERE[family]
        decision = decide(family, AUTODETECT, here.own, tied(family), NETWORK)
        assert (decision.address, decision.changed, decision.failure) == (here.own, False, "")
        assert any(
            "10.0.0.5/24 on eth0" in text and "172.16.0.5/20 on eth1" in text for text in told(decision, "warning")
        )
        assert f"{here.variable}_AUTODETECTION_METHOD=interface=^eth0$" in decision.fix

    def test_a_tie_without_stored_address_fails_and_names_both(self, family: Family) -> None:
        decision = decide(family, AUTODETECT, None, tied(family), NETWORK)
        assert decision.address is None
        for part in ("10.0.0.5/24 on eth0", "the default route", "172.16.0.5/20 on eth1", "two peers there"):
            assert part in decision.failure
        assert "interface=^eth0$" in decision.fix
        assert "interface=^eth1$" in decision.fix


def test_unset_looks_for_ipv4_where_none_is_stored_and_leaves_ipv6_alone() -> None:
    assert decide(4, UNSET, None, found(4), NETWORK).address == HERE[4].own
    assert decide(6, UNSET, None, None, NETWORK) == AddressDecision(None, "", "none", False, False)


def test_two_addresses_of_one_interface_are_told_apart_by_address() -> None:
    choice = tied(4)._replace(tied=(Rejected("10.0.0.5/24", "eth0", ""), Rejected("10.0.0.6/24", "eth0", "")))
    assert decide(4, AUTODETECT, None, choice, NETWORK).fix == "say which one: IP=10.0.0.5/24 or IP=10.0.0.6/24"


def test_an_interface_is_named_so_that_the_pattern_finds_only_it() -> None:
    choice = tied(4)._replace(tied=(Rejected("10.0.0.5/24", "eth0.5", ""), Rejected("10.1.0.5/24", "br-lan", "")))
    fix = decide(4, AUTODETECT, None, choice, NETWORK).fix
    assert r"interface=^eth0\.5$" in fix
    assert "interface=^br-lan$" in fix


def test_an_address_that_left_while_it_was_chosen_is_not_called_confirmed() -> None:
    decision = decide(4, AUTODETECT, None, found(4), HostNetwork())
    assert decision.address == HERE[4].own
    assert not decision.confirmed
    assert told(decision, "warning") == ["Unable to confirm IPv4 address 10.0.0.5 is assigned to this host"]


@pytest.mark.parametrize(
    ("family", "setting", "stored", "wanted"),
    [
        (4, UNSET, False, True),
        (4, UNSET, True, False),
        (6, UNSET, False, False),
        (6, UNSET, True, False),
        (4, AUTODETECT, True, True),
        (6, AUTODETECT, False, True),
        (4, DISABLED, False, False),
        (6, DISABLED, True, False),
        (4, Given(HERE[4].own, True), False, False),
        (6, Given(HERE[6].own, False), True, False),
    ],
)
def test_whether_autodetection_runs(family: Family, setting: AddressSetting, stored: bool, wanted: bool) -> None:
    assert wants_choice(family, setting, HERE[family].own if stored else None) is wanted


@pytest.mark.parametrize(
    ("text", "family", "setting"),
    [
        (None, 4, UNSET),
        ("", 6, UNSET),
        ("  ", 4, UNSET),
        ("autodetect", 4, AUTODETECT),
        ("none", 6, DISABLED),
        (" 10.0.0.5\n", 4, Given(ip_interface("10.0.0.5"), False)),
        ("10.0.0.5/24", 4, Given(ip_interface("10.0.0.5/24"), True)),
        ("10.0.0.4/31", 4, Given(ip_interface("10.0.0.4/31"), True)),
        ("fd00::5", 6, Given(ip_interface("fd00::5"), False)),
        ("FD00::5/64", 6, Given(ip_interface("fd00::5/64"), True)),
    ],
)
def test_settings_that_are_understood(text: str | None, family: Family, setting: AddressSetting) -> None:
    assert parse_address_setting(text, family) == setting


@pytest.mark.parametrize(
    ("text", "family", "right"),
    [
        ("Autodetect", 4, "IP=autodetect"),
        ("autodetct", 6, "IP6=autodetect"),
        ("None", 4, "IP=none"),
        ("fd00::5", 4, "IP6=fd00::5"),
        ("10.0.0.5/24", 6, "IP=10.0.0.5/24"),
        ("10.0.0.5/255.255.255.0", 4, "IP=10.0.0.5/24"),
        ("10.0.0.5,fd00::5", 4, "IP=10.0.0.5"),
        ("10.0.0.5 fd00::5/64", 6, "IP6=fd00::5/64"),
        ("interface=eth0", 4, "IP=autodetect and IP_AUTODETECTION_METHOD=interface=eth0"),
        ("first-found", 6, "IP6=autodetect and IP6_AUTODETECTION_METHOD=first-found"),
        ("10.0.0.256", 4, "IP=10.0.0.11/24"),
        ("10.0.0.5/33", 4, "IP=10.0.0.11/24"),
        ("$(NODE_IP)", 4, "IP=autodetect"),
        ("10.0.0.0/24", 4, "an address of this host"),
        ("0.0.0.0", 4, "IP=autodetect"),
        ("127.0.0.1", 4, "IP=autodetect"),
        ("224.0.0.5", 4, "IP=autodetect"),
        ("255.255.255.255", 4, "IP=autodetect"),
        ("fe80::1", 6, "IP6=autodetect"),
        ("fe80::1%eth0", 6, "IP6=autodetect"),
        ("::1", 4, "IP=autodetect"),
    ],
)
def test_settings_that_cannot_be_meant(text: str, family: Family, right: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address_setting(text, family)
    name = HERE[family].variable
    assert refused.value.what == f"Environment does not contain a valid IPv{family} address: {name}={text}"
    assert refused.value.why
    assert right in refused.value.fix
    assert refused.value.exit_code == 2


def test_a_node_needs_an_address_of_one_family() -> None:
    own, none = decide(4, UNSET, HERE[4].own, None, NETWORK), decide(6, DISABLED, None, None, NETWORK)
    assert no_address_error([own, none]) is None
    error = no_address_error([decide(4, DISABLED, None, None, NETWORK), none])
    assert error is not None
    assert error.what == "no IPv4 or IPv6 addresses configured or detected, required for Calico networking"
    assert "IP=autodetect" in error.fix


def test_a_family_that_failed_is_told_although_the_other_has_an_address() -> None:
    failed = decide(6, AUTODETECT, None, nothing(6), NETWORK)
    error = no_address_error([decide(4, UNSET, HERE[4].own, None, NETWORK), failed])
    assert error is not None
    assert (error.what, error.fix) == (failed.failure, failed.fix)


CHOICES: st.SearchStrategy[Callable[[Family], Choice]] = st.sampled_from([found, nothing, tied])
SETTINGS = st.sampled_from(["unset", "autodetect", "none", "own", "second bare", "gone bare", "gone"])
STORED = st.sampled_from([None, "own", "second", "gone"])


def setting_of(word: str, here: Here) -> AddressSetting:
    wishes = {"unset": UNSET, "autodetect": AUTODETECT, "none": DISABLED}
    if word in wishes:
        return wishes[word]
    role, _, bare = word.partition(" ")
    cidr: CIDR = getattr(here, role)
    return Given(ip_interface(cidr.ip), False) if bare else Given(cidr, True)


@given(st.sampled_from(FAMILIES), SETTINGS, STORED, CHOICES)
def test_a_stored_address_is_replaced_but_never_lost(
    family: Family, word: str, role: str | None, choice: Callable[[Family], Choice]
) -> None:
    here = HERE[family]
    stored: CIDR | None = getattr(here, role) if role else None
    decision = decide(family, setting_of(word, here), stored, choice(family), NETWORK)
    if stored is not None:
        assert decision.address is not None
        assert decision.failure == ""
    assert decision.changed is (decision.address != stored)
    assert (decision.address is None) is (decision.source == "none")
    assert not decision.confirmed or decision.interface
    assert not decision.failure or (decision.fix and decision.address is None)
    assert all(message.level in ("info", "warning", "error") for message in decision.messages)

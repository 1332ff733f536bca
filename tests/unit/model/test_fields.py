"""The types of single fields: what they take, what they refuse, and how they are written again."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Any

import pytest

from tortie.model.fields import (
    CIDR,
    DSCP,
    ASNumber,
    BadField,
    Duration,
    InterfaceFilter,
    InterfaceName,
    InterfacePattern,
    IPAddress,
    IPInterface,
    IPNetwork,
    LogLevel,
    MACAddress,
    Name,
    PeerAddress,
    Port,
    Protocol,
    RegularExpression,
    Selector,
    WireguardKey,
    parse_field,
    print_field,
)


@pytest.mark.parametrize(
    ("kind", "written", "value", "printed"),
    [
        (ASNumber, 64512, 64512, 64512),
        (ASNumber, "64512", 64512, 64512),
        (ASNumber, "1.10", 65546, 65546),
        (ASNumber, 4294967295, 4294967295, 4294967295),
        (Protocol, "TCP", "TCP", "TCP"),
        (Protocol, 6, "6", 6),
        (Protocol, "132", "132", 132),
        (Port, 80, "80", 80),
        (Port, "80", "80", 80),
        (Port, "8000:8010", "8000:8010", "8000:8010"),
        (Port, "http-alt", "http-alt", "http-alt"),
        (DSCP, 46, "46", 46),
        (DSCP, "ef", "EF", "EF"),
        (DSCP, "CS6", "CS6", "CS6"),
        (LogLevel, "WARNING", "Warning", "Warning"),
        (Duration, "1m30s", "1m30s", "1m30s"),
        (Duration, "-1.5h", "-1.5h", "-1.5h"),
        (Duration, "0", "0", "0"),
        (MACAddress, "EE:ee:ee:ee:ee:01", "EE:ee:ee:ee:ee:01", "EE:ee:ee:ee:ee:01"),
        (InterfaceName, "*", "*", "*"),
        (InterfaceName, "bond0.100", "bond0.100", "bond0.100"),
        (InterfacePattern, "docker*", "docker*", "docker*"),
        (InterfaceFilter, "eth+", "eth+", "eth+"),
        (Name, "a.b-c.1", "a.b-c.1", "a.b-c.1"),
        (PeerAddress, "10.0.0.1:1790", "10.0.0.1:1790", "10.0.0.1:1790"),
        (RegularExpression, "^eth[0-9]+$", "^eth[0-9]+$", "^eth[0-9]+$"),
        (RegularExpression, r"\p{L}+[[:alpha:]]\z", r"\p{L}+[[:alpha:]]\z", r"\p{L}+[[:alpha:]]\z"),
        (RegularExpression, r"\(?=", r"\(?=", r"\(?="),
        (Selector, "has(a)", "has(a)", "has(a)"),
        (IPAddress, "10.0.0.1", IPv4Address("10.0.0.1"), "10.0.0.1"),
        (IPAddress, "FD00::1", IPv6Address("fd00::1"), "fd00::1"),
        (IPInterface, "10.0.0.11/24", IPv4Interface("10.0.0.11/24"), "10.0.0.11/24"),
        (IPInterface, "10.0.0.11", IPv4Interface("10.0.0.11/32"), "10.0.0.11/32"),
        (IPv6Interface, "fd00::11/64", IPv6Interface("fd00::11/64"), "fd00::11/64"),
        (IPNetwork, "10.0.0.0/8", IPv4Network("10.0.0.0/8"), "10.0.0.0/8"),
        (IPNetwork, "fd00::1", IPv6Network("fd00::1/128"), "fd00::1/128"),
        (CIDR, "0.0.0.0/0", IPv4Network("0.0.0.0/0"), "0.0.0.0/0"),
    ],
)
def test_a_field_is_read_and_written(kind: Any, written: object, value: object, printed: object) -> None:
    parsed = parse_field(kind, written)
    assert parsed == value
    assert print_field(parsed) == printed
    assert type(print_field(parsed)) is type(printed)


@pytest.mark.parametrize(
    ("kind", "written", "why", "right"),
    [
        (ASNumber, 0, "outside of the range", "64512"),
        (ASNumber, True, "not an AS number", "64512"),
        (ASNumber, 1.5, "not an AS number", "1.10"),
        (ASNumber, "99999999999", "not an AS number", "4294967295"),
        (ASNumber, "65536.0", "at most 65535", "1.10"),
        (Protocol, "tcp", "not a protocol", "did you mean TCP?"),
        (Protocol, "HTTP", "not a protocol", ""),
        (Protocol, 0, "not a protocol", "from 1 to 255"),
        (Protocol, 6.0, "not a protocol", ""),
        (Port, 0, "from 1 to 65535", "8000:8010"),
        (Port, 65536, "from 1 to 65535", ""),
        (Port, "20:10", "ends before it begins", "10:20"),
        (Port, "1:2:3", "neither a port", ""),
        (Port, True, "not a port", ""),
        (Port, None, "not a port", ""),
        (Port, "http alt", "neither a port", "the name of a port"),
        (DSCP, 64, "not a DSCP value", "from 0 to 63"),
        (DSCP, "AF14", "not a DSCP value", "AF11"),
        (LogLevel, "warn", "must be one of Trace", "did you mean Warning?"),
        (Duration, 30, "not a duration", "30s"),
        (Duration, "30", "not a duration", "30s"),
        (Duration, "1d", "not a duration", "1m30s"),
        (MACAddress, "ee:ee:ee:ee:ee", "not a MAC address", "six"),
        (InterfaceName, "a-name-that-is-too-long", "Linux interface", "at most 15"),
        (InterfaceName, "eth*", "Linux interface", ""),
        (InterfacePattern, "eth+", "pattern of interfaces", "eth*"),
        (InterfaceFilter, "eth*", "filter of interfaces", "eth+"),
        (WireguardKey, "AAAA", "WireGuard public key", "wg pubkey"),
        (Name, "Node_1", "not a valid name", "for example node-1"),
        (Name, "a" * 254, "254 characters", "at most 253"),
        (Name, 1, "not text but int", ""),
        (PeerAddress, "tor", "not an IP address", "10.0.0.1:1790"),
        (PeerAddress, "[fd00::1]:99999", "port is not from 1 to 65535", ""),
        (RegularExpression, "eth(", "not a regular expression", "^en.*"),
        (RegularExpression, r"(a)\1", "no look-around and no back-references", ""),
        (RegularExpression, "(?<!a)b", "no look-around", ""),
        (Selector, "a == b", "selector", ""),
        (Selector, 1, "not text but int", "all()"),
        (IPAddress, "10.0.0.256", "not an IP address", "10.0.0.1"),
        (IPAddress, "10.0.0.1/24", "not an IP address", ""),
        (IPAddress, "fe80::1%eth0", "not an IP address", ""),
        (IPAddress, 167772161, "not text but int", ""),
        (IPv4Address, "fd00::1", "not an IPv4 address", ""),
        (IPNetwork, "10.0.0.1/8", "host bits", "10.0.0.0/8, or 10.0.0.1/32"),
        (IPNetwork, "10.0.0.0/255.0.0.0", "not a CIDR", ""),
        (IPNetwork, "10.0.0.0/ 8", "not a CIDR", ""),
        (IPv6Network, "10.0.0.0/8", "not an IPv6 CIDR", "fd00"),
        (CIDR, "10.0.0.1", "prefix is missing", "10.0.0.1/32"),
    ],
)
def test_a_field_is_refused_with_the_reason_and_what_would_be_right(
    kind: Any, written: object, why: str, right: str
) -> None:
    with pytest.raises(BadField) as caught:
        parse_field(kind, written)
    assert why in str(caught.value)
    assert right in caught.value.right
    assert caught.value.right


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("10.0.0.1", IPv4Address("10.0.0.1"), None),
        ("10.0.0.1:179", IPv4Address("10.0.0.1"), 179),
        ("fd00::1", IPv6Address("fd00::1"), None),
        ("[fd00::1]:1790", IPv6Address("fd00::1"), 1790),
    ],
)
def test_a_peer_is_an_address_and_perhaps_a_port(text: str, address: object, port: int | None) -> None:
    peer = PeerAddress.parse(text)
    assert (peer.address, peer.port) == (address, port)


def test_protocols_know_themselves_by_name_and_by_number() -> None:
    assert [name for name in (*Protocol.NAMES, "6", "17", "132", "1") if Protocol(name).has_ports] == [
        *("TCP", "UDP", "SCTP"),
        *("6", "17", "132"),
    ]
    assert Protocol("1").is_icmp
    assert Protocol("58").is_icmpv6
    assert not Protocol("TCP").is_icmp


def test_a_port_is_a_number_a_range_or_a_name() -> None:
    assert Port("http").is_named
    assert not Port("80").is_named
    assert not Port("80:90").is_named


def test_a_selector_keeps_its_text_and_knows_its_meaning() -> None:
    selector = Selector.parse("role  ==  'db'")
    assert selector == "role  ==  'db'"
    assert selector.parsed.matches({"role": "db"})

"""What IP_AUTODETECTION_METHOD may say, and what a person is told who wrote something else."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest

from tortie.addressing.methods import (
    AGREED,
    FIRST_FOUND,
    KUBERNETES_INTERNAL_IP,
    BadMethod,
    ByInterface,
    CanReach,
    InCIDRs,
    Method,
    SkipInterface,
    notes,
    parse_method,
)
from tortie.addressing.versions import CalicoVersion

READABLE: list[tuple[str, Method]] = [
    ("first-found", FIRST_FOUND),
    ("agreed", AGREED),
    ("kubernetes-internal-ip", KUBERNETES_INTERNAL_IP),
    ("interface=eth0", ByInterface(("eth0",))),
    ("interface=eth.*,ens18", ByInterface(("eth.*", "ens18"))),
    ("skip-interface=br-.*", SkipInterface(("br-.*",))),
    ("can-reach=8.8.8.8", CanReach("8.8.8.8")),
    ("can-reach=www.google.com", CanReach("www.google.com")),
    ("cidr=10.0.0.0/8,fd00::/64", InCIDRs((ip_interface("10.0.0.0/8"), ip_interface("fd00::/64")))),
    ("interface=", ByInterface(("",))),
    ("interface=eth[0,1]", ByInterface(("eth[0", "1]"))),
]


@pytest.mark.parametrize(("text", "method"), READABLE)
def test_reads_and_writes_methods(text: str, method: Method) -> None:
    assert parse_method(text) == method
    assert type(parse_method(text)) is type(method)
    assert str(method) == text


def test_lists_are_cut_at_commas_with_blanks() -> None:
    assert parse_method("interface=eth0 ,\t ens18") == ByInterface(("eth0", "ens18"))


def test_methods_of_different_names_are_never_equal() -> None:
    methods = {FIRST_FOUND, AGREED, KUBERNETES_INTERNAL_IP, ByInterface(("eth0",)), SkipInterface(("eth0",))}
    assert len(methods) == 5


def test_no_text_is_the_default_of_whoever_asks() -> None:
    assert parse_method("") == AGREED
    assert parse_method("", FIRST_FOUND) == FIRST_FOUND


def test_ipv4_networks_in_ipv6_clothes_are_ipv4_as_in_go() -> None:
    method = parse_method("cidr=::ffff:10.0.0.0/120")
    assert isinstance(method, InCIDRs)
    assert method.networks == (ip_network("10.0.0.0/24"),)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("inteface=eth0", "interface=eth0"),
        ("Interface=eth0", "interface=eth0"),
        ("interfaces=eth0", "interface=eth0"),
        (" interface=eth0", "interface=eth0"),
        ("interface = eth0", "interface=eth0"),
        ("interface:eth0", "interface=eth0"),
        ('"interface=eth0"', "interface=eth0"),
        ("nic=eth0", "interface=eth0"),
        ("eth0", "interface=eth0"),
        ("eth0.100", "interface=eth0.100"),
        ("eth.*", "interface=eth.*"),
        ("eth0,ens18", "interface=eth0,ens18"),
        ("interface", "interface=<pattern>"),
        ("skip_interface=br-.*", "skip-interface=br-.*"),
        ("10.0.0.0/24", "cidr=10.0.0.0/24"),
        ("fd00::/64", "cidr=fd00::/64"),
        ("cidrs=10.0.0.0/8", "cidr=10.0.0.0/8"),
        ("8.8.8.8", "can-reach=8.8.8.8"),
        ("2001:db8::1", "can-reach=2001:db8::1"),
        ("www.google.com", "can-reach=www.google.com"),
        ("canReach=8.8.8.8", "can-reach=8.8.8.8"),
        ("FIRST-FOUND", "first-found"),
        ("first_found", "first-found"),
        ("firstFound", "first-found"),
        ("kubernetes-internal", "kubernetes-internal-ip"),
        ("NodeInternalIP", "kubernetes-internal-ip"),
        ("autodetect", "agreed"),
    ],
)
def test_a_misspelt_method_is_refused_with_the_nearest_right_form(text: str, right: str) -> None:
    with pytest.raises(BadMethod) as caught:
        parse_method(text)
    assert caught.value.what == f"Invalid IP autodetection method: {text}"
    assert caught.value.fix == f"write {right}"
    assert caught.value.right == right
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["   ", "bogus=1", "="])
def test_what_resembles_nothing_is_answered_with_all_forms(text: str) -> None:
    with pytest.raises(BadMethod) as caught:
        parse_method(text)
    for form in ("agreed", "first-found", "interface=", "skip-interface=", "can-reach=", "cidr=", "kubernetes-inter"):
        assert form in caught.value.fix


@pytest.mark.parametrize(
    ("text", "cidr", "fix"),
    [
        ("cidr= 10.0.0.0/8", " 10.0.0.0/8", "write cidr=10.0.0.0/8"),
        ("cidr=10.0.0.0/8,", "", "write cidr=10.0.0.0/8"),
        ("cidr=", "", "write cidr=<network>"),
        ("cidr=10.0.0.0/255.0.0.0", "10.0.0.0/255.0.0.0", "write cidr=10.0.0.0/8"),
        ("cidr=10.1.0.0", "10.1.0.0", "write cidr=10.1.0.0/16"),
        ("cidr=10.1.0.7", "10.1.0.7", "write cidr=10.1.0.7/32"),
        ("cidr=fd00::", "fd00::", "write cidr=fd00::/64"),
        ("cidr=10.0.0.0/33", "10.0.0.0/33", "write cidr=<network>"),
        ("cidr=eth0", "eth0", "write cidr=<network>"),
    ],
)
def test_a_bad_network_is_refused_in_calicos_words(text: str, cidr: str, fix: str) -> None:
    with pytest.raises(BadMethod) as caught:
        parse_method(text)
    assert caught.value.what == f'Invalid CIDR "{cidr}" for IP autodetection method: {text}'
    assert caught.value.fix == fix


@pytest.mark.parametrize(
    ("text", "error", "fix"),
    [
        ("interface=*eth", "missing argument to repetition operator: `*`", "write interface=.*eth"),
        ("interface=eth[0-9", "missing closing ]: `[0-9)`", "write interface=eth[0-9]"),
        ("skip-interface=(br|docker", "missing closing ): `((br|docker)`", "write skip-interface=(br|docker)"),
        ("interface=(?!br)", "unsupported Perl syntax", "without look-ahead"),
        (r"interface=\p{L}", r"\p{L} is a Unicode class", "a regular expression of Go"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason_and_a_mend(text: str, error: str, fix: str) -> None:
    with pytest.raises(BadMethod) as caught:
        parse_method(text)
    assert caught.value.what == "Invalid interface regex"
    assert error in caught.value.why
    assert fix in caught.value.fix


def test_a_destination_is_needed() -> None:
    with pytest.raises(BadMethod, match=r"takes 127\.0\.0\.1"):
        parse_method("can-reach=")


@pytest.mark.parametrize(
    ("text", "version", "note"),
    [
        ("cidr=10.0.0.5/24", "v3.30.0", "10.0.0.5/24 has host bits: it means the network 10.0.0.0/24"),
        ("cidr=10.0.0.0/24", "v3.15.5", "v3.15.5 ends its start with: Invalid IP autodetection method: cidr="),
        ("cidr=10.0.0.0/24", "v3.8.2", "Invalid IP autodection method: cidr=10.0.0.0/24"),
        ("kubernetes-internal-ip", "v3.21.6", "kubernetes-internal-ip came with v3.22.0"),
        ("kubernetes-internal-ipv6", "v3.30.0", "'v6' after kubernetes-internal-ip is ignored"),
        ("interface=", "v3.30.0", "every interface is taken"),
        ("skip-interface=br-.*,", "v3.30.0", "every interface is skipped"),
        ("interface= eth0", "v3.30.0", "begins or ends with a blank"),
        ("interface=eth*", "v3.30.0", "^eth means every name that begins with eth"),
        ("can-reach=8.8.8.8 ", "v3.30.0", "has blanks around it"),
    ],
)
def test_notes_what_may_not_be_meant(text: str, version: str, note: str) -> None:
    found = notes(parse_method(text), CalicoVersion.parse(version))
    assert len(found) == 1
    assert note in found[0]


@pytest.mark.parametrize(
    "text", ["first-found", "agreed", "interface=eth.*", "interface=^eth0$", "cidr=10.0.0.0/8", "can-reach=8.8.8.8"]
)
def test_has_nothing_to_say_about_what_is_clear(text: str) -> None:
    assert notes(parse_method(text)) == ()

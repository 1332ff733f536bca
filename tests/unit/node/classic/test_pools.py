"""The default pools of a release: what is said and made, and what ends the start, in the release's order."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest

from tortie.model.network import Address, HostNetwork, Interface
from tortie.node.classic.pools import Machine, ToMake, asked_pools, default_pool, pools_to_make
from tortie.node.classic.release import read_release
from tortie.node.classic.words_of_go import Ends, Line

HOST = HostNetwork((Interface(2, "eth0", addresses=(Address(ip_interface("10.0.0.1/24")),)),))
MACHINE = Machine(HOST, True, lambda: ip_network("fd12:3456:789a::/48"))
HERE = ("10.244.0.0/16", "fd10::/48")


def told(version: str, environment: dict[str, str], existing: tuple[str, ...] = ()) -> list[str]:
    """The lines, and `+ the pool` where one is made."""
    release, lines = read_release(version), []
    try:
        asked = asked_pools(environment, release)
        if asked is None:
            return []
        for step in pools_to_make(asked, environment, release, existing, MACHINE):
            text = shown(step) if isinstance(step, Line) else f"+ {step.cidr} {step.refused}".rstrip()
            lines.append(text)
    except Ends as over:
        lines += [*map(shown, over.lines), "END"]
    return lines


def shown(line: Line) -> str:
    return f"[{line.level}] {line.text}" + "".join(f" {name}={value}" for name, value in line.fields.items())


def four(**values: str) -> dict[str, str]:
    return {f"CALICO_IPV4POOL_{name}": value for name, value in values.items()}


def six(**values: str) -> dict[str, str]:
    return {f"CALICO_IPV6POOL_{name}": value for name, value in values.items()}


SELECTED = "[info] Selected default IP pool is '192.168.0.0/16'"
NAT4 = "[info] CALICO_IPV4POOL_NAT_OUTGOING is true (defaulted) through environment variable"
NAT6 = "[info] CALICO_IPV6POOL_NAT_OUTGOING is false (defaulted) through environment variable"
EXPORT4 = "[info] CALICO_IPV4POOL_DISABLE_BGP_EXPORT is false (defaulted) through environment variable"
EXPORT6 = "[info] CALICO_IPV6POOL_DISABLE_BGP_EXPORT is false (defaulted) through environment variable"
ENSURE = "[info] Ensure default IPv{} pool is created. IPIP mode: {}"
IPV6 = [
    "[info] FELIX_IPV6SUPPORT is true (defaulted) through environment variable",
    "[info] IPv6 supported on this platform: true",
]
VXLAN, EXPORT = ", VXLAN mode: Never", ", VXLAN mode: Never, DisableBGPExport: false"


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        (
            "2.6",
            [
                *(NAT4, ENSURE.format(4, "off"), "+ 192.168.0.0/16", *IPV6),
                *(NAT6, ENSURE.format(6, "off"), "+ fd80:24e2:f998:72d6::/64"),
            ],
        ),
        (
            "3.0",
            [
                *(NAT4, ENSURE.format(4, "Never"), "+ 192.168.0.0/16", *IPV6),
                *(NAT6, ENSURE.format(6, "Never"), "+ fd80:24e2:f998:72d6::/64"),
            ],
        ),
        (
            "3.8",
            [
                *(NAT4, ENSURE.format(4, "Never") + VXLAN, "+ 192.168.0.0/16", *IPV6),
                *(NAT6, ENSURE.format(6, "Never") + VXLAN, "+ fd12:3456:789a::/48"),
            ],
        ),
        (
            "3.20",
            [
                *(SELECTED, NAT4, ENSURE.format(4, "Never") + VXLAN, "+ 192.168.0.0/16", *IPV6),
                *(NAT6, ENSURE.format(6, "Never") + VXLAN, "+ fd12:3456:789a::/48"),
            ],
        ),
        (
            "3.28",
            [
                *(SELECTED, NAT4, EXPORT4, ENSURE.format(4, "Never") + EXPORT, "+ 192.168.0.0/16", *IPV6),
                *(NAT6, EXPORT6, ENSURE.format(6, "Never") + EXPORT, "+ fd12:3456:789a::/48"),
            ],
        ),
    ],
)
def test_a_first_start_by_family_of_releases(version: str, lines: list[str]) -> None:
    assert told(version, {}) == lines


@pytest.mark.parametrize("existing", [(), HERE])
@pytest.mark.parametrize(
    ("environment", "error"),
    [
        (four(CIDR="10.0.0.0/33"), "Invalid CIDR specified in CALICO_IPV4POOL_CIDR '10.0.0.0/33'"),
        (four(CIDR="none"), "Invalid CIDR specified in CALICO_IPV4POOL_CIDR 'none'"),
        (four(CIDR="10.0.0.0"), "Invalid CIDR specified in CALICO_IPV4POOL_CIDR '10.0.0.0'"),
        (four(CIDR="fd00::/48"), "Invalid CIDR specified in CALICO_IPV4POOL_CIDR 'fd00::/48'"),
        (four(CIDR=" 10.44.0.0/16"), "Invalid CIDR specified in CALICO_IPV4POOL_CIDR ' 10.44.0.0/16'"),
        (
            four(CIDR="10.44.0.0/16") | six(CIDR="10.0.0.0/16"),
            "Invalid CIDR specified in CALICO_IPV6POOL_CIDR '10.0.0.0/16'",
        ),
        (
            four(BLOCK_SIZE="big"),
            'Unable to convert blocksize to int error=strconv.Atoi: parsing "big": invalid syntax',
        ),
        (four(BLOCK_SIZE="33"), "Invalid blocksize 33 for version 4"),
        (six(BLOCK_SIZE="100"), "Invalid blocksize 100 for version 6"),
        (four(NODE_SELECTOR="rack = 1"), "Invalid node selector 'rack = 1' for version 4: expected =="),
        (
            {"NO_DEFAULT_POOLS": "True"} | four(CIDR="x"),
            "Invalid configuration with NO_DEFAULT_POOLS defined and CALICO_IPV4POOL_CIDR or CALICO_IPV6POOL_CIDR "
            "defined.",
        ),
    ],
)
def test_what_cannot_be_meant_ends_every_start(
    environment: dict[str, str], error: str, existing: tuple[str, ...]
) -> None:
    lines = [line for line in told("3.28", environment, existing) if line != SELECTED]
    assert lines == [f"[error] {error}", "END"]


@pytest.mark.parametrize(
    ("version", "environment", "error"),
    [
        ("3.28", four(IPIP="sometimes"), "Unrecognized IPIP mode specified in CALICO_IPV4POOL_IPIP 'sometimes'"),
        ("3.28", four(VXLAN="sometimes"), "Unrecognized VXLAN mode specified in CALICO_IPV4POOL_VXLAN 'sometimes'"),
        ("3.28", six(VXLAN="sometimes"), "Unrecognized VXLAN mode specified in CALICO_IPV6POOL_VXLAN 'sometimes'"),
        ("3.20", four(VXLAN="sometimes"), "Unrecognized VXLAN mode specified in CALICO_IPV4POOL_VXLAN'sometimes'"),
        ("3.8", four(VXLAN="crosssubnet"), "Unrecognized VXLAN mode specified in CALICO_IPV4POOL_VXLAN'crosssubnet'"),
    ],
)
def test_a_mode_that_nobody_knows_counts_only_where_a_pool_is_made(
    version: str, environment: dict[str, str], error: str
) -> None:
    assert told(version, environment)[-2:] == [f"[error] {error}", "END"]
    assert "END" not in told(version, environment, HERE)


def test_settings_of_later_releases_are_not_looked_at() -> None:
    assert told("3.8", four(BLOCK_SIZE="big", NODE_SELECTOR="(")) == told("3.8", {})
    assert told("3.20", six(VXLAN="Always")) == told("3.20", {})


@pytest.mark.parametrize(
    ("environment", "refused"),
    [
        (four(CIDR="10.44.0.0/28"), "IPPool.Spec.CIDR = '10.44.0.0/28' (IP pool size is too small"),
        (four(IPIP="Always", VXLAN="Always"), "IPPool.Spec.VXLANMode = 'Always' (Cannot enable both VXLAN and IPIP"),
    ],
)
def test_what_calicos_client_does_not_take(environment: dict[str, str], refused: str) -> None:
    made = next(line for line in told("3.28", environment) if line.startswith("+ "))
    assert f"error with field {refused}" in made


def test_a_pool_that_cannot_be_read_is_none() -> None:
    assert told("3.28", four(CIDR="10.44.0.0/16"), ("10.5.0.0/33", "fd10::/48"))[:2] == [
        "[warning] Error parsing CIDR '10.5.0.0/33'. Skipping the IPPool.",
        NAT4,
    ]


def test_switches_know_a_few_words_for_no_and_everything_else_is_yes() -> None:
    lines = told("3.28", four(NAT_OUTGOING="", DISABLE_BGP_EXPORT="N") | six(NAT_OUTGOING="maybe"))
    for variable, value in (
        ("CALICO_IPV4POOL_NAT_OUTGOING", "true"),
        ("CALICO_IPV4POOL_DISABLE_BGP_EXPORT", "false"),
        ("CALICO_IPV6POOL_NAT_OUTGOING", "true"),
    ):
        assert f"[info] {variable} is {value} through environment variable" in lines


def test_what_is_made_has_what_was_asked() -> None:
    environment = four(CIDR="10.44.1.2/16", BLOCK_SIZE="+24", NODE_SELECTOR="rack == 'a'", IPIP="cross-subnet")
    release = read_release("3.28")
    asked = asked_pools(environment, release)
    assert asked is not None
    made = next(each for each in pools_to_make(asked, environment, release, (), MACHINE) if isinstance(each, ToMake))
    assert made.said == (
        "Created default IPv4 pool (10.44.0.0/16) with NAT outgoing true. IPIP mode: CrossSubnet, VXLAN mode: Never, "
        "DisableBGPExport: false"
    )
    spec = made.document["spec"]
    assert (spec["cidr"], spec["blockSize"], spec["nodeSelector"]) == ("10.44.0.0/16", 24, "rack == 'a'")
    assert (spec["ipipMode"], spec["natOutgoing"]) == ("CrossSubnet", True)


def test_the_default_looks_at_this_host_only_and_from_314_on() -> None:
    at_home = HostNetwork((Interface(2, "eth0", addresses=(Address(ip_interface("192.168.1.5/24")),)),))
    assert default_pool(HOST, read_release("3.20")) == ip_network("192.168.0.0/16")
    assert default_pool(at_home, read_release("3.20")) == ip_network("172.16.0.0/16")
    assert default_pool(at_home, read_release("3.13")) == ip_network("192.168.0.0/16")

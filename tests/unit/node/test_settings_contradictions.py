"""Settings that are right one by one and wrong together: both sides are named, and what fits neither is refused."""

from __future__ import annotations

import pytest

from tortie.node.settings import Reading, parse_env_file, read_node_settings


def read(text: str) -> Reading:
    return read_node_settings(dict(word.split("=", 1) for word in text.split()))


@pytest.mark.parametrize(
    ("environment", "variable", "other_side", "right"),
    [
        (
            "NO_DEFAULT_POOLS=true CALICO_IPV4POOL_CIDR=10.0.0.0/16",
            "NO_DEFAULT_POOLS",
            "CALICO_IPV4POOL_CIDR=10.0.0.0/16",
            "leave out",
        ),
        (
            "NO_DEFAULT_POOLS=True CALICO_IPV6POOL_CIDR=fd00::/48",
            "NO_DEFAULT_POOLS",
            "CALICO_IPV6POOL_CIDR=fd00::/48",
            "leave out",
        ),
        (
            "ETCD_ENDPOINTS=http://a:1 ETCD_DISCOVERY_SRV=b.c",
            "ETCD_DISCOVERY_SRV",
            "ETCD_ENDPOINTS=http://a:1",
            "leave out",
        ),
        (
            "CALICO_ETCD_ENDPOINTS=http://a:1 ETCD_DISCOVERY_SRV=b.c",
            "ETCD_DISCOVERY_SRV",
            "CALICO_ETCD_ENDPOINTS=",
            "leave out",
        ),
        (
            "CALICO_IPV4POOL_IPIP=Always CALICO_IPV4POOL_VXLAN=CrossSubnet",
            "CALICO_IPV4POOL_IPIP",
            "CALICO_IPV4POOL_VXLAN=CrossSubnet",
            "Never",
        ),
        ("FELIX_HEALTHPORT=9091", "FELIX_HEALTHPORT", "FELIX_PROMETHEUSMETRICSPORT=9091 (default)", "two ports"),
        (
            "FELIX_PROMETHEUSMETRICSPORT=9099 FELIX_PROMETHEUSMETRICSHOST=0.0.0.0",
            "FELIX_PROMETHEUSMETRICSPORT",
            "FELIX_HEALTHPORT=9099 (default)",
            "two ports",
        ),
        (
            "CALICO_IPV4POOL_CIDR=10.0.0.0/28",
            "CALICO_IPV4POOL_CIDR",
            "smaller than one of its blocks, /26",
            "CALICO_IPV4POOL_BLOCK_SIZE=28",
        ),
        (
            "CALICO_IPV4POOL_CIDR=10.0.0.0/24 CALICO_IPV4POOL_BLOCK_SIZE=20",
            "CALICO_IPV4POOL_CIDR",
            "CALICO_IPV4POOL_BLOCK_SIZE=20",
            "24 or more",
        ),
    ],
)
def test_what_fits_no_meaning_is_refused(environment: str, variable: str, other_side: str, right: str) -> None:
    (finding,) = read(environment).refused
    assert finding.variable == variable
    assert finding.value in environment
    assert other_side in finding.why
    assert right in finding.right


@pytest.mark.parametrize(
    ("environment", "variable", "other_side", "right"),
    [
        ("IP=none", "IP", "IP6 is unset, and the backend bird needs one", "IP=autodetect"),
        ("IP=none IP6=none CALICO_NETWORKING_BACKEND=vxlan", "IP", "IP6=none, and the backend vxlan", "IP6=autodetect"),
        (
            "IP=10.0.0.1 IP_AUTODETECTION_METHOD=first-found",
            "IP_AUTODETECTION_METHOD",
            "not used: IP=10.0.0.1",
            "IP=autodetect",
        ),
        (
            "IP=none IP6=fd00::1 IP_AUTODETECTION_METHOD=first-found CALICO_ROUTER_ID=hash",
            "IP_AUTODETECTION_METHOD",
            "IP=none",
            "IP=autodetect",
        ),
        (
            "IP6_AUTODETECTION_METHOD=first-found",
            "IP6_AUTODETECTION_METHOD",
            "not used: IP6 is unset",
            "IP6=autodetect",
        ),
        (
            "IP_AUTODETECTION_METHOD=first-found",
            "IP_AUTODETECTION_METHOD",
            "IP is unset, which keeps a registered one",
            "IP=autodetect",
        ),
        (
            "CALICO_IPV4POOL_CIDR=none CALICO_IPV4POOL_BLOCK_SIZE=24",
            "CALICO_IPV4POOL_BLOCK_SIZE",
            "CALICO_IPV4POOL_CIDR=none",
            "leave it out",
        ),
        (
            "NO_DEFAULT_POOLS=true CALICO_IPV6POOL_VXLAN=Always",
            "CALICO_IPV6POOL_VXLAN",
            "NO_DEFAULT_POOLS=true",
            "leave it out",
        ),
        (
            "NO_DEFAULT_POOLS=true CALICO_IPV4POOL_CIDR=none",
            "NO_DEFAULT_POOLS",
            "CALICO_IPV4POOL_CIDR=none; Calico ends",
            "keep one",
        ),
        (
            "CALICO_NETWORKING_BACKEND=vxlan CALICO_IPV4POOL_IPIP=Always",
            "CALICO_IPV4POOL_IPIP",
            "CALICO_NETWORKING_BACKEND=vxlan",
            "VXLAN=Always",
        ),
        ("CALICO_NETWORKING_BACKEND=none AS=64512", "AS", "CALICO_NETWORKING_BACKEND=none", "another backend"),
        ("CALICO_NETWORKING_BACKEND=none IP=autodetect", "IP", "CALICO_NETWORKING_BACKEND=none", "leave it out"),
        (
            "ETCD_ENDPOINTS=http://a:1 CALICO_ETCD_ENDPOINTS=http://b:1",
            "ETCD_ENDPOINTS",
            "CALICO_ETCD_ENDPOINTS=http://b:1, which counts",
            "keep one",
        ),
        ("FELIX_IPV6SUPPORT=false IP6=autodetect", "IP6", "FELIX_IPV6SUPPORT=false", "FELIX_IPV6SUPPORT=true"),
        (
            "FELIX_IPV6SUPPORT=false CALICO_IPV6POOL_CIDR=fd00::/48",
            "CALICO_IPV6POOL_CIDR",
            "FELIX_IPV6SUPPORT=false",
            "leave out",
        ),
        ("IP=none IP6=autodetect", "IP", "a hash of the node's name is taken", "CALICO_ROUTER_ID=hash"),
        ("FELIX_HEALTHENABLED=false", "FELIX_HEALTHENABLED", "nothing answers probes", "take the probes away"),
        (
            "FELIX_IPINIPENABLED=false CALICO_IPV4POOL_IPIP=Always",
            "FELIX_IPINIPENABLED",
            "CALICO_IPV4POOL_IPIP=Always",
            "leave it out",
        ),
        (
            "FELIX_VXLANENABLED=off CALICO_IPV4POOL_VXLAN=Always",
            "FELIX_VXLANENABLED",
            "CALICO_IPV4POOL_VXLAN=Always",
            "leave it out",
        ),
    ],
)
def test_what_makes_another_setting_useless_is_a_warning(
    environment: str, variable: str, other_side: str, right: str
) -> None:
    reading = read(environment)
    assert not reading.refused
    told = [finding for finding in reading.warnings if finding.variable == variable and other_side in finding.why]
    assert len(told) == 1, reading.warnings
    assert right in told[0].right


@pytest.mark.parametrize(
    "environment",
    [
        "NO_DEFAULT_POOLS=false CALICO_IPV4POOL_CIDR=10.0.0.0/16",
        "CALICO_IPV4POOL_IPIP=Always CALICO_IPV4POOL_VXLAN=Never CALICO_IPV6POOL_VXLAN=Always",
        "IP=autodetect IP6=autodetect IP_AUTODETECTION_METHOD=first-found IP6_AUTODETECTION_METHOD=first-found",
        "IP=none IP6=autodetect CALICO_ROUTER_ID=hash",
        "IP=none IP6=autodetect CALICO_NETWORKING_BACKEND=vxlan",
        "FELIX_HEALTHPORT=9091 FELIX_PROMETHEUSMETRICSENABLED=false",
        "FELIX_HEALTHPORT=9000 FELIX_PROMETHEUSMETRICSPORT=9000 FELIX_PROMETHEUSMETRICSHOST=10.0.0.1",
        "ETCD_ENDPOINTS=http://a:1 CALICO_ETCD_ENDPOINTS=http://a:1",
        "FELIX_IPV6SUPPORT=false IP6=none CALICO_IPV6POOL_CIDR=none",
        "CALICO_IPV4POOL_CIDR=10.0.0.0/26",
        "CALICO_NETWORKING_BACKEND=vxlan CALICO_IPV4POOL_IPIP=Never CALICO_IPV4POOL_VXLAN=Always",
        "CALICO_NETWORKING_BACKEND=none CALICO_IPV4POOL_CIDR=10.0.0.0/16",
        # What Calico's own manifest sets, in the etcd form.
        "WAIT_FOR_DATASTORE=true NODENAME=a CALICO_NETWORKING_BACKEND=bird CLUSTER_TYPE=k8s,bgp IP=autodetect "
        "CALICO_IPV4POOL_IPIP=Always CALICO_IPV4POOL_VXLAN=Never CALICO_IPV6POOL_VXLAN=Never FELIX_IPINIPMTU=0 "
        "FELIX_VXLANMTU=0 FELIX_WIREGUARDMTU=0 CALICO_DISABLE_FILE_LOGGING=true FELIX_IPV6SUPPORT=false "
        "FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT FELIX_HEALTHENABLED=true ETCD_ENDPOINTS=https://a:2379",
    ],
)
def test_what_fits_together_is_taken_without_a_word(environment: str) -> None:
    reading = read(environment)
    assert (reading.refused, reading.warnings) == ((), ())


@pytest.mark.parametrize(
    ("environment", "backend", "told"),
    [
        ("CALICO_NETWORKING=false", "none", ["old form"]),
        ("CALICO_NETWORKING=true", "bird", ["old form"]),
        ("CALICO_NETWORKING=no", "none", ["all but false for true"]),
        ("CALICO_NETWORKING=false CALICO_NETWORKING_BACKEND=none", "none", ["old form"]),
        ("CALICO_NETWORKING=true CALICO_NETWORKING_BACKEND=vxlan", "bird", ["old form", "the old form wins"]),
        ("CALICO_NETWORKING=false CALICO_NETWORKING_BACKEND=bird", "none", ["old form", "the old form wins"]),
    ],
)
def test_the_old_form_of_the_backend_wins_as_in_calico(environment: str, backend: str, told: list[str]) -> None:
    reading = read(environment)
    assert reading.settings.backend.value == backend
    assert not reading.refused
    assert len(reading.warnings) == len(told)
    assert all(text in finding.why for text, finding in zip(told, reading.warnings, strict=True))


def test_a_refused_value_is_not_accused_of_contradictions_as_well() -> None:
    reading = read("IP=none IP6=fd00::zz IP6_AUTODETECTION_METHOD=first-found CALICO_ROUTER_ID=hash")
    assert [finding.variable for finding in reading.refused] == ["IP6"]
    assert reading.warnings == ()


def test_the_other_side_of_a_contradiction_is_named_with_its_line() -> None:
    file = parse_env_file("# pools\nCALICO_IPV4POOL_CIDR=10.0.0.0/16\n", "/etc/node.env")
    (finding,) = read_node_settings({"NO_DEFAULT_POOLS": "true"}, file).refused
    assert "CALICO_IPV4POOL_CIDR=10.0.0.0/16 (file /etc/node.env, line 2)" in finding.why


def test_passwords_that_differ_are_told_apart_without_being_shown() -> None:
    reading = read("ETCD_PASSWORD=hunter2 CALICO_ETCD_PASSWORD=swordfish")
    (finding,) = reading.warnings
    assert "CALICO_ETCD_PASSWORD=…, which counts" in finding.why
    assert "hunter2" not in repr(reading)
    assert "swordfish" not in repr(reading)


def test_a_file_wins_over_the_environment_whatever_the_form_of_the_name() -> None:
    """As `tortie.cli.settings` has it, which opens the datastore."""
    file = parse_env_file("ETCD_ENDPOINTS=http://a:1\n", "/etc/node.env")
    (finding,) = read_node_settings({"CALICO_ETCD_ENDPOINTS": "http://b:1"}, file).warnings
    assert finding.variable == "CALICO_ETCD_ENDPOINTS"
    assert "differs from ETCD_ENDPOINTS=http://a:1 (file /etc/node.env, line 1), which counts" in finding.why

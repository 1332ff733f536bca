"""What single values mean: typed as they say, told where Calico reads them otherwise, refused where nothing fits."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from tortie.addressing.decision import AUTODETECT, DISABLED, UNSET, Given
from tortie.addressing.methods import AGREED, ByInterface, CanReach, FirstFound
from tortie.node.settings import Finding, Reading, read_node_settings
from tortie.node.settings.telling import by_variable


def read(**environment: str) -> Reading:
    return read_node_settings(environment)


def value_of(reading: Reading, name: str) -> object:
    return by_variable(reading.settings)[name].value


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_an_empty_environment_is_right_as_it_is() -> None:
    reading = read()
    settings = reading.settings
    assert (reading.refused, reading.warnings) == ((), ())
    assert settings.backend.value == "bird"
    assert settings.log_level.value == "info"
    assert settings.autodetect_poll_interval.value == 60.0
    assert (settings.address(4), settings.address(6)) == (UNSET, UNSET)
    assert settings.method(4) == settings.method(6) == AGREED
    assert (settings.wants_address(4), settings.wants_address(6)) == (True, False)
    assert (settings.health_enabled.value, settings.health_host.value, settings.health_port.value) == (
        True,
        "localhost",
        9099,
    )
    assert (settings.metrics_enabled.value, settings.metrics_host.value, settings.metrics_port.value) == (
        True,
        "127.0.0.1",
        9091,
    )
    pool = settings.pool(4)
    assert (pool.cidr, pool.disabled, pool.block_size, pool.nat_outgoing) == (None, False, 26, True)
    assert (settings.pool(6).block_size, settings.pool(6).nat_outgoing) == (122, False)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("NODENAME", " Node-A ", "Node-A"),
        ("CALICO_STARTUP_LOGLEVEL", "WARN", "warning"),
        ("CALICO_STARTUP_LOGLEVEL", "trace", "trace"),
        ("AUTODETECT_POLL_INTERVAL", "1m30s", 90.0),
        ("AUTODETECT_POLL_INTERVAL", "1h2m3.5s", 3723.5),
        ("AUTODETECT_POLL_INTERVAL", "1500ms", 1.5),
        ("AS", "64512", 64512),
        ("AS", "4294967295", 4294967295),
        ("AS", "1.10", 65546),
        ("CALICO_NETWORKING_BACKEND", "vxlan", "vxlan"),
        ("CALICO_NETWORKING_BACKEND", "BIRD", "bird"),
        ("CLUSTER_TYPE", "k8s, bgp,,kubeadm", ("k8s", "bgp", "kubeadm")),
        ("CALICO_IPV4POOL_CIDR", "10.244.0.0/16", ip_network("10.244.0.0/16")),
        ("CALICO_IPV4POOL_CIDR", "none", "none"),
        ("CALICO_IPV6POOL_CIDR", "fd00:0:0::/48", ip_network("fd00::/48")),
        ("CALICO_IPV4POOL_BLOCK_SIZE", "20", 20),
        ("CALICO_IPV4POOL_BLOCK_SIZE", "32", 32),
        ("CALICO_IPV6POOL_BLOCK_SIZE", "116", 116),
        ("CALICO_IPV4POOL_IPIP", "off", "Never"),
        ("CALICO_IPV4POOL_IPIP", "CROSS-SUBNET", "CrossSubnet"),
        ("CALICO_IPV4POOL_VXLAN", "always", "Always"),
        ("CALICO_IPV4POOL_NAT_OUTGOING", "F", False),
        ("CALICO_IPV4POOL_NAT_OUTGOING", "on", True),
        ("CALICO_IPV4POOL_NODE_SELECTOR", "zone == 'a' && !has(spot)", "zone == 'a' && !has(spot)"),
        ("CALICO_IPV6POOL_DISABLE_BGP_EXPORT", "true", True),
        ("NO_DEFAULT_POOLS", "TRUE", True),
        ("DISABLE_NODE_IP_CHECK", "true", True),
        ("DISABLE_NODE_IP_CHECK", "no", False),
        ("CALICO_DISABLE_FELIX", "1", True),
        ("CALICO_DISABLE_FILE_LOGGING", "true", True),
        ("CALICO_MANAGE_CNI", "yes", True),
        ("CALICO_ROUTER_ID", "hash", "hash"),
        ("CALICO_ROUTER_ID", "10.0.0.1", "10.0.0.1"),
        ("NODE_USER_ID", "0", 0),
        ("FELIX_HEALTHHOST", "::1", "::1"),
        ("FELIX_HEALTHPORT", "9199", 9199),
        ("FELIX_PROMETHEUSMETRICSENABLED", "n", False),
        ("FELIX_IPV6SUPPORT", "T", True),
        ("WAIT_FOR_DATASTORE", "true", True),
    ],
)
def test_values_that_mean_the_same_to_calico_are_taken_without_a_word(name: str, text: str, value: object) -> None:
    reading = read(**{name: text})
    assert (reading.refused, reading.warnings) == ((), ())
    assert value_of(reading, name) == value


@pytest.mark.parametrize(
    ("name", "text", "value", "told", "right"),
    [
        (
            "CALICO_DISABLE_FELIX",
            "false",
            False,
            "would disable Felix; Tortie takes it for false",
            "unset",
        ),
        ("WAIT_FOR_DATASTORE", "yes", True, "only when this is exactly true; Tortie always waits", "true"),
        ("WAIT_FOR_DATASTORE", "false", False, "Tortie always waits", "unset"),
        ("DISABLE_NODE_IP_CHECK", "yes", True, "nothing but true for true; Tortie takes it for true", "true"),
        ("DISABLE_NODE_IP_CHECK", "True", True, "nothing but true", "true"),
        ("NO_DEFAULT_POOLS", "1", True, "nothing but true", "true"),
        ("CALICO_IPV4POOL_NAT_OUTGOING", "off", False, "all but false, 0, no, n, f for true", "false"),
        ("CALICO_IPV4POOL_NAT_OUTGOING", "Disabled", False, "Tortie takes it for false", "false"),
        ("CALICO_MANAGE_CNI", "no", False, "all but false for true", "false"),
        ("FELIX_IPV6SUPPORT", "off", False, "Felix does not know this word", "false"),
        ("CALICO_IPV4POOL_CIDR", "192.168.1.5/16", ip_network("192.168.0.0/16"), "as 192.168.0.0/16", "192.168.0.0/16"),
        ("CALICO_IPV6POOL_CIDR", "fd00::1/48", ip_network("fd00::/48"), "host bits", "fd00::/48"),
        ("CALICO_IPV4POOL_CIDR", "None", "none", "only the lower-case form", "none"),
        ("CALICO_NETWORKING_BACKEND", "VXLAN", "vxlan", "would run BIRD; Tortie takes vxlan", "vxlan"),
        ("CALICO_NETWORKING_BACKEND", " none ", "none", "blanks around it", "none"),
        ("CALICO_NETWORKING_BACKEND", '"vxlan"', "vxlan", "quotes around it", "vxlan"),
        ("CALICO_STARTUP_LOGLEVEL", "inof", "info", "info is used instead, as in Calico", "did you mean info?"),
        ("AUTODETECT_POLL_INTERVAL", "90", 90.0, "no unit, so that Calico would use 60s", "90s"),
        ("AUTODETECT_POLL_INTERVAL", "soon", 60.0, "60s is used instead", "a number with its unit"),
        ("AUTODETECT_POLL_INTERVAL", "-5s", 60.0, "not a positive span", "a number with its unit"),
        ("CALICO_ROUTER_ID", "HASH", "hash", "only the lower-case form", "hash"),
        ("IP", "AutoDetect", "autodetect", "only the lower-case form", "autodetect"),
    ],
)
def test_what_calico_reads_otherwise_means_what_it_says_and_is_told(
    name: str, text: str, value: object, told: str, right: str
) -> None:
    reading = read(**{name: text})
    warning = only(reading.warnings)
    assert not reading.refused
    assert value_of(reading, name) == value
    assert (warning.variable, warning.value) == (name, text)
    assert warning.source == f"environment variable {name}"
    assert told in warning.why
    assert right in warning.right


@pytest.mark.parametrize(
    ("name", "text", "why", "right"),
    [
        ("IP_AUTODETECTION_METHOD", "inteface=eth0", "no method is called that", "interface=eth0"),
        ("IP_AUTODETECTION_METHOD", "eth0", "no method is called that", "interface=eth0"),
        ("IP_AUTODETECTION_METHOD", "First-Found", "upper and lower case count", "first-found"),
        ("IP_AUTODETECTION_METHOD", "interface=eth[0", "", "interface=eth[0]"),
        ("IP_AUTODETECTION_METHOD", "cidr=fd00::/64", "nothing of IPv4", "IP6_AUTODETECTION_METHOD=cidr=fd00::/64"),
        (
            "IP6_AUTODETECTION_METHOD",
            "can-reach=10.0.0.1",
            "nothing of IPv6",
            "IP_AUTODETECTION_METHOD=can-reach=10.0.0.1",
        ),
        ("IP", "10.0.0.300", "neither an address nor a", "IP="),
        ("IP", "fd00::1", "it is an IPv6 address", "IP6=fd00::1"),
        ("IP", "autodetct", "neither an address nor a", "IP=autodetect"),
        ("IP", "interface=eth0", "", "IP_AUTODETECTION_METHOD=interface=eth0"),
        ("IP6", "10.0.0.1/24", "it is an IPv4 address", "IP=10.0.0.1/24"),
        ("AS", "0", "outside of the range", "from 1 to 4294967295"),
        ("AS", "4294967296", "outside of the range", "64512"),
        ("AS", "AS64512", "Calico's form", "64512"),
        ("AS", "1.70000", "at most 65535", "1.10"),
        ("CALICO_NETWORKING_BACKEND", "brid", "Calico would run BIRD without a word", "did you mean bird?"),
        ("CALICO_NETWORKING_BACKEND", "gobgp", "earlier releases", "bird, vxlan or none"),
        ("CALICO_NETWORKING", "vxlan", "the name of a backend", "CALICO_NETWORKING_BACKEND=vxlan"),
        ("CALICO_IPV4POOL_CIDR", "192.168.0.0", "length of the prefix is missing", "10.244.0.0/16"),
        ("CALICO_IPV4POOL_CIDR", "192.168.0.0/33", "is not a CIDR", "10.244.0.0/16"),
        ("CALICO_IPV4POOL_CIDR", "10.0.0.0/255.0.0.0", "is not a CIDR", "10.244.0.0/16"),
        ("CALICO_IPV4POOL_CIDR", "fd00::/48", "is an IPv6 CIDR", "CALICO_IPV6POOL_CIDR=fd00::/48"),
        ("CALICO_IPV6POOL_CIDR", "10.0.0.0/8", "is an IPv4 CIDR", "CALICO_IPV4POOL_CIDR=10.0.0.0/8"),
        ("CALICO_IPV4POOL_CIDR", "10.0.0.0/16,fd00::/48", "more than one CIDR", "CALICO_IPV6POOL_CIDR for IPv6"),
        ("CALICO_IPV4POOL_CIDR", "169.254.0.0/17", "link-local", "10.244.0.0/16"),
        ("CALICO_IPV4POOL_BLOCK_SIZE", "19", "from 20 to 32", "26"),
        ("CALICO_IPV4POOL_BLOCK_SIZE", "/26", "without a slash", "26"),
        ("CALICO_IPV6POOL_BLOCK_SIZE", "64", "from 116 to 128", "122"),
        ("CALICO_IPV4POOL_IPIP", "true", "is not a mode", "Always"),
        ("CALICO_IPV4POOL_VXLAN", "CrosSubnet", "is not a mode", "did you mean CrossSubnet?"),
        ("CALICO_IPV4POOL_NODE_SELECTOR", "zone = a", "", "=="),
        ("CALICO_IPV4POOL_NAT_OUTGOING", "flase", "neither true nor false", "did you mean false?"),
        ("CALICO_DISABLE_FELIX", "disabled", "neither true nor false", "true or false"),
        ("CALICO_ROUTER_ID", "fd00::1", "not a BGP router id", "hash"),
        ("NODE_USER_ID", "root", "is not a user id", "1000"),
        ("FELIX_HEALTHPORT", "99999", "is not a port", "from 1 to 65535"),
        ("FELIX_HEALTHPORT", "0", "is not a port", "from 1 to 65535"),
        ("FELIX_HEALTHHOST", "[::1]", "without brackets", "::1"),
        ("FELIX_HEALTHENABLED", "ture", "neither true nor false", "did you mean true?"),
        ("FELIX_PROMETHEUSMETRICSPORT", "http", "is not a port", "from 1 to 65535"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest_right_form(
    name: str, text: str, why: str, right: str
) -> None:
    found = only(read(**{name: text}).refused)
    assert (found.variable, found.value, found.source) == (name, text, f"environment variable {name}")
    assert why in found.why
    assert right in found.right


def test_addresses_and_methods_come_typed() -> None:
    settings = read(
        IP="10.0.0.1/24",
        IP6="none",
        IP_AUTODETECTION_METHOD="interface=^eth0$,bond.*",
        IP6_AUTODETECTION_METHOD="can-reach=fd00::1",
    ).settings
    told = settings.address(4)
    assert isinstance(told, Given)
    assert str(told.cidr) == "10.0.0.1/24"
    assert settings.address(6) is DISABLED
    assert not settings.wants_address(6)
    assert settings.method(4) == ByInterface(("^eth0$", "bond.*"))
    assert settings.method(6) == CanReach("fd00::1")
    settings = read(IP="autodetect", IP6="autodetect", IP_AUTODETECTION_METHOD="first-found").settings
    assert (settings.address(4), settings.address(6)) == (AUTODETECT, AUTODETECT)
    assert settings.wants_address(6)
    assert settings.method(4) == FirstFound()


def test_a_pattern_that_does_not_mean_what_it_looks_like_is_told() -> None:
    reading = read(IP="autodetect", IP_AUTODETECTION_METHOD="interface=eth*")
    assert not reading.refused
    assert "is a regular expression" in only(reading.warnings).why


def test_pools_come_in_the_form_in_which_they_are_chosen_and_written() -> None:
    settings = read(
        CALICO_IPV4POOL_CIDR="10.0.0.0/8",
        CALICO_IPV4POOL_BLOCK_SIZE="24",
        CALICO_IPV4POOL_VXLAN="CrossSubnet",
        CALICO_IPV4POOL_NAT_OUTGOING="false",
        CALICO_IPV4POOL_NODE_SELECTOR="has(x)",
        CALICO_IPV4POOL_DISABLE_BGP_EXPORT="yes",
        CALICO_IPV6POOL_CIDR="none",
    ).settings
    assert settings.pool(4) == (
        ip_network("10.0.0.0/8"), False, 24, "Never", "CrossSubnet", False, "has(x)", True
    )  # fmt: skip
    assert settings.pool(6).disabled
    assert read(NO_DEFAULT_POOLS="true").settings.pool(4).disabled


@pytest.mark.parametrize("name", ["CALICO_IPV6POOL_NAT_OUTGOING", "CALICO_IPV4POOL_DISABLE_BGP_EXPORT"])
def test_an_empty_variable_is_as_good_as_none_and_calicos_other_reading_is_told(name: str) -> None:
    reading = read(**{name: ""})
    assert value_of(reading, name) is False
    assert "Calico takes an empty value for true here" in only(reading.warnings).why


def test_other_empty_variables_are_not_worth_a_word() -> None:
    reading = read(IP="", AS="", FELIX_HEALTHPORT="", CALICO_IPV4POOL_NAT_OUTGOING="", CALICO_DISABLE_FELIX="")
    assert (reading.refused, reading.warnings) == ((), ())
    assert reading.settings.address(4) is UNSET
    assert reading.settings.disable_felix.value is False


@pytest.mark.parametrize(
    ("name", "text", "why", "right"),
    [
        ("FELIX_IPTABLESREFRESHINTERVAL", "90s", "plain seconds", "90"),
        ("FELIX_ROUTEREFRESHINTERVAL", "often", "not a number of seconds", "90"),
        ("FELIX_BPFENABLED", "ture", "neither true nor false", "did you mean true?"),
        ("FELIX_VXLANMTU", "big", "is not a number", "1440"),
        ("BGP_LOGSEVERITYSCREEN", "loud", "is not a log level", ""),
        ("K8S_CLIENT_QPS", "fast", "is not a number", ""),
        ("USE_POD_CIDR", "yes", "Calico does not know this word and ends", "true"),
        ("CALICO_ADVERTISE_CLUSTER_IPS", "10.96.0.0", "prefix is missing", ""),
    ],
)
def test_a_wrong_value_of_something_not_used_here_does_not_stop_a_start(
    name: str, text: str, why: str, right: str
) -> None:
    reading = read(**{name: text})
    warning = only(reading.warnings)
    assert not reading.refused
    assert warning.variable == name
    assert why in warning.why
    assert right in warning.right
    assert reading.settings.others[name].value == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FELIX_IPTABLESREFRESHINTERVAL", "90"),
        ("FELIX_IPTABLESMARKMASK", "0xffff0000"),
        ("FELIX_VXLANMTU", "none"),
        ("FELIX_LOGFILEPATH", "none"),
        ("FELIX_FAILSAFEINBOUNDHOSTPORTS", "none"),
        ("FELIX_GOGCTHRESHOLD", "-1"),
        ("K8S_CLIENT_QPS", "5.5"),
        ("CNI_TOKEN_REFRESH_INTERVAL", "1h"),
    ],
)
def test_felixs_own_forms_are_right(name: str, text: str) -> None:
    reading = read(**{name: text})
    assert (reading.refused, reading.warnings) == ((), ())
    assert reading.settings.others[name].text == text

"""Misspelt and unknown variables: found when they look like ours, left alone when they are other people's."""

from __future__ import annotations

import pytest

from tortie.node.settings import parse_env_file, read_node_settings
from tortie.node.settings.names import closest, slips


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NODNAME", "NODENAME"),
        ("NODE_NAME", "NODENAME"),
        ("NODENAEM", "NODENAME"),
        ("WAIT_FOR_DATASTOR", "WAIT_FOR_DATASTORE"),
        ("IP_AUTODETECT_METHOD", "IP_AUTODETECTION_METHOD"),
        ("IP_AUTODETECTION_METHD", "IP_AUTODETECTION_METHOD"),
        ("IP6_AUTODETECTION_METHD", "IP6_AUTODETECTION_METHOD"),
        ("IPV6_AUTODETECTION_METHOD", "IP6_AUTODETECTION_METHOD"),
        ("NO_DEFAULT_POOL", "NO_DEFAULT_POOLS"),
        ("CLUSTERTYPE", "CLUSTER_TYPE"),
        ("DATASTORETYPE", "DATASTORE_TYPE"),
        ("CALICO_IPV4POOL_CIDRS", "CALICO_IPV4POOL_CIDR"),
        ("CALICO_IPV4POOL_IPIP_MODE", "CALICO_IPV4POOL_IPIP"),
        ("CALICO_IPV6POOL_IPIP", "CALICO_IPV6POOL_VXLAN"),
        ("CALICO_NETWORK_BACKEND", "CALICO_NETWORKING_BACKEND"),
        ("CALICO_CLUSTER_TYPE", "CLUSTER_TYPE"),
        ("CALICO_IP_AUTODETECTION_METHOD", "IP_AUTODETECTION_METHOD"),
        ("TORTIE_NODENAME", "NODENAME"),
        ("ETCD_ENDPOINT", "ETCD_ENDPOINTS"),
        ("ETCD_PASSWD", "ETCD_PASSWORD"),
        ("FELIX_HEALTH_ENABLED", "FELIX_HEALTHENABLED"),
        ("FELIX_LOG_SEVERITY_SCREEN", "FELIX_LOGSEVERITYSCREEN"),
        ("FELIX_HEALTHPRT", "FELIX_HEALTHPORT"),
        ("TORTIE_STOR", "TORTIE_STORE"),
        ("nodename", "NODENAME"),
        ("Calico_Networking_Backend", "CALICO_NETWORKING_BACKEND"),
    ],
)
def test_a_misspelt_name_is_told_with_the_nearest_right_one(name: str, meant: str) -> None:
    reading = read_node_settings({name: "hunter2"})
    assert [finding.variable for finding in reading.warnings] == [name]
    finding = reading.warnings[0]
    assert meant in finding.right
    assert finding.source == f"environment variable {name}"
    assert "hunter2" not in str(reading.warnings), "it may be a password under a misspelt name"
    assert not reading.refused


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("CALICO_NODENAME", "did you mean NODENAME?"),
        ("CALICO_HOSTNAME", "did you mean NODENAME?"),
        ("CALICO_IP", "did you mean IP?"),
        ("CALICO_IP6", "did you mean IP6?"),
        ("CALICO_AS", "did you mean AS?"),
        ("CALICO_NO_DEFAULT_POOLS", "did you mean NO_DEFAULT_POOLS?"),
        ("CALICO_LIBNETWORK_ENABLED", "leave it out"),
        ("CALICO_DOCKER_IMAGE", "leave it out"),
        ("ETCD_CA_FILE", "did you mean ETCD_CA_CERT_FILE?"),
        ("ETCD_AUTHORITY", "ETCD_ENDPOINTS=http://127.0.0.1:2379, for example"),
        ("ETCD_SCHEME", "ETCD_ENDPOINTS=http://127.0.0.1:2379, for example"),
    ],
)
def test_the_names_of_calicos_old_systemd_units_are_told_with_todays(name: str, right: str) -> None:
    (finding,) = read_node_settings({name: "true"}).warnings
    assert (finding.variable, finding.right) == (name, right)


def test_what_old_systemd_units_say_beside_todays_names_is_taken() -> None:
    file = "ETCD_ENDPOINTS=http://a:1\nETCD_AUTHORITY=a:1\nCALICO_NETWORKING_BACKEND=bird\nCALICO_IP=\nCALICO_AS=''\n"
    reading = read_node_settings({}, parse_env_file(file, "/etc/calico/calico.env"))
    assert (reading.refused, reading.warnings) == ((), ())


@pytest.mark.parametrize(
    "name", ["CALICO_COLOUR", "ETCD_DATA_DIR", "K8S_POD_NAME", "CONFD_INTERVAL", "FELIX_NODESELECTOR"]
)
def test_an_unknown_name_of_ours_is_told_even_if_none_is_near(name: str) -> None:
    assert [finding.variable for finding in read_node_settings({name: "1"}).warnings] == [name]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "HOME",
            "PATH",
            "TERM",
            "HOSTTYPE",
            "IPS",
            "PS1",
            "HOST",
            "ASK",
            "LANG",
            "USER",
            "SHLVL",
            "PWD",
            "OLDPWD",
            "_",
        ),
        *("NAME", "NODE", "NODE_IP", "POD_IP", "HOST_IP", "POD_NAME", "POD_NAMESPACE", "NODE_ENV", "NODE_PATH"),
        *("HTTP_PROXY", "http_proxy", "no_proxy", "KUBERNETES_PORT", "KUBERNETES_SERVICE_PORT", "MACHTYPE", "OSTYPE"),
        *("KUBERNETES_SERVICE_PORT_HTTPS", "KUBERNETES_PORT_443_TCP_ADDR", "XDG_DATA_DIRS", "LS_COLORS", "CNI_PATH"),
        *("CALICO_TYPHA_SERVICE_HOST", "CALICO_TYPHA_PORT_5473_TCP_ADDR", "CALICO_TYPHA_SERVICE_PORT_CALICO_TYPHA"),
        *("CALICO_TYPHA_PORT_5473_TCP", "CALICO_KUBE_CONTROLLERS_METRICS_SERVICE_PORT", "ETCD_SERVICE_HOST"),
        *("NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "WATCHDOG_USEC", "DEBIAN_FRONTEND", "HISTTIMEFORMAT"),
    ],
)
def test_other_peoples_variables_are_not_reported(name: str) -> None:
    assert read_node_settings({name: "anything"}).warnings == ()


def test_the_service_link_without_a_protocol_in_its_name_is_known_by_its_value() -> None:
    assert read_node_settings({"CALICO_TYPHA_PORT": "tcp://10.96.3.4:5473"}).warnings == ()
    assert read_node_settings({"CALICO_TYPHA_PORT": "5473"}).warnings


def test_a_similar_name_beside_the_right_one_is_somebody_elses() -> None:
    """The downward API gives NODE_NAME, from which a manifest fills NODENAME."""
    assert read_node_settings({"NODE_NAME": "a", "NODENAME": "a"}).warnings == ()
    assert read_node_settings({"nodename": "a", "NODENAME": "b"}).warnings == ()
    twice = {"WAIT_FOR_DATASTOR": "true", "WAIT_FOR_DATASTORE": "true"}
    assert len(read_node_settings(twice).warnings) == 1, "a long name is not hit by accident"


def test_the_case_of_felixs_names_does_not_matter() -> None:
    for name in ("FELIX_HealthPort", "felix_healthport", "FELIX_HEALTHPORT"):
        reading = read_node_settings({name: "9199"})
        assert reading.settings.health_port == (9199, f"environment variable {name}", "9199")
        assert reading.warnings == ()


def test_felixs_parameter_under_two_spellings_counts_once_and_is_told() -> None:
    reading = read_node_settings({"felix_healthport": "1111", "FELIX_HEALTHPORT": "9199"})
    assert reading.settings.health_port.value == 9199
    (finding,) = reading.warnings
    assert finding.variable == "felix_healthport"
    assert "FELIX_HEALTHPORT counts, which is 9199" in finding.why
    assert read_node_settings({"felix_healthport": "1", "FELIX_HEALTHPORT": "1"}).warnings == ()


def test_the_name_of_a_field_stands_for_the_parameter_that_felix_calls_otherwise() -> None:
    reading = read_node_settings({"FELIX_IPIPMTU": "1440"})
    assert reading.settings.others["FELIX_IPINIPMTU"].value == "1440"
    (finding,) = reading.warnings
    assert (finding.variable, finding.right) == ("FELIX_IPIPMTU", "FELIX_IPINIPMTU")


def test_names_of_any_length_and_content_are_survived() -> None:
    environment = {"CALICO_" + "X" * 5000: "1", "CALICO_\x00\udc80\n": "1", "ÄÖÜ": "1", "": "1", "NODE\nNAME": "1"}
    reading = read_node_settings(environment)
    assert all("\n" not in str(finding) for finding in reading.warnings)
    assert len(reading.warnings) == 3


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("kitten", "sitting", 3), ("NODENAME", "HOSTNAME", 3), ("x", "x", 0)],
)
def test_slips_count_what_a_finger_does_wrong(one: str, other: str, count: int) -> None:
    assert slips(one, other) == slips(other, one) == count


def test_the_closest_name_is_within_the_limit_or_none() -> None:
    assert closest("BARD", ("BIRD", "BOARD", "NONE"), 1) == "BIRD"
    assert closest("BARD", ("NONE",), 1) is None
    assert closest("NONE", ("NONE",), 0) is None, "what is known never comes here"

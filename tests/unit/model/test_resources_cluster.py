"""ClusterInformation, KubeControllersConfiguration, Node and CalicoNodeStatus."""

from __future__ import annotations

import pytest
from tests.support.documents import changed, document, found

from tortie.model.resource import stored_form, validate
from tortie.model.wire import Document

_TEMPLATE = {"generateName": "t", "interfacePattern": "eth.*"}


def _templates(*templates: Document) -> Document:
    return {"controllers": {"node": {"hostEndpoint": {"templates": list(templates)}}}}


@pytest.mark.parametrize("kind", ["ClusterInformation", "KubeControllersConfiguration"])
def test_there_is_one_of_it(kind: str) -> None:
    assert validate(document(kind, "default", {})) == []
    assert found(document(kind, "other", {}), "metadata.name", "fixed name").right == "default"


def test_cluster_information_says_whether_the_datastore_is_ready() -> None:
    found(changed("ClusterInformation", {"datastoreReady": "no"}), "spec.datastoreReady", "expected bool")
    locked = document("ClusterInformation", "default", {"datastoreReady": False})
    assert stored_form(locked)["spec"] == {"datastoreReady": False}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"logSeverityScreen": "All"}, "logSeverityScreen", "must be one of None, Trace"),
        ({"healthChecks": "On"}, "healthChecks", "must be one of Enabled, Disabled"),
        ({"etcdV3CompactionPeriod": "10"}, "etcdV3CompactionPeriod", "not a duration"),
        ({"prometheusMetricsPort": 65536}, "prometheusMetricsPort", "not from 0"),
        ({"debugProfilePort": -1}, "debugProfilePort", "not from 0"),
        ({"controllers": {"policy": {"reconcilerPeriod": "x"}}}, "controllers.policy.reconcilerPeriod", "duration"),
        ({"controllers": {"loadBalancer": {"assignIPs": "No"}}}, "controllers.loadBalancer.assignIPs", "one of"),
        (
            {"controllers": {"migration": {"policyNameMigrator": "No"}}},
            "controllers.migration.policyNameMigrator",
            "one of",
        ),
    ],
)
def test_a_controllers_configuration_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("KubeControllersConfiguration", spec), f"spec.{field}", fragment)


@pytest.mark.parametrize(
    ("template", "field", "fragment"),
    [
        ({"interfacePattern": "eth.*"}, "generateName", "needs a name"),
        ({"generateName": "t"}, "interfaceCIDRs", "which interfaces"),
        ({**_TEMPLATE, "interfacePattern": "eth("}, "interfacePattern", "not a regular expression"),
        ({**_TEMPLATE, "interfacePattern": "(?=eth)"}, "interfacePattern", "look-around"),
        ({**_TEMPLATE, "interfaceCIDRs": ["eth0"]}, "interfaceCIDRs[0]", "not an address"),
        ({**_TEMPLATE, "labels": {"a b": "c"}}, "labels.a b", "label's name"),
        ({**_TEMPLATE, "nodeSelector": "a"}, "nodeSelector", "selector"),
    ],
)
def test_a_template_is_refused(template: Document, field: str, fragment: str) -> None:
    refused = changed("KubeControllersConfiguration", _templates(template))
    found(refused, f"spec.controllers.node.hostEndpoint.templates[0].{field}", fragment)


def test_two_templates_cannot_share_a_name() -> None:
    refused = changed("KubeControllersConfiguration", _templates(_TEMPLATE, _TEMPLATE))
    found(refused, "spec.controllers.node.hostEndpoint.templates", "more than once")


def test_a_controllers_configuration_is_stored_with_calicos_defaults() -> None:
    given = document("KubeControllersConfiguration", "default", {})
    assert stored_form(given)["spec"] == {
        "healthChecks": "Enabled",
        "prometheusMetricsPort": 9094,
        "controllers": {},
    }
    given["spec"] = {**_templates(_TEMPLATE), "prometheusMetricsPort": 0}
    given["spec"]["controllers"] |= {"loadBalancer": {}, "policyMigration": {}}
    given["status"] = {"runningConfig": {}}
    stored = stored_form(given)
    assert stored["spec"]["prometheusMetricsPort"] == 0
    assert stored["spec"]["controllers"] == {
        "node": {"hostEndpoint": {"templates": [_TEMPLATE]}, "leakGracePeriod": "15m0s"},
        "loadBalancer": {"assignIPs": "AllServices"},
        "policyMigration": {"enabled": "Enabled"},
    }
    assert stored["status"] == {"runningConfig": {"healthChecks": "Enabled", "controllers": {}}}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"bgp": {}}, "bgp", "should not be empty"),
        ({"bgp": {"ipv4Address": "10.0.0.300/24"}}, "bgp.ipv4Address", "not an IPv4 address"),
        ({"bgp": {"ipv4Address": "fd00::1/64"}}, "bgp.ipv4Address", "not an IPv4 address"),
        ({"bgp": {"ipv6Address": "10.0.0.1/24"}}, "bgp.ipv6Address", "not an IPv6 address"),
        ({"bgp": {"asNumber": "x"}}, "bgp.asNumber", "not an AS number"),
        ({"bgp": {"ipv4IPIPTunnelAddr": "10.0.0.1/24"}}, "bgp.ipv4IPIPTunnelAddr", "not an IPv4 address"),
        ({"bgp": {"routeReflectorClusterID": "1"}}, "bgp.routeReflectorClusterID", "not an IPv4 address"),
        ({"bgp": {"ipv4Adress": "10.0.0.1/24"}}, "bgp.ipv4Adress", "not recognized"),
        ({"vxlanTunnelMACAddr": "66:f9"}, "vxlanTunnelMACAddr", "not a MAC address"),
        ({"ipv6VXLANTunnelAddr": "10.0.0.1"}, "ipv6VXLANTunnelAddr", "not an IPv6 address"),
        ({"orchRefs": [{"nodeName": "n"}]}, "orchRefs[0].orchestrator", "is required"),
        ({"wireguard": {"interfaceIPv4Address": "x"}}, "wireguard.interfaceIPv4Address", "not an IPv4 address"),
        ({"addresses": [{"type": "InternalIP"}]}, "addresses[0].address", "is required"),
        ({"addresses": [{"address": "10.0.0.1", "type": "Hostname"}]}, "addresses[0].type", "must be one of Calico"),
        ({"interfaces": [{"name": "eth0", "addresses": ["x"]}]}, "interfaces[0].addresses[0]", "not an IP address"),
        ({"interfaces": "eth0"}, "interfaces", "a list is needed"),
    ],
)
def test_a_node_is_refused(spec: Document, field: str, fragment: str) -> None:
    problems = [problem for problem in validate(changed("Node", spec)) if problem.field == f"spec.{field}"]
    assert len(problems) == 1
    assert fragment in problems[0].why


def test_a_wrong_field_is_named_with_the_right_one() -> None:
    wrong = changed("Node", {"bgp": {"ipv4Adress": "10.0.0.1/24"}})
    assert found(wrong, "spec.bgp.ipv4Adress", "not recognized").right == "did you mean ipv4Address?"


def test_a_nodes_key_and_pod_networks_are_checked_in_its_status() -> None:
    node = document("Node", "n1", {})
    node["status"] = {"wireguardPublicKey": "short", "podCIDRs": ["10.0.0.1/24"]}
    found(node, "status.wireguardPublicKey", "WireGuard public key")
    found(node, "status.podCIDRs[0]", "host bits")


def test_a_node_is_stored_with_its_empty_status() -> None:
    assert stored_form(document("Node", "n1", {}))["status"] == {}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"node": None}, "node", "is required"),
        ({"classes": None}, "classes", "is required"),
        ({"classes": []}, "classes", "nothing is asked for"),
        ({"classes": ["BGP", "BGP"]}, "classes", "more than once"),
        ({"classes": ["Felix"]}, "classes[0]", "must be one of Agent, BGP, Routes"),
        ({"updatePeriodSeconds": None}, "updatePeriodSeconds", "is required"),
        ({"updatePeriodSeconds": 86401}, "updatePeriodSeconds", "not from 0 to 86400"),
    ],
)
def test_a_node_status_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("CalicoNodeStatus", spec), f"spec.{field}", fragment)


def test_a_node_status_is_stored_with_its_counters() -> None:
    asked = document("CalicoNodeStatus", "n1", {"node": "n1", "classes": ["BGP"], "updatePeriodSeconds": 0})
    counters = [f"number{word}V{version}" for version in (4, 6) for word in ("Established", "NotEstablished")]
    assert stored_form(asked)["status"] == {
        "lastUpdated": None,
        "agent": {"birdV4": {}, "birdV6": {}},
        "bgp": dict.fromkeys(counters, 0),
        "routes": {},
    }

"""WorkloadEndpoint and HostEndpoint: what is refused, and how they are named."""

from __future__ import annotations

import pytest
from tests.support.documents import changed, document, example, found

from tortie.model.resource import stored_form, validate
from tortie.model.wire import Document

_PORT = {"name": "http", "protocol": "TCP", "port": 80}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"interfaceName": None}, "interfaceName", "is required"),
        ({"interfaceName": "cali/1"}, "interfaceName", "Linux interface"),
        ({"node": "Node_1"}, "node", "not a valid name"),
        ({"containerID": "-4f"}, "containerID", "id of a container"),
        ({"ipNetworks": ["192.168.166.128/26"]}, "ipNetworks[0]", "multiple addresses"),
        ({"ipNetworks": ["192.168.166.129/26"]}, "ipNetworks[0]", "host bits"),
        (
            {"ipNATs": [{"internalIP": "10.0.0.1", "externalIP": "1.2.3.4"}]},
            "ipNATs[0].internalIP",
            "endpoint networks",
        ),
        (
            {"ipNATs": [{"internalIP": "192.168.166.129", "externalIP": "fd00::1"}]},
            "ipNATs[0].externalIP",
            "mismatched IP versions",
        ),
        ({"ipNATs": [{"internalIP": "10.0.0.1"}]}, "ipNATs[0].externalIP", "is required"),
        ({"ipv4Gateway": "fe80::1"}, "ipv4Gateway", "not an IPv4 address"),
        ({"ipv6Gateway": "169.254.1.1"}, "ipv6Gateway", "not an IPv6 address"),
        ({"profiles": ["KNS"]}, "profiles[0]", "not a valid name"),
        ({"mac": "16:aa"}, "mac", "not a MAC address"),
        ({"ports": [{"protocol": "TCP", "port": 80}]}, "ports[0].name", "if no hostPort is specified"),
        ({"ports": [{**_PORT, "name": "HTTP"}]}, "ports[0].name", "name of a port"),
        ({"ports": [{**_PORT, "name": "a--b"}]}, "ports[0].name", "name of a port"),
        ({"ports": [{**_PORT, "name": "80"}]}, "ports[0].name", "name of a port"),
        ({"ports": [{**_PORT, "protocol": "ICMP"}]}, "ports[0].protocol", "no ports"),
        ({"ports": [{**_PORT, "port": 0}]}, "ports[0].port", "not from 1"),
        ({"ports": [{**_PORT, "hostPort": 65536}]}, "ports[0].hostPort", "not from 0"),
        ({"ports": [{**_PORT, "hostIP": "host"}]}, "ports[0].hostIP", "not a CIDR"),
        ({"allowSpoofedSourcePrefixes": ["all"]}, "allowSpoofedSourcePrefixes[0]", "not an address"),
        ({"qosControls": {"dscp": "AF44"}}, "qosControls.dscp", "not a DSCP value"),
        ({"qosControls": {"ingressBandwidth": "10M"}}, "qosControls.ingressBandwidth", "expected int"),
    ],
)
def test_a_workload_endpoint_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("WorkloadEndpoint", spec), f"spec.{field}", fragment)


def test_a_port_is_stored_with_all_its_fields() -> None:
    ports = [{"name": "http", "protocol": "TCP", "port": 80}, {"protocol": "UDP", "port": 53, "hostPort": 5353}]
    endpoint = changed("WorkloadEndpoint", {"ports": ports})
    assert validate(endpoint) == []
    assert stored_form(endpoint)["spec"]["ports"] == [
        {"name": "http", "protocol": "TCP", "port": 80, "hostPort": 0, "hostIP": ""},
        {"name": "", "protocol": "UDP", "port": 53, "hostPort": 5353, "hostIP": ""},
    ]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"orchestrator": "k8s", "pod": "pod-name", "endpoint": "eth0"}, "node--1-k8s-pod--name-eth0"),
        ({"orchestrator": "cni", "containerID": "4f01", "endpoint": "eth0"}, "node--1-cni-4f01-eth0"),
        ({"orchestrator": "libnetwork", "endpoint": "abcdefgh"}, "node--1-libnetwork-libnetwork-abcdefgh"),
        ({"orchestrator": "foo", "workload": "foo-foo", "endpoint": "abcdefgh"}, "node--1-foo-foo--foo-abcdefgh"),
    ],
)
def test_a_workload_endpoints_name_follows_from_its_fields(spec: Document, name: str) -> None:
    spec = {"node": "node-1", "interfaceName": "cali1", **spec}
    assert validate(document("WorkloadEndpoint", name, spec)) == []
    assert found(document("WorkloadEndpoint", "web", spec), "metadata.name", "follows from its fields").right == name


@pytest.mark.parametrize("field", ["node", "orchestrator", "pod", "endpoint"])
def test_a_part_of_the_name_cannot_be_left_out(field: str) -> None:
    found(changed("WorkloadEndpoint", {field: None}), f"spec.{field}", "part of the endpoint's name")


def test_an_endpoint_lives_in_a_namespace() -> None:
    homeless = example("WorkloadEndpoint")
    del homeless["metadata"]["namespace"]
    found(homeless, "metadata.namespace", "lives in a namespace")


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"node": None}, "node", "no node has been specified"),
        ({"interfaceName": None, "expectedIPs": None}, "interfaceName", "no interface or expected IPs"),
        ({"interfaceName": "eth0 "}, "interfaceName", "Linux interface"),
        ({"expectedIPs": ["10.0.0.0/8"]}, "expectedIPs[0]", "not an IP address"),
        ({"ports": [{"protocol": "TCP", "port": 1}]}, "ports[0].name", "is required"),
        ({"ports": [{**_PORT, "name": ""}]}, "ports[0].name", "name of a port"),
        ({"ports": [{**_PORT, "protocol": "UDPLite"}]}, "ports[0].protocol", "no ports"),
        ({"ports": [{**_PORT, "port": 70000}]}, "ports[0].port", "not from 1"),
    ],
)
def test_a_host_endpoint_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("HostEndpoint", spec), f"spec.{field}", fragment)


@pytest.mark.parametrize("spec", [{"interfaceName": "*"}, {"expectedIPs": ["10.0.0.1"]}])
def test_a_host_endpoint_is_an_interface_or_addresses_of_a_node(spec: Document) -> None:
    assert validate(document("HostEndpoint", "h", {"node": "n1", **spec})) == []

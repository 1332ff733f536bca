"""BGPConfiguration, BGPPeer and BGPFilter: what is refused, and why."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from tests.support.documents import changed, document, found

from tortie.model.fields import Selector
from tortie.model.resource import stored_form, typed, validate
from tortie.model.resources.bgp import BGPPeer, BGPPeerSpec
from tortie.model.wire import Document

_V4 = {"cidr": "10.0.0.0/8", "matchOperator": "In", "action": "Accept"}


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"logSeverityScreen": "Loud"}, "logSeverityScreen", "must be one of Trace, Debug, Info"),
        ({"nodeToNodeMeshEnabled": "yes"}, "nodeToNodeMeshEnabled", "expected bool, got str"),
        ({"asNumber": 0}, "asNumber", "outside of the range"),
        ({"asNumber": "65536.1"}, "asNumber", "at most 65535"),
        ({"serviceClusterIPs": [{"cidr": "10.96.0.1/12"}]}, "serviceClusterIPs[0].cidr", "host bits"),
        ({"serviceLoadBalancerAggregation": "On"}, "serviceLoadBalancerAggregation", "must be one of"),
        ({"communities": [{"name": "Rack", "value": "1:2"}]}, "communities[0].name", "not a valid name"),
        ({"communities": [{"name": "a", "value": "1"}]}, "communities[0].value", "not a BGP community"),
        ({"communities": [{"name": "a", "value": "65536:1"}]}, "communities[0].value", "16 bits"),
        ({"communities": [{"name": "a", "value": "1:2:4294967296"}]}, "communities[0].value", "32 bits"),
        ({"prefixAdvertisements": None}, "communities", "defined but not used"),
        (
            {"prefixAdvertisements": [{"cidr": "10.0.0.0/8", "communities": ["row"]}]},
            "prefixAdvertisements[0].communities[0]",
            "not defined",
        ),
        (
            {"prefixAdvertisements": [{"cidr": "10.0.0.0/8", "communities": []}]},
            "prefixAdvertisements[0].communities",
            "at least one community",
        ),
        ({"prefixAdvertisements": [{"communities": ["1:2"]}]}, "prefixAdvertisements[0].cidr", "is required"),
        ({"listenPort": 0}, "listenPort", "not from 1 to 65535"),
        ({"listenPort": 65536}, "listenPort", "not from 1 to 65535"),
        ({"nodeMeshPassword": {"secretKeyRef": {"name": "x"}}}, "nodeMeshPassword.secretKeyRef.key", "is required"),
        ({"nodeToNodeMeshEnabled": False}, "nodeMeshPassword", "while nodeToNodeMeshEnabled is false"),
        ({"nodeToNodeMeshEnabled": False}, "nodeMeshMaxRestartTime", "while nodeToNodeMeshEnabled is false"),
        ({"nodeMeshMaxRestartTime": 120}, "nodeMeshMaxRestartTime", "not a duration"),
        ({"bindMode": "Any"}, "bindMode", "must be one of None, NodeIP"),
        ({"ignoredInterfaces": ["*"]}, "ignoredInterfaces[0]", "at least one interface"),
        ({"ignoredInterfaces": ["eth 0"]}, "ignoredInterfaces[0]", "pattern of interfaces"),
        ({"localWorkloadPeeringIPV4": "fd00::1"}, "localWorkloadPeeringIPV4", "not an IPv4 address"),
        ({"programClusterRoutes": "On"}, "programClusterRoutes", "must be one of"),
        ({"ipv4NormalRoutePriority": 0}, "ipv4NormalRoutePriority", "not from 1"),
    ],
)
def test_a_bgp_configuration_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("BGPConfiguration", spec), f"spec.{field}", fragment)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("nodeToNodeMeshEnabled", False),
        ("asNumber", 64512),
        ("serviceLoadBalancerIPs", [{"cidr": "10.0.0.0/8"}]),
        ("serviceExternalIPs", [{"cidr": "10.0.0.0/8"}]),
        ("serviceClusterIPs", [{"cidr": "10.0.0.0/8"}]),
        ("nodeMeshPassword", {"secretKeyRef": {"name": "a", "key": "b"}}),
        ("nodeMeshMaxRestartTime", "2m"),
    ],
)
def test_one_node_cannot_set_what_holds_for_the_whole_cluster(field: str, value: Any) -> None:
    found(document("BGPConfiguration", "node.n1", {field: value}), f"spec.{field}", "whole cluster")
    assert validate(document("BGPConfiguration", "default", {field: value})) == []


@pytest.mark.parametrize("name", ["default", "node.n1", "node.worker-1.example.com"])
def test_a_bgp_configuration_is_for_the_cluster_or_a_node(name: str) -> None:
    assert validate(document("BGPConfiguration", name, {"logSeverityScreen": "debug"})) == []


@pytest.mark.parametrize("name", ["node1", "node.", "node.N1", ""])
def test_other_names_of_a_bgp_configuration_mean_nothing(name: str) -> None:
    assert "node.<nodename>" in found(document("BGPConfiguration", name, {}), "metadata.name", "fixed name").right


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"node": "n1"}, "node", "when nodeSelector is specified"),
        ({"node": "N_1", "nodeSelector": None}, "node", "not a valid name"),
        ({"nodeSelector": "rack = 'r1'"}, "nodeSelector", "expected =="),
        ({"peerIP": "10.0.0.1:0"}, "peerIP", "port is not from 1"),
        ({"peerIP": "fd00::1:1790x"}, "peerIP", "not an IP address"),
        ({"peerIP": "fe80::1%eth0"}, "peerIP", "not an IP address"),
        ({"peerSelector": "all()"}, "peerIP", "when peerSelector is specified"),
        ({"peerSelector": "all()", "peerIP": None}, "asNumber", "when peerSelector is specified"),
        ({"asNumber": 4294967296}, "asNumber", "outside of the range"),
        ({"localASNumber": True}, "localASNumber", "not an AS number"),
        ({"keepOriginalNextHop": True}, "keepOriginalNextHop", "deprecated"),
        ({"nextHopMode": "self"}, "nextHopMode", "must be one of Auto, Self, Keep"),
        ({"sourceAddress": "NodeIP"}, "sourceAddress", "must be one of UseNodeIP, None"),
        ({"keepaliveTime": "10"}, "keepaliveTime", "not a duration"),
        ({"numAllowedLocalASNumbers": -1}, "numAllowedLocalASNumbers", "not from 0"),
        ({"ttlSecurity": 256}, "ttlSecurity", "not from 0 to 255"),
        ({"peerIP": None}, "reachableBy", "when peerIP is empty"),
        ({"peerIP": "10.0.0.1"}, "reachableBy", "address family"),
        ({"filters": ["No Route"]}, "filters[0]", "not a valid name"),
        ({"localWorkloadSelector": "a == 'b'"}, "peerIP", "when localWorkloadSelector is specified"),
        (
            {"localWorkloadSelector": "a == 'b'", "peerIP": None, "reachableBy": None, "asNumber": None},
            "asNumber",
            "when localWorkloadSelector is specified",
        ),
        (
            {"localWorkloadSelector": "a == 'b'", "peerIP": None, "reachableBy": None, "peerSelector": "all()"},
            "peerSelector",
            "when localWorkloadSelector is specified",
        ),
        ({"reversePeering": "Never"}, "reversePeering", "must be one of Auto, Manual"),
    ],
)
def test_a_bgp_peer_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("BGPPeer", spec), f"spec.{field}", fragment)


def test_a_peer_says_its_address_and_port() -> None:
    peer = typed(document("BGPPeer", "tor", {"peerIP": "10.0.0.1:1790", "asNumber": "1.10"}))
    assert isinstance(peer, BGPPeer)
    assert peer.spec.peerIP is not None
    assert (peer.spec.peerIP.address, peer.spec.peerIP.port) == (ip_address("10.0.0.1"), 1790)
    assert peer.spec.asNumber == 65546


def test_an_empty_text_counts_as_left_out() -> None:
    peer = document("BGPPeer", "tor", {"node": "", "peerIP": "", "peerSelector": "all()", "sourceAddress": ""})
    assert validate(peer) == []
    assert stored_form(peer)["spec"] == {"peerSelector": "all()"}
    assert typed(peer).spec == BGPPeerSpec(peerSelector=Selector("all()"))


@pytest.mark.parametrize(
    ("rule", "field", "fragment"),
    [
        ({"cidr": "10.0.0.0/8", "matchOperator": "In"}, "action", "is required"),
        ({**_V4, "action": "Deny"}, "action", "must be one of Accept, Reject"),
        ({**_V4, "cidr": "fd00::/8"}, "cidr", "not an IPv4 CIDR"),
        ({**_V4, "cidr": "10.1.2.3/8"}, "cidr", "host bits"),
        ({**_V4, "matchOperator": ""}, "matchOperator", "when cidr is not"),
        ({"matchOperator": "In", "action": "Accept"}, "cidr", "when matchOperator is not"),
        ({"prefixLength": {"min": 8}, "action": "Accept"}, "cidr", "when prefixLength is not"),
        ({**_V4, "prefixLength": {"max": 33}}, "prefixLength.max", "not from 0 to 32"),
        ({**_V4, "prefixLength": {"min": -1}}, "prefixLength.min", "not from 0 to 32"),
        ({**_V4, "source": "Everybody"}, "source", "must be one of RemotePeers"),
        ({**_V4, "interface": "averylonginterface"}, "interface", "pattern of interfaces"),
        ({**_V4, "matchOperator": "Like"}, "matchOperator", "must be one of"),
        ({**_V4, "peerType": "BGP"}, "peerType", "must be one of eBGP, iBGP"),
        ({**_V4, "communities": {"values": ["1:99999"]}}, "communities.values[0]", "16 bits"),
        ({**_V4, "asPathPrefix": [-1]}, "asPathPrefix[0]", "not an AS number"),
        ({**_V4, "priority": 0}, "priority", "not from 1"),
        ({**_V4, "operations": [{}]}, "operations[0].addCommunity", "exactly one thing"),
        ({**_V4, "operations": [{"setPriority": {"value": 0}}]}, "operations[0].setPriority.value", "not from 1"),
        ({**_V4, "operations": [{"addCommunity": {"value": "1:1"}}] * 11}, "operations", "at most 10"),
        ({**_V4, "action": "Reject", "operations": [{"setPriority": {"value": 1}}]}, "operations", "accepted"),
    ],
)
def test_a_filter_rule_is_refused(rule: Document, field: str, fragment: str) -> None:
    found(changed("BGPFilter", {"importV4": [_V4, rule]}), f"spec.importV4[1].{field}", fragment)


def test_prefix_lengths_of_ipv6_go_further() -> None:
    def filters(longest: int) -> Document:
        rule = {"cidr": "fd00::/8", "matchOperator": "In", "prefixLength": {"max": longest}, "action": "Accept"}
        return document("BGPFilter", "f", {"exportV6": [rule]})

    assert validate(filters(128)) == []
    found(filters(129), "spec.exportV6[0].prefixLength.max", "not from 0 to 128")
    found(changed("BGPFilter", {"exportV6": [_V4]}), "spec.exportV6[0].cidr", "not an IPv6 CIDR")

"""Policies, staged policies, profiles, tiers and network sets: what is refused, and what is filled in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.documents import changed, document, found

from tortie.model.resource import stored_form, validate
from tortie.model.wire import Document, decode, encode

_SERVICE = {"name": "dns", "namespace": "kube-system"}


def _ingress(**rule: Any) -> Document:
    return document("NetworkPolicy", "p", {"ingress": [{"action": "Allow", **rule}]})


@pytest.mark.parametrize(
    ("rule", "field", "fragment"),
    [
        ({"action": None}, "action", "is required"),
        ({"action": "allow"}, "action", "must be one of Allow, Deny, Log, Pass"),
        ({"ipVersion": 5}, "ipVersion", "must be one of 4, 6"),
        ({"protocol": "tcp"}, "protocol", "not a protocol"),
        ({"protocol": 256}, "protocol", "not a protocol"),
        ({"protocol": 0}, "protocol", "not a protocol"),
        ({"destination": {"ports": [80]}}, "destination.ports", "must set protocol to TCP or UDP or SCTP"),
        ({"protocol": "ICMP", "source": {"notPorts": [80]}}, "source.notPorts", "must set protocol"),
        ({"protocol": "TCP", "destination": {"ports": [0]}}, "destination.ports[0]", "from 1 to 65535"),
        ({"protocol": "TCP", "destination": {"ports": ["90:80"]}}, "destination.ports[0]", "ends before it begins"),
        ({"protocol": "TCP", "destination": {"ports": ["a b"]}}, "destination.ports[0]", "neither a port"),
        ({"protocol": "TCP", "destination": {"ports": list(range(1, 52))}}, "destination.ports", "at most 50"),
        ({"icmp": {"type": 8}}, "icmp", "must set protocol to ICMP"),
        ({"protocol": "ICMP", "icmp": {"code": 0}}, "icmp.code", "without an ICMP type"),
        ({"protocol": "ICMP", "icmp": {"type": 255}}, "icmp.type", "not from 0 to 254"),
        ({"protocol": "ICMP", "icmp": {"type": 3, "code": 256}}, "icmp.code", "not from 0 to 255"),
        ({"notICMP": {"code": 1}}, "notICMP.code", "without an ICMP type"),
        ({"protocol": "ICMP", "ipVersion": 6}, "ipVersion", "does not exist in IPv6"),
        ({"notProtocol": "ICMPv6", "ipVersion": 4}, "ipVersion", "does not exist in IPv4"),
        ({"source": {"nets": ["10.0.0.1/8"]}}, "source.nets[0]", "host bits"),
        ({"source": {"nets": ["10.0.0.1"]}}, "source.nets[0]", "prefix is missing"),
        ({"source": {"nets": ["10.0.0.0/8", "fd00::/8"]}}, "source.nets", "both IPv4 and IPv6"),
        (
            {"source": {"nets": ["10.0.0.0/8"]}, "destination": {"notNets": ["fd00::/8"]}},
            "destination.notNets",
            "both IPv4 and IPv6",
        ),
        ({"ipVersion": 6, "source": {"nets": ["10.0.0.0/8"]}}, "source.nets", "match CIDR version"),
        ({"source": {"notNets": ["0.0.0.0/0"]}}, "source.notNets[0]", "never matches"),
        ({"source": {"notNets": ["::/0"]}}, "source.notNets[0]", "never matches"),
        ({"source": {"nets": ["10.0.0.0/8"] * 257}}, "source.nets", "at most 256"),
        ({"source": {"selector": "global()"}}, "source.selector", "global() can only be used"),
        ({"source": {"notSelector": "!global()"}}, "source.notSelector", "global() can only be used"),
        ({"source": {"selector": "a =="}}, "source.selector", "selector"),
        ({"source": {"selector": f"a == '{'x' * 1024}'"}}, "source.selector", "too long"),
        ({"source": {"namespaceSelector": "global() || a == 'b'"}}, "source.namespaceSelector", "cannot be combined"),
        ({"source": {"services": {"namespace": "x"}}}, "source.services.name", "must specify a service name"),
        ({"source": {"services": {"name": "A"}}}, "source.services.name", "not a valid name"),
        ({"source": {"services": _SERVICE, "selector": "all()"}}, "source.services", "combined with selector"),
        ({"source": {"services": _SERVICE, "notSelector": "all()"}}, "source.services", "combined with notSelector"),
        ({"source": {"services": _SERVICE, "namespaceSelector": "all()"}}, "source.services", "namespaceSelector"),
        ({"source": {"services": _SERVICE, "nets": ["10.0.0.0/8"]}}, "source.services", "combined with nets"),
        ({"source": {"services": _SERVICE, "notNets": ["10.0.0.0/8"]}}, "source.services", "combined with notNets"),
        ({"source": {"services": _SERVICE, "serviceAccounts": {"names": ["a"]}}}, "source.services", "serviceAccounts"),
        ({"destination": {"services": _SERVICE}}, "destination.services", "not allowed in the destination"),
        ({"source": {"serviceAccounts": {"selector": "("}}}, "source.serviceAccounts.selector", "selector"),
        ({"protocol": "UDP", "http": {"methods": ["GET"]}}, "protocol", "HTTP"),
        ({"action": "Deny", "http": {"methods": ["GET"]}}, "http", "only valid for Allow"),
        ({"http": {"methods": ["GET", "GET"]}}, "http.methods", "more than once"),
        ({"http": {"paths": [{"exact": "/a", "prefix": "/b"}]}}, "http.paths[0].exact", "both"),
        ({"http": {"paths": [{}]}}, "http.paths[0].exact", "neither"),
        ({"http": {"paths": [{"prefix": "a"}]}}, "http.paths[0].prefix", "path of an HTTP request"),
        ({"http": {"paths": [{"exact": "/a?b"}]}}, "http.paths[0].exact", "path of an HTTP request"),
        ({"http": {"methods": [f"M{n}" for n in range(21)]}}, "http.methods", "at most 20"),
    ],
)
def test_a_rule_is_refused(rule: Document, field: str, fragment: str) -> None:
    found(_ingress(**rule), f"spec.ingress[0].{field}", fragment)


@pytest.mark.parametrize(
    "rule",
    [
        {"protocol": 6, "destination": {"ports": [443, "http", "1:65535"]}},
        {"protocol": "58", "ipVersion": 6, "icmp": {"type": 128}},
        {"source": {"namespaceSelector": " global() "}},
        {"source": {"services": {"name": "dns"}}},
        {"source": {"nets": ["fd00::/8"]}, "destination": {"notNets": ["fd01::/16"]}},
    ],
)
def test_a_rule_is_accepted(rule: Document) -> None:
    assert validate(_ingress(**rule)) == []


@pytest.mark.parametrize(
    ("rule", "field", "fragment"),
    [
        ({"source": {"services": _SERVICE}}, "source.services", "not allowed in the source"),
        ({"protocol": "TCP", "destination": {"services": _SERVICE, "ports": [1]}}, "destination.ports", "service"),
        ({"http": {"methods": ["GET"]}}, "http", "not allowed in egress"),
    ],
)
def test_an_egress_rule_is_refused(rule: Document, field: str, fragment: str) -> None:
    policy = document("NetworkPolicy", "p", {"egress": [{"action": "Allow", **rule}]})
    found(policy, f"spec.egress[0].{field}", fragment)


@pytest.mark.parametrize("kind", ["NetworkPolicy", "GlobalNetworkPolicy", "StagedNetworkPolicy"])
@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"tier": "My.Tier"}, "tier", "not a valid name"),
        ({"order": "first"}, "order", "expected float"),
        ({"order": float("nan")}, "order", "JSON"),
        ({"selector": "global()"}, "selector", "global() can only be used"),
        ({"serviceAccountSelector": "global()"}, "serviceAccountSelector", "global() can only be used"),
        ({"types": ["Ingress", "Ingress"]}, "types", "more than once"),
        ({"types": ["ingress"]}, "types[0]", "must be one of Ingress, Egress"),
        ({"performanceHints": ["Fast"]}, "performanceHints[0]", "must be one of AssumeNeededOnEveryNode"),
        ({"performanceHints": ["AssumeNeededOnEveryNode"] * 2}, "performanceHints", "more than once"),
        ({"ingress": [{"action": "Allow"}] * 1025}, "ingress", "at most 1024"),
    ],
)
def test_a_policy_is_refused(kind: str, spec: Document, field: str, fragment: str) -> None:
    found(document(kind, "p", spec), f"spec.{field}", fragment)


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"doNotTrack": True}, "preDNAT", "cannot both be true"),
        ({"applyOnForward": False}, "applyOnForward", "must be true"),
        ({"egress": [{"action": "Allow"}]}, "egress", "no egress rules"),
        ({"types": ["Ingress", "Egress"]}, "types", "ingress only"),
        ({"namespaceSelector": "global()"}, "namespaceSelector", "global() can only be used"),
        (
            {"ingress": [{"action": "Allow", "source": {"services": {"name": "dns"}}}]},
            "ingress[0].source.services.namespace",
            "must specify that of the service",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["GlobalNetworkPolicy", "StagedGlobalNetworkPolicy"])
def test_a_global_policy_is_refused(kind: str, spec: Document, field: str, fragment: str) -> None:
    found(changed(kind, spec), f"spec.{field}", fragment)


def test_an_egress_service_of_a_global_policy_needs_its_namespace_too() -> None:
    rule = {"action": "Allow", "destination": {"services": {"name": "dns"}}}
    policy = document("GlobalNetworkPolicy", "p", {"egress": [rule]})
    found(policy, "spec.egress[0].destination.services.namespace", "must specify")


@pytest.mark.parametrize("name", ["web", "security.web", "ossg.default.a.b.c"])
def test_a_policys_name_is_one_word_behind_its_tier(name: str) -> None:
    assert validate(document("NetworkPolicy", name, {})) == []


@pytest.mark.parametrize("kind", ["GlobalNetworkPolicy", "StagedGlobalNetworkPolicy"])
@pytest.mark.parametrize("name", ["a.b.c", "knp.default.web", "ossg.default.a"])
def test_a_global_policys_name_has_no_second_dot(kind: str, name: str) -> None:
    found(document(kind, name, {}), "metadata.name", "name of a policy")


def test_the_name_of_a_copy_of_a_kubernetes_policy_is_reserved() -> None:
    found(document("NetworkPolicy", "knp.default.web.v2", {}), "metadata.name", "through the kubernetes API")
    assert validate(document("StagedNetworkPolicy", "knp.default.web.v2", {})) == []


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"ingress": [{"action": "Allow"}]}, ["Ingress"]),
        ({"egress": [{"action": "Allow"}]}, ["Egress"]),
        ({"ingress": [{"action": "Allow"}], "egress": [{"action": "Deny"}]}, ["Ingress", "Egress"]),
        ({"types": ["Egress"]}, ["Egress"]),
    ],
)
def test_a_policy_governs_the_directions_of_its_rules(spec: Document, types: list[str]) -> None:
    for kind in ("NetworkPolicy", "GlobalNetworkPolicy", "StagedNetworkPolicy", "StagedGlobalNetworkPolicy"):
        stored = stored_form(document(kind, "p", spec))["spec"]
        assert stored["types"] == types
        assert stored["tier"] == "default"


def test_a_rule_is_stored_with_both_its_ends_even_when_they_are_empty() -> None:
    stored = stored_form(_ingress(protocol="TCP"))
    assert stored["spec"]["ingress"] == [{"action": "Allow", "protocol": "TCP", "source": {}, "destination": {}}]


def test_an_order_is_written_as_calico_writes_it() -> None:
    stored = encode(stored_form(document("NetworkPolicy", "p", {"order": 100.0})))
    assert b'"order":100,' in stored
    assert decode(stored, "k")["spec"]["order"] == 100
    assert json.loads(stored)["spec"]["order"] == 100


@pytest.mark.parametrize("kind", ["StagedNetworkPolicy", "StagedGlobalNetworkPolicy"])
def test_a_staged_deletion_names_its_policy_and_nothing_else(kind: str) -> None:
    deletion = document(kind, "p", {"stagedAction": "Delete", "tier": "security"})
    assert validate(deletion) == []
    assert stored_form(deletion)["spec"] == {"stagedAction": "Delete", "tier": "security"}
    deletion["spec"]["selector"] = "all()"
    found(deletion, "spec.selector", "staged deletion")


def test_a_staged_policy_is_set_unless_it_says_otherwise() -> None:
    stored = stored_form(document("StagedNetworkPolicy", "p", {}))["spec"]
    assert list(stored.items()) == [("stagedAction", "Set"), ("tier", "default"), ("types", ["Ingress"])]
    found(document("StagedNetworkPolicy", "p", {"stagedAction": "Remove"}), "spec.stagedAction", "must be one of Set")


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"stagedAction": "Delete"}, "podSelector", "staged deletion"),
        ({"policyTypes": ["Ingress", "Ingress"]}, "policyTypes", "more than once"),
        ({"podSelector": {"matchLabels": {"a b": "c"}}}, "podSelector.matchLabels.a b", "label's name"),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "podSelector.matchExpressions[0].values",
            "at least one value",
        ),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            "podSelector.matchExpressions[0].values",
            "takes no values",
        ),
        ({"ingress": [{"from": [{}]}]}, "ingress[0].from[0].podSelector", "somebody"),
        (
            {"egress": [{"to": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
            "egress[0].to[0].ipBlock",
            "cannot be combined",
        ),
        (
            {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}]},
            "egress[0].to[0].ipBlock.except[0]",
            "not inside of 10.0.0.0/8",
        ),
        ({"ingress": [{"ports": [{"port": "80:90"}]}]}, "ingress[0].ports[0].port", "otherwise"),
        ({"ingress": [{"ports": [{"port": 80, "endPort": 70}]}]}, "ingress[0].ports[0].endPort", "not above its end"),
        ({"ingress": [{"ports": [{"protocol": "ICMP"}]}]}, "ingress[0].ports[0].protocol", "must be one of TCP"),
    ],
)
def test_a_staged_kubernetes_policy_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("StagedKubernetesNetworkPolicy", spec), f"spec.{field}", fragment)


def test_a_profile_checks_its_labels_and_its_rules() -> None:
    found(changed("Profile", {"labelsToApply": {"a": "b c"}}), "spec.labelsToApply.a", "label's value")
    found(changed("Profile", {"ingress": [{"action": "No"}]}), "spec.ingress[0].action", "must be one of")


def test_the_profile_that_allows_everything_cannot_be_changed() -> None:
    found(document("Profile", "projectcalico-default-allow", {}), "metadata.name", "built in")


@pytest.mark.parametrize(
    ("name", "spec", "field", "fragment"),
    [
        ("a.b", {}, "metadata.name", "name of a tier"),
        ("t" * 64, {}, "metadata.name", "name of a tier"),
        ("sec", {"defaultAction": "Allow"}, "spec.defaultAction", "must be one of Deny, Pass"),
        ("sec", {"order": float("inf")}, "spec.order", "JSON"),
        ("kube-admin", {"defaultAction": "Pass"}, "spec.order", "fixed"),
        ("default", {"order": 1}, "spec.order", "fixed"),
        ("default", {"order": 1000000, "defaultAction": "Pass"}, "spec.defaultAction", "fixed"),
        ("kube-admin", {"order": 1000}, "spec.defaultAction", "fixed"),
        ("kube-baseline", {"order": 1000, "defaultAction": "Pass"}, "spec.order", "fixed"),
    ],
)
def test_a_tier_is_refused(name: str, spec: Document, field: str, fragment: str) -> None:
    found(document("Tier", name, spec), field, fragment)


def test_the_tiers_of_every_cluster_are_accepted_as_they_are() -> None:
    for name, order, action in (("default", 1e6, "Deny"), ("kube-admin", 1e3, "Pass"), ("kube-baseline", 1e7, "Pass")):
        assert validate(document("Tier", name, {"order": order, "defaultAction": action})) == []


def test_a_tier_comes_late_and_denies_unless_it_says_otherwise() -> None:
    assert stored_form(document("Tier", "sec", {}))["spec"] == {"order": 1_000_000, "defaultAction": "Deny"}
    assert stored_form(document("Tier", "sec", {"order": 0}))["spec"]["order"] == 0


@pytest.mark.parametrize("kind", ["NetworkSet", "GlobalNetworkSet"])
def test_a_network_set_is_refused(kind: str) -> None:
    found(document(kind, "s", {"nets": ["10.0.0.0/33"]}), "spec.nets[0]", "not an address")
    labelled = document(kind, "s", {}, labels={"projectcalico.org/namespace": "x"})
    found(labelled, "metadata.labels.projectcalico.org/namespace", "reserved")
    assert validate(document(kind, "s", {"nets": ["10.0.0.1/8"]})) == []

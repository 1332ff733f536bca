"""What people are told of resources that have no effect: who is told of, in which words, and who is not."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.effects.notes import Note, gathered, notes_of, notes_of_key, notes_of_variables
from tortie.model.effects.reasons import PROFILE
from tortie.model.resource import stored_form

ALLOW = {"action": "Allow"}
PASSES = "Tortie enforces no policy yet: on its nodes every packet still passes"


def _document(kind: str, name: str = "a", namespace: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": metadata, "spec": spec}


def _told(*documents: dict[str, Any]) -> list[str]:
    return [told.what for told in gathered(note for each in documents for note in notes_of(each))]


def test_one_policy() -> None:
    assert _told(_document("NetworkPolicy", "deny-all", "shop")) == [
        f"NetworkPolicy shop/deny-all is stored, but {PASSES}"
    ]


def test_many_policies_are_one_sentence_that_names_a_few() -> None:
    many = [_document("NetworkPolicy", f"p{n}", "shop") for n in range(12)]
    (told,) = gathered(note for each in many for note in notes_of(each))
    assert told.what == f"12 NetworkPolicies are stored, but {PASSES}"
    assert told.which == "shop/p0, shop/p1, shop/p2 and 9 more"
    assert told.as_json()["objects"][:2] == ["NetworkPolicy(shop/p0)", "NetworkPolicy(shop/p1)"]


def test_kinds_that_have_no_effect_for_one_reason_are_told_together() -> None:
    told = gathered(
        [*notes_of(_document("NetworkPolicy", "p", "shop")), *notes_of(_document("GlobalNetworkPolicy", "g"))]
    )
    assert [each.what for each in told] == [f"1 NetworkPolicy and 1 GlobalNetworkPolicy are stored, but {PASSES}"]
    assert told[0].which == "NetworkPolicy(shop/p), GlobalNetworkPolicy(g)"


def test_of_more_than_are_known_by_name_the_count_is_told() -> None:
    (told,) = gathered(notes_of_key("NetworkPolicy", "shop/a"), {"NetworkPolicy": 5000})
    assert told.what.startswith("5000 NetworkPolicies are stored")
    assert told.which == "shop/a and 4999 more"


def test_fields_of_one_object_and_of_many() -> None:
    felix = _document("FelixConfiguration", "default", wireguardEnabled=True, wireguardMTU=1400)
    assert _told(felix) == [
        "wireguardEnabled and wireguardMTU of FelixConfiguration default are stored, but Tortie encrypts nothing yet: "
        "packets between its nodes travel in the clear"
    ]
    pools = [_document("IPPool", f"p{n}", cidr="10.0.0.0/16", ipipMode="Always") for n in range(2)]
    assert _told(*pools) == [
        "ipipMode of 2 IPPools is stored, but Tortie makes no IPIP tunnel yet: "
        "its nodes do not reach such pods on other nodes"
    ]


def test_many_fields_are_counted() -> None:
    fields: dict[str, Any] = {f"debugSimulate{part}": "5s" for part in ("CalcGraphHangAfter", "DataplaneHangAfter")}
    fields |= {"goGCThreshold": 10, "goMaxProcs": 2, "goMemoryLimitMB": 100}
    (what,) = _told(_document("FelixConfiguration", "default", **fields))
    assert what.startswith(
        "debugSimulateCalcGraphHangAfter, debugSimulateDataplaneHangAfter, goGCThreshold and 2 more of "
    )


@pytest.mark.parametrize(
    "document",
    [
        # What a start of ours and of Calico writes.
        _document("FelixConfiguration", "default", reportingInterval="0s", logSeverityScreen="Info",
                  floatingIPs="Disabled",
                  bpfConnectTimeLoadBalancing="TCP", bpfHostNetworkedNATWithoutCTLB="Enabled", nftablesMode="Auto",
                  bpfLogLevel=""),
        _document("BGPConfiguration", "default", logSeverityScreen="Info", serviceLoadBalancerAggregation="Enabled",
                  nodeToNodeMeshEnabled=True),
        _document("IPAMConfiguration", "default", strictAffinity=False, kubeVirtVMAddressPersistence="Enabled"),
        _document("Tier", "default", order=1_000_000, defaultAction="Deny"),
        _document("KubeControllersConfiguration", "default", etcdV3CompactionPeriod="10m0s", healthChecks="Enabled",
                  controllers={"node": {"syncLabels": "Enabled", "reconcilerPeriod": "5m0s", "leakGracePeriod": "15m0s",
                                        "hostEndpoint": {"autoCreate": "Disabled"}},
                               "policy": {"reconcilerPeriod": "5m0s"}, "loadBalancer": {"assignIPs": "AllServices"}}),
        # Says what is so anyway, in whatever spelling.
        _document("FelixConfiguration", "default", bpfEnabled=False, wireguardEnabled=False,
                  iptablesRefreshInterval="180s", iptablesBackend="nft",
                  logSeverityFile="INFO", ipipEnabled=False, healthEnabled=True),
        _document("FelixConfiguration", "default", vxlanMTU=1400, natPortRange="1000:2000"),
        _document("IPPool", "p", cidr="10.0.0.0/16", ipipMode="Never", vxlanMode="Always",
                  allowedUses=["Workload", "Tunnel"]),
        # Profiles that forbid nothing.
        _document("Profile", "kns.shop", ingress=[ALLOW], egress=[ALLOW], labelsToApply={"a": "b"}),
        _document("Profile", "kns.shop", ingress=[ALLOW | {"source": {}, "destination": {}}], egress=[ALLOW]),
        _document("Profile", "ksa.shop.default", labelsToApply={"a": "b"}),
        _document("WorkloadEndpoint", "w", "shop", profiles=["kns.shop"], ports=[{"port": 80}]),
        _document("Node", "n", bgp={"ipv4Address": "10.0.0.1/24"}, wireguard={"interfaceIPv4Address": "10.1.1.1"}),
        # What is no resource of ours.
        {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"wireguardEnabled": True}},
        {"kind": "FelixConfiguration", "metadata": None, "spec": 7},
        {},
    ],
)  # fmt: skip
def test_nothing_is_told(document: dict[str, Any]) -> None:
    assert _told(document) == []


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (_document("StagedGlobalNetworkPolicy"), "staged-policy"),
        (_document("StagedKubernetesNetworkPolicy"), "staged-policy"),
        (_document("Tier", "security", order=1), "tier"),
        (_document("HostEndpoint", node="n", interfaceName="eth0"), "host-endpoint"),
        (_document("GlobalNetworkSet", nets=["192.0.2.0/24"]), "network-set"),
        (_document("Profile", ingress=[{"action": "Deny"}, ALLOW], egress=[ALLOW]), "profile"),
        (_document("Profile", ingress=[ALLOW]), "profile"),
        (_document("Profile", "kns.shop", ingress=[ALLOW | {"source": {"nets": ["10.0.0.0/8"]}}], egress=[ALLOW]),
         "profile"),
        (_document("IPPool", cidr="10.0.0.0/16", allowedUses=["LoadBalancer"]), "load-balancer"),
        (_document("FelixConfiguration", "default", bpfEnabled=True), "ebpf"),
        (_document("FelixConfiguration", "default", iptablesBackend="Legacy"), "nftables"),
        (_document("FelixConfiguration", "default", defaultEndpointToHostAction="DROP"), "filtering"),
        (_document("FelixConfiguration", "default", prometheusMetricsEnabled=False), "ports"),
        (_document("FelixConfiguration", "default", debugPort=0), "innards"),
        (_document("FelixConfiguration", "racks", nodeSelector="all()"), "node-selector"),
        (_document("BGPConfiguration", "default", serviceLoadBalancerAggregation="Disabled"), "service-addresses"),
        (_document("BGPPeer", localWorkloadSelector="all()", asNumber=64512), "workload-peers"),
        (_document("KubeControllersConfiguration", "default", etcdV3CompactionPeriod="1m"), "compaction"),
        (_document("KubeControllersConfiguration", "default", controllers={"policy": {"reconcilerPeriod": "1m"}}),
         "controllers"),
        (_document("KubeControllersConfiguration", "default",
                   controllers={"node": {"hostEndpoint": {"autoCreate": "Enabled"}}}), "host-endpoint"),
        (_document("WorkloadEndpoint", "w", "shop", qosControls={"ingressBandwidth": 1000}), "qos"),
        (_document("WorkloadEndpoint", "w", "shop", ipNATs=[{"internalIP": "10.0.0.1"}]), "floating-ips"),
    ],
)  # fmt: skip
def test_why(document: dict[str, Any], reason: str) -> None:
    assert [note.reason.key for note in notes_of(document)] == [reason]


def test_by_the_name_alone_only_what_every_cluster_has_is_passed_over() -> None:
    assert not [*notes_of_key("Profile", "kns.shop"), *notes_of_key("Profile", "ksa.shop.default")]
    assert not [*notes_of_key("Tier", "kube-admin")]
    assert [*notes_of_key("Profile", "mine"), *notes_of_key("Tier", "security")]


def test_what_the_environment_asks_for_is_told_by_the_names_of_its_variables() -> None:
    variables = {
        "FELIX_BPFENABLED": "true", "FELIX_BPFLOGLEVEL": "Debug", "FELIX_IPTABLESREFRESHINTERVAL": "60",
        "FELIX_XDPENABLED": "1",
        # Calico's own manifests say these, and mean nothing by them, or what is so anyway.
        "FELIX_DEFAULTENDPOINTTOHOSTACTION": "ACCEPT", "FELIX_WIREGUARDMTU": "0", "FELIX_LOGSEVERITYSCREEN": "info",
        "FELIX_REPORTINGINTERVAL": "0", "FELIX_IPIPENABLED": "no", "FELIX_ROUTEREFRESHINTERVAL": "90",
        "FELIX_VXLANMTU": "1400", "FELIX_TYPHAK8SSERVICENAME": "calico-typha", "FELIX_LOGFILEPATH": "None",
    }  # fmt: skip
    given = [(name, name.removeprefix("FELIX_"), text) for name, text in variables.items()]
    assert [told.what for told in gathered(notes_of_variables(given))] == [
        "FELIX_BPFENABLED and FELIX_BPFLOGLEVEL are set, but Tortie loads no eBPF program: packets take the kernel's "
        "usual way, and kube-proxy is still needed",
        "FELIX_IPTABLESREFRESHINTERVAL is set, but Tortie filters no packet yet, so that there is nothing to tune",
    ]


def test_names_that_nobody_knows_are_counted() -> None:
    (told,) = gathered([Note("Profile", "", PROFILE)], {"Profile": 3})
    assert told.what.startswith("3 Profiles are stored")
    assert (told.which, told.objects) == ("", ())


@pytest.mark.parametrize("kind", ["FelixConfiguration", "BGPConfiguration", "KubeControllersConfiguration", "IPPool"])
def test_what_is_filled_in_by_itself_is_silent(kind: str) -> None:
    spec = {"cidr": "10.0.0.0/16"} if kind == "IPPool" else {}
    assert _told(stored_form(_document(kind, "default", **spec))) == []


def test_what_the_controllers_start_with_is_silent() -> None:
    assert _told(_document("KubeControllersConfiguration", "default", **DEFAULT_SPEC)) == []

"""FelixConfiguration: what is refused, what is filled in, and for whom it is."""

from __future__ import annotations

import pytest
from tests.support.documents import changed, document, found

from tortie.model.resource import stored_form, typed, validate
from tortie.model.resources.felix import FelixConfiguration, FelixConfigurationSpec
from tortie.model.shape import fields_of
from tortie.model.wire import Document


@pytest.mark.parametrize(
    ("spec", "field", "fragment"),
    [
        ({"ipv6Support": "yes"}, "ipv6Support", "expected bool"),
        ({"routeRefreshInterval": "90"}, "routeRefreshInterval", "not a duration"),
        ({"routeRefreshInterval": 90}, "routeRefreshInterval", "not a duration"),
        ({"featureDetectOverride": "SNATFullyRandom"}, "featureDetectOverride", "list of settings"),
        ({"iptablesBackend": "iptables"}, "iptablesBackend", "must be one of Auto, Legacy, NFT"),
        ({"chainInsertMode": "Prepend"}, "chainInsertMode", "must be one of Insert, Append"),
        ({"defaultEndpointToHostAction": "Deny"}, "defaultEndpointToHostAction", "must be one of Drop, Accept, Return"),
        ({"iptablesFilterAllowAction": "Drop"}, "iptablesFilterAllowAction", "must be one of Accept, Return"),
        ({"nftablesFilterDenyAction": "Accept"}, "nftablesFilterDenyAction", "must be one of Drop, Reject"),
        ({"logPrefix": "calico$"}, "logPrefix", "prefix for log lines"),
        ({"logActionRateLimit": "10"}, "logActionRateLimit", "not a rate"),
        ({"logActionRateLimitBurst": 10000}, "logActionRateLimitBurst", "not from 0 to 9999"),
        ({"logSeverityFile": "Verbose"}, "logSeverityFile", "must be one of Trace"),
        ({"logDebugFilenameRegex": "*.go"}, "logDebugFilenameRegex", "not a regular expression"),
        ({"vxlanPort": 0}, "vxlanPort", "not from 1 to 65535"),
        ({"vxlanVNI": 16777216}, "vxlanVNI", "not from 0 to 16777215"),
        ({"vxlanMTU": -1}, "vxlanMTU", "not from 0"),
        ({"iptablesMarkMask": 4294967296}, "iptablesMarkMask", "not from 0"),
        ({"healthPort": 70000}, "healthPort", "not from 0 to 65535"),
        ({"healthTimeoutOverrides": [{"name": "x!", "timeout": "5s"}]}, "healthTimeoutOverrides[0].name", "component"),
        (
            {"healthTimeoutOverrides": [{"name": "x", "timeout": "-5s"}]},
            "healthTimeoutOverrides[0].timeout",
            "negative",
        ),
        ({"prometheusMetricsHost": "a b"}, "prometheusMetricsHost", "host name"),
        ({"prometheusMetricsClientAuth": "Any"}, "prometheusMetricsClientAuth", "must be one of"),
        ({"failsafeInboundHostPorts": [{"protocol": "tcp", "port": 1}]}, "failsafeInboundHostPorts[0].protocol", "TCP"),
        (
            {"failsafeInboundHostPorts": [{"protocol": "TCP", "port": 0}]},
            "failsafeInboundHostPorts[0].port",
            "not from 1",
        ),
        ({"kubeNodePortRanges": ["http"]}, "kubeNodePortRanges[0]", "named ports"),
        ({"kubeNodePortRanges": list(range(1, 9))}, "kubeNodePortRanges", "too long (max 7)"),
        ({"kubeNodePortRanges": ["10:5"]}, "kubeNodePortRanges[0]", "ends before it begins"),
        ({"natPortRange": "0:100"}, "natPortRange", "from 1 to 65535"),
        ({"natOutgoingAddress": "fd00::1"}, "natOutgoingAddress", "not an IPv4 address"),
        ({"deviceRouteSourceAddressIPv6": "10.0.0.1"}, "deviceRouteSourceAddressIPv6", "not an IPv6 address"),
        ({"deviceRouteProtocol": 256}, "deviceRouteProtocol", "not from 0 to 255"),
        ({"ipForwarding": "On"}, "ipForwarding", "must be one of Enabled, Disabled"),
        ({"externalNodesList": ["fd00::1"]}, "externalNodesList[0]", "not an IPv4 address"),
        ({"debugPort": -1}, "debugPort", "not from 0"),
        ({"iptablesNATOutgoingInterfaceFilter": "eth*"}, "iptablesNATOutgoingInterfaceFilter", "filter of interfaces"),
        ({"nftablesMode": "On"}, "nftablesMode", "must be one of Auto, Enabled, Disabled"),
        ({"bpfLogLevel": "Loud"}, "bpfLogLevel", "must be one of Off, Info, Debug"),
        ({"bpfConntrackTimeouts": {"udpTimeout": "soon"}}, "bpfConntrackTimeouts.udpTimeout", "not a timeout"),
        ({"bpfLogFilters": {"eth 0": "tcp"}}, "bpfLogFilters.eth 0", "Linux interface"),
        ({"bpfExternalServiceMode": "NAT"}, "bpfExternalServiceMode", "must be one of Tunnel, DSR"),
        ({"bpfMapSizeConntrackCleanupQueue": 0}, "bpfMapSizeConntrackCleanupQueue", "not from 1"),
        ({"bpfForceTrackPacketsFromIfaces": ["docker0/"]}, "bpfForceTrackPacketsFromIfaces[0]", "filter of interfaces"),
        ({"bpfMaglevMaxServices": 3001}, "bpfMaglevMaxServices", "not from 1 to 3000"),
        ({"istioDSCPMark": 64}, "istioDSCPMark", "not a DSCP value"),
        ({"routeTableRanges": [{"min": 5, "max": 1}]}, "routeTableRanges[0].min", "greater than max"),
        ({"routeTableRanges": [{"min": 0, "max": 1}]}, "routeTableRanges[0].min", "not from 1"),
        ({"routeTableRanges": [{"min": 1, "max": 65536}]}, "routeTableRanges", "too many tables"),
        ({"routeTableRange": {"min": 1, "max": 250}}, "routeTableRange", "routeTableRanges is also set"),
        ({"routeTableRanges": None, "routeTableRange": {"min": 1, "max": 251}}, "routeTableRange.max", "1..250"),
        ({"ipv4NormalRoutePriority": 2147483647}, "ipv4NormalRoutePriority", "not from 1"),
        ({"wireguardListeningPort": 0}, "wireguardListeningPort", "not from 1"),
        ({"wireguardRoutingRulePriority": 32766}, "wireguardRoutingRulePriority", "not from 1 to 32765"),
        ({"wireguardInterfaceName": "a name too long for linux"}, "wireguardInterfaceName", "Linux interface"),
        ({"awsSrcDstCheck": "Off"}, "awsSrcDstCheck", "must be one of DoNothing, Enable, Disable"),
        ({"workloadSourceSpoofing": "All"}, "workloadSourceSpoofing", "must be one of Disabled, Any"),
        ({"goGCThreshold": -2}, "goGCThreshold", "not from -1"),
        ({"openstackRegion": "Region_1"}, "openstackRegion", "name of a region"),
        ({"openstackRegion": "r" * 47}, "openstackRegion", "name of a region"),
    ],
)
def test_a_felix_configuration_is_refused(spec: Document, field: str, fragment: str) -> None:
    found(changed("FelixConfiguration", spec), f"spec.{field}", fragment)


def test_words_in_any_case_are_stored_in_the_only_spelling_that_calicoctl_takes() -> None:
    words = {"iptablesBackend": "auto", "logSeverityScreen": "INFO", "defaultEndpointToHostAction": "ACCEPT"}
    written = document("FelixConfiguration", "default", words)
    assert validate(written) == []
    right = {"iptablesBackend": "Auto", "logSeverityScreen": "Info", "defaultEndpointToHostAction": "Accept"}
    assert right.items() <= stored_form(written)["spec"].items()


def test_words_that_calicoctl_takes_in_any_case_are_kept_as_they_are_written() -> None:
    words = {"chainInsertMode": "append", "bpfEnforceRPF": "loose", "routeSource": "workloadips"}
    stored = stored_form(document("FelixConfiguration", "default", words))
    assert words.items() <= stored["spec"].items()
    value = typed(stored)
    assert isinstance(value, FelixConfiguration)
    assert (value.spec.chainInsertMode, value.spec.bpfEnforceRPF) == ("Append", "Loose")


@pytest.mark.parametrize(
    ("spec", "balancing", "nat"),
    [
        ({}, "TCP", "Enabled"),
        (
            {"bpfConnectTimeLoadBalancing": "Disabled", "bpfHostNetworkedNATWithoutCTLB": "Disabled"},
            "Disabled",
            "Disabled",
        ),
        ({"bpfConnectTimeLoadBalancingEnabled": True}, "Enabled", "Disabled"),
        ({"bpfConnectTimeLoadBalancingEnabled": False}, "Disabled", "Disabled"),
    ],
)
def test_felixs_settings_are_stored_with_calicos_defaults(spec: Document, balancing: str, nat: str) -> None:
    assert stored_form(document("FelixConfiguration", "default", spec))["spec"] == {
        **spec,
        "nftablesMode": "Auto",
        "bpfLogLevel": "",
        "bpfConnectTimeLoadBalancing": balancing,
        "bpfHostNetworkedNATWithoutCTLB": nat,
        "floatingIPs": "Disabled",
    }


@pytest.mark.parametrize("name", ["default", "node.node1"])
def test_a_name_that_says_for_whom_it_is_needs_no_selector(name: str) -> None:
    assert validate(document("FelixConfiguration", name, {})) == []
    selecting = document("FelixConfiguration", name, {"nodeSelector": "all()"})
    found(selecting, "spec.nodeSelector", "by its name")


def test_another_name_needs_a_selector() -> None:
    found(document("FelixConfiguration", "rack1", {}), "metadata.name", "no node reads")
    assert validate(document("FelixConfiguration", "rack1", {"nodeSelector": "rack == 'r1'"})) == []


def test_every_field_that_felix_has_is_known_once() -> None:
    names = [field.name for field in fields_of(FelixConfigurationSpec).values()]
    assert len(names) == 191
    assert names[0] == "nodeSelector"
    assert names[-1] == "bpfMaglevMaxServices"

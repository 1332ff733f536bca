"""A document of every kind as Calico stores it: all defaults written out, fields in its order."""

from __future__ import annotations

import copy
from typing import Any

from tortie.model.errors import Problem
from tortie.model.kinds import API_VERSION, BY_NAME
from tortie.model.resource import validate
from tortie.model.wire import Document


def document(kind: str, name: str, spec: Document, **metadata: Any) -> Document:
    """A resource as a person writes it, in the namespace `default` if its kind has namespaces."""
    place = {"namespace": "default"} if BY_NAME[kind].namespaced else {}
    return {"kind": kind, "apiVersion": API_VERSION, "metadata": {"name": name, **place, **metadata}, "spec": spec}


def example(kind: str) -> Document:
    """A copy that may be changed."""
    return copy.deepcopy(EXAMPLES[kind])


def _stored(kind: str, name: str, spec: Document, status: Document | None = None, **metadata: Any) -> Document:
    place = {"namespace": "default"} if BY_NAME[kind].namespaced else {}
    made = {"uid": "6f0c3a52-9d0e-4a3f-9a51-2d9f3c1b7a10", "creationTimestamp": "2024-05-01T10:00:00Z"}
    stored = {
        "kind": kind,
        "apiVersion": API_VERSION,
        "metadata": {"name": name, **place, **made, **metadata},
        "spec": spec,
    }
    return stored if status is None else {**stored, "status": status}


_RULES: Document = {
    "ingress": [
        {
            "action": "Allow",
            "protocol": "TCP",
            "source": {"selector": "role == 'frontend'", "namespaceSelector": "global()"},
            "destination": {"ports": [80, "8000:8010", "metrics"]},
            "http": {"methods": ["GET", "HEAD"], "paths": [{"exact": "/healthz"}, {"prefix": "/api/"}]},
            "metadata": {"annotations": {"ticket": "NET-7"}},
        },
        {
            "action": "Deny",
            "ipVersion": 4,
            "protocol": "ICMP",
            "icmp": {"type": 0, "code": 0},
            "source": {},
            "destination": {},
        },
    ],
    "egress": [
        {
            "action": "Log",
            "notProtocol": 132,
            "source": {"serviceAccounts": {"names": ["default"], "selector": "team == 'a'"}},
            "destination": {"nets": ["10.0.0.0/8"], "notNets": ["10.9.0.0/16"], "notSelector": "has(quarantine)"},
        },
        {
            "action": "Pass",
            "source": {},
            "destination": {"services": {"name": "kubernetes", "namespace": "default"}},
        },
    ],
}
_NAMESPACED_POLICY: Document = {
    "tier": "default",
    "order": 100,
    **_RULES,
    "selector": "app == 'web'",
    "types": ["Ingress", "Egress"],
    "serviceAccountSelector": "team == 'a'",
    "performanceHints": ["AssumeNeededOnEveryNode"],
}
_GLOBAL_POLICY: Document = {
    "tier": "security",
    "order": 0.5,
    "ingress": [
        {"action": "Allow", "protocol": 6, "source": {"nets": ["fd00::/8"]}, "destination": {"notPorts": [22]}}
    ],
    "selector": "has(host-endpoint)",
    "types": ["Ingress"],
    "preDNAT": True,
    "applyOnForward": True,
    "serviceAccountSelector": "all()",
    "namespaceSelector": "env == 'prod'",
    "performanceHints": ["AssumeNeededOnEveryNode"],
}


def _policy(kind: str, name: str, spec: Document) -> Document:
    tier = {"labels": {"projectcalico.org/tier": spec["tier"]}}
    return _stored(kind, name, spec, **tier, annotations={"projectcalico.org/metadata": f'{{"name":"{name}"}}'})


_CONDITION = {
    "type": "Allocatable",
    "status": "True",
    "observedGeneration": 2,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "OK",
    "message": "in use",
}

_ALL = (
    _stored(
        "BGPConfiguration",
        "default",
        {
            "logSeverityScreen": "Info",
            "nodeToNodeMeshEnabled": True,
            "asNumber": 64512,
            "serviceLoadBalancerIPs": [{"cidr": "10.50.0.0/24"}],
            "serviceExternalIPs": [{"cidr": "198.51.100.7/32"}],
            "serviceClusterIPs": [{"cidr": "10.96.0.0/12"}, {"cidr": "fd00:10:96::/112"}],
            "serviceLoadBalancerAggregation": "Disabled",
            "communities": [{"name": "rack", "value": "65000:100"}],
            "prefixAdvertisements": [{"cidr": "10.50.0.0/24", "communities": ["rack", "4200000000:1:2"]}],
            "listenPort": 1790,
            "nodeMeshPassword": {"secretKeyRef": {"name": "bgp", "key": "mesh", "optional": False}},
            "nodeMeshMaxRestartTime": "2m0s",
            "bindMode": "NodeIP",
            "ignoredInterfaces": ["docker*", "kube-ipvs0"],
            "localWorkloadPeeringIPV4": "169.254.30.1",
            "localWorkloadPeeringIPV6": "fe80::1",
            "programClusterRoutes": "Enabled",
            "ipv4NormalRoutePriority": 1024,
            "ipv6NormalRoutePriority": 1024,
        },
    ),
    _stored(
        "BGPFilter",
        "no-default-route",
        {
            "exportV4": [
                {
                    "cidr": "77.0.0.0/16",
                    "prefixLength": {"min": 0, "max": 24},
                    "source": "RemotePeers",
                    "interface": "*.calico",
                    "matchOperator": "NotIn",
                    "peerType": "eBGP",
                    "communities": {"values": ["65000:1"]},
                    "asPathPrefix": [65001],
                    "priority": 512,
                    "action": "Accept",
                    "operations": [
                        {"addCommunity": {"value": "65000:100"}},
                        {"prependASPath": {"prefix": [65001, 65002]}},
                        {"setPriority": {"value": 100}},
                    ],
                }
            ],
            "importV4": [{"cidr": "0.0.0.0/0", "matchOperator": "Equal", "action": "Reject"}],
            "exportV6": [{"action": "Accept"}],
            "importV6": [{"cidr": "::/0", "matchOperator": "In", "action": "Reject"}],
        },
    ),
    _stored(
        "BGPPeer",
        "tor-r1",
        {
            "nodeSelector": "rack == 'r1'",
            "peerIP": "[fd00::1]:1790",
            "asNumber": 65001,
            "localASNumber": 64513,
            "nextHopMode": "Self",
            "password": {"secretKeyRef": {"name": "bgp", "key": "tor"}},
            "sourceAddress": "UseNodeIP",
            "maxRestartTime": "1m30s",
            "keepaliveTime": "10s",
            "numAllowedLocalASNumbers": 0,
            "ttlSecurity": 0,
            "reachableBy": "fd00::fe",
            "filters": ["no-default-route"],
            "reversePeering": "Manual",
        },
    ),
    _stored(
        "BlockAffinity",
        "node1-192-168-166-128-26",
        {"state": "confirmed", "node": "node1", "type": "host", "cidr": "192.168.166.128/26", "deleted": "false"},
    ),
    _stored(
        "CalicoNodeStatus",
        "node1",
        {"node": "node1", "classes": ["Agent", "BGP", "Routes"], "updatePeriodSeconds": 10},
        {
            "lastUpdated": "2024-05-01T10:00:10Z",
            "agent": {
                "birdV4": {"state": "Ready", "version": "v0.3.3", "routerID": "10.0.0.11"},
                "birdV6": {"state": "NotReady"},
            },
            "bgp": {
                "numberEstablishedV4": 1,
                "numberNotEstablishedV4": 0,
                "numberEstablishedV6": 0,
                "numberNotEstablishedV6": 0,
                "peersV4": [{"peerIP": "10.0.0.12", "type": "NodeMesh", "state": "Established", "since": "09:19:28"}],
            },
            "routes": {
                "routesV4": [
                    {
                        "type": "FIB",
                        "destination": "192.168.104.0/26",
                        "gateway": "10.0.0.12",
                        "interface": "eth0",
                        "learnedFrom": {"sourceType": "NodeMesh", "peerIP": "10.0.0.12"},
                    }
                ]
            },
        },
    ),
    _stored(
        "ClusterInformation",
        "default",
        {
            "clusterGUID": "0b0c3a529d0e4a3f9a512d9f3c1b7a10",
            "clusterType": "k8s,bgp",
            "calicoVersion": "v3.30.0",
            "datastoreReady": False,
            "variant": "Calico",
        },
    ),
    _stored(
        "FelixConfiguration",
        "default",
        {
            "ipv6Support": False,
            "routeRefreshInterval": "1m30s",
            "featureDetectOverride": "SNATFullyRandom=true,MASQFullyRandom=false",
            "iptablesBackend": "NFT",
            "interfacePrefix": "cali,eni",
            "chainInsertMode": "Append",
            "defaultEndpointToHostAction": "Accept",
            "logPrefix": "calico-packet %t",
            "logSeverityScreen": "Warning",
            "vxlanVNI": 4096,
            "reportingInterval": "0s",
            "healthEnabled": True,
            "healthHost": "",
            "healthPort": 9099,
            "healthTimeoutOverrides": [{"name": "InternalDataplaneMainLoop", "timeout": "5m0s"}],
            "failsafeInboundHostPorts": [{"protocol": "TCP", "port": 22, "net": "10.0.0.0/8"}],
            "failsafeOutboundHostPorts": [],
            "kubeNodePortRanges": ["30000:32767", 8080],
            "natPortRange": "32768:65535",
            "natOutgoingAddress": "10.0.0.1",
            "programClusterRoutes": "Disabled",
            "externalNodesList": ["10.1.2.3", "10.2.0.0/16"],
            "iptablesNATOutgoingInterfaceFilter": "eth+",
            "nftablesMode": "Auto",
            "bpfLogLevel": "",
            "bpfConntrackTimeouts": {"tcpSynSent": "20s", "udpTimeout": "Auto"},
            "bpfLogFilters": {"all": "tcp", "eth0": "host 10.0.0.1"},
            "bpfDataIfacePattern": "^((en|wl|ww|sl|ib)[Pcopsvx].*|(eth|wlan|wwan).*)",
            "bpfConnectTimeLoadBalancing": "TCP",
            "bpfHostNetworkedNATWithoutCTLB": "Enabled",
            "istioDSCPMark": "AF41",
            "routeTableRanges": [{"min": 1, "max": 250}],
            "wireguardEnabled": True,
            "wireguardListeningPort": 51820,
            "wireguardInterfaceName": "wireguard.cali",
            "floatingIPs": "Disabled",
        },
    ),
    _policy("GlobalNetworkPolicy", "security.host", _GLOBAL_POLICY),
    _stored("GlobalNetworkSet", "corp", {"nets": ["10.9.8.7/16", "198.51.100.7", "fd00::/8"]}, labels={"role": "corp"}),
    _stored(
        "HostEndpoint",
        "node1-eth0",
        {
            "node": "node1",
            "interfaceName": "eth0",
            "expectedIPs": ["10.0.0.11", "fd00::11"],
            "profiles": ["kns.default"],
            "ports": [{"name": "http", "protocol": "TCP", "port": 80}],
        },
        labels={"host-endpoint": "true"},
    ),
    _stored(
        "IPAMConfiguration",
        "default",
        {
            "strictAffinity": True,
            "maxBlocksPerHost": 4,
            "autoAllocateBlocks": True,
            "kubeVirtVMAddressPersistence": "Disabled",
        },
    ),
    _stored(
        "IPPool",
        "default-ipv4-ippool",
        {
            "cidr": "192.168.0.0/16",
            "vxlanMode": "Never",
            "ipipMode": "Always",
            "natOutgoing": True,
            "blockSize": 26,
            "nodeSelector": "all()",
            "allowedUses": ["Workload", "Tunnel"],
            "assignmentMode": "Automatic",
        },
        {"conditions": [_CONDITION]},
    ),
    _stored("IPReservation", "gateways", {"reservedCIDRs": ["192.168.0.0/30", "192.168.255.255", "fd00::1/64"]}),
    _stored(
        "KubeControllersConfiguration",
        "default",
        {
            "logSeverityScreen": "Info",
            "healthChecks": "Enabled",
            "etcdV3CompactionPeriod": "10m0s",
            "prometheusMetricsPort": 9094,
            "controllers": {
                "node": {
                    "reconcilerPeriod": "5m0s",
                    "syncLabels": "Enabled",
                    "hostEndpoint": {
                        "autoCreate": "Enabled",
                        "createDefaultHostEndpoint": "Disabled",
                        "templates": [
                            {
                                "generateName": "storage",
                                "interfaceCIDRs": ["10.1.0.0/16"],
                                "interfacePattern": "^eth[12]$",
                                "labels": {"net": "storage"},
                                "nodeSelector": "all()",
                            }
                        ],
                    },
                    "leakGracePeriod": "15m0s",
                },
                "policy": {"reconcilerPeriod": "5m0s"},
                "loadBalancer": {"assignIPs": "RequestedServicesOnly"},
                "policyMigration": {"enabled": "Disabled"},
            },
            "debugProfilePort": 6060,
        },
        {
            "runningConfig": {"logSeverityScreen": "Info", "healthChecks": "Enabled", "controllers": {}},
            "environmentVars": {"ENABLED_CONTROLLERS": "node"},
        },
    ),
    _policy("NetworkPolicy", "allow-web", _NAMESPACED_POLICY),
    _stored("NetworkSet", "corp", {"nets": ["10.9.0.0/16"]}, labels={"role": "corp"}),
    _stored(
        "Node",
        "node1",
        {
            "bgp": {
                "asNumber": 64513,
                "ipv4Address": "10.0.0.11/24",
                "ipv6Address": "FD00::11/64",
                "ipv4IPIPTunnelAddr": "192.168.166.128",
                "routeReflectorClusterID": "244.0.0.1",
            },
            "ipv4VXLANTunnelAddr": "192.168.166.129",
            "vxlanTunnelMACAddr": "66:f9:37:c3:7e:94",
            "orchRefs": [{"nodeName": "node1", "orchestrator": "k8s"}],
            "wireguard": {"interfaceIPv4Address": "192.168.166.130"},
            "addresses": [
                {"address": "10.0.0.11/24", "type": "CalicoNodeIP"},
                {"address": "10.0.0.11", "type": "InternalIP"},
            ],
            "interfaces": [{"name": "eth0", "addresses": ["10.0.0.11", "fd00::11"]}],
        },
        {"wireguardPublicKey": "jlkVyQYooZYzI2wFfNhSZez5eWh44yfq1wKVjLvSXgY=", "podCIDRs": ["192.168.0.0/24"]},
        labels={"rack": "r1"},
    ),
    _stored(
        "Profile",
        "kns.default",
        {
            "ingress": [{"action": "Allow", "source": {}, "destination": {}}],
            "egress": [{"action": "Allow", "source": {}, "destination": {}}],
            "labelsToApply": {"pcns.projectcalico.org/name": "default"},
        },
    ),
    _policy("StagedGlobalNetworkPolicy", "security.host", {"stagedAction": "Learn", **_GLOBAL_POLICY}),
    _stored(
        "StagedKubernetesNetworkPolicy",
        "allow-dns",
        {
            "stagedAction": "Set",
            "podSelector": {
                "matchLabels": {"app": "dns"},
                "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}],
            },
            "ingress": [
                {
                    "ports": [{"protocol": "UDP", "port": 53}, {"port": 8000, "endPort": 8010}, {"port": "metrics"}],
                    "from": [
                        {"podSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}},
                        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
                    ],
                }
            ],
            "egress": [{"to": [{"namespaceSelector": {}}]}],
            "policyTypes": ["Ingress", "Egress"],
        },
    ),
    _policy("StagedNetworkPolicy", "allow-web", {"stagedAction": "Set", **_NAMESPACED_POLICY}),
    _stored("Tier", "security", {"order": 10, "defaultAction": "Pass"}, {"conditions": [_CONDITION]}),
    _stored(
        "WorkloadEndpoint",
        "node--1-k8s-nginx--7c5-eth0",
        {
            "orchestrator": "k8s",
            "node": "node-1",
            "containerID": "4f01B",
            "pod": "nginx-7c5",
            "endpoint": "eth0",
            "serviceAccountName": "default",
            "ipNetworks": ["192.168.166.129/32", "FD00:10:244::A680/128"],
            "ipNATs": [{"internalIP": "192.168.166.129", "externalIP": "198.51.100.7"}],
            "ipv4Gateway": "169.254.1.1",
            "profiles": ["kns.default", "ksa.default.default"],
            "interfaceName": "calic440f455693",
            "mac": "16:aa:bb:cc:dd:ee",
            "ports": [{"name": "http", "protocol": "TCP", "port": 8080, "hostPort": 0, "hostIP": ""}],
            "allowSpoofedSourcePrefixes": ["10.11.0.0/16"],
            "qosControls": {"ingressBandwidth": 1000000, "egressMaxConnections": 10, "dscp": 46},
        },
        labels={"projectcalico.org/namespace": "default", "projectcalico.org/orchestrator": "k8s"},
    ),
)
EXAMPLES: dict[str, Document] = {stored["kind"]: stored for stored in _ALL}


def changed(kind: str, spec: Document, name: str | None = None) -> Document:
    """The example with some fields of its spec replaced, or left out where None stands."""
    document = example(kind)
    document["spec"] = {field: value for field, value in (document["spec"] | spec).items() if value is not None}
    document["metadata"]["name"] = name or document["metadata"]["name"]
    return document


def found(document: Document, field: str, fragment: str, *, stored: Document | None = None) -> Problem:
    """The problem of that field; fails unless there is one whose reason has the fragment, and a hint what is right."""
    problems = validate(document, stored=stored)
    for problem in problems:
        if problem.field == field and fragment in problem.why:
            assert problem.right, problem
            return problem
    raise AssertionError(f"no problem of {field} with {fragment!r} among {[tuple(p)[:4] for p in problems]}")

"""Every field of every kind: what reads it, that it is a mere statement, or that it has no effect and why. Data.

Paths are below `spec`; a path stands for all that is below it. `KINDS_WITHOUT` are kinds that have no effect as a
whole. A field without an effect is only told if somebody asks for something with it: the values beside its reason ask
for nothing, because they are Calico's defaults or what happens here anyway, and so does an empty one.
FelixConfiguration has a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tortie.model.effects import reasons
from tortie.model.effects.felix import FELIX
from tortie.model.effects.reasons import Reason
from tortie.model.effects.rows import Entry, data, nothing, read_by

# As a whole: nothing in them is looked at.
KINDS_WITHOUT: Final[Mapping[str, Reason]] = {
    "GlobalNetworkPolicy": reasons.POLICY,
    "NetworkPolicy": reasons.POLICY,
    "StagedGlobalNetworkPolicy": reasons.STAGED,
    "StagedNetworkPolicy": reasons.STAGED,
    "StagedKubernetesNetworkPolicy": reasons.STAGED,
    "Tier": reasons.TIER,
    "Profile": reasons.PROFILE,
    "HostEndpoint": reasons.HOST_ENDPOINT,
    "GlobalNetworkSet": reasons.NETWORK_SET,
    "NetworkSet": reasons.NETWORK_SET,
}

FIELDS: Final[Mapping[str, Mapping[str, Entry]]] = {
    "BGPConfiguration": {
        **read_by("tortie.bgp.router", "logSeverityScreen serviceClusterIPs serviceExternalIPs serviceLoadBalancerIPs"),
        **read_by("tortie.bgp.router", "communities prefixAdvertisements ignoredInterfaces"),
        **read_by("tortie.bgp.router", "ipv4NormalRoutePriority ipv6NormalRoutePriority"),
        **read_by("tortie.bgp.mesh", "nodeToNodeMeshEnabled nodeMeshPassword nodeMeshMaxRestartTime"),
        **read_by("tortie.bgp.cluster", "asNumber listenPort"),
        **read_by("tortie.bgp.sessions", "bindMode"),
        "serviceLoadBalancerAggregation": nothing(reasons.SERVICE_ADDRESSES, "Enabled"),
        "localWorkloadPeeringIPV4": nothing(reasons.WORKLOAD_PEERS),
        "localWorkloadPeeringIPV6": nothing(reasons.WORKLOAD_PEERS),
        "programClusterRoutes": nothing(reasons.CLUSTER_ROUTES, "Enabled", "EnabledNoEncapOnly"),
    },
    "BGPFilter": read_by("tortie.bgp.bird_filters", "exportV4 importV4 exportV6 importV6"),
    "BGPPeer": {
        **read_by("tortie.bgp.peering", "node nodeSelector peerIP asNumber localASNumber peerSelector reversePeering"),
        **read_by("tortie.bgp.sessions", "keepOriginalNextHop nextHopMode password sourceAddress maxRestartTime"),
        **read_by("tortie.bgp.sessions", "keepaliveTime numAllowedLocalASNumbers ttlSecurity reachableBy filters"),
        "localWorkloadSelector": nothing(reasons.WORKLOAD_PEERS),
    },
    "BlockAffinity": {**read_by("tortie.ipam.records", "state deleted"), **data("node type cidr")},
    "CalicoNodeStatus": read_by("tortie.node.mesh_report", "node classes updatePeriodSeconds"),
    "ClusterInformation": {
        **read_by("tortie.node.registration", "clusterGUID clusterType calicoVersion datastoreReady"),
        **data("variant"),
    },
    "FelixConfiguration": FELIX,
    "IPAMConfiguration": {
        **read_by("tortie.model.ipam_settings", "strictAffinity maxBlocksPerHost autoAllocateBlocks ipCooldownSeconds"),
        # A start writes Enabled, as Calico's does, and Disabled is how it is here.
        "kubeVirtVMAddressPersistence": nothing(reasons.KUBEVIRT, "Enabled", "Disabled"),
    },
    "IPPool": {
        **read_by("tortie.ipam.pools", "cidr disabled nodeSelector namespaceSelector assignmentMode"),
        **read_by("tortie.ipam.facts", "blockSize"),
        **read_by("tortie.dataplane.records", "vxlanMode natOutgoing"),
        **read_by("tortie.bgp.router", "disableBGPExport"),
        "ipipMode": nothing(reasons.IPIP, "Never"),
        "allowedUses": nothing(reasons.LOAD_BALANCER, ["Workload"], ["Tunnel"], ["Workload", "Tunnel"],
                               ["Tunnel", "Workload"]),
    },
    "IPReservation": read_by("tortie.ipam.facts", "reservedCIDRs"),
    "KubeControllersConfiguration": {
        **read_by("tortie.controllers.config", "logSeverityScreen healthChecks prometheusMetricsPort"),
        **read_by("tortie.controllers.config", "controllers.node.reconcilerPeriod controllers.node.leakGracePeriod"),
        "etcdV3CompactionPeriod": nothing(reasons.COMPACTION, "10m", "0s"),
        "debugProfilePort": nothing(reasons.CONTROLLERS, 0),
        "controllers.node.syncLabels": nothing(reasons.NODE_LABELS, "Enabled", "Disabled"),
        "controllers.node.hostEndpoint.autoCreate": nothing(reasons.HOST_ENDPOINT, "Disabled"),
        "controllers.node.hostEndpoint.createDefaultHostEndpoint": nothing(
            reasons.HOST_ENDPOINT, "Enabled", "Disabled"
        ),
        "controllers.node.hostEndpoint.templates": nothing(reasons.HOST_ENDPOINT),
        **{f"controllers.{name}.reconcilerPeriod": nothing(reasons.CONTROLLERS, "5m") for name in
           ("policy", "workloadEndpoint", "serviceAccount", "namespace")},
        "controllers.loadBalancer.assignIPs": nothing(reasons.LOAD_BALANCER, "AllServices"),
        "controllers.policyMigration.enabled": nothing(reasons.CONTROLLERS, "Enabled", "Disabled"),
        "controllers.migration.policyNameMigrator": nothing(reasons.CONTROLLERS, "Enabled", "Disabled"),
    },
    "Node": {
        **read_by("tortie.bgp.entries", "bgp.asNumber bgp.ipv4Address bgp.ipv6Address bgp.routeReflectorClusterID"),
        **read_by("tortie.dataplane.records", "ipv4VXLANTunnelAddr vxlanTunnelMACAddr ipv6VXLANTunnelAddr"),
        **read_by("tortie.dataplane.records", "vxlanTunnelMACAddrV6 addresses"),
        **read_by("tortie.node.tunnel_choice", "bgp.ipv4IPIPTunnelAddr"),
        **read_by("tortie.node.registration", "orchRefs interfaces"),
        **data("wireguard"),  # addresses that a Felix has taken for itself
    },
    "WorkloadEndpoint": {
        **read_by("tortie.dataplane.records", "node ipNetworks interfaceName mac"),
        **data("orchestrator workload containerID pod endpoint serviceAccountName ipv4Gateway ipv6Gateway"),
        # Each stands for rules or selectors that are told of where they are written.
        **data("profiles ports allowSpoofedSourcePrefixes"),
        "ipNATs": nothing(reasons.FLOATING),
        "qosControls": nothing(reasons.QOS),
    },
}  # fmt: skip

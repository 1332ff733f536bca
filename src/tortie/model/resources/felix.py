"""FelixConfiguration: the settings of Felix, for the cluster, for some nodes, or for one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv6Address
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import (
    DSCP,
    Duration,
    InterfaceFilter,
    InterfaceName,
    IPInterface,
    LogLevel,
    Port,
    RegularExpression,
    Selector,
)
from tortie.model.resource import Resource, Spec
from tortie.model.resources.bgp import ProgramClusterRoutes
from tortie.model.resources.checks import PORTS, PRIORITIES, outside, under
from tortie.model.resources.felix_fields import (
    AllowAction,
    BPFConntrackTimeouts,
    BPFEnforceRPF,
    BPFLogLevel,
    BPFMapScaling,
    BPFServiceMode,
    ChainInsertMode,
    ClientAuth,
    DenyAction,
    EndpointToHostAction,
    HealthTimeoutOverride,
    HostName,
    IptablesBackend,
    KeyValueList,
    LogPrefix,
    ProtoPort,
    RateLimit,
    Region,
    RouteSource,
    RouteTableIDRange,
    RouteTableRange,
    ServiceLoopPrevention,
    Switch,
    WorkloadSourceSpoofing,
)
from tortie.model.shape import Always
from tortie.model.wire import Document

_PORTS_OR_NONE = (0, 65535)
_UINT32 = (0, 0xFFFFFFFF)
_MTU = (0, 65535)
_COUNT = (0, 2147483647)
_RANGES = {
    "logActionRateLimitBurst": (0, 9999),
    "metadataPort": _PORTS_OR_NONE,
    "healthPort": _PORTS_OR_NONE,
    "prometheusMetricsPort": _PORTS_OR_NONE,
    "debugPort": _PORTS_OR_NONE,
    "bpfKubeProxyHealthzPort": _PORTS_OR_NONE,
    "vxlanPort": PORTS,
    "wireguardListeningPort": PORTS,
    "wireguardListeningPortV6": PORTS,
    "vxlanVNI": (0, (1 << 24) - 1),
    "ipipMTU": _MTU,
    "vxlanMTU": _MTU,
    "vxlanMTUV6": _MTU,
    "wireguardMTU": _MTU,
    "wireguardMTUV6": _MTU,
    "iptablesMarkMask": _UINT32,
    "nftablesMarkMask": _UINT32,
    "bpfExtToServiceConnmark": _UINT32,
    "deviceRouteProtocol": (0, 255),
    "wireguardRoutingRulePriority": (1, 32765),
    "ipv4NormalRoutePriority": PRIORITIES,
    "ipv4ElevatedRoutePriority": PRIORITIES,
    "ipv6NormalRoutePriority": PRIORITIES,
    "ipv6ElevatedRoutePriority": PRIORITIES,
    "bpfMapSizeConntrackCleanupQueue": (1, _COUNT[1]),
    "bpfMaglevMaxEndpointsPerService": (1, 3000),
    "bpfMaglevMaxServices": (1, 3000),
    "goGCThreshold": (-1, _COUNT[1]),
    "goMemoryLimitMB": (-1, _COUNT[1]),
    "goMaxProcs": (-1, _COUNT[1]),
}
# One match of iptables takes 15 ports, and a range counts twice.
_NODE_PORT_RANGES_MAX = 7
_ROUTE_TABLES_MAX = 0xFFFF
_NAME = re.compile(r"default|node\..+")


class FelixConfigurationSpec(Spec, frozen=True, kw_only=True):
    """A field that is not set leaves the choice to the next wider configuration, and in the end to Felix."""

    nodeSelector: Selector | None = None
    useInternalDataplaneDriver: bool | None = None
    dataplaneDriver: str = ""
    dataplaneWatchdogTimeout: Duration | None = None
    ipv6Support: bool | None = None
    routeRefreshInterval: Duration | None = None
    interfaceRefreshInterval: Duration | None = None
    iptablesRefreshInterval: Duration | None = None
    iptablesPostWriteCheckInterval: Duration | None = None
    iptablesLockFilePath: str = ""
    iptablesLockTimeout: Duration | None = None
    iptablesLockProbeInterval: Duration | None = None
    featureDetectOverride: KeyValueList | None = None
    featureGates: KeyValueList | None = None
    ipsetsRefreshInterval: Duration | None = None
    maxIpsetSize: int | None = None
    iptablesBackend: IptablesBackend | None = None
    xdpRefreshInterval: Duration | None = None
    netlinkTimeout: Duration | None = None
    metadataAddr: str = ""
    metadataPort: int | None = None
    openstackRegion: Region | None = None
    interfacePrefix: str = ""
    interfaceExclude: str = ""
    chainInsertMode: ChainInsertMode | None = None
    defaultEndpointToHostAction: EndpointToHostAction | None = None
    iptablesFilterAllowAction: AllowAction | None = None
    iptablesMangleAllowAction: AllowAction | None = None
    iptablesFilterDenyAction: DenyAction | None = None
    logPrefix: LogPrefix | None = None
    logActionRateLimit: RateLimit | None = None
    logActionRateLimitBurst: int | None = None
    logFilePath: str = ""
    logSeverityFile: LogLevel | None = None
    logSeverityScreen: LogLevel | None = None
    logSeveritySys: LogLevel | None = None
    logDebugFilenameRegex: RegularExpression | None = None
    ipipEnabled: bool | None = None
    ipipMTU: int | None = None
    vxlanEnabled: bool | None = None
    vxlanMTU: int | None = None
    vxlanMTUV6: int | None = None
    vxlanPort: int | None = None
    vxlanVNI: int | None = None
    allowVXLANPacketsFromWorkloads: bool | None = None
    allowIPIPPacketsFromWorkloads: bool | None = None
    reportingInterval: Duration | None = None
    reportingTTL: Duration | None = None
    endpointReportingEnabled: bool | None = None
    endpointReportingDelay: Duration | None = None
    endpointStatusPathPrefix: str = ""
    iptablesMarkMask: int | None = None
    disableConntrackInvalidCheck: bool | None = None
    healthEnabled: bool | None = None
    healthHost: str | None = None
    healthPort: int | None = None
    healthTimeoutOverrides: tuple[HealthTimeoutOverride, ...] = ()
    prometheusMetricsEnabled: bool | None = None
    prometheusMetricsHost: HostName | None = None
    prometheusMetricsPort: int | None = None
    prometheusGoMetricsEnabled: bool | None = None
    prometheusProcessMetricsEnabled: bool | None = None
    prometheusWireGuardMetricsEnabled: bool | None = None
    prometheusMetricsCAFile: str | None = None
    prometheusMetricsCertFile: str | None = None
    prometheusMetricsKeyFile: str | None = None
    prometheusMetricsClientAuth: ClientAuth | None = None
    failsafeInboundHostPorts: tuple[ProtoPort, ...] | None = None
    failsafeOutboundHostPorts: tuple[ProtoPort, ...] | None = None
    kubeNodePortRanges: tuple[Port, ...] | None = None
    policySyncPathPrefix: str = ""
    usageReportingEnabled: bool | None = None
    usageReportingInitialDelay: Duration | None = None
    usageReportingInterval: Duration | None = None
    natPortRange: Port | None = None
    natOutgoingAddress: IPv4Address | None = None
    natOutgoingExclusions: Literal["IPPoolsOnly", "IPPoolsAndHostIPs"] | None = None
    deviceRouteSourceAddress: IPv4Address | None = None
    deviceRouteSourceAddressIPv6: IPv6Address | None = None
    deviceRouteProtocol: int | None = None
    removeExternalRoutes: bool | None = None
    programClusterRoutes: ProgramClusterRoutes | None = None
    ipForwarding: Switch | None = None
    externalNodesList: tuple[IPv4Interface, ...] | None = None
    debugMemoryProfilePath: str = ""
    debugDisableLogDropping: bool | None = None
    debugSimulateCalcGraphHangAfter: Duration | None = None
    debugSimulateDataplaneHangAfter: Duration | None = None
    debugSimulateDataplaneApplyDelay: Duration | None = None
    debugHost: str | None = None
    debugPort: int | None = None
    iptablesNATOutgoingInterfaceFilter: InterfaceFilter | None = None
    sidecarAccelerationEnabled: bool | None = None
    xdpEnabled: bool | None = None
    genericXDPEnabled: bool | None = None
    nftablesMode: Literal["Auto", "Enabled", "Disabled"] | None = None
    nftablesFlowTableOffload: Literal["All", "Enabled", "Disabled"] | None = None
    nftablesFlowTableDataIfacePattern: RegularExpression | None = None
    nftablesRefreshInterval: Duration | None = None
    nftablesFilterAllowAction: AllowAction | None = None
    nftablesMangleAllowAction: AllowAction | None = None
    nftablesFilterDenyAction: DenyAction | None = None
    nftablesMarkMask: int | None = None
    bpfEnabled: bool | None = None
    bpfOverlayHostSourceIP: Literal["TunnelAddress", "HostAddress"] | None = None
    bpfDisableUnprivileged: bool | None = None
    bpfJITHardening: Literal["Auto", "Strict"] | None = None
    bpfLogLevel: Always[BPFLogLevel] = BPFLogLevel("")
    bpfConntrackLogLevel: Literal["Off", "Debug"] | None = None
    bpfConntrackMode: Literal["Auto", "Userspace", "BPFProgram"] | None = None
    bpfConntrackTimeouts: BPFConntrackTimeouts | None = None
    bpfIPFragTimeout: Duration | None = None
    bpfLogFilters: dict[str, str] | None = None
    bpfCTLBLogFilter: str = ""
    bpfDataIfacePattern: RegularExpression | None = None
    bpfL3IfacePattern: RegularExpression | None = None
    bpfConnectTimeLoadBalancingEnabled: bool | None = None
    bpfConnectTimeLoadBalancing: Literal["TCP", "Enabled", "Disabled"] | None = None
    bpfHostNetworkedNATWithoutCTLB: Switch | None = None
    bpfExternalServiceMode: BPFServiceMode | None = None
    bpfDSROptoutCIDRs: tuple[IPInterface, ...] | None = None
    bpfExtToServiceConnmark: int | None = None
    bpfKubeProxyIptablesCleanupEnabled: bool | None = None
    bpfKubeProxyMinSyncPeriod: Duration | None = None
    bpfKubeProxyEndpointSlicesEnabled: bool | None = None
    bpfKubeProxyHealthzPort: int | None = None
    bpfPSNATPorts: Port | None = None
    bpfMapSizeNATFrontend: int | None = None
    bpfMapSizeNATBackend: int | None = None
    bpfMapSizeNATAffinity: int | None = None
    bpfMapSizeRoute: int | None = None
    bpfMapSizeConntrack: int | None = None
    bpfMapSizePerCpuConntrack: int | None = None
    bpfMapSizeConntrackScaling: BPFMapScaling | None = None
    bpfMapSizeConntrackCleanupQueue: int | None = None
    bpfMapSizeIPSets: int | None = None
    bpfMapSizeIfState: int | None = None
    bpfHostConntrackBypass: bool | None = None
    bpfIPFragmentReassemblyEnabled: bool | None = None
    bpfEnforceRPF: BPFEnforceRPF | None = None
    bpfPolicyDebugEnabled: bool | None = None
    bpfForceTrackPacketsFromIfaces: tuple[InterfaceFilter, ...] | None = None
    bpfDisableGROForIfaces: RegularExpression | None = None
    bpfExcludeCIDRsFromNAT: tuple[IPInterface, ...] | None = None
    bpfExportBufferSizeMB: int | None = None
    istioAmbientMode: Switch | None = None
    istioDSCPMark: DSCP | None = None
    cgroupV2Path: str = ""
    flowLogsPolicyEvaluationMode: Literal["None", "Continuous"] | None = None
    bpfRedirectToPeer: Literal["Enabled", "Disabled", "L2Only"] | None = None
    bpfAttachType: Literal["TC", "TCX", "Netkit"] | None = None
    flowLogsFlushInterval: Duration | None = None
    flowLogsCollectorDebugTrace: bool | None = None
    flowLogsGoldmaneServer: str | None = None
    flowLogsLocalReporter: Switch | None = None
    bpfProfiling: Switch | None = None
    routeSource: RouteSource | None = None
    routeTableRanges: tuple[RouteTableIDRange, ...] | None = None
    routeTableRange: RouteTableRange | None = None
    routeSyncDisabled: bool | None = None
    ipv4NormalRoutePriority: int | None = None
    ipv4ElevatedRoutePriority: int | None = None
    ipv6NormalRoutePriority: int | None = None
    ipv6ElevatedRoutePriority: int | None = None
    liveMigrationRouteConvergenceTime: Duration | None = None
    wireguardEnabled: bool | None = None
    wireguardEnabledV6: bool | None = None
    wireguardThreadingEnabled: bool | None = None
    wireguardListeningPort: int | None = None
    wireguardListeningPortV6: int | None = None
    wireguardRoutingRulePriority: int | None = None
    wireguardInterfaceName: InterfaceName | None = None
    wireguardInterfaceNameV6: InterfaceName | None = None
    wireguardMTU: int | None = None
    wireguardMTUV6: int | None = None
    wireguardHostEncryptionEnabled: bool | None = None
    wireguardKeepAlive: Duration | None = None
    awsSrcDstCheck: Literal["DoNothing", "Enable", "Disable"] | None = None
    serviceLoopPrevention: ServiceLoopPrevention | None = None
    workloadSourceSpoofing: WorkloadSourceSpoofing | None = None
    mtuIfacePattern: RegularExpression | None = None
    floatingIPs: Switch | None = None
    localSubnetL2Reachability: Literal["Disabled", "PodsAndLoadBalancers"] | None = None
    localSubnetL2ReachabilityRefreshInterval: Duration | None = None
    windowsManageFirewallRules: Switch | None = None
    goGCThreshold: int | None = None
    goMemoryLimitMB: int | None = None
    goMaxProcs: int | None = None
    requireMTUFile: bool | None = None
    bpfMaglevMaxEndpointsPerService: int | None = None
    bpfMaglevMaxServices: int | None = None

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, _RANGES)
        for name in ("healthTimeoutOverrides", "failsafeInboundHostPorts", "failsafeOutboundHostPorts"):
            for index, part in enumerate(getattr(self, name) or ()):
                yield from under(f"{name}[{index}]", part.problems())
        yield from self._node_port_problems()
        yield from self._route_table_problems()
        for interface in self.bpfLogFilters or ():
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,15}", interface):
                why = "is not the name of a Linux interface"
                yield Problem(f"bpfLogFilters.{interface}", interface, why, "for example eth0")

    def _node_port_problems(self) -> Iterator[Problem]:
        ranges = self.kubeNodePortRanges or ()
        if len(ranges) > _NODE_PORT_RANGES_MAX:
            why = f"node port ranges list is too long (max {_NODE_PORT_RANGES_MAX})"
            yield Problem("kubeNodePortRanges", ", ".join(ranges), why, "join neighbouring ranges")
        for index, port in enumerate(ranges):
            if port.is_named:
                why = "node port ranges should not contain named ports"
                yield Problem(f"kubeNodePortRanges[{index}]", port, why, "numbers, for example 30000:32767")

    def _route_table_problems(self) -> Iterator[Problem]:
        if self.routeTableRange is not None:
            yield from under("routeTableRange", self.routeTableRange.problems())
            if self.routeTableRanges is not None:
                why = "cannot be set when routeTableRanges is also set"
                yield Problem("routeTableRange", "set", why, "keep routeTableRanges")
        ranges = self.routeTableRanges or ()
        for index, part in enumerate(ranges):
            yield from under(f"routeTableRanges[{index}]", part.problems())
        if (tables := sum(part.max - part.min + 1 for part in ranges)) > _ROUTE_TABLES_MAX:
            right = f"at most {_ROUTE_TABLES_MAX}"
            yield Problem("routeTableRanges", f"{tables} tables", "targets too many tables", right)


class FelixConfiguration(Resource, frozen=True, kw_only=True):
    spec: FelixConfigurationSpec = FelixConfigurationSpec()

    @classmethod
    def complete(cls, spec: Document) -> Document:
        enabled = spec.get("bpfConnectTimeLoadBalancingEnabled")
        if enabled is None:
            balancing, nat = spec.get("bpfConnectTimeLoadBalancing"), spec.get("bpfHostNetworkedNATWithoutCTLB")
        else:  # the older field decides over the two that replaced it
            balancing, nat = "Enabled" if enabled else "Disabled", "Disabled"
        return spec | {
            "floatingIPs": spec.get("floatingIPs") or "Disabled",
            "nftablesMode": spec.get("nftablesMode") or "Auto",
            "bpfConnectTimeLoadBalancing": balancing or "TCP",
            "bpfHostNetworkedNATWithoutCTLB": nat or "Enabled",
        }

    def problems(self) -> Iterator[Problem]:
        name = self.metadata.name
        if _NAME.fullmatch(name) and self.spec.nodeSelector is not None:
            why = f"{name} says by its name which nodes it is for"
            yield Problem("spec.nodeSelector", self.spec.nodeSelector, why, "leave it out, or choose another name")
        elif not _NAME.fullmatch(name) and self.spec.nodeSelector is None:
            why = "no node reads a FelixConfiguration of this name"
            right = "default for the cluster, node.<nodename> for one node, or set spec.nodeSelector"
            yield Problem("metadata.name", name, why, right)

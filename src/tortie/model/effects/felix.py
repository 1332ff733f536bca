"""The fields of FelixConfiguration. Data.

`field=value`: Calico's default, or what happens here anyway; it asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tortie.model.effects import reasons
from tortie.model.effects.rows import Entry, all_nothing, nothing, read_by

_READ: Final = read_by(
    "tortie.dataplane.felix",
    """
    ipv6Support interfacePrefix ipipMTU vxlanEnabled vxlanMTU vxlanMTUV6 vxlanPort vxlanVNI natPortRange
    natOutgoingAddress natOutgoingExclusions deviceRouteSourceAddress deviceRouteSourceAddressIPv6
    deviceRouteProtocol removeExternalRoutes ipForwarding iptablesNATOutgoingInterfaceFilter ipv4NormalRoutePriority
    ipv6NormalRoutePriority mtuIfacePattern
    """,
)
_EBPF: Final = all_nothing(
    reasons.EBPF,
    """
    bpfEnabled=false bpfOverlayHostSourceIP=TunnelAddress bpfDisableUnprivileged=true bpfJITHardening=Auto
    bpfLogLevel=Off bpfConntrackLogLevel=Off bpfConntrackMode=Auto bpfConntrackTimeouts bpfIPFragTimeout
    bpfLogFilters bpfCTLBLogFilter bpfDataIfacePattern bpfL3IfacePattern bpfConnectTimeLoadBalancingEnabled
    bpfConnectTimeLoadBalancing=TCP bpfHostNetworkedNATWithoutCTLB=Enabled bpfExternalServiceMode=Tunnel
    bpfDSROptoutCIDRs bpfExtToServiceConnmark=0 bpfKubeProxyIptablesCleanupEnabled=true bpfKubeProxyMinSyncPeriod=1s
    bpfKubeProxyEndpointSlicesEnabled=true bpfKubeProxyHealthzPort=10256 bpfPSNATPorts=20000:29999
    bpfMapSizeNATFrontend=65536 bpfMapSizeNATBackend=262144 bpfMapSizeNATAffinity=65536 bpfMapSizeRoute=262144
    bpfMapSizeConntrack=512000 bpfMapSizePerCpuConntrack=0 bpfMapSizeConntrackScaling=DoubleIfFull
    bpfMapSizeConntrackCleanupQueue=100000 bpfMapSizeIPSets=1048576 bpfMapSizeIfState=1000
    bpfHostConntrackBypass=false bpfIPFragmentReassemblyEnabled bpfEnforceRPF=Loose bpfPolicyDebugEnabled=true
    bpfForceTrackPacketsFromIfaces bpfDisableGROForIfaces bpfExcludeCIDRsFromNAT bpfExportBufferSizeMB=1
    bpfRedirectToPeer=Enabled bpfAttachType=TCX bpfProfiling=Disabled bpfMaglevMaxEndpointsPerService=100
    bpfMaglevMaxServices=100 cgroupV2Path
    """,
)
_FILTERING: Final = all_nothing(
    reasons.FILTERING,
    """
    iptablesRefreshInterval=3m iptablesPostWriteCheckInterval=5s iptablesLockFilePath iptablesLockTimeout=0s
    iptablesLockProbeInterval=50ms ipsetsRefreshInterval=90s maxIpsetSize=1048576 xdpRefreshInterval=90s
    interfaceExclude=kube-ipvs0 chainInsertMode=Insert defaultEndpointToHostAction=Accept,Return
    iptablesFilterAllowAction=Accept iptablesMangleAllowAction=Accept iptablesFilterDenyAction=Drop
    logPrefix=calico-packet logActionRateLimit logActionRateLimitBurst=5 allowVXLANPacketsFromWorkloads=true,false
    allowIPIPPacketsFromWorkloads=true,false iptablesMarkMask=4294901760 disableConntrackInvalidCheck=true,false
    failsafeInboundHostPorts failsafeOutboundHostPorts policySyncPathPrefix sidecarAccelerationEnabled=false
    xdpEnabled=true genericXDPEnabled=false nftablesFlowTableOffload=Disabled nftablesFlowTableDataIfacePattern
    nftablesRefreshInterval=3m nftablesFilterAllowAction=Accept nftablesMangleAllowAction=Accept
    nftablesFilterDenyAction=Drop nftablesMarkMask=4294901760
    """,
)
_WIREGUARD: Final = all_nothing(
    reasons.WIREGUARD,
    """
    wireguardEnabled=false wireguardEnabledV6=false wireguardThreadingEnabled=false wireguardListeningPort=51820
    wireguardListeningPortV6=51821 wireguardRoutingRulePriority=99 wireguardInterfaceName=wireguard.cali
    wireguardInterfaceNameV6=wg-v6.cali wireguardMTU=0 wireguardMTUV6=0 wireguardHostEncryptionEnabled=false
    wireguardKeepAlive=0s
    """,
)
_OTHERS: Final = {
    **all_nothing(reasons.NFTABLES, "iptablesBackend=Auto,NFT nftablesMode=Auto,Enabled"),
    **all_nothing(reasons.SPOOFING, "workloadSourceSpoofing=Disabled,Any"),
    **all_nothing(reasons.IPIP, "ipipEnabled=false"),
    **all_nothing(reasons.LOG, "logFilePath=/var/log/calico/felix.log,none logDebugFilenameRegex"),
    **all_nothing(reasons.LOG, "logSeverityFile=Info logSeverityScreen=Info logSeveritySys=Info"),
    **all_nothing(reasons.LOG, "debugDisableLogDropping=false"),
    **all_nothing(reasons.PORTS, "healthEnabled=true healthHost=localhost,127.0.0.1 healthPort=9099"),
    **all_nothing(reasons.PORTS, "prometheusMetricsEnabled=true prometheusMetricsHost=localhost,127.0.0.1"),
    **all_nothing(reasons.PORTS, "prometheusMetricsPort=9091"),
    **all_nothing(reasons.METRICS, "prometheusGoMetricsEnabled=true,false prometheusProcessMetricsEnabled=true"),
    **all_nothing(reasons.METRICS, "prometheusWireGuardMetricsEnabled=true,false prometheusMetricsCAFile"),
    **all_nothing(reasons.METRICS, "prometheusMetricsCertFile prometheusMetricsKeyFile"),
    **all_nothing(reasons.METRICS, "prometheusMetricsClientAuth=NoClientCert"),
    **all_nothing(reasons.TIMERS, "dataplaneWatchdogTimeout=90s routeRefreshInterval=90s netlinkTimeout=10s"),
    **all_nothing(reasons.TIMERS, "interfaceRefreshInterval=90s healthTimeoutOverrides"),
    **all_nothing(reasons.REPORTS, "reportingInterval=0s,30s reportingTTL=90s endpointReportingEnabled=false"),
    **all_nothing(reasons.REPORTS, "endpointReportingDelay=1s endpointStatusPathPrefix=/var/run/calico"),
    # That nothing is sent to anybody is what most people set it to.
    **all_nothing(reasons.REPORTS, "usageReportingEnabled=true,false usageReportingInitialDelay=5m"),
    **all_nothing(reasons.REPORTS, "usageReportingInterval=24h"),
    **all_nothing(reasons.FLOW_LOGS, "flowLogsFlushInterval=5m flowLogsCollectorDebugTrace=false"),
    **all_nothing(reasons.FLOW_LOGS, "flowLogsGoldmaneServer flowLogsLocalReporter=Disabled"),
    **all_nothing(reasons.FLOW_LOGS, "flowLogsPolicyEvaluationMode=None,Continuous"),
    **all_nothing(reasons.SERVICES, "serviceLoopPrevention=Drop,Disabled"),
    **all_nothing(reasons.SERVICES, "localSubnetL2Reachability=Disabled"),
    **all_nothing(reasons.SERVICES, "localSubnetL2ReachabilityRefreshInterval=90s"),
    **all_nothing(reasons.ROUTES, "routeSource=CalicoIPAM routeTableRanges routeTableRange routeSyncDisabled=false"),
    **all_nothing(reasons.ROUTES, "programClusterRoutes=Disabled ipv4ElevatedRoutePriority=512"),
    **all_nothing(reasons.ROUTES, "ipv6ElevatedRoutePriority=512 liveMigrationRouteConvergenceTime=30s"),
    **all_nothing(reasons.ROUTES, "requireMTUFile=false"),
    **all_nothing(reasons.FLOATING, "floatingIPs=Disabled"),
    **all_nothing(reasons.SURROUNDINGS, "metadataAddr=127.0.0.1 metadataPort=8775 openstackRegion"),
    **all_nothing(reasons.SURROUNDINGS, "externalNodesList istioAmbientMode=Disabled istioDSCPMark=23"),
    **all_nothing(reasons.SURROUNDINGS, "awsSrcDstCheck=DoNothing windowsManageFirewallRules=Disabled"),
    **all_nothing(reasons.INNARDS, "useInternalDataplaneDriver=true dataplaneDriver featureDetectOverride"),
    **all_nothing(reasons.INNARDS, "debugMemoryProfilePath debugSimulateCalcGraphHangAfter=0s debugHost=localhost"),
    **all_nothing(reasons.INNARDS, "debugSimulateDataplaneHangAfter=0s debugSimulateDataplaneApplyDelay=0s debugPort"),
    **all_nothing(reasons.INNARDS, "featureGates goGCThreshold=40 goMemoryLimitMB=-1 goMaxProcs=-1"),
    "kubeNodePortRanges": nothing(reasons.SERVICES, ["30000:32767"]),
    "nodeSelector": nothing(reasons.NODE_SELECTOR),
}
FELIX: Final[Mapping[str, Entry]] = {**_READ, **_EBPF, **_FILTERING, **_WIREGUARD, **_OTHERS}

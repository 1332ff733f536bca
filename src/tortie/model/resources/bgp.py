"""BGP: settings, peers and filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import (
    ASNumber,
    BadField,
    Duration,
    InterfacePattern,
    IPAddress,
    IPNetwork,
    LogLevel,
    Name,
    PeerAddress,
    Selector,
)
from tortie.model.resource import Resource, Spec
from tortie.model.resources.checks import PORTS, PRIORITIES, outside, too_many, under
from tortie.model.shape import Part
from tortie.model.wire import Document

ProgramClusterRoutes = Literal["Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]


class CommunityValue(str):
    """A BGP community: two numbers of 16 bits, or three of 32 bits."""

    @classmethod
    def parse(cls, raw: object) -> CommunityValue:
        right = "65000:100, or the large form 4200000000:1:2"
        numbers = str(raw).split(":")
        if not isinstance(raw, str) or not re.fullmatch(r"[0-9]{1,10}(:[0-9]{1,10}){1,2}", raw):
            raise BadField("is not a BGP community", right)
        bits = 16 if len(numbers) == 2 else 32
        if any(int(number) >= 1 << bits for number in numbers):
            raise BadField(f"each number of this form has at most {bits} bits", right)
        return cls(raw)


class ServiceBlock(Part, frozen=True, kw_only=True):
    cidr: IPNetwork | None = None


class Community(Part, frozen=True, kw_only=True):
    name: Name
    value: CommunityValue


class PrefixAdvertisement(Part, frozen=True, kw_only=True):
    cidr: IPNetwork
    communities: tuple[str, ...]


class SecretKeySelector(Part, frozen=True, kw_only=True):
    name: str = ""
    key: str
    optional: bool | None = None


class BGPPassword(Part, frozen=True, kw_only=True):
    """Where the password is kept; it is never part of a resource itself."""

    secretKeyRef: SecretKeySelector | None = None


class BGPConfigurationSpec(Spec, frozen=True, kw_only=True):
    logSeverityScreen: LogLevel | None = None
    nodeToNodeMeshEnabled: bool | None = None
    asNumber: ASNumber | None = None
    serviceLoadBalancerIPs: tuple[ServiceBlock, ...] = ()
    serviceExternalIPs: tuple[ServiceBlock, ...] = ()
    serviceClusterIPs: tuple[ServiceBlock, ...] = ()
    serviceLoadBalancerAggregation: Literal["Enabled", "Disabled"] | None = None
    communities: tuple[Community, ...] = ()
    prefixAdvertisements: tuple[PrefixAdvertisement, ...] = ()
    listenPort: int | None = None
    nodeMeshPassword: BGPPassword | None = None
    nodeMeshMaxRestartTime: Duration | None = None
    bindMode: Literal["None", "NodeIP"] | None = None
    ignoredInterfaces: tuple[InterfacePattern, ...] = ()
    localWorkloadPeeringIPV4: IPv4Address | None = None
    localWorkloadPeeringIPV6: IPv6Address | None = None
    programClusterRoutes: ProgramClusterRoutes | None = None
    ipv4NormalRoutePriority: int | None = None
    ipv6NormalRoutePriority: int | None = None

    def problems(self) -> Iterator[Problem]:
        priorities = {"ipv4NormalRoutePriority": PRIORITIES, "ipv6NormalRoutePriority": PRIORITIES}
        yield from outside(self, {"listenPort": PORTS, **priorities})
        yield from self._community_problems()
        if self.nodeToNodeMeshEnabled is False:
            for name in ("nodeMeshPassword", "nodeMeshMaxRestartTime"):
                if getattr(self, name) is not None:
                    why = "cannot be set while nodeToNodeMeshEnabled is false"
                    yield Problem(name, "set", why, "leave it out, or nodeToNodeMeshEnabled: true")
        for index, interface in enumerate(self.ignoredInterfaces):
            if interface == "*":
                why = "BIRD needs at least one interface"
                yield Problem(f"ignoredInterfaces[{index}]", interface, why, "a pattern such as docker*")

    def _community_problems(self) -> Iterator[Problem]:
        if self.communities and not self.prefixAdvertisements:
            why = "communities are defined but not used in prefixAdvertisements"
            names = ", ".join(community.name for community in self.communities)
            yield Problem("communities", names, why, "use them, or leave them out")
        defined = {community.name for community in self.communities}
        for index, advertisement in enumerate(self.prefixAdvertisements):
            where = f"prefixAdvertisements[{index}].communities"
            if not advertisement.communities:
                yield Problem(where, "", "a prefix is advertised with at least one community", "name one")
            for position, community in enumerate(advertisement.communities):
                if community in defined:
                    continue
                try:
                    CommunityValue.parse(community)
                except BadField as bad:
                    why = f"community used is invalid or not defined: {bad}"
                    right = "a name out of spec.communities, or a value such as 65000:100"
                    yield Problem(f"{where}[{position}]", community, why, right)


class BGPConfiguration(Resource, frozen=True, kw_only=True):
    spec: BGPConfigurationSpec = BGPConfigurationSpec()
    only_names = re.compile(r"default|node\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
    names_help = "default for the cluster, or node.<nodename> for one node"

    @classmethod
    def complete(cls, spec: Document) -> Document:
        return spec | {
            "logSeverityScreen": spec.get("logSeverityScreen") or "Info",
            "serviceLoadBalancerAggregation": spec.get("serviceLoadBalancerAggregation") or "Enabled",
        }

    def problems(self) -> Iterator[Problem]:
        if self.metadata.name == "default":
            return
        for name in (
            "nodeToNodeMeshEnabled",
            "asNumber",
            "serviceLoadBalancerIPs",
            "serviceExternalIPs",
            "serviceClusterIPs",
            "nodeMeshPassword",
            "nodeMeshMaxRestartTime",
        ):
            if getattr(self.spec, name) not in (None, ()):
                why = f"can only be set for the whole cluster, not on {self.metadata.name}"
                yield Problem(f"spec.{name}", "set", why, "set it on the BGPConfiguration default")


class BGPPeerSpec(Spec, frozen=True, kw_only=True):
    node: Name = Name("")
    nodeSelector: Selector = Selector("")
    peerIP: PeerAddress | None = None
    asNumber: ASNumber | None = None
    localASNumber: ASNumber | None = None
    peerSelector: Selector = Selector("")
    keepOriginalNextHop: bool = False
    nextHopMode: Literal["Auto", "Self", "Keep"] | None = None
    password: BGPPassword | None = None
    sourceAddress: Literal["", "UseNodeIP", "None"] = ""
    maxRestartTime: Duration | None = None
    keepaliveTime: Duration | None = None
    numAllowedLocalASNumbers: int | None = None
    ttlSecurity: int | None = None
    reachableBy: IPAddress | None = None
    filters: tuple[Name, ...] = ()
    localWorkloadSelector: Selector = Selector("")
    reversePeering: Literal["Auto", "Manual"] | None = None

    def problems(self) -> Iterator[Problem]:
        if self.node and self.nodeSelector:
            yield Problem("node", self.node, "must be empty when nodeSelector is specified", "set one of the two")
        if self.peerIP and self.peerSelector:
            yield Problem("peerIP", self.peerIP, "must be empty when peerSelector is specified", "set one of the two")
        if self.asNumber and self.peerSelector:
            why = "must be empty when peerSelector is specified: the selected nodes have their own"
            yield Problem("asNumber", self.asNumber, why, "leave it out")
        if self.localWorkloadSelector:
            yield from self._workload_problems()
        yield from self._reach_problems()
        if self.keepOriginalNextHop and self.nextHopMode:
            why = "is deprecated and must not be true when nextHopMode is set"
            yield Problem("keepOriginalNextHop", "true", why, "nextHopMode: Keep")
        yield from outside(self, {"ttlSecurity": (0, 255), "numAllowedLocalASNumbers": (0, 2147483647)})

    def _workload_problems(self) -> Iterator[Problem]:
        if not self.asNumber:
            why = "must not be empty when localWorkloadSelector is specified"
            yield Problem("asNumber", "", why, "the AS number of the workloads")
        for name in ("peerIP", "peerSelector"):
            if value := getattr(self, name):
                yield Problem(name, value, "must be empty when localWorkloadSelector is specified", "leave it out")

    def _reach_problems(self) -> Iterator[Problem]:
        if self.reachableBy is None:
            return
        if self.peerIP is None:
            yield Problem("reachableBy", self.reachableBy, "must be empty when peerIP is empty", "leave it out")
        elif self.peerIP.address.version != self.reachableBy.version:
            right = f"an IPv{self.peerIP.address.version} address"
            yield Problem("reachableBy", self.reachableBy, "is not of the address family of peerIP", right)


class BGPPeer(Resource, frozen=True, kw_only=True):
    spec: BGPPeerSpec


class PrefixLengths(Part, frozen=True, kw_only=True):
    min: int | None = None
    max: int | None = None


class CommunityMatch(Part, frozen=True, kw_only=True):
    values: tuple[CommunityValue, ...]


class AddCommunity(Part, frozen=True, kw_only=True):
    value: CommunityValue


class PrependASPath(Part, frozen=True, kw_only=True):
    prefix: tuple[ASNumber, ...]


class SetPriority(Part, frozen=True, kw_only=True):
    value: int


class FilterOperation(Part, frozen=True, kw_only=True):
    addCommunity: AddCommunity | None = None
    prependASPath: PrependASPath | None = None
    setPriority: SetPriority | None = None

    def problems(self) -> Iterator[Problem]:
        given = [name for name in ("addCommunity", "prependASPath", "setPriority") if getattr(self, name) is not None]
        if len(given) != 1:
            yield Problem("addCommunity", ", ".join(given), "an operation does exactly one thing", "one per entry")
        if self.setPriority is not None:
            yield from under("setPriority", outside(self.setPriority, {"value": PRIORITIES}))


class FilterRule(Part, frozen=True, kw_only=True):
    cidr: IPNetwork | None = None
    prefixLength: PrefixLengths | None = None
    source: Literal["", "RemotePeers"] = ""
    interface: InterfacePattern | None = None
    matchOperator: Literal["", "Equal", "NotEqual", "In", "NotIn"] = ""
    peerType: Literal["", "eBGP", "iBGP"] = ""
    communities: CommunityMatch | None = None
    asPathPrefix: tuple[ASNumber, ...] = ()
    priority: int | None = None
    action: Literal["Accept", "Reject"]
    operations: tuple[FilterOperation, ...] = ()

    def problems(self, version: int) -> Iterator[Problem]:
        if self.cidr is not None and self.cidr.version != version:
            right = f"put the rule into the list for IPv{self.cidr.version}"
            yield Problem("cidr", self.cidr, f"is not an IPv{version} CIDR", right)
        if self.cidr is not None and not self.matchOperator:
            yield Problem("matchOperator", "", "cannot be empty when cidr is not", "Equal, NotEqual, In or NotIn")
        if self.cidr is None and self.matchOperator:
            yield Problem("cidr", "", "cannot be empty when matchOperator is not", "the range to compare with")
        if self.prefixLength is not None:
            bits = 32 if version == 4 else 128
            yield from under("prefixLength", outside(self.prefixLength, {"min": (0, bits), "max": (0, bits)}))
            if self.cidr is None:
                yield Problem("cidr", "", "cannot be empty when prefixLength is not", "the range to compare with")
        yield from outside(self, {"priority": PRIORITIES})
        yield from too_many(self, {"operations": 10})
        for index, operation in enumerate(self.operations):
            yield from under(f"operations[{index}]", operation.problems())
        if self.operations and self.action != "Accept":
            why = "operations change a route that is accepted"
            yield Problem("operations", f"{len(self.operations)} operations", why, "action: Accept")


class BGPFilterSpec(Spec, frozen=True, kw_only=True):
    exportV4: tuple[FilterRule, ...] = ()
    importV4: tuple[FilterRule, ...] = ()
    exportV6: tuple[FilterRule, ...] = ()
    importV6: tuple[FilterRule, ...] = ()

    def problems(self) -> Iterator[Problem]:
        for name, version in (("exportV4", 4), ("importV4", 4), ("exportV6", 6), ("importV6", 6)):
            for index, rule in enumerate(getattr(self, name)):
                yield from under(f"{name}[{index}]", rule.problems(version))


class BGPFilter(Resource, frozen=True, kw_only=True):
    spec: BGPFilterSpec = BGPFilterSpec()

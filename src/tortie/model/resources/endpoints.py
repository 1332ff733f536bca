"""Endpoints: where packets enter and leave, at a pod's interface or at one of the host's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

from tortie.model.errors import Problem
from tortie.model.fields import (
    DSCP,
    InterfaceName,
    IPAddress,
    IPInterface,
    IPNetwork,
    MACAddress,
    Name,
    Protocol,
    Shaped,
)
from tortie.model.names import EndpointName
from tortie.model.resource import Resource, Spec
from tortie.model.resources.checks import PORTS, outside, under
from tortie.model.shape import Always, Part, leaf_problem
from tortie.model.wire import Document

NAMESPACE_LABEL = "projectcalico.org/namespace"
ORCHESTRATOR_LABEL = "projectcalico.org/orchestrator"

# Which field of the spec is the workload's part of the endpoint's name; other orchestrators use `workload`.
_LIBNETWORK = "libnetwork"
_WORKLOAD_FIELD = {"k8s": "pod", "cni": "containerID"}
_PARTS_OF_NAME = ("node", "orchestrator", "pod", "containerID", "workload", "endpoint")
_PORT_NAME = re.compile(r"(?!.*--)(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")


class ContainerID(Shaped):
    form = r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?"
    what = "the id of a container"
    right = "letters, digits and -, beginning and ending with a letter or digit"


class EndpointPort(Part, frozen=True, kw_only=True):
    name: str
    protocol: Protocol
    port: int

    def problems(self) -> Iterator[Problem]:
        yield from _port_name_problems(self.name)
        yield from _protocol_problems(self.protocol)
        yield from outside(self, {"port": PORTS})


class HostEndpointSpec(Spec, frozen=True, kw_only=True):
    node: Name = Name("")
    interfaceName: InterfaceName | None = None
    expectedIPs: tuple[IPAddress, ...] = ()
    profiles: tuple[Name, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    def problems(self) -> Iterator[Problem]:
        if not self.node:
            yield Problem("node", "", "no node has been specified", "the name of a Calico node")
        if not self.interfaceName and not self.expectedIPs:
            why = "no interface or expected IPs have been specified"
            yield Problem("interfaceName", "", why, "for example eth0, or * for all interfaces")
        for index, port in enumerate(self.ports):
            yield from under(f"ports[{index}]", port.problems())


class HostEndpoint(Resource, frozen=True, kw_only=True):
    spec: HostEndpointSpec


class IPNAT(Part, frozen=True, kw_only=True):
    internalIP: IPAddress
    externalIP: IPAddress


class WorkloadEndpointPort(Part, frozen=True, kw_only=True):
    name: Always[str] = ""
    protocol: Protocol
    port: int
    hostPort: Always[int] = 0
    hostIP: Always[str] = ""

    def problems(self) -> Iterator[Problem]:
        if self.name:
            yield from _port_name_problems(self.name)
        elif not self.hostPort:
            yield Problem("name", "", "must not be empty if no hostPort is specified", "for example http")
        yield from _protocol_problems(self.protocol)
        yield from outside(self, {"port": PORTS, "hostPort": (0, 65535)})
        if self.hostIP and (problem := leaf_problem(self.hostIP, IPNetwork, "hostIP")):
            yield problem


class QoSControls(Part, frozen=True, kw_only=True):
    ingressBandwidth: int = 0
    ingressBurst: int = 0
    ingressPeakrate: int = 0
    ingressMinburst: int = 0
    egressBandwidth: int = 0
    egressBurst: int = 0
    egressPeakrate: int = 0
    egressMinburst: int = 0
    ingressPacketRate: int = 0
    ingressPacketBurst: int = 0
    egressPacketRate: int = 0
    egressPacketBurst: int = 0
    ingressMaxConnections: int = 0
    egressMaxConnections: int = 0
    dscp: DSCP | None = None


class WorkloadEndpointSpec(Spec, frozen=True, kw_only=True):
    orchestrator: Name = Name("")
    workload: Name = Name("")
    node: Name = Name("")
    containerID: ContainerID = ContainerID("")
    pod: Name = Name("")
    endpoint: Name = Name("")
    serviceAccountName: Name = Name("")
    ipNetworks: tuple[IPNetwork, ...] = ()
    ipNATs: tuple[IPNAT, ...] = ()
    ipv4Gateway: IPv4Address | None = None
    ipv6Gateway: IPv6Address | None = None
    profiles: tuple[Name, ...] = ()
    interfaceName: InterfaceName | None = None
    mac: MACAddress | None = None
    ports: tuple[WorkloadEndpointPort, ...] = ()
    allowSpoofedSourcePrefixes: tuple[IPInterface, ...] = ()
    qosControls: QoSControls | None = None

    def problems(self) -> Iterator[Problem]:
        if self.interfaceName is None:
            yield Problem("interfaceName", "", "is required", "the host's end of the pod's veth, for example cali123")
        for index, net in enumerate(self.ipNetworks):
            if net.num_addresses > 1:
                right = f"{net.network_address}/{net.max_prefixlen}"
                yield Problem(f"ipNetworks[{index}]", net, "IP network contains multiple addresses", right)
        for index, nat in enumerate(self.ipNATs):
            yield from under(f"ipNATs[{index}]", self._nat_problems(nat))
        for index, port in enumerate(self.ports):
            yield from under(f"ports[{index}]", port.problems())

    def _nat_problems(self, nat: IPNAT) -> Iterator[Problem]:
        if nat.internalIP.version != nat.externalIP.version:
            right = f"an IPv{nat.internalIP.version} address"
            yield Problem("externalIP", nat.externalIP, "mismatched IP versions", right)
        if not any(nat.internalIP in net for net in self.ipNetworks):
            why = "NAT is not in the endpoint networks"
            yield Problem("internalIP", nat.internalIP, why, "one of the addresses in ipNetworks")


class WorkloadEndpoint(Resource, frozen=True, kw_only=True):
    spec: WorkloadEndpointSpec

    @classmethod
    def derive(cls, metadata: Document, spec: Document) -> Document:
        """Labels by which policies find it; they follow from what it is, whatever somebody wrote there."""
        derived = {NAMESPACE_LABEL: metadata["namespace"], ORCHESTRATOR_LABEL: spec["orchestrator"]}
        return metadata | {"labels": {**(metadata.get("labels") or {}), **derived}}

    def problems(self) -> Iterator[Problem]:
        """The name is made of what the endpoint is, so that two makers of one endpoint meet."""
        spec = {name: getattr(self.spec, name) for name in _PARTS_OF_NAME}
        missing = [name for name in _fields_of_name(self.spec.orchestrator) if not spec[name]]
        for name in missing:
            yield Problem(f"spec.{name}", "", "is part of the endpoint's name", "set it")
        if not missing and (composed := composed_name(spec)) != self.metadata.name:
            why = "the name of a WorkloadEndpoint follows from its fields"
            yield Problem("metadata.name", self.metadata.name, why, composed)


def composed_name(spec: Document) -> str:
    """What an endpoint with this spec is called; "" if a part of the name is missing."""
    orchestrator = str(spec.get("orchestrator") or "")
    fields = _fields_of_name(orchestrator)
    if not all(isinstance(spec.get(name), str) and spec[name] for name in fields):
        return ""
    middle = orchestrator if orchestrator == _LIBNETWORK else spec[fields[2]]
    return str(EndpointName(spec["node"], orchestrator, middle, spec["endpoint"]))


def _fields_of_name(orchestrator: str) -> tuple[str, ...]:
    if orchestrator == _LIBNETWORK:
        return ("node", "orchestrator", "endpoint")
    return ("node", "orchestrator", _WORKLOAD_FIELD.get(orchestrator, "workload"), "endpoint")


def _port_name_problems(name: str) -> Iterator[Problem]:
    if not _PORT_NAME.fullmatch(name):
        right = "at most 15 lower-case letters, digits and single dashes, with a letter among them"
        yield Problem("name", name, "is not the name of a port", right)


def _protocol_problems(protocol: Protocol) -> Iterator[Problem]:
    if not protocol.has_ports:
        yield Problem("protocol", protocol, "this protocol has no ports", "TCP, UDP or SCTP")

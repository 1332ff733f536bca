"""Node: a machine that runs Calico, with its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import ASNumber, IPAddress, IPInterface, IPNetwork, MACAddress, WireguardKey
from tortie.model.resource import Resource, Spec
from tortie.model.shape import Part


class NodeBGPSpec(Part, frozen=True, kw_only=True):
    asNumber: ASNumber | None = None
    ipv4Address: IPv4Interface | None = None
    ipv6Address: IPv6Interface | None = None
    ipv4IPIPTunnelAddr: IPv4Address | None = None
    routeReflectorClusterID: IPv4Address | None = None


class OrchRef(Part, frozen=True, kw_only=True):
    """The node as an orchestrator knows it."""

    nodeName: str = ""
    orchestrator: str


class NodeWireguardSpec(Part, frozen=True, kw_only=True):
    interfaceIPv4Address: IPv4Address | None = None
    interfaceIPv6Address: IPv6Address | None = None


class NodeAddress(Part, frozen=True, kw_only=True):
    address: IPInterface
    type: Literal["", "CalicoNodeIP", "InternalIP", "ExternalIP"] = ""


class NodeInterface(Part, frozen=True, kw_only=True):
    name: str = ""
    addresses: tuple[IPAddress, ...] = ()


class NodeSpec(Spec, frozen=True, kw_only=True):
    bgp: NodeBGPSpec | None = None
    ipv4VXLANTunnelAddr: IPv4Address | None = None
    vxlanTunnelMACAddr: MACAddress | None = None
    ipv6VXLANTunnelAddr: IPv6Address | None = None
    vxlanTunnelMACAddrV6: MACAddress | None = None
    orchRefs: tuple[OrchRef, ...] = ()
    wireguard: NodeWireguardSpec | None = None
    addresses: tuple[NodeAddress, ...] = ()
    interfaces: tuple[NodeInterface, ...] = ()

    def problems(self) -> Iterator[Problem]:
        if self.bgp == NodeBGPSpec():
            yield Problem("bgp", "", "should not be empty", "set bgp.ipv4Address, or leave bgp out")


class NodeStatus(Part, frozen=True, kw_only=True):
    wireguardPublicKey: WireguardKey | None = None
    wireguardPublicKeyV6: WireguardKey | None = None
    podCIDRs: tuple[IPNetwork, ...] = ()


class Node(Resource, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

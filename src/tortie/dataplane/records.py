"""One entry of the store at a time: the bytes of a resource into what the dataplane needs of it. Pure.

There may be thousands of nodes and blocks, and every address that is given out anywhere changes one: only the few
fields that matter here are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_interface, ip_network
from typing import Any, Final, NamedTuple

import msgspec

from tortie.model.names import parse_endpoint_name, vtep_mac
from tortie.model.network import CIDR, IP, Family, Network
from tortie.model.wire import Undecodable, decode

_MAC_LENGTH: Final = 17


class NotReadable(ValueError):
    """Why an entry makes no sense."""


class Peer(NamedTuple):
    """A node, this one or another."""

    name: str
    ipv4: CIDR | None = None
    ipv6: CIDR | None = None
    vtep4: IPv4Address | None = None  # its address inside of the tunnels
    vtep6: IPv6Address | None = None
    mac4: str = ""
    mac6: str = ""
    others: tuple[IP, ...] = ()  # further addresses of the machine

    def address(self, family: Family) -> CIDR | None:
        return self.ipv4 if family == 4 else self.ipv6

    def vtep(self, family: Family) -> tuple[IP, str] | None:
        ip = self.vtep4 if family == 4 else self.vtep6
        return (ip, self.mac4 if family == 4 else self.mac6) if ip is not None else None


class Pool(NamedTuple):
    name: str
    cidr: Network
    vxlan: str = ""  # Always, CrossSubnet, or ""
    ipip: str = ""
    nat: bool = False
    of_pods: bool = True  # False for a pool of load balancers' addresses


class Endpoint(NamedTuple):
    """A pod of this node."""

    name: str  # with its namespace
    interface: str
    ips: tuple[IP, ...] = ()
    mac: str = ""


class Block(NamedTuple):
    cidr: Network
    host: str  # "" for nobody's
    lent: tuple[tuple[IP, str], ...] = ()  # addresses of it that other nodes use


def read_peer(name: str, value: bytes) -> Peer:
    node = _typed(_NODE, value)
    spec = node.spec or _NodeSpec()
    bgp = spec.bgp or _NodeBGP()
    mac4, mac6 = spec.vxlanTunnelMACAddr or "", spec.vxlanTunnelMACAddrV6 or ""
    try:
        others = tuple(ip_interface(each.address).ip for each in spec.addresses or () if each.address)
        return Peer(
            name,
            _address(bgp.ipv4Address, 4),
            _address(bgp.ipv6Address, 6),
            IPv4Address(spec.ipv4VXLANTunnelAddr) if spec.ipv4VXLANTunnelAddr else None,
            IPv6Address(spec.ipv6VXLANTunnelAddr) if spec.ipv6VXLANTunnelAddr else None,
            _mac(mac4) if mac4 else vtep_mac(name),
            _mac(mac6) if mac6 else vtep_mac(name, ipv6=True),
            tuple(sorted(others, key=lambda ip: (ip.version, int(ip)))),
        )
    except ValueError as error:
        raise NotReadable(str(error)) from None


def read_pool(name: str, value: bytes) -> Pool:
    spec = _typed(_POOL, value).spec
    try:
        cidr = ip_network(spec.cidr, strict=False)
    except ValueError as error:
        raise NotReadable(str(error)) from None
    encapsulated = ("Always", "CrossSubnet")
    return Pool(
        name,
        cidr,
        spec.vxlanMode or "" if spec.vxlanMode in encapsulated else "",
        spec.ipipMode or "" if spec.ipipMode in encapsulated and cidr.version == 4 else "",
        bool(spec.natOutgoing),
        not spec.allowedUses or set(spec.allowedUses) != {"LoadBalancer"},
    )


def read_felix_spec(_name: str, value: bytes) -> Mapping[str, Any]:
    try:
        spec = decode(value, "").get("spec") or {}
    except Undecodable as error:
        raise NotReadable(error.why) from None
    if not isinstance(spec, dict):
        raise NotReadable("its spec is not an object")
    return spec


def endpoint_may_be_of(name: str, node: str) -> bool:
    """Whether an endpoint of that name, with its namespace, can be one of the node; nearly always its name tells."""
    parsed = parse_endpoint_name(name.partition("/")[2])
    return parsed is None or parsed.node == node


def read_endpoint(name: str, value: bytes, node: str) -> Endpoint | None:
    """None for one of another node."""
    spec = _typed(_ENDPOINT, value).spec
    if spec.node != node:
        return None
    if not spec.interfaceName or not 0 < len(spec.interfaceName) <= 15 or "/" in spec.interfaceName:
        raise NotReadable(f"its interfaceName is {spec.interfaceName!r}, which names no link")
    try:
        ips = tuple(ip_network(text).network_address for text in spec.ipNetworks or ())
        return Endpoint(name, spec.interfaceName, ips, _mac(spec.mac) if spec.mac else "")
    except ValueError as error:
        raise NotReadable(str(error)) from None


def read_block(_name: str, value: bytes) -> Block | None:
    block = _typed(_BLOCK, value)
    if block.deleted:
        return None
    try:
        cidr = ip_network(block.cidr)
    except ValueError as error:
        raise NotReadable(str(error)) from None
    kind, _, owner = (block.affinity or "").partition(":")
    host = owner if kind == "host" else block.hostAffinity or ""
    users = {
        index: attribute.secondary["node"]
        for index, attribute in enumerate(block.attributes or ())
        if attribute.secondary and attribute.secondary.get("node") not in (None, "", host) and not attribute.releasedAt
    }
    if len(block.allocations or ()) > cidr.num_addresses:
        raise NotReadable(f"it has {len(block.allocations or ())} allocations for {cidr.num_addresses} addresses")
    first = int(cidr.network_address)
    make = IPv4Address if cidr.version == 4 else IPv6Address
    lent = tuple(
        (make(first + ordinal), users[index])
        for ordinal, index in enumerate(block.allocations or () if users else ())
        if index in users
    )
    return Block(cidr, host, lent)


class _NodeBGP(msgspec.Struct):
    ipv4Address: str | None = None
    ipv6Address: str | None = None


class _NodeAddress(msgspec.Struct):
    address: str = ""


class _NodeSpec(msgspec.Struct):
    bgp: _NodeBGP | None = None
    ipv4VXLANTunnelAddr: str | None = None
    ipv6VXLANTunnelAddr: str | None = None
    vxlanTunnelMACAddr: str | None = None
    vxlanTunnelMACAddrV6: str | None = None
    addresses: list[_NodeAddress] | None = None


class _Node(msgspec.Struct):
    spec: _NodeSpec | None = None


class _PoolSpec(msgspec.Struct):
    cidr: str
    vxlanMode: str | None = None
    ipipMode: str | None = None
    natOutgoing: bool | None = None
    allowedUses: list[str] | None = None


class _Pool(msgspec.Struct):
    spec: _PoolSpec


class _EndpointSpec(msgspec.Struct):
    node: str = ""
    interfaceName: str | None = None
    ipNetworks: list[str] | None = None
    mac: str | None = None


class _Endpoint(msgspec.Struct):
    spec: _EndpointSpec


class _Attribute(msgspec.Struct):
    secondary: dict[str, str] | None = None
    releasedAt: str | None = None


class _Block(msgspec.Struct):
    cidr: str
    affinity: str | None = None
    hostAffinity: str | None = None
    allocations: list[int | None] | None = None
    attributes: list[_Attribute] | None = None
    deleted: bool = False


_NODE: Final = msgspec.json.Decoder(_Node)
_POOL: Final = msgspec.json.Decoder(_Pool)
_ENDPOINT: Final = msgspec.json.Decoder(_Endpoint)
_BLOCK: Final = msgspec.json.Decoder(_Block)


def _typed(decoder: Any, value: bytes) -> Any:
    try:
        return decoder.decode(value)
    except (msgspec.MsgspecError, ValueError) as error:
        raise NotReadable(str(error)) from None
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None


def _address(text: str | None, family: Family) -> CIDR | None:
    if not text:
        return None
    found = ip_interface(text)
    if found.version != family:
        raise NotReadable(f"{text} is no IPv{family} address")
    return found


def _mac(text: str) -> str:
    """As the kernel writes it."""
    plain = text.lower().replace("-", ":")
    if len(plain) != _MAC_LENGTH or len(bytes.fromhex(plain.replace(":", ""))) != 6:
        raise ValueError(f"{text!r} is no MAC address")
    return plain

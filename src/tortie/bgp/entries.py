"""One entry of the store at a time: the bytes of a resource into the few typed values that BGP needs of it. Pure.

Only the specification is read, and of a node only a handful of fields: there may be five thousand of them. What breaks
the rules in a way that would break BIRD's configuration counts as unreadable; other slips are decided on later, as
Calico decides on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_network
from sys import intern
from typing import Final, NamedTuple, TypeVar

import msgspec

from tortie.model.errors import Problem
from tortie.model.fields import ASNumber, BadField
from tortie.model.network import CIDR, IP, Family, Network
from tortie.model.resource import Spec
from tortie.model.resources.bgp import BGPConfigurationSpec, BGPFilterSpec, BGPPeerSpec
from tortie.model.resources.ippool import IPPoolSpec
from tortie.model.shape import convert, problems_in, value_of
from tortie.model.wire import Undecodable, decode

S = TypeVar("S", bound=Spec)

# Nothing here depends on them, so a value that a newer Calico has invented does no harm.
_NOT_NEEDED: Final = ("programClusterRoutes", "localWorkloadPeeringIPV4", "localWorkloadPeeringIPV6")
# Numbers out of range, and a gateway of the other family: BIRD would refuse the whole configuration for them.
_CONFIGURATION_BINDING: Final = ("listenPort", "ipv4NormalRoutePriority", "ipv6NormalRoutePriority")
_PEER_BINDING: Final = ("ttlSecurity", "numAllowedLocalASNumbers", "reachableBy")
_PROBLEMS_SHOWN: Final = 3


class Speaker(NamedTuple):
    """A node as other nodes see it. Small: the addresses without the networks that `ipaddress` would tie to them."""

    name: str
    ipv4: IPv4Address | None = None
    ipv6: IPv6Address | None = None
    ipv4_length: int = 32  # of its network's prefix
    ipv6_length: int = 128
    as_number: int | None = None  # its own; None: that of the cluster
    cluster_id: IPv4Address | None = None  # it reflects routes
    labels: Mapping[str, str] = {}

    def ip(self, family: Family) -> IP | None:
        return self.ipv4 if family == 4 else self.ipv6

    def cidrs(self) -> tuple[CIDR, ...]:
        found: list[CIDR] = []
        if self.ipv4 is not None:
            found.append(IPv4Interface((self.ipv4, self.ipv4_length)))
        if self.ipv6 is not None:
            found.append(IPv6Interface((self.ipv6, self.ipv6_length)))
        return tuple(found)


class NotReadable(ValueError):
    """Why an entry makes no sense."""


def read_speaker(name: str, value: bytes) -> Speaker:
    try:
        node = _NODE.decode(value)
    except (msgspec.MsgspecError, ValueError) as error:
        raise NotReadable(str(error)) from None
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None
    labels = (node.metadata.labels if node.metadata else None) or {}
    bgp = (node.spec.bgp if node.spec else None) or _BGP()
    ipv4, ipv4_length = _address(bgp.ipv4Address, "ipv4Address", 4)
    ipv6, ipv6_length = _address(bgp.ipv6Address, "ipv6Address", 6)
    return Speaker(
        name,
        ipv4 if isinstance(ipv4, IPv4Address) else None,
        ipv6 if isinstance(ipv6, IPv6Address) else None,
        ipv4_length,
        ipv6_length,
        _as_number(bgp.asNumber),
        _cluster_id(bgp.routeReflectorClusterID),
        # Thousands of nodes have the same few labels: each text is kept once.
        {intern(label): intern(text) for label, text in labels.items()},
    )


def read_configuration(_name: str, value: bytes) -> BGPConfigurationSpec:
    spec = _spec_of(value)
    if isinstance(spec, dict):
        spec = {field: item for field, item in spec.items() if field not in _NOT_NEEDED}
    read = _typed(spec, BGPConfigurationSpec)
    # Go has no other way to say "not set" for a plain number than zero.
    _refuse(problem for problem in read.problems() if problem.field in _CONFIGURATION_BINDING and problem.value != 0)
    return read


def read_peer(_name: str, value: bytes) -> BGPPeerSpec:
    read = _typed(_spec_of(value), BGPPeerSpec)
    _refuse(problem for problem in read.problems() if problem.field in _PEER_BINDING)
    return read


def read_filter(_name: str, value: bytes) -> BGPFilterSpec:
    """A filter is right as a whole or not at all: one rule less may open what it was to close."""
    read = _typed(_spec_of(value), BGPFilterSpec)
    _refuse(read.problems())
    return read


def read_pool(_name: str, value: bytes) -> IPPoolSpec:
    return _typed(_spec_of(value), IPPoolSpec)


def read_block(name: str, value: bytes) -> Network | None:
    """`name` is the last part of the key, 10.244.1.0-26. None unless the block is confirmed to be this node's."""
    # Very old entries are empty, and say nothing about a state: they are older than states.
    document = _document(value) if value.strip(b'" \n') else {}
    if document.get("deleted") is True or (document.get("state") or "confirmed") != "confirmed":
        return None
    try:
        return ip_network("/".join(name.rsplit("-", 1)))
    except ValueError as error:
        raise NotReadable(f"its key names no block: {error}") from None


def unusable(ip: IP) -> str:
    """Why nobody can be spoken to at that address; "" if somebody can."""
    if ip.is_unspecified or ip.is_multicast or ip == _BROADCAST or (ip.version == 6 and ip.ipv4_mapped is not None):
        return f"{ip} is not the address of one machine"
    if ip.version == 6 and ip.is_link_local:
        return f"{ip} is a link-local address, which means nothing without an interface"
    return ""


_BROADCAST: Final = IPv4Address("255.255.255.255")


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None


class _BGP(msgspec.Struct):
    asNumber: int | str | None = None
    ipv4Address: str | None = None
    ipv6Address: str | None = None
    routeReflectorClusterID: str | None = None


class _Spec(msgspec.Struct):
    bgp: _BGP | None = None


class _Node(msgspec.Struct):
    metadata: _Metadata | None = None
    spec: _Spec | None = None


_NODE: Final = msgspec.json.Decoder(_Node)


def _address(text: str | None, field: str, family: Family) -> tuple[IP | None, int]:
    bits = 32 if family == 4 else 128
    if not text:
        return None, bits
    bare, slash, length = text.partition("/")
    try:
        ip = ip_address(bare)
    except ValueError:
        raise NotReadable(f"spec.bgp.{field} is {text!r}, which is no address") from None
    if ip.version != family or "%" in bare:
        raise NotReadable(f"spec.bgp.{field} is {text!r}, which is no IPv{family} address")
    if slash and not (length.isascii() and length.isdigit() and int(length) <= bits):
        raise NotReadable(f"spec.bgp.{field} is {text!r}, whose network has no length from 0 to {bits}")
    if why := unusable(ip):
        raise NotReadable(f"spec.bgp.{field}: {why}")
    return ip, int(length) if slash else bits


def _as_number(raw: int | str | None) -> int | None:
    if raw is None or raw == "":
        return None
    try:
        return int(ASNumber.parse(raw))
    except BadField as bad:
        raise NotReadable(f"spec.bgp.asNumber is {raw!r}, which {bad}") from None


def _cluster_id(text: str | None) -> IPv4Address | None:
    try:
        return IPv4Address(text) if text else None
    except ValueError:
        raise NotReadable(f"spec.bgp.routeReflectorClusterID is {text!r}, which is no IPv4 address") from None


def _document(value: bytes) -> dict[str, object]:
    try:
        return decode(value, "")
    except Undecodable as error:
        raise NotReadable(error.why) from None


def _spec_of(value: bytes) -> object:
    return _document(value).get("spec") or {}


def _typed(spec: object, part: type[S]) -> S:
    try:
        return convert(spec, part)
    except msgspec.ValidationError:
        # The long way round finds what is wrong, or that it was only a null where Go reads a zero.
        _refuse(problems_in(spec, part, known=[spec]))
    return value_of(spec, part) if isinstance(spec, dict) else part()


def _refuse(problems: Iterable[Problem]) -> None:
    found = list(problems)
    if found:
        texts = [f"spec.{problem.field} = {str(problem.value)!r}: {problem.why}" for problem in found[:_PROBLEMS_SHOWN]]
        more = len(found) - len(texts)
        raise NotReadable("; ".join(texts) + (f"; and {more} more" if more else ""))

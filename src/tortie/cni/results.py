"""What a runtime gets to read: results in the form of the version it speaks, and errors. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from ipaddress import ip_interface, ip_network
from typing import Any, NamedTuple

from tortie.cni.config import VERSIONS
from tortie.cni.errors import CONFIG, CniError
from tortie.model.network import CIDR, IP, Network

Document = dict[str, Any]


class Answer(NamedTuple):
    exit_code: int
    output: bytes = b""


class Attached(NamedTuple):
    """What an ADD has made."""

    host: str
    host_mac: str
    inside: str
    mac: str
    mtu: int
    sandbox: str
    addresses: tuple[CIDR, ...]
    routes: tuple[tuple[Network, IP | None], ...] = ()


def attached_document(attached: Attached, version: str, dns: Mapping[str, Any] | None = None) -> Document:
    host: Document = {"name": attached.host, "mac": attached.host_mac}
    inside: Document = {"name": attached.inside, "mac": attached.mac, "sandbox": attached.sandbox}
    if version == "1.1.0" and attached.mtu:
        host["mtu"] = inside["mtu"] = attached.mtu
    return {
        "cniVersion": version,
        "interfaces": [host, inside],
        "ips": [_ip(address, version, 1) for address in attached.addresses],
        "routes": [_route(destination, via) for destination, via in attached.routes],
        "dns": dict(dns or {}),
    }


def ipam_document(addresses: Sequence[CIDR], version: str) -> Document:
    """Of an IPAM plugin: its addresses with the length of their block's prefix, without interfaces."""
    return {"cniVersion": version, "ips": [_ip(address, version, None) for address in addresses], "dns": {}}


def _ip(address: CIDR, version: str, interface: int | None) -> Document:
    found: Document = {"version": str(address.version)} if version in ("0.3.0", "0.3.1", "0.4.0") else {}
    if interface is not None:
        found["interface"] = interface
    return found | {"address": str(address)}


def _route(destination: Network, via: IP | None) -> Document:
    return {"dst": str(destination)} | ({"gw": str(via)} if via else {})


def printed(document: Document) -> Answer:
    return Answer(0, json.dumps(document, separators=(",", ":")).encode() + b"\n")


def refused(error: CniError, version: str) -> Answer:
    document = {"cniVersion": version, "code": error.number, "msg": error.what, "details": error.details}
    return Answer(1, json.dumps(document, separators=(",", ":")).encode() + b"\n")


def versions(asked: str) -> Answer:
    return printed({"cniVersion": asked, "supportedVersions": list(VERSIONS)})


def addresses_in(result: Mapping[str, Any]) -> tuple[CIDR, ...]:
    """Of a result in any version, somebody else's too."""
    try:
        return tuple(ip_interface(item["address"]) for item in result.get("ips") or ())
    except (KeyError, TypeError, ValueError) as error:
        raise CniError(CONFIG, "the addresses of a result cannot be read", str(error)) from None


def routes_in(result: Mapping[str, Any]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(item["dst"], strict=False) for item in result.get("routes") or ())
    except (KeyError, TypeError, ValueError) as error:
        raise CniError(CONFIG, "the routes of a result cannot be read", str(error)) from None


def interface_in(result: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The pod's end, by its name; those without sandbox are the node's."""
    for item in result.get("interfaces") or ():
        if isinstance(item, dict) and item.get("name") == name and item.get("sandbox"):
            return item
    return None

"""The address of a node's IPIP tunnel where pods got theirs from host-local: the first of the node's podCIDR. Pure.

Calico with host-local put it on the tunnel by itself. Adopting it keeps packets that are under way right; where it
cannot be adopted the agent takes another one, and nothing has to wait for that.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Any, NamedTuple

from tortie.ipam.block import block_cidr, same_handle
from tortie.ipam.census import Census
from tortie.ipam.migration import pool_of
from tortie.ipam.records import TUNNEL_HANDLES
from tortie.model.network import IP
from tortie.model.wire import Document

_LATER = "the agent takes one itself if it needs one"


class Tunnel(NamedTuple):
    """`ip` None: nothing to do, and `why` tells the reason."""

    ip: IPv4Address | None
    why: str
    assigned: bool = False  # the address is held for the tunnel already; only the node's record does not say so

    def handle(self, node: str) -> str:
        return TUNNEL_HANDLES["ipipTunnelAddress"] + node


def decide_tunnel(node: str, record: Document, census: Census, leased: Collection[IP]) -> Tunnel:
    """`record`: the Node, empty if there is none; `leased`: addresses that pods use."""
    if not record:
        return Tunnel(None, f"the node has no record yet; {_LATER}")
    spec: Any = record.get("spec") or {}
    if present := (spec.get("bgp") or {}).get("ipv4IPIPTunnelAddr"):
        return Tunnel(None, f"the node has one already: {present}")
    if not any(pool.ipipMode in ("Always", "CrossSubnet") for pool in census.pools.values()):
        return Tunnel(None, "no pool uses IPIP")
    cidrs = (record.get("status") or {}).get("podCIDRs") or ()
    cidr = next((cidr for text in cidrs if (cidr := _network(text))), None)
    if cidr is None:
        return Tunnel(None, f"the node's record has no IPv4 podCIDR; {_LATER}")
    ip = ip_address(int(cidr.network_address) + 1)
    assert isinstance(ip, IPv4Address)
    found = pool_of(ip, census.pools.items(), "Tunnel")
    if found is None:
        return Tunnel(None, f"{ip} is in no pool that tunnels may use; {_LATER}")
    if ip in leased:
        return Tunnel(None, f"{ip} is a pod's; {_LATER}")
    block = census.blocks.get(block_cidr(ip, found[1].block_size))
    holding = block.holding(ip) if block else None
    if holding is None:
        if block and block.host != node and census.settings.strict_affinity:
            return Tunnel(None, f"{ip} is in a block of {block.host or 'nobody'}; {_LATER}")
        return Tunnel(ip, f"{ip}, the first address of podCIDR {cidr}")
    if same_handle(holding.attribute.handle, Tunnel(None, "").handle(node)):
        return Tunnel(ip, f"{ip} was assigned to it before", assigned=True)
    return Tunnel(None, f"{ip} is held by {holding.attribute.handle}; {_LATER}")


def _network(text: Any) -> IPv4Network | None:
    try:
        cidr = ip_network(text, strict=False)
    except ValueError:
        return None
    return cidr if isinstance(cidr, IPv4Network) and cidr.num_addresses > 1 else None


def with_tunnel(record: Document, ip: IPv4Address) -> Document:
    spec = record.get("spec") or {}
    return {**record, "spec": {**spec, "bgp": {**(spec.get("bgp") or {}), "ipv4IPIPTunnelAddr": str(ip)}}}

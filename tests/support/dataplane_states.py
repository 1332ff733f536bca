"""States of a cluster for tests of what the dataplane decides, in few words."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network
from typing import Any

from tortie.dataplane.felix import FelixSettings
from tortie.dataplane.known import State
from tortie.dataplane.records import Block, Endpoint, Peer, Pool
from tortie.model.names import vtep_mac
from tortie.model.network import Address, Interface

POOL = Pool("pods", ip_network("10.244.0.0/16"), vxlan="Always", nat=True)
POOL6 = Pool("pods6", ip_network("fd00:10:244::/64"), vxlan="Always", nat=True)
PLAIN = Pool("plain", ip_network("10.244.0.0/16"))


def peer(name: str, ipv4: str = "", vtep4: str = "", ipv6: str = "", vtep6: str = "") -> Peer:
    return Peer(
        name,
        ip_interface(ipv4) if ipv4 else None,
        ip_interface(ipv6) if ipv6 else None,
        IPv4Address(vtep4) if vtep4 else None,
        IPv6Address(vtep6) if vtep6 else None,
        vtep_mac(name),
        vtep_mac(name, ipv6=True),
    )


ME = peer("me", "10.0.0.1/24", "10.244.0.1", "fd00::1/64", "fd00:10:244::1")
NEAR = peer("near", "10.0.0.2/24", "10.244.1.1", "fd00::2/64", "fd00:10:244::101")
FAR = peer("far", "10.9.0.3/24", "10.244.2.1", "fd00:9::3/64", "fd00:10:244::201")


def block(cidr: str, host: str, **lent: str) -> Block:
    """Further words are borrowers: far="10.244.1.9"."""
    return Block(ip_network(cidr), host, tuple((ip_address(ip), name) for name, ip in lent.items()))


BLOCKS = (block("10.244.0.0/26", "me"), block("10.244.1.0/26", "near"), block("10.244.2.0/26", "far"))


def pod(name: str, *ips: str, mac: str = "02:00:00:00:00:01", interface: str = "cali1") -> Endpoint:
    return Endpoint(f"default/{name}", interface, tuple(ip_address(ip) for ip in ips), mac)


def state(*, pools: tuple[Pool, ...] = (POOL,), blocks: tuple[Block, ...] = BLOCKS, **more: Any) -> State:
    nodes = {each.name: each for each in more.pop("nodes", (ME, NEAR, FAR))}
    endpoints = {each.name: each for each in more.pop("endpoints", ())}
    felix = FelixSettings(**more)
    return State("me", nodes, pools, endpoints, blocks, felix)


def link(index: int, name: str, *addresses: str, up: bool = True, **more: Any) -> Interface:
    flags = frozenset({"up", "lower_up"} if up else ())
    owned = tuple(Address(ip_interface(address)) for address in addresses)
    return Interface(index, name, flags=flags, state="up" if up else "down", addresses=owned, **more)


ETH0 = link(2, "eth0", "10.0.0.1/24", "fd00::1/64")
CALI1 = link(7, "cali1", kind="veth")
LINKS = (link(1, "lo", "127.0.0.1/8", mtu=65536), ETH0, CALI1)

"""Where other nodes send a node's traffic: ends of tunnels, which are the addresses that nodes have registered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import Seen
from tortie.doctor.causes.nodes.bgp_evidence import node_called
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, Route
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place

_TUNNELS: Final = ("tunl0", "vxlan.calico")
_FDB: Final = lazily(r"\b((?:[0-9a-f]{2}:){5}[0-9a-f]{2}) (?:dev vxlan\.calico )?dst ((?:\d{1,3}\.){3}\d{1,3})\b")
_VIP: Final = lazily(
    r"\bVIPs?\b|\bvip_(?:address|cidr|ip)|virtual[_ ]?ip|\bvirtual address|floating[_ ]?ip|kube-?vip|keepalived"
    r"|虚拟 ?(?:IP|地址)|虚IP|浮动 ?(?:IP|地址)|漂移",
    re.IGNORECASE,
)
_NO_VIP: Final = lazily(
    r"\b(?:not|no|isn't|never|without)\b[^.,;]{0,24}(?:vip\b|virtual|floating)|(?:不是|并非|没有)[^，。；]{0,8}(?:vip|虚拟|浮动|虚IP)",
    re.IGNORECASE,
)
# What kube-vip itself is told.
_VALUE: Final = lazily(r"^\s{0,60}(?:-\s{1,8})?\"?(?:value|address)\"?:\s{0,20}\"?[\d./]{7,24}\"?,?\s{0,20}$")
_BEFORE: Final = 2  # lines: `virtual_ipaddress {` and `- name: vip_address` stand above


def tunnel_ends(picture: Picture) -> Iterator[Seen]:
    """The forwarding table of VXLAN, and routes through IPIP, as another node has them."""
    macs = {link.mac: node_called(picture, link.host) for link in picture.of(Interface) if link.mac and link.host}
    for exhibit in picture.exhibits:
        if exhibit.prose or " dst " not in exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines):
            if match := _FDB.search(line):
                yield Seen(exhibit.place(index), macs.get(match[1], ""), match[2], 0, "", "tunnel")
    for route in picture.of(Route):
        if route.device in _TUNNELS and route.via and route.protocol == "bird":
            yield Seen(route.place, "", route.via, 0, "", "tunnel")


def told_vip(picture: Picture, address: str) -> Place | None:
    """Where a person or a program's configuration calls this address a VIP."""
    for exhibit in picture.exhibits:
        if address not in exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines):
            if not _names(line, address):
                continue
            above = "" if exhibit.prose else " ".join(exhibit.lines[max(0, index - _BEFORE) : index])
            above += f" {exhibit.command}" if _VALUE.search(line) else ""
            if _calls(line, address) or (above and _VIP.search(above) and not _VIP.search(line)):
                return exhibit.place(index)
    return None


def _names(line: str, address: str) -> bool:
    before, _, after = line.partition(address)
    return len(before) + len(after) < len(line) and not after[:1].isdecimal() and not before[-1:].isdecimal()


def _calls(line: str, address: str) -> bool:
    """In one breath: of a long sentence what stands beside the address counts."""
    at = line.index(address)
    beside = line[max(0, at - 60) : at + len(address) + 40]
    return bool(_VIP.search(beside)) and not _NO_VIP.search(beside)

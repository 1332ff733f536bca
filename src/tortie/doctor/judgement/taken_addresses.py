"""A node's own address that kube-proxy has on its link of another node: what is sent there goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import missing_peers, same_host
from tortie.doctor.diagnosis import Unexplained
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture, carries_services
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words

_LOOK: Final = Words(
    "the Services that have this address as an externalIP or a balancer's (kubectl get svc -A -o wide): in ipvs mode "
    "every node takes for itself what is sent to it",
    "哪个 Service 把该地址写成了 externalIPs 或负载均衡地址（kubectl get svc -A -o wide）："
    "ipvs 模式下每个节点都会把发往该地址的流量留在本机",
)


def taken(picture: Picture) -> Iterator[Unexplained]:
    owners = {ip: name for name, ip in picture.internal_ips().items()}
    owners |= {one.address: one.node for one in picture.registered() if one.address not in owners}
    nodes = {*owners, *(peer.address for peer in missing_peers(picture))}
    told: set[str] = set()
    for link in picture.of(Interface):
        for text in link.addresses if carries_services(link.name) else ():
            address = text.partition("/")[0]
            if address in nodes and address not in told and not same_host(link.host, owners.get(address, "")):
                told.add(address)
                place, line = _line(picture, link, text)
                yield Unexplained("degraded", line, place, "kube-proxy", _LOOK)


def _line(picture: Picture, link: Interface, address: str) -> tuple[Place, str]:
    """Of a link with hundreds of addresses the line with this one."""
    for exhibit in picture.exhibits:
        if exhibit.source == link.place.source:
            for index, line in enumerate(exhibit.lines):
                if link.place.first <= exhibit.number(index) <= link.place.last and address in line:
                    return exhibit.place(index), line.strip()
    return link.place, f"{link.name} {address}"

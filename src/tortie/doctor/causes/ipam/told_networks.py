"""Networks and machines that people tell of in words of their own: the LAN, the office, a server beside the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.ipam.cluster_ranges import Network, Range, lies_in, network_of, pod_ranges
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, Pod, Route
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_ADDRESS: Final = lazily(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?)(?![\d.]*\d)")
# What is said together with pods may be theirs: their range, their block, the end of a tunnel.
_PODS: Final = lazily(
    r"\b(?:pods?|containers?|pools?|ipam|blocks?|cni|docker0?|podcidr|services?|svc|loadbalancer|metallb|vip)\b"
    r"|\b(?:calico|flannel|tunl|vxlan|cluster.?(?:ip|cidr))|容器|地址池|地址块|隧道|网桥|虚拟网",
    re.IGNORECASE,
)
_LAN: Final = lazily(
    r"\b(?:lan|home network|nfs|nas|dhcp|(?:local|home|office|corporate|company|campus|hosts?|host'?s|nodes?|node'?s|"
    r"machines?|physical|internal|management|existing|our|my|lab|servers?|vms?) (?:network|subnet|ip range|lan))\b"
    r"|局域网|办公网|内网网?段|物理网|宿主机网|主机网|机房网|服务器网|节点网|家里的?网",
    re.IGNORECASE,
)
_MACHINE: Final = lazily(
    r"(?:\b(?:masters?|nodes?|workers?|control plane|machines?|hosts?|vms?|servers?|database|router|gateway|laptop)"
    r"(?:[ -]\w{1,12})?|节点|主机|宿主机|服务器|虚拟机|物理机|数据库|网关|路由器)"
    r"[\w-]{0,12}(?:'s)?\s{0,3}(?:(?:is|are|at|on|ips?|address(?:es)?|has|have|with|的|为|是|地址|在) ?){0,3}"
    r"[\s(:=（：]{0,3}$",
    re.IGNORECASE,
)
_TOWARDS: Final = lazily(r"\b(?:to|reach|ping|access|connect|contact|mount)\b|访问|连接|到|挂载", re.IGNORECASE)
_BEYOND: Final = lazily(
    r"\b(?:outside|external|lan|nas|nfs|legacy|on-?prem\w*|"
    r"(?:local|home|office|corporate|host'?s?|physical|internal) network)\b"
    r"|集群外|外部|局域网|内网|办公网|宿主机|物理机",
    re.IGNORECASE,
)
_SENTENCE: Final = lazily(r"[;!?。；！？]|\.(?=\s|$)|, |，")
_NEAR: Final = 48  # letters between the word and the address
_LINES: Final = 400


class Told(NamedTuple):
    """An address or a network that is said to be of machines, or of a LAN."""

    address: str
    place: Place


class ToldOverlap(NamedTuple):
    """A range of pods, and what is said to be of machines and lies in it."""

    range: Range
    told: list[Told]

    @property
    def first(self) -> Told:
        return next((one for one in self.told if "/" in one.address), self.told[0])

    @property
    def addresses(self) -> list[str]:
        return sorted({one.address for one in self.told})


def told_overlap(picture: Picture) -> ToldOverlap | None:
    told = told_networks(picture)
    within = ((item, [one for one in told if _inside(one.address, item.network)]) for item in pod_ranges(picture))
    return next((ToldOverlap(item, found) for item, found in within if found), None)


def _inside(told: str, network: Network) -> bool:
    """A network that is as large as the pool may be the pool itself."""
    other = network_of(told) if "/" in told else None
    if other is not None and other.prefixlen <= network.prefixlen:
        return False
    return lies_in(told.partition("/")[0], network)


def beyond(sentence: str, told: list[Told]) -> bool:
    """Whether it is about what lies outside of the cluster, or about one of these machines."""
    return _BEYOND.search(sentence) is not None or any(one.address in sentence for one in told)


@remembered
def told_networks(picture: Picture) -> list[Told]:
    """Those of prose that are no pod's and no tunnel's."""
    own = {pod.ip for pod in picture.of(Pod) if pod.ip}
    own |= {a.split("/")[0] for link in picture.of(Interface) if _of_pods(link.name) for a in link.addresses}
    own |= {route.destination.partition("/")[0] for route in picture.of(Route) if _of_pods(route.device)}
    return [told for told in _told(picture) if told.address.partition("/")[0] not in own]


def _of_pods(link: str) -> bool:
    return link.startswith(("cali", "tunl", "vxlan", "wireguard", "flannel", "cni", "docker", "br-", "kube-", "veth"))


def _told(picture: Picture) -> Iterator[Told]:
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines[:_LINES] if exhibit.prose else ()):
            if _ADDRESS.search(line[:2000]):
                yield from (Told(address, exhibit.place(index)) for address in _of_machines(line[:2000]))


def _of_machines(line: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(line):
        for match in _ADDRESS.finditer(sentence or ""):
            before = sentence[max(0, match.start() - _NEAR) : match.start()]
            before = _TOWARDS.split(before)[-1]  # "pods do not get to the server 192.0.2.7"
            after = sentence[match.end() : match.end() + _NEAR]
            if _PODS.search(before) or _PODS.search(after):
                continue
            if _LAN.search(before) or _LAN.search(after) or _MACHINE.search(before):
                yield match[1]

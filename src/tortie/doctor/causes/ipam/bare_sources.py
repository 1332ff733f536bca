"""Packets of pods that left for the outside with the pod's own address: nobody did NAT for them.

Whoever captures sees it: tcpdump or tshark on the node's uplink or at the outside target, an entry of conntrack whose
answer is expected at the pod itself. Or a person tells it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import uplink
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Interface, Setting, Statement
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_V4: Final = r"(?:\d{1,3}\.){3}\d{1,3}"
_V6: Final = r"[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}"
_PACKET: Final = lazily(
    rf"(?:\s(?P<device>[\w.@-]{{1,20}}) +(?P<way>In|Out|B|M) +(?:ethertype \S+, )?)?\bIP6? "
    rf"(?:\([^>]{{0,200}}?\) )?(?P<a>{_V4}|{_V6})(?:\.[\w-]{{1,20}})?"
    rf" > (?P<b>{_V4}|{_V6})(?:\.[\w-]{{1,20}})?:(?P<more>.{{0,40}})"
)
_SHARK: Final = lazily(rf"^\s{{0,8}}\d{{1,7}} +[\d.]{{1,20}} +(?P<a>{_V4}|{_V6}) +(?:→|->) +(?P<b>{_V4}|{_V6}) ")
_DEVICE: Final = lazily(r"\s-\w{0,8}i\s{0,4}([\w.@-]{1,20})")
# What goes to the target, and the answer that the kernel waits for.
_TRACKED: Final = lazily(
    rf"\bsrc=(?P<a>{_V4}|{_V6}) dst=(?P<b>{_V4}|{_V6}) .{{0,80}}?\bsrc=(?P=b) dst=(?P=a)(?![\d.:a-f])"
)
_NOWHERE: Final = ("224.", "239.", "255.", "169.254.", "127.", "ff0", "fe80")
_LINES: Final = 400  # of one exhibit
_TUNNELLED: Final = ("IP ", "ipip", "VXLAN", "OTV")
_RANGES: Final = ("CALICO_IPV4POOL_CIDR", "CALICO_IPV6POOL_CIDR", "podSubnet", "cluster-cidr", "clusterCIDR")


class Bare(NamedTuple):
    """A packet, or somebody's word for it: then the addresses may be missing."""

    place: Place
    source: str
    target: str


@remembered
def pod_addresses(picture: Picture) -> list[str]:
    """Of pods with a network of their own, as lists show them or the pods themselves."""
    hosts = {*picture.internal_ips().values()}
    listed = [pod.ip for pod in picture.pods_now() if pod.ip and not on_host_network(pod.name)]
    inner = (link for link in picture.of(Interface) if link.host.startswith(OF_POD))
    own = [address.partition("/")[0] for link in inner for address in link.addresses]
    return [address for address in (*listed, *own) if address not in hosts]


@remembered
def bare_sources(picture: Picture) -> list[Bare]:
    """Every packet of a pod's to an address that is neither a pod's, as far as lists tell, nor a node's.

    A target inside of a pool counts as well: who asks knows whether it may be a pod.
    """
    known, nodes = set(pod_addresses(picture)), set(picture.internal_ips().values())
    ranges = [pool.cidr for pool in picture.pools_now() if pool.cidr]
    ranges += [setting.value for name in _RANGES for setting in picture.settings(name)]

    def of_pod(address: str) -> bool:
        return address in known or (address not in nodes and any(inside(address, cidr) for cidr in ranges))

    found: dict[tuple[str, str], Bare] = {}
    for bare in (*_captured(picture), *_tracked(picture)):
        if of_pod(bare.source) and bare.target not in known | nodes and not bare.target.lower().startswith(_NOWHERE):
            found.setdefault((bare.source, bare.target), bare)
    return list(found.values())


@remembered
def pairs_seen(picture: Picture) -> set[tuple[str, str]]:
    """Source and target of every packet that was captured anywhere: an answer goes the other way."""
    shown = (_PACKET.search(one.value) for one in picture.of(Setting) if one.scope == "capture")
    return {(match["a"], match["b"]) for match in shown if match}


def _captured(picture: Picture) -> Iterator[Bare]:
    for shown in picture.of(Setting):
        match = _PACKET.search(shown.value) if shown.scope == "capture" else None
        if not match or any(word in match["more"] for word in _TUNNELLED):
            continue
        if _leaves(match["device"] or "", match["way"] or "", shown.name):
            yield Bare(shown.place, match["a"], match["b"])
    for exhibit in picture.commands("tshark"):
        named = _DEVICE.search(exhibit.command)
        if named and uplink(named[1]) and named[1] != "any":
            for index, line in enumerate(exhibit.lines[:_LINES]):
                if match := _SHARK.match(line):
                    yield Bare(exhibit.place(index), match["a"], match["b"])


def _leaves(device: str, way: str, asked: str) -> bool:
    """On a device by which packets leave the machine; `any` shows the pod's own end as well."""
    if device:
        return uplink(device) and way == "Out"
    return asked != "any" and uplink(asked)


def _tracked(picture: Picture) -> Iterator[Bare]:
    for exhibit in picture.exhibits:
        if exhibit.prose or "dst=" not in exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines[:_LINES]):
            match = _TRACKED.search(line[:400]) if "[UNREPLIED]" in line else None
            if match:
                yield Bare(exhibit.place(index), match["a"], match["b"])


@remembered
def told(picture: Picture) -> list[Statement]:
    """Somebody saw it and says so."""
    return picture.said("pod-source-bare")

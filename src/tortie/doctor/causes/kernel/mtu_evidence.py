"""Sizes of packets: what links and pings show, and who sends more than fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import TUNNELS, encapsulation, rows, uplink
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside, public
from tortie.doctor.picture.facts import Interface, Ping, Route
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

TOO_LONG = Sign("mtu-too-long", "local error: Message too long")
OVERHEAD: Final = {"ipip": 20, "vxlan": 50, "wireguard": 60}
TUNNEL_KIND: Final = {"tunl0": "ipip", "vxlan.calico": "vxlan", "wireguard.cali": "wireguard"}
HEADERS: Final = 28  # of IP and ICMP, before the payload of a ping
_VPNS: Final = ("wg", "tun", "tailscale", "zt", "nebula", "ppp")
_OVER: Final = lazily(
    r"\b(?:nodes?|machines|hosts|servers|cluster|vps)\b.{0,80}\b(?:over|via|through|in|on|by)\b.{0,40}"
    r"\b(?:vpn|wireguard|tunnel|overlay|mesh)\b"
    r"|(?:节点|机器|主机|集群)[^。；]{0,30}(?:走|通过|经|基于|用)[^。；]{0,20}(?:vpn|wireguard|隧道|专线)",
    re.IGNORECASE,
)
_BETWEEN: Final = lazily(
    r"\b(?:nodes?|inter-?node|node-to-node|cluster|k8s|kubernetes) traffic (?:goes|runs|flows|is|passes)\b.{0,40}"
    r"\b(?:over|via|through|in|inside)\b.{0,30}\b(?:vpn|wireguard|openvpn|tunnel|overlay|mesh)\b"
    r"|\b(?:nodes?|machines|hosts|servers|vps(?:es)?) (?:are |is |all )?"
    r"(?:connected|joined|linked|meshed|talk|communicate)\b.{0,40}\b(?:over|via|through|by|with)\b.{0,30}\b(?:vpn|wireguard|openvpn|tunnel|overlay|mesh)\b"
    r"|\b(?:vpn|wireguard)\b.{0,30}\bbetween (?:the |all |our )?(?:nodes|machines|hosts|servers)\b"
    r"|node-ip is the (?:vpn|wireguard) address"
    r"|(?:节点|机器|主机)(?:之间|间)[^。；]{0,20}(?:走|通过|经|基于|用)[^。；]{0,20}(?:vpn|wireguard|隧道)",
    re.IGNORECASE,
)
_RESUME: Final = lazily(r"^\s*Resume: pmtu (\d{3,5})\b")
_HOPS: Final = 60
_VETH_MTU: Final = lazily(r"\bveth_?mtu\b[^\d.;]{0,40}(\d{4})\b", re.IGNORECASE)
LARGE: Final = 1200  # a ping with at least so much payload tests the size of packets
Links = dict[str, dict[str, tuple[int, object]]]  # host to link to MTU, and where that is shown


class Conflict(NamedTuple):
    """Something that sends packets of `sent` bytes where only `fits` pass."""

    sender: str
    sent: int
    limit: str
    fits: int
    facts: tuple[object, ...]
    host: str = ""


class Limit(NamedTuple):
    """The link between nodes that lets the least through."""

    link: str
    mtu: int
    fact: object


def pings_by_size(picture: Picture) -> tuple[list[Ping], list[Ping]]:
    """Small ones that pass, and large ones that do not."""
    pings = picture.of(Ping)
    # "Message too long" is this host's own refusal: the packet exceeds the link's MTU, as it should.
    own = {(hit.command, hit.host) for hit in picture.hits(TOO_LONG)}
    refused = {
        (exhibit.source, exhibit.number(index))
        for exhibit in picture.exhibits
        if (exhibit.command, exhibit.host) in own
        for index in range(len(exhibit.lines))
    }
    # What the internet lets through is no matter of the way between nodes, unless a pod tried.
    large = [p for p in pings if not p.ok and (p.size or 0) >= LARGE and (p.pod or not public(p.address))]
    lost = [p for p in large if (p.place.source, p.place.last) not in refused and "too long" not in p.text]
    # Below the size that gets lost, to the same address: close by it is as good as tiny.
    least = {p.address: min(other.size or 0 for other in lost if other.address == p.address) for p in lost}
    return [p for p in pings if p.ok and (p.size or 56) < max(LARGE, least.get(p.address, 0))], lost


def _mtus(picture: Picture) -> Links:
    """Host to link to MTU."""
    hosts: Links = {}
    for link in picture.interfaces():
        if link.mtu:
            hosts.setdefault(link.host, {})[link.name.partition("@")[0]] = (link.mtu, link)
    for row in rows(picture, r"^(?P<link>[a-z][\w.-]*)(?:@\w+)?:?\s+(?:mtu\s+)?(?P<mtu>\d{3,5})$", "/mtu", "mtu"):
        hosts.setdefault(row.host, {}).setdefault(row["link"], (int(row["mtu"]), row))
    return hosts


def conflict(picture: Picture) -> Conflict | None:
    hosts, kinds = _mtus(picture), encapsulation(picture)
    path = _path(picture, hosts)
    every = (one for host, links in hosts.items() for one in _on_host(host, links, kinds, path))
    return next(every, None) or _by_setting(picture, path, kinds)


def _on_host(
    host: str, links: dict[str, tuple[int, object]], kinds: set[str], path: Limit | None
) -> Iterator[Conflict]:
    tunnels = {name: links[name] for name in TUNNEL_KIND if name in links}
    pods = [(name, *links[name]) for name in links if name.startswith("cali")]
    carrying = {n: t for n, t in tunnels.items() if TUNNEL_KIND[n] in kinds or (not kinds and len(tunnels) == 1)}
    for name, (mtu, fact) in carrying.items():
        room = path.mtu - OVERHEAD[TUNNEL_KIND[name]] if path else mtu
        if path and mtu > room:
            yield Conflict(name, mtu, path.link, room, (fact, path.fact), host)
        yield from (Conflict(pod, sent, name, mtu, (shown, fact), host) for pod, sent, shown in pods if sent > mtu)
    if path and not carrying:
        room = path.mtu - _overhead(kinds)
        yield from (
            Conflict(pod, sent, path.link, room, (shown, path.fact), host) for pod, sent, shown in pods if sent > room
        )


class Nested(NamedTuple):
    """A Docker inside of a pod, whose containers send more than the pod's own link takes."""

    bridge: str
    sent: int
    link: str
    fits: int
    facts: tuple[object, ...]


def nested(picture: Picture) -> Nested | None:
    """A daemon does not look at the link that it is behind: its bridge has 1500 wherever it runs."""
    pods: dict[str, list[Interface]] = {}
    for link in picture.of(Interface):
        if link.mtu and link.host.startswith(OF_POD):
            pods.setdefault(link.host, []).append(link)
    for links in pods.values():
        own = next((link for link in links if link.name.partition("@")[0] == "eth0"), None)
        bridge = next((link for link in links if link.name.startswith(("docker", "br-"))), None)
        if own and bridge and own.mtu and bridge.mtu and bridge.mtu > own.mtu:
            return Nested(bridge.name, bridge.mtu, "eth0", own.mtu, (bridge, own))
    return None


class Narrow(NamedTuple):
    """A way between nodes on which less gets through than the links at its ends say."""

    fits: int  # what pods may send
    link: str
    mtu: int
    fact: object


def narrow_path(picture: Picture) -> Narrow | None:
    """By the largest ping that passes to an address where a larger one, within the link's MTU, is lost."""
    hosts = _mtus(picture)
    _, lost = pings_by_size(picture)
    found = []
    for ping in lost:
        passed = [p.size + HEADERS for p in picture.of(Ping) if p.ok and p.size and p.address == ping.address]
        links = hosts.get(ping.host) or hosts.get("") or {}
        link = _uplink_of(links)
        if passed and link and (ping.size or 0) + HEADERS <= link.mtu and _is_node(picture, ping.address):
            kinds = encapsulation(picture) or {TUNNEL_KIND[name] for name in links if name in TUNNEL_KIND}
            found.append(Narrow(max(passed) - _overhead(kinds), link.link, link.mtu, link.fact))
    return min(found, key=lambda one: one.fits, default=None)


def _is_node(picture: Picture, address: str) -> bool:
    nodes = {*picture.internal_ips().values(), *(session.peer for session in picture.sessions())}
    return address in nodes


def _uplink_of(links: dict[str, tuple[int, object]]) -> Limit | None:
    out = [Limit(name, mtu, fact) for name, (mtu, fact) in links.items() if uplink(name)]
    return out[0] if len(out) == 1 else None


def _overhead(kinds: set[str]) -> int:
    return max((OVERHEAD[kind] for kind in kinds if kind in OVERHEAD), default=0)


def _by_setting(picture: Picture, path: Limit | None, kinds: set[str]) -> Conflict | None:
    """A fixed pod MTU that the uplink cannot carry with this encapsulation."""
    setting = picture.setting("veth_mtu") or picture.setting("mtu", "cni") or picture.setting("mtu", "installation")
    given: tuple[str, str, object] | None = _told_setting(picture)
    if setting is not None:
        given = setting.name, setting.value.strip("\"' "), setting
    if not path or given is None or not given[1].isdecimal() or int(given[1]) == 0:
        return None
    name, value, shown = given
    room = path.mtu - _overhead(kinds)
    return Conflict(name, int(value), path.link, room, (shown, path.fact)) if int(value) > room else None


def _told_setting(picture: Picture) -> tuple[str, str, object] | None:
    """`veth_mtu` in a person's sentence."""
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines if exhibit.prose else ()):
            if match := _VETH_MTU.search(line[:1000]):
                return "veth_mtu", match[1], exhibit.place(index)
    return None


def _path(picture: Picture, hosts: Links) -> Limit | None:
    """The smallest of the hosts' uplinks. Of several of one host that one counts which leads to other nodes."""
    default = {route.host: route.device for route in picture.of(Route) if route.destination == "default"}
    towards = _towards_nodes(picture) or _told_towards(picture, hosts)
    best: list[Limit] = []
    for host, links in hosts.items():
        out = [Limit(name, mtu, fact) for name, (mtu, fact) in links.items() if uplink(name)]
        best += (
            [item for item in out if item.link in towards]
            or [item for item in out if item.link == default.get(host)]
            or sorted(out, key=lambda item: -item.mtu)[:1]
        )
    return min((*best, *_traced(picture)), key=lambda item: item.mtu, default=None)


def _traced(picture: Picture) -> Iterator[Limit]:
    """What tracepath found on the way to another machine; the Internet is no way between nodes."""
    for exhibit in picture.exhibits:
        words = exhibit.command.split() if "tracepath" in exhibit.command else []
        address = next((word for word in words if word[:1].isdigit()), "")
        if not address or public(address):
            continue
        for index, line in enumerate(exhibit.lines[:_HOPS]):
            if match := _RESUME.search(line):
                yield Limit(f"path to {address}", int(match[1]), exhibit.place(index))


def _told_towards(picture: Picture, hosts: Links) -> set[str]:
    """A VPN's link that a person says the nodes talk over."""
    links = {name for links in hosts.values() for name in links if name.startswith(_VPNS) and name not in TUNNEL_KIND}
    if not links:
        return set()
    said = [line[:1000] for exhibit in picture.exhibits if exhibit.prose for line in exhibit.lines]
    told = {name for line in said if _OVER.search(line) for name in links if name in line}
    # Without its name it can only be the one that there is; who logs in over a VPN tells of another one.
    between = len(links) == 1 and any(_BETWEEN.search(line) for line in said)
    return told or (links if between else set())


def _towards_nodes(picture: Picture) -> set[str]:
    """Links to which routes lead that tunnels need: what `ip route get` answers for another node, or its network."""
    routes = picture.of(Route)
    # By IPIP a route names the node; by VXLAN only an address inside of the tunnel, so nodes say where they are.
    nodes = {route.via for route in routes if route.device in TUNNELS and route.via}
    nodes |= set(picture.internal_ips().values())
    asked = {route.device for route in routes if route.destination in nodes and uplink(route.device)}
    near = [route for route in routes if not route.via and uplink(route.device) and "/" in route.destination]
    carrying = {
        link.name.partition("@")[0]
        for link in picture.interfaces()
        if uplink(link.name) and any(one.partition("/")[0] in nodes for one in link.addresses)
    }
    return (
        asked or carrying or {route.device for route in near if any(inside(node, route.destination) for node in nodes)}
    )

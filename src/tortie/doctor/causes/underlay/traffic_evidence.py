"""What shows where packets get lost: captures on both ends, the device of remote routes, tests, security groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address, ip_network
from weakref import WeakKeyDictionary

from tortie.doctor.picture.facts import LogLine, Ping, Pool, PortTest, Route, Session, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

TUNNELS = {"tunl0": "ipip", "vxlan.calico": "vxlan", "vxlan-v6.calico": "vxlan"}
# Links that never carry packets between nodes by themselves.
_INNER = (
    "cali", "tunl", "vxlan", "wireguard", "lo", "docker", "br-", "veth", "virbr", "cni", "flannel", "kube-",
    "nodelocal", "dummy", "lxc", "podman", "weave", "ip6tnl", "sit", "gre", "erspan", "bpf",
)  # fmt: skip
_TOLD_ROUTE = r"\bvia (?P<via>\d{1,3}(?:\.\d{1,3}){3}) dev "
_SERVICE = r"\s(?:ClusterIP|NodePort|LoadBalancer)\s+(?P<ip>(?:\d{1,3}\.){3}\d{1,3})\s"
HOST_PORTS = (22, 179, 2379, 2380, 5473, 6443, 9099, 10250, 10256)  # answered by nodes, not by pods
_OFF = ("never", "", "off", "false")


class Row:
    """A line that matched, and where it came from; `row["name"]` is a part of it, empty when that part is not there."""

    __slots__ = ("command", "host", "match", "place")

    def __init__(self, place: Place, match: re.Match[str], host: str, command: str) -> None:
        self.place, self.match, self.host, self.command = place, match, host, command

    def __getitem__(self, name: str) -> str:
        return self.match[name] or ""


class Capture(NamedTuple):
    """A tcpdump: on which host and device, asking for what, and what kinds of packets it shows."""

    place: Place
    host: str
    device: str
    wanted: str  # the command
    kinds: frozenset[str]  # ipip, vxlan, plain; empty: nothing was captured
    sources: frozenset[str]  # outer source addresses
    targets: frozenset[str]
    labelled: bool = False  # the host is a person's name for it, which need not be the one that prompts show


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def rows(picture: Picture, pattern: str, *words: str, needle: str = "") -> Iterator[Row]:
    """Lines that match, of exhibits whose command contains one of the words; of all output when there are none.

    The needle is text that every such line contains: much faster than the expression.
    """
    if needle and needle not in _whole(picture):
        return
    for exhibit in picture.exhibits:
        if exhibit.prose or (words and not any(word in exhibit.command for word in words)):
            continue
        wanted = compiled(pattern)  # not before: most commands are in no evidence
        for index, line in enumerate(exhibit.lines):
            if needle in line and (match := wanted.search(line)):
                yield Row(exhibit.place(index), match, exhibit.host, exhibit.command)


_WHOLE: WeakKeyDictionary[Picture, tuple[int, str]] = WeakKeyDictionary()


def _whole(picture: Picture) -> str:
    """All text at once, laid out once: most needles are nowhere in it."""
    size, text = _WHOLE.get(picture, (-1, ""))
    if size != len(picture.exhibits):
        text = "\n".join(exhibit.text for exhibit in picture.exhibits)
        _WHOLE[picture] = (len(picture.exhibits), text)
    return text


def counted(picture: Picture, *words: str) -> Iterator[tuple[str, int, Exhibit]]:
    """Answers of `grep -c` and `wc -l`: several on one command line answer in their order."""
    for exhibit in picture.exhibits:
        if "grep -c" not in exhibit.command and "wc -l" not in exhibit.command:
            continue
        asked = [part for part in re.split(r";|&&|\bdo\b", exhibit.command) if "grep -c" in part or "wc -l" in part]
        numbers = [int(line) for line in exhibit.lines if line.strip().isdecimal()]
        if len(asked) == len(numbers):
            yield from (
                (part, number, exhibit)
                for part, number in zip(asked, numbers, strict=True)
                if all(word in part for word in words)
            )


# Captures

_INNER_IP = r"IP6? (?P<a>[\w.:]+) > (?P<b>[\w.:]+): (?:IP6? |\(ipip)"
_IPIP = r"ipip|ip-proto-4\b"  # the latter where the capture has not the whole packet
_OUTER = r"(?P<a>\d+\.\d+\.\d+\.\d+)(?:\.\d+)? > (?P<b>\d+\.\d+\.\d+\.\d+)(?:\.\d+)?:"


# A person's own label instead of a prompt: `node1: tcpdump -ni eth0 …`.
_LABEL = r"^\W{0,4}(?:on |在)?(?P<host>[a-z][\w.-]{0,62}) ?[:：] ?(?:[$#] )?(?P<command>(?:sudo )?tcpdump +-.+)$"


def captures(picture: Picture) -> list[Capture]:
    prompted = [capture for exhibit in picture.exhibits if (capture := _capture(exhibit)) is not None]
    labelled = [capture for exhibit in _labelled(picture) if (capture := _capture(exhibit)) is not None]
    return [*prompted, *(capture._replace(labelled=True) for capture in labelled)]


def _labelled(picture: Picture) -> list[Exhibit]:
    """What follows such a label, up to the next one or to a command; nothing at all proves nothing here."""
    parts: list[tuple[re.Match[str], str, list[str], list[int]]] = []
    going = False
    for exhibit in picture.exhibits if "tcpdump -" in _whole(picture) else ():
        going = going and not exhibit.command and exhibit.source == parts[-1][1]
        for index, line in enumerate(exhibit.lines):
            if label := compiled(_LABEL).match(line):
                parts.append((label, exhibit.source, [], []))
                going = True
            elif going:
                parts[-1][2].append(line)
                parts[-1][3].append(exhibit.number(index))
    return [
        Exhibit(source, numbers[0], tuple(lines), label["host"], label["command"], numbers=tuple(numbers))
        for label, source, lines, numbers in parts
        if lines
    ]


def _capture(exhibit: Exhibit) -> Capture | None:
    if "tcpdump" not in exhibit.command and "tshark" not in exhibit.command:
        return None
    text = exhibit.text
    kinds: set[str] = set()
    sources, targets = set(), set()
    for line in exhibit.lines:
        outer = compiled(_OUTER).search(line)
        if "VXLAN" in line or "OTV, flags [" in line:  # on port 8472 tcpdump takes VXLAN for OTV
            kinds.add("vxlan")
        elif compiled(_IPIP).search(line) or compiled(_INNER_IP).search(line):
            kinds.add("ipip")
        elif outer:
            kinds.add("plain")
        if outer:
            sources.add(outer["a"])
            targets.add(outer["b"])
    if not kinds and not compiled(r"\b0 packets captured|listening on").search(text) and text.strip():
        return None
    device = compiled(r"(?:-[a-z]*i|--interface)[ =]?(?P<device>[\w.@-]+)").search(exhibit.command)
    place = exhibit.place(0, max(1, len(exhibit.lines))) if exhibit.lines else exhibit.place(0)
    return Capture(
        place,
        exhibit.host,
        device["device"] if device else "",
        exhibit.command,
        frozenset(kinds),
        frozenset(sources),
        frozenset(targets),
    )


def lost_on_the_way(picture: Picture, kind: str) -> tuple[Capture, Capture] | None:
    """A capture that shows such packets, and another one that asked for them in vain."""
    taken = captures(picture)
    shown = [capture for capture in taken if kind in capture.kinds]
    for sent in shown:
        for missed in (capture for capture in taken if _missed(capture, kind) or _all_of(sent, capture, kind)):
            elsewhere = sent.host != missed.host if sent.host and missed.host else uplink(missed.device)
            if (
                elsewhere and sent.labelled == missed.labelled
            ):  # without hosts, a silent tunnel may be on the machine where the packets arrive
                return sent, missed
    return None


def arrived(picture: Picture, kind: str) -> Capture | None:
    """Such packets seen on two hosts: the path lets them through."""
    taken = [capture for capture in captures(picture) if kind in capture.kinds and capture.host]
    labels = {capture.host: capture for capture in taken if capture.labelled}
    hosts = {capture.host: capture for capture in taken if not capture.labelled}
    for named in (hosts, labels):
        if len(named) > 1:
            return list(named.values())[-1]
    # On one host only: what another one routes to that very address arrives there.
    routes = remote_routes(picture, kind)
    met = (one for host, one in hosts.items() if _meets(one, [r for r in routes if r.host and r.host != host]))
    return next((one for one in met if not _meets(one, [r for r in routes if r.host == one.host])), None)


def _missed(capture: Capture, kind: str) -> bool:
    """It asked for such packets and shows none; of IPIP even where it shows others that were asked for beside them."""
    if not _asks_for(capture, kind):
        return False
    others = kind == "ipip" and capture.kinds == {"plain"} and uplink(capture.device)
    return not capture.kinds or (others and bool(compiled(r"proto\s*(?:\\?ipip|4|ipencap)\b").search(capture.wanted)))


def _all_of(sent: Capture, capture: Capture, kind: str) -> bool:
    """Whatever came from the sender was asked for: it shows other things from there, and nothing in IPIP."""
    if kind != "ipip" or capture.kinds != {"plain"} or not uplink(capture.device):
        return False
    asked = compiled(r"\bhost (?P<address>\d+(?:\.\d+){3})").search(capture.wanted)
    narrow = compiled(r"\b(?:port|tcp|udp|icmp|arp|proto|dst|not)\b|\s-c|\|").search(capture.wanted)
    return asked is not None and not narrow and asked["address"] in sent.sources & capture.sources


def _meets(capture: Capture, routes: list[Route]) -> bool:
    return any(route.via in capture.targets for route in routes)


def _asks_for(capture: Capture, kind: str) -> bool:
    wanted = capture.wanted
    if kind == "ipip":
        return bool(compiled(r"proto\s*(?:\\?ipip|4|ipencap)\b|\btunl|ip\[9\]").search(wanted))
    if kind == "vxlan":
        return bool(compiled(r"4789|8472|vxlan|udp").search(wanted))
    return not compiled(r"proto\s*4|4789|vxlan").search(wanted)


# Routes and encapsulation


def remote_routes(picture: Picture, kind: str) -> list[Route]:
    """Routes to other nodes' blocks: through a tunnel (`ipip`, `vxlan`), or `bare` out of the uplink."""
    return [route for route in picture.of(Route) if _route_kind(route) == kind]


def _route_kind(route: Route) -> str:
    if route.kind in ("blackhole", "unreachable", "local") or not route.device:
        return ""
    if route.device in TUNNELS:
        return TUNNELS[route.device]
    programmed = route.protocol in ("bird", "80")
    block = "/" in route.destination and route.destination != "default"
    return "bare" if programmed and block and route.via and uplink(route.device) else ""


def leads(route: Route, address: str) -> bool:
    return within(address, route.destination)


def within(address: str, network: str) -> bool:
    try:
        return ip_address(address) in ip_network(network, strict=False)
    except ValueError:
        return False


def uplink(device: str) -> bool:
    return not device.startswith(_INNER)


def pools_with(picture: Picture, kind: str) -> list[Pool | Setting]:
    """Pools that want this encapsulation, or a line of one that says so."""
    pools = [pool for pool in picture.of(Pool) if (pool.ipip if kind == "ipip" else pool.vxlan).lower() not in _OFF]
    if pools or picture.of(Pool):
        return [*pools]
    return [line for line in picture.settings(f"{kind}Mode") if unquoted(line.value) not in _OFF]


def unencapsulated(picture: Picture) -> list[Pool | Setting]:
    """Pools that send packets of one subnet, or all, as they are."""
    pools = [pool for pool in picture.of(Pool) if pool.ipip or pool.vxlan]
    if pools:
        return [pool for pool in pools if "always" not in (pool.ipip.lower(), pool.vxlan.lower())]
    lines = [*picture.settings("ipipMode"), *picture.settings("vxlanMode")]
    return [] if any(unquoted(line.value) == "always" for line in lines) else [*lines]


def unquoted(value: str) -> str:
    return value.strip("\"' ").lower()


def encapsulation(picture: Picture) -> set[str]:
    """What carries packets between nodes, as routes show it; as pools say it when no route is shown."""
    by_route = {kind for route in picture.of(Route) if (kind := _route_kind(route))}
    if by_route:
        return by_route
    by_pool = {kind for kind in ("ipip", "vxlan") if pools_with(picture, kind)}
    links = {TUNNELS[link.name] for link in picture.interfaces() if link.name in TUNNELS and link.addresses}
    return by_pool or links


# Tests


def node_addresses(picture: Picture) -> set[str]:
    known = set(picture.internal_ips().values()) | {session.peer for session in picture.of(Session)}
    told = (exhibit.text for exhibit in picture.exhibits if exhibit.prose and " via " in exhibit.text)
    known |= {match["via"] for text in told for match in compiled(_TOLD_ROUTE).finditer(text)}
    return known | {route.via for route in picture.of(Route) if route.via}


def nodes_silent(picture: Picture) -> list[Ping]:
    """Nodes that do not even answer a ping of their own address: what is sent to them ends there, in whatever cover."""
    nodes = node_addresses(picture)
    good = {ping.address for ping in picture.of(Ping) if ping.ok}
    return [ping for ping in picture.of(Ping) if not ping.ok and ping.address in nodes - good and not ping.size]


def pod_pings(picture: Picture, ok: bool) -> list[Ping]:
    others = node_addresses(picture) | _service_addresses(picture)
    pings = [ping for ping in picture.of(Ping) if ping.ok == ok and ping.address not in others]
    return [ping for ping in pings if _may_be_pod(picture, ping.address)]


def _service_addresses(picture: Picture) -> set[str]:
    """Which hardly ever answer pings."""
    return {row["ip"] for row in rows(picture, _SERVICE)}


def _may_be_pod(picture: Picture, address: str) -> bool:
    """In a pool, where pools are shown; never out in the world."""
    try:
        parsed = ip_address(address)
        pools = [ip_network(pool.cidr, strict=False) for pool in picture.of(Pool) if pool.cidr]
    except ValueError:
        return True
    same = [pool for pool in pools if pool.version == parsed.version]
    return any(parsed in pool for pool in same) if same else not parsed.is_global


def cross_node_dead(picture: Picture) -> list[object]:
    """Pods of other nodes do not even answer a ping."""
    small = [ping for ping in pod_pings(picture, False) if not ping.size or ping.size < 1000]
    return [*small, *picture.said("cross-node-dead", "same-node-only", "sent-not-received")]


def tcp_fails(picture: Picture) -> list[PortTest]:
    return [test for test in picture.of(PortTest) if test.result in ("timeout", "unreachable", "closed")]


def ping_but_no_tcp(picture: Picture) -> list[object]:
    """One address that answers pings and no connection, or somebody who says so."""
    answering = {ping.address: ping for ping in pod_pings(picture, True)}
    tests = [test for test in tcp_fails(picture) if test.port not in HOST_PORTS]
    tried = [item for t in tests if (p := answering.get(t.address)) for item in (p, t)]
    return [*tried, *picture.said("ping-works-tcp-not")]


def trouble(picture: Picture) -> list[object]:
    """Anything that says traffic of pods is broken."""
    said = picture.said(
        "cross-node-dead",
        "same-node-only",
        "ping-works-tcp-not",
        "large-packets-stall",
        "sent-not-received",
        "host-pod-dead",
        "network-lost-sometimes",
        "service-dead",
        "network-dead",
    )
    dns = [pod for pod in picture.pods_now("coredns", "kube-dns") if pod.ready == 0]
    return [*said, *[ping for ping in picture.of(Ping) if not ping.ok], *tcp_fails(picture), *dns]


def host_of(picture: Picture, hit: Hit) -> str:
    """The host of a hit: of its prompt, else the one that the log line itself names."""
    if hit.host:
        return hit.host
    return next((line.host for line in picture.of(LogLine) if line.host and line.place.first == hit.place.first), "")


def agents_fine(picture: Picture) -> bool:
    """Agents are shown, and all of them are ready now."""
    agents = picture.agents_now()
    return bool(agents) and all(pod.all_ready for pod in agents)

"""On which side of the path a capture was made: at the sender, whose card fills in sums later, or at the receiver."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import (
    Capture,
    captures,
    compiled,
    lost_on_the_way,
    node_addresses,
    remote_routes,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Ping, PortTest, Route, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit

_PACKET: Final = r"(\d+(?:\.\d+){3})\.\d+ > (\d+(?:\.\d+){3})\.\d+: \[bad udp"
# How far above an output its announcement may stand, and how much of it is looked at.
_GAP: Final = 3
_LINES: Final = 3
_LONGEST: Final = 400
_THING: Final = r"(?:side|end|node|worker|host|machine|server|vm|box|hypervisor)"
_AT: Final = r"\b(?:on|at|from|by) (?:the |its |his |our |that )?(?:\w{1,12} )?"
_HEAD: Final = r"^\W{0,6}(?:\d{1,2}[.)] ?)?"
_DENIED: Final = r"(?:\bnot|n't|\bno|\bnever|\bcannot|\bwithout|没有?|未|无法|不能|不是)[^.;,，。；]{0,30}$"
_FAR: Final = rf"(?:receiv(?:er|ing)|destination|target|dst|peer|far)\b(?: {_THING})?"
_NEAR: Final = rf"(?:send(?:er|ing)|source|src|originating|near)\b(?: {_THING})?"
# Where what is asked for runs; of a client nobody says so.
_SERVED: Final = (
    r"\b(?:where|which|that|there) (?:the |my |its |this )?(?:(?!client|source|test|curl|busybox)[\w-]{1,20} )?"
    r"(?:(?:pod|backend|endpoint|server|replica|service)s? (?:is|are|runs?|sits|lives)\b"
    r"|(?:runs?|hosts|is running|holds) (?:the )?(?:\w{1,16} )?(?:pod|backend|endpoint|server|coredns|kube-dns|dns)\b)"
    r"|\bthere runs (?:the )?(?:coredns|dns|backend|server)\b"
    r"|(?:后端|服务端|目标|被访问的?|coredns) ?(?:的)? ?(?:pod)? ?所在(?:的)?(?:节点|机器|主机|node)"
)
_FAR_ZH: Final = r"(?:目标|目的|接收|对端|对方|收包|宿端)(?:端|侧|方|的)?(?:节点|机器|主机|服务器|虚机|node|worker)?"
_NEAR_ZH: Final = (
    r"(?:源端|源节点|源主机|发送|发起|本端|发包)(?:端|侧|方|的)?(?:节点|机器|主机|服务器|虚机|node|worker)?"
)
# 发往目标节点的包 tells where packets go; 在目标节点抓包 tells where they were caught.
_ZH_AT: Final = (
    r"(?:在|于|从|登录|登陆|切到)(?:了)?{0}|(?:^|[，。；：:,;（(、\]\s]){0}(?:上|处|这边|那边)?(?:也|再|同时|先)?(?:抓|tcpdump|的抓)"
    r"|(?<![发送转传])到{0}(?:上|去|那边)?(?:也|再)?抓"
)


def _told(english: str, chinese: str) -> str:
    heading = rf"{_HEAD}(?:{english}|{chinese})[^.;，。；]{{0,40}}[:：]?\s*$"
    return rf"{_AT}{english}|{heading}|{_ZH_AT.format(chinese)}"


_AT_RECEIVER: Final = lazily(rf"{_told(_FAR, _FAR_ZH)}|{_SERVED}")
_AT_SENDER: Final = lazily(_told(_NEAR, _NEAR_ZH))
_IS_DENIED: Final = lazily(_DENIED)
_INNER: Final = lazily(r"(?:\d{1,3}\.){3}\d{1,3}\.(?P<from>\d{1,5}) > (?:\d{1,3}\.){3}\d{1,3}\.(?P<to>\d{1,5}):")
_EC2_NAME: Final = lazily(r"^ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?:\.|$)")  # made of its address
_NODE_PORTS: Final = range(30000, 32768)  # whoever is asked there passes it on, and is a sender
_ADDRESS: Final = lazily(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
# A number of one digit may count anything.
_NUMBER: Final = lazily(
    rf"{_AT}(?:[a-z]{{1,12}}[- ]?)?\.?(\d{{2,3}})(?![\d.])"
    r"|(?:在|到|于) ?\.?(\d{2,3})(?![\d.]) ?(?:上|这台|那台|号)?(?:机器)?(?:也|再)?抓"
)


def side_of(picture: Picture, hit: Hit) -> str:
    """`sender` where the source is that host's own address, `receiver` where the target is; else as it is told."""
    start = compiled(_PACKET).search(hit.line)
    taken = _taken(picture, hit.place)
    sources, targets = ({start[1]}, {start[2]}) if start else (set(), set())
    if taken and not start:
        sources, targets = set(taken.sources), set(taken.targets)
    if taken:
        own, others = _own(picture, hit.host), _elsewhere(picture, hit.host)
        if targets & own or (sources & others and not targets & others):
            return "receiver"
        if sources & own or targets & others:
            return "sender"
    told = told_side(picture, hit.place) or _by_name(announcement(picture, hit.place), sources, targets)
    told = told or _by_others(picture, hit.host, sources, targets) or _by_request(picture, hit)
    return told or ("sender" if _lost_from(picture, hit.host) else "unknown")


def _lost_from(picture: Picture, host: str) -> bool:
    """Another machine asked for such packets and saw none: what is seen here has not come from there."""
    lost = lost_on_the_way(picture, "vxlan") if host else None
    return lost is not None and lost[0].host == host and lost[1].host not in ("", host)


def _by_request(picture: Picture, hit: Hit) -> str:
    """A request of another machine is what the packet carries: so it arrives here."""
    shown = exhibit_at(picture, hit.place)
    if shown is None or not hit.host:
        return ""
    own = node_addresses(picture)
    tests = [test for test in picture.of(PortTest) if test.host and not test.pod and test.address not in own]
    ports = {(test.host, str(test.port)) for test in tests if test.port not in _NODE_PORTS}
    ports |= {(one.host, "53") for one in picture.of(Setting) if one.scope == "dns" and one.host}
    askers = {host for host, _ in ports}
    if not askers or hit.host in askers:
        return ""
    at = next((index for index, _ in enumerate(shown.lines) if shown.place(index).first >= hit.place.first), 0)
    inner = next((match for line in shown.lines[at + 1 : at + 4] if (match := _INNER.search(line))), None)
    asked = inner is not None and (inner["to"] in {port for _, port in ports} or "Flags [S]," in inner.string)
    return "receiver" if asked and inner is not None and inner["to"] not in ("4789", "8472") else ""


def _taken(picture: Picture, place: Place) -> Capture | None:
    of_source = (capture for capture in captures(picture) if capture.place.source == place.source)
    return next((one for one in of_source if one.place.first <= place.first <= one.place.last), None)


def _own(picture: Picture, host: str) -> set[str]:
    own = {picture.internal_ips().get(host, "")} - {""}
    if named := _EC2_NAME.match(host):
        own.add(".".join(named.groups()))
    if host:
        own |= {address.split("/")[0] for link in picture.interfaces(host) for address in link.addresses}
    return own


def _elsewhere(picture: Picture, host: str) -> set[str]:
    """Addresses of other nodes, as seen from a host: those its routes lead to, and those that others own."""
    if not host:
        return set()
    via = {route.via for route in picture.of(Route) if route.host == host and route.via}
    return via | {ip for name, ip in picture.internal_ips().items() if host in picture.internal_ips() and name != host}


def _by_others(picture: Picture, host: str, sources: set[str], targets: set[str]) -> str:
    """Another host has routes to one end and none to the other, which is then its own; or it pings one end."""
    if not host:
        return ""
    routes = [route for kind in ("vxlan", "ipip") for route in remote_routes(picture, kind)]
    for other in {route.host for route in routes if route.host} - {host}:
        met = {route.via for route in routes if route.host == other}
        if bool(sources & met) != bool(targets & met):
            return "receiver" if targets & met else "sender"
    pinged = {ping.address for ping in picture.of(Ping) if ping.host and ping.host != host}
    if bool(sources & pinged) != bool(targets & pinged):
        return "receiver" if targets & pinged else ""
    return ""


def _by_name(text: str, sources: set[str], targets: set[str]) -> str:
    """People call a machine by its address, or by the last number of it: 在 113 抓的, `on .113`."""
    near, far = (any(_names(text, address) for address in ends) for ends in (sources, targets))
    return "" if near == far else "receiver" if far else "sender"


def _names(text: str, address: str) -> bool:
    if any(match.group() == address for match in _ADDRESS.finditer(text)):
        return True
    last = address.rpartition(".")[2]
    return any(last in match.groups() for match in _NUMBER.finditer(text))


def told_side(picture: Picture, place: Place) -> str:
    """What the sentence or heading right above an output says of where it was taken; empty where it names both."""
    text = announcement(picture, place)
    far = any(not _IS_DENIED.search(text[: match.start()]) for match in _AT_RECEIVER.finditer(text))
    near = any(not _IS_DENIED.search(text[: match.start()]) for match in _AT_SENDER.finditer(text))
    return "" if far == near else "receiver" if far else "sender"


def announcement(picture: Picture, place: Place) -> str:
    """The last lines of prose above an output, and the comment behind its command."""
    shown = _exhibit_of(picture, place)
    if shown is None:
        return ""
    start = min((*shown.command_lines, shown.number(0)))
    before = [one for one in picture.exhibits if one.source == shown.source and one.lines and one.number(0) < start]
    last = max(before, key=lambda one: one.number(0), default=None)
    comment = shown.command.partition(" #")[2]
    if last is None or not last.prose or start - last.number(len(last.lines) - 1) > _GAP:
        return comment[:_LONGEST].lower()
    said = " ".join(line.strip() for line in [line for line in last.lines if line.strip()][-_LINES:])
    return f"{said[-_LONGEST:]}\n{comment[:_LONGEST]}".lower().strip()


def _exhibit_of(picture: Picture, place: Place) -> Exhibit | None:
    of_source = (one for one in picture.exhibits if one.source == place.source and one.lines and not one.prose)
    return next((one for one in of_source if one.number(0) <= place.first <= one.number(len(one.lines) - 1)), None)

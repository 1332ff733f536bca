"""Captures that people tell instead of showing them: packets leave one machine, and the other one sees none.

They say it in one sentence, in two, or as a list with a line for each end, so that neither line says it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import encapsulation
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_LONGEST: Final = 400  # characters of a line that are looked at
_WINDOW: Final = 5  # parts between the two ends
_LINES: Final = 6  # lines between what was captured, how, and the second end
PARTS: Final = lazily(r"[;,，；。!?？！]|\.\s|\s[-—–>/|]+\s|\bbut\b|\bwhile\b|\bwhereas\b|但是?|而(?=在|对)")
_CAPTURED: Final = lazily(r"tcpdump|tshark|wireshark|captur|sniff|抓包|抓取|抓到|抓", re.IGNORECASE)
_THING: Final = r"(?:side|end|node|worker|host|machine|server|vm|box|hypervisor|instance|one)"
# Such a list right below an output looks like more of it.
_LABEL: Final = lazily(
    r"^\W{0,6}(?:tcpdump|capture|(?:on |at )?(?:the )?(?:send|receiv|source|src|dest|dst|target|peer|remote|other)"
    rf"\w* ?{_THING}?)"
    r"[^:=]{0,40}[:=]",
    re.IGNORECASE,
)
FAR: Final = lazily(
    rf"\b(?:receiv(?:er|ing)|destination|target|dst|peer|remote|other|second) ?(?:{_THING})?\b"
    r"|对端|对方|接收|目标|目的|对面|另一(?:台|个|端|侧)",
    re.IGNORECASE,
)
SILENT: Final = lazily(
    r"\bnothing\b|\bno (?:\w+ )?(?:packets?|traffic)\b|\bnone\b|\bsilen(?:t|ce)\b|\bempty\b|\b(?:0|zero) packets\b"
    r"|\bnever (?:arriv|show|see|reach|get|come)\w*|(?:\b(?:do|does|did)(?: not|n't)|\bcan(?:not|'t)) "
    r"(?:arriv|show|see|reach|get|come|receiv|captur)\w*|\bnot (?:arriv|seen|there|receiv|com)\w*"
    r"|什么(?:都|也)没|没有(?:任何)?(?:收到|抓到|看到|包|报文|数据|流量|输出)?|没(?:收到|抓到|看到)|收不到|抓不到|看不到|一个包(?:都|也)没|无(?:任何)?(?:包|报文|输出)",
    re.IGNORECASE,
)
_LEAVES: Final = lazily(
    r"\b(?:go(?:es|ing)?|sen[dt]s?|sending|left|get(?:s|ting)?) (?:\w+ ){0,3}?"
    r"(?:out|eth\d|ens\w+|via|through|node|host|it|uplink)\b"
    r"|\bleav(?:e|es|ing)\b|\bsends\b|\bbeing sent\b|\bare sent\b|\boutgoing\b"
    r"|\b(?:sees?|shows?) (?:\S+ ){0,4}?(?:packets?|traffic|requests?|them|it)\b"
    r"|\b(?:packets?|traffic|requests?) (?:is|are) (?:visible|seen|there)\b"
    r"|发出|出去|发送出|有(?:包|报文|流量)|(?:能|可以)(?:看到|抓到)|看到(?:了)?(?:包|报文)",
    re.IGNORECASE,
)
# What comes to the card and not to the pod is lost on that machine, not on the way.
LOCAL: Final = lazily(
    r"\bcali\w*|\bveth|\bin(?:side)? the pod\b|\bpod'?s? (?:interface|eth0)|容器内|pod ?内", re.IGNORECASE
)
CAME: Final = lazily(
    r"\b(?:arriv|reach|com|get|show)\w* (?:\w+ ){0,3}?"
    r"(?:eth\d|ens\w+|bond\d|nic\b|card|uplink|there|at the (?:receiv|dest|target|other))"
    r"|到达?了?(?:网卡|eth\d|对端)",
    re.IGNORECASE,
)
_OF: Final = {
    "ipip": lazily(
        r"(?a:\bproto(?:col)?(?: number)?[ =]?\\?(?:4|ipip|ipencap)\b|\bip-?ip\b|\bip-in-ip\b|\btunl0\b)"
        r"|协议号?[ 为是]?4(?!\d)",
        re.IGNORECASE,
    ),
    "vxlan": lazily(r"(?<!\d)(?:4789|8472)(?!\d)|(?a:\bvxlan\b)", re.IGNORECASE),
}


_CARD: Final = lazily(
    rf"(?:eth|ens|enp|eno|bond|tunl|vxlan|cali|proto|tcpdump|(?:{_THING}|both|it|that|this|all|each|any|private|public|port|ports|udp|tcp|icmp|ip|which|top)$)"
)
_NOT_USED: Final = lazily(
    r"(?:\bipip|\bvxlan|\bencapsulation)(?:mode)? ?(?:is |are |=|:)? ?[\"'`]?(?:off|never|disabled|none|not used)\b"
    r"|\b(?:no|without(?: any)?|disabled?|un) ?-?(?:ipip|ip-in-ip|vxlan|tunnel|encapsulat\w+)\b"
    r"|(?:关闭|没有?|不用|禁用)了? ?(?:ipip|vxlan|封装|隧道)"
)
# People call the ends by names or letters: `on node2`, 在 B 虚机.
_NAMED: Final = lazily(
    r"^\W{0,6}(?P<label>[a-z][a-z.-]{0,30}\d[\w.-]{0,20})(?: \([^()]{1,40}\))? ?[:：]|"
    rf"\b(?:on|at|from) (?:the |an? |my |our |one )?(?:{_THING} )?(?P<on>[a-z0-9][\w.-]{{0,30}})"
    r"|(?:在|从|到|于)? ?(?P<zh>[a-z0-9][a-z0-9_.-]{0,30}) ?(?:虚机|虚拟机|机器|节点|主机|服务器|云主机|上)"
    r"|(?:虚机|虚拟机|机器|节点|主机|服务器) ?(?P<behind>[a-z0-9]{1,30})"
)


class Part(NamedTuple):
    """A clause of prose, and its line."""

    text: str
    place: Place
    line: int


def told_lost(picture: Picture, kind: str) -> list[Place]:
    """The lines that say it: where packets leave, and where none come."""
    parts = _parts(picture)
    for index, far in enumerate(parts):
        name = _end(far.text)
        if not (SILENT.search(far.text) and (name or FAR.search(far.text))) or LOCAL.search(far.text):
            continue
        before = [one for one in parts[max(0, index - _WINDOW) : index] if _near(one, far)]
        left = next((one for one in reversed(before) if _LEAVES.search(one.text) and not SILENT.search(one.text)), None)
        if left is None or FAR.search(left.text) or LOCAL.search(left.text):
            continue
        if not FAR.search(far.text) and _end(left.text) in ("", name):
            continue
        around = [one for one in parts[max(0, index - 3 * _WINDOW) : index + _WINDOW] if _near(one, far)]
        if _is_of(picture, " ".join(one.text for one in around), kind) and not _came_in(around, far):
            return list(dict.fromkeys((left.place, far.place)))
    return []


def _end(text: str) -> str:
    """The machine that a clause names; a card of it is not one."""
    for match in _NAMED.finditer(text):
        name = next(group for group in match.groups() if group)
        if not _CARD.match(name):
            return name
    return ""


def _near(one: Part, other: Part) -> bool:
    return one.place.source == other.place.source and abs(one.line - other.line) <= _LINES


def _is_of(picture: Picture, text: str, kind: str) -> bool:
    """They name what was captured, or it can be nothing else, since packets of this cluster have no other cover."""
    if not _CAPTURED.search(text):
        return False
    text = _NOT_USED.sub(" ", text)
    named = {name for name, pattern in _OF.items() if pattern.search(text)}
    if named or kind != "bare":
        return named == {kind} if named else encapsulation(picture) == {kind}
    kinds = encapsulation(picture)
    return kinds == {"bare"} or (not kinds and says_plain(picture))


def says_plain(picture: Picture) -> bool:
    """Somebody says that packets between nodes have no cover."""
    return any(exhibit.prose and _NOT_USED.search(exhibit.text.lower()) for exhibit in picture.exhibits)


def _came_in(around: list[Part], far: Part) -> bool:
    later = [one for one in around if one.line >= far.line]
    return any(CAME.search(one.text) and not SILENT.search(one.text) for one in later)


@remembered
def _parts(picture: Picture) -> tuple[Part, ...]:
    if not any(_CAPTURED.search(exhibit.text) for exhibit in picture.exhibits):
        return ()
    return tuple(_split(picture))


def _split(picture: Picture) -> Iterator[Part]:
    for exhibit in picture.exhibits:
        for index, raw in enumerate(exhibit.lines):
            if not exhibit.prose and not _LABEL.match(raw):
                continue
            for text in PARTS.split(raw[:_LONGEST]):
                if text.strip():
                    yield Part(text.strip().lower(), exhibit.place(index), exhibit.number(index))

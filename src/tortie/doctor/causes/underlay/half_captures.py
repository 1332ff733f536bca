"""Captures of which only one half is shown: packets leave one machine, and of the other end a person says what came.

`On 10.1.0.7 I see nothing of it`, `worker 1, same filter: only the BGP lines`: below such packets, in a sentence of its
own, or among the lines of the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.underlay.told_captures import CAME, FAR, LOCAL, PARTS, SILENT
from tortie.doctor.causes.underlay.traffic_evidence import leads, remote_routes, within
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_LONGEST: Final = 400  # characters of a line that are looked at
_GAP: Final = 8  # lines between the packets and what is said of the other end
_PACKET: Final = lazily(
    r"^\s{0,8}(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3,6} (?:\S{1,20} +(?:In|Out|B|M) +)?IP "
    r"(?P<a>\d{1,3}(?:\.\d{1,3}){3})(?:\.\d{1,5})? > (?P<b>\d{1,3}(?:\.\d{1,3}){3})(?:\.\d{1,5})?: (?P<rest>.{0,200})"
)
_IPIP: Final = lazily(r"^IP \d|\(ipip|^ip-proto-4\b|^IP-?ENCAP|^ipencap", re.IGNORECASE)
_COVERED: Final = lazily(r"VXLAN|^OTV|^GREv|^ESP|^IP \d|\(ipip|proto-4", re.IGNORECASE)
_CALICO_CARD: Final = lazily(r"\b(?:cali[0-9a-f]\w*|tunl0|vxlan\.calico|wireguard\.cali|any)\b")
# What is not there: an answer, a line of a log, a counter. That is another observation.
_OTHER: Final = lazily(
    r"\b(?:log|logs|dmesg|journal\w*|iptables|nft\w*|conntrack|arp|events?|errors?|rules?|denied)\b"
    r"|\b(?:repl(?:y|ies)|answers?|responses?|back|return\w*)\b|日志|规则|回包|响应|应答|返回|报错",
    re.IGNORECASE,
)
_ABOUT: Final = lazily(
    r"tcpdump|captur|sniff|filter|packets?\b|proto|ip-?ip|vxlan|\beth\d|\bens\d|\bbond\d|\b(?:see|seen|saw|sees)\b"
    r"|arriv|\bshows?\b|\bnothing (?:of|with|from|for)\b|抓|收到|看到|报文|包",
    re.IGNORECASE,
)
_ADDRESS: Final = lazily(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_WORDS: Final = lazily(r"[\w.-]{1,253}")
_NEAR: Final = lazily(
    r"\b(?:both|either|neither|send(?:er|ing)|source|src|this (?:node|host|side))\b|两端|两边|源端|本机"
)


class Shown(NamedTuple):
    """Packets of one kind in an output, and to whom they go."""

    places: tuple[Place, ...]
    last: int  # the line of the last one
    host: str
    sources: frozenset[str]
    targets: frozenset[str]


def told_opposite(picture: Picture, kind: str) -> list[Place]:
    """Where such packets leave, and where somebody says that none of them came to the other end."""
    for shown in _shown(picture, kind):
        if said := _said(picture, shown):
            return [*shown.places[:1], said]
    return []


def _shown(picture: Picture, kind: str) -> Iterator[Shown]:
    for exhibit in picture.exhibits:
        if " > " not in exhibit.text or _CALICO_CARD.search(exhibit.command):
            continue
        found = [
            (index, match)
            for index, line in enumerate(exhibit.lines)
            if (match := _PACKET.match(line[:_LONGEST])) and _is_of(match["rest"], kind)
        ]
        if kind == "plain":
            found = [(index, match) for index, match in found if _of_pods(picture, match["a"], match["b"])]
        if found:
            targets = frozenset(match["b"] for _, match in found)
            yield Shown(
                tuple(exhibit.place(index) for index, _ in found),
                exhibit.number(found[-1][0]),
                exhibit.host,
                frozenset(match["a"] for _, match in found),
                targets | _through(picture, targets),
            )


def _is_of(rest: str, kind: str) -> bool:
    return _IPIP.search(rest) is not None if kind == "ipip" else not _COVERED.search(rest)


def _of_pods(picture: Picture, *addresses: str) -> bool:
    """What nodes say to each other passes any such check."""
    routes = remote_routes(picture, "bare")
    pools = [pool.cidr for pool in picture.pools_now() if pool.cidr]
    return any(leads(route, address) for route in routes for address in addresses) or any(
        within(address, pool) for pool in pools for address in addresses
    )


def _through(picture: Picture, targets: frozenset[str]) -> frozenset[str]:
    """Nodes by which pods are reached, where packets carry the addresses of pods."""
    routes = remote_routes(picture, "bare")
    return frozenset(route.via for route in routes for address in targets if leads(route, address))


def _said(picture: Picture, shown: Shown) -> Place | None:
    source = shown.places[0].source
    for exhibit in picture.exhibits:
        if exhibit.source != source:
            continue
        for index, raw in enumerate(exhibit.lines):
            if 0 < exhibit.number(index) - shown.last <= _GAP and _none_came(picture, raw[:_LONGEST], shown, exhibit):
                return exhibit.place(index)
    return None


def _none_came(picture: Picture, line: str, shown: Shown, exhibit: Exhibit) -> bool:
    if _PACKET.match(line) or not SILENT.search(line) or LOCAL.search(line) or not _ABOUT.search(line):
        return False
    clauses = [part for part in PARTS.split(line.lower()) if part.strip()]
    silent = [part for part in clauses if SILENT.search(part)]
    if all(_OTHER.search(part) for part in silent) or any(CAME.search(p) for p in clauses if p not in silent):
        return False
    return _of_far(picture, line, shown, exhibit)


def _of_far(picture: Picture, line: str, shown: Shown, exhibit: Exhibit) -> bool:
    """The line names where the packets go, or stands in the output of a machine that did not send them."""
    named = set(_ADDRESS.findall(line))
    own = {name for name, address in picture.internal_ips().items() if address in shown.sources} | {shown.host}
    if named & shown.sources or _NEAR.search(line) or any(name and _word(name, line) for name in own):
        return False
    far = {name for name, address in picture.internal_ips().items() if address in shown.targets}
    if named & shown.targets or FAR.search(line) or any(_word(name, line) for name in far):
        return True
    elsewhere = bool(shown.host and exhibit.host) and exhibit.host != shown.host
    return elsewhere and "tcpdump" in exhibit.command and not _CALICO_CARD.search(exhibit.command)


def _word(name: str, line: str) -> bool:
    return any(word.rstrip(".") == name for word in _WORDS.findall(line))

"""Routes and routing rules of a machine: ip route, ip route get, route -n, netstat -rn, ip rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Route, RoutingRule
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, ran, rows, segments, words_after

_ROUTE: Final = lazily(
    rf"^(?:(blackhole|unreachable|prohibit|throw|local|broadcast|multicast|anycast|unicast) )?(default|{IP}(?:/\d+)?)"
    r"(?= |$)(.*)$"
)
# Asked for one protocol's routes only, ip does not repeat its name in every row.
_ASKED: Final = lazily(
    r"\bip (?:-\S{1,30} ){0,8}r(?:o|oute)? (?:s(?:how)?|l(?:s|ist)?) (?:\S{1,60} ){0,8}?proto (\w{1,20})"
)
_RULE: Final = lazily(r"^(\d+):\s++(.*?)(?<=\S)\s{1,40}lookup (\S+)")
_NEIGHBOUR: Final = ("REACHABLE", "STALE", "DELAY", "PROBE", "FAILED", "INCOMPLETE", "PERMANENT", "NOARP")
_REFUSALS: Final = ("Network is unreachable", "No route to host", "Host is unreachable", "Invalid argument")


def routes_and_rules(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if " dev " in text or "blackhole " in text or "unreachable " in text or "prohibit " in text:
        yield from _routes(exhibit)
    if "Genmask" in text or ran(exhibit, "route", "netstat"):
        yield from _old_routes(exhibit)
    if "RTNETLINK answers" in text and "route get" in _squeezed(exhibit.command):
        yield from _refusals(exhibit)
    if " lookup " in text:
        yield from _rules(exhibit)


def _squeezed(command: str) -> str:
    return re.sub(r"\bip (?:-\S{1,30} ){0,8}r(?:o|oute)? g(?:et)? ", "ip route get ", " ".join(command.split()))


def _routes(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _ASKED.search(exhibit.command)
    for index, line in rows(exhibit):
        if " dev " not in line and not line.startswith(("blackhole", "unreachable", "prohibit", "throw")):
            continue
        match = _ROUTE.match(line)
        if not match:
            continue
        words = match[3].split()
        if (words and words[-1] in _NEIGHBOUR) or "lladdr" in words:
            continue
        yield Route(
            exhibit.place(index),
            match[2],
            exhibit.host,
            _after(words, "via"),
            _after(words, "dev"),
            _after(words, "proto") or (asked[1] if asked else ""),
            match[1] or "",
            _after(words, "table"),
            line,
        )


def _after(words: list[str], name: str) -> str:
    if name not in words[:-1]:
        return ""
    at = words.index(name) + 1
    if words[at] in ("inet", "inet6") and at + 1 < len(words):  # via inet6 fe80::1
        at += 1
    return words[at]


def _old_routes(exhibit: Exhibit) -> Iterator[Fact]:
    """`Destination Gateway Genmask Flags ... Iface`, the header may be cut off."""
    for index, line in rows(exhibit):
        words = line.split()
        if len(words) != 8 or words[2].count(".") != 3 or (not words[0][0].isdigit() and words[0] != "default"):
            continue
        if words[1].count(".") != 3 and words[1] not in ("-", "*"):
            continue
        length = sum(bin(int(part)).count("1") for part in words[2].split(".") if part.isdecimal())
        destination = "default" if words[0] in ("0.0.0.0", "default") and not length else f"{words[0]}/{length}"
        via = "" if words[1] in ("0.0.0.0", "*", "-") else words[1]
        # A black hole has no link, and no other mark: net-tools does not know the kinds of routes.
        kind = "unreachable" if "!" in words[3] else "blackhole" if words[7] == "*" and not via else ""
        device = "" if words[7] in ("-", "*") else words[7]
        yield Route(exhibit.place(index), destination, exhibit.host, via, device, "", kind, "", line)


def _refusals(exhibit: Exhibit) -> Iterator[Fact]:
    asked = []
    for segment in segments(_squeezed(exhibit.command)):
        words = words_after(segment, "ip")
        if "get" in words[:-1]:
            asked.append(words[words.index("get") + 1])
    refused = [(index, line) for index, line in rows(exhibit) if "RTNETLINK answers" in line]
    for (index, line), destination in zip(refused, asked, strict=False):
        if any(words in line for words in _REFUSALS):
            yield Route(exhibit.place(index), destination, exhibit.host, kind="unreachable", text=line)


def _rules(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _RULE.match(line) if line[0].isdigit() and " lookup " in line else None
        if match:
            yield RoutingRule(exhibit.place(index), int(match[1]), match[2], match[3], exhibit.host)

"""ping, arping and questions to a name server; the scopes of the settings are told in trials.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Ping, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, option, ran, rows, segments, words_after

_HEAD: Final = lazily(rf"^PING (\S+)(?: \(({IP})\))?[^\d]*(\d+)?(?:\(\d+\))?")
_REPLY: Final = lazily(r"^\d+ bytes from ")
_STATS: Final = lazily(
    r"(?<!\d)(\d{1,12})(?: packets)? transmitted, (\d{1,12})(?: packets)? received.{0,120}?([\d.]{1,8})% packet loss"
)
_OF: Final = lazily(r"^--- (\S+) ping statistics")
_FAILS: Final = (
    "Destination Host Unreachable",
    "Destination Net Unreachable",
    "Network is unreachable",
    "essage too long",
    "Frag needed",
    "Operation not permitted",
    "bad address",
    "Name or service not known",
    "100% packet loss",
    "admin prohibited",
    "Packet filtered",
)
_DEFAULT = 56  # bytes of payload when nobody asks for another size
_ARP_REPLY: Final = lazily(rf"(?:reply|bytes) from ({IP})? ?[\[(]?((?:[0-9a-f]{{2}}:){{5}}[0-9a-f]{{2}})", re.I)
_HAS: Final = lazily(rf"^(\S+?)\.? has (?:IPv6 )?address ({IP})$")
_SERVER: Final = lazily(r"(?:can't find|Host) (\S+?):? (?:not found: \d\()?(NXDOMAIN|SERVFAIL|REFUSED|No answer)")
_ANSWER: Final = lazily(rf"^(\S+?)\.?\s+(?:\d+\s+)?IN\s+(?:A|AAAA)\s+({IP})$")
_HOSTS: Final = lazily(rf"^({IP})\s+(?:STREAM\s+|DGRAM\s+|RAW\s+)?(\S+.*)$")


def pings(exhibit: Exhibit) -> Iterator[Fact]:
    if ran(exhibit, "arping") or "ARPING " in exhibit.text:
        yield from _arpings(exhibit)
        return
    asked = _asked(exhibit.command)
    text = exhibit.text
    if not asked and "PING " not in text and "packet loss" not in text and "ping: " not in text:
        return
    yield from _pings(exhibit, asked)


def _asked(command: str) -> list[tuple[str, int | None]]:
    if "ping" not in command:
        return []
    found: list[tuple[str, int | None]] = []
    for segment in segments(command):
        words = words_after(segment, "ping", "ping6")
        taken = {option(words, name) for name in ("-c", "-W", "-w", "-s", "-i", "-M", "-I", "-t")} - {""}
        plain = [word for word in words if not word.startswith("-") and word not in taken]
        if plain:
            size = option(words, "-s")
            found.append((plain[-1], int(size) if size.isdecimal() else None))
    return found


class _Try:
    def __init__(self, address: str, size: int | None, index: int) -> None:
        self.address, self.size, self.index = address, size, index
        self.ok: bool | None = None
        self.text = ""


def _pings(exhibit: Exhibit, asked: list[tuple[str, int | None]]) -> Iterator[Fact]:
    tries: list[_Try] = []

    def current(index: int, *, fresh: bool = False) -> _Try:
        if not tries or fresh:
            address, size = asked[min(len(tries), len(asked) - 1)] if asked else ("", None)
            tries.append(_Try(address, size, index))
        return tries[-1]

    for index, line in rows(exhibit):
        head = _HEAD.match(line) if line.startswith("PING ") else None
        if head:
            one = current(index, fresh=not tries or bool(tries[-1].text))
            one.address = head[2] or head[1] if not one.address or head[2] else one.address
            if head[3] and int(head[3]) != _DEFAULT and one.size is None:
                one.size = int(head[3])
            one.text, one.index = line, index
        elif (_REPLY.match(line) and "icmp_seq" in line) or line.startswith("64 bytes from "):
            one = current(index)
            one.ok, one.text, one.index = True, line, index
            one.address = one.address or line.split(" from ")[1].split()[0].strip(":()")
        elif stats := _STATS.search(line):
            fresh = bool(tries) and not tries[-1].text.startswith(("PING", "---")) and _closed(tries[-1].text)
            one = current(index, fresh=fresh)
            one.ok, one.text, one.index = int(stats[2]) > 0, line, index
        elif of := _OF.match(line):
            one = current(index, fresh=bool(tries) and _closed(tries[-1].text))
            one.address, one.text = one.address or of[1], one.text or line
        elif any(words in line for words in _FAILS) and (asked or line.startswith(("ping:", "From "))):
            one = current(index)
            if not one.ok:
                one.ok, one.text, one.index = False, line, index
    for one in tries:
        if one.address and (one.ok is not None or one.text.startswith("PING ")):
            yield Ping(exhibit.place(one.index), one.address, bool(one.ok), exhibit.host, one.size, one.text)


def _closed(text: str) -> bool:
    return "transmitted" in text


def _arpings(exhibit: Exhibit) -> Iterator[Fact]:
    address, seen = "", set[str]()
    for segment in segments(exhibit.command):
        words = [word for word in words_after(segment, "arping") if re.fullmatch(IP, word)]
        address = words[-1] if words else address
    for index, line in rows(exhibit):
        match = _ARP_REPLY.search(line)
        if match and match[2].lower() not in seen:
            seen.add(match[2].lower())
            yield Setting(exhibit.place(index), "arping", match[1] or address, match[2].lower(), "", exhibit.host)
        elif re.search(r"Received 0 (?:response|repl)|100% unanswered", line) and not seen:
            yield Setting(exhibit.place(index), "arping", address, "none", "", exhibit.host)


def lookups(exhibit: Exhibit) -> Iterator[Fact]:
    """dig, nslookup, host, getent."""
    tool = next((name for name in ("dig", "nslookup", "getent", "host") if ran(exhibit, name)), "")
    text = exhibit.text
    if not tool and not any(words in text for words in ("can't find", "no servers could be reached", "status: ")):
        return
    asked = ""
    for segment in segments(exhibit.command):
        words = words_after(segment, tool) if tool else []
        plain = [w for w in words if w[0] not in "-+@" and w not in ("hosts", "ahosts", "ahostsv4", "A", "AAAA", "in")]
        asked = plain[0].rstrip(".") if plain else asked
    name = ""
    for index, line in rows(exhibit):
        value = ""
        if server := _SERVER.search(line):
            name, value = server[1].rstrip("."), server[2]
        elif "no servers could be reached" in line or ("connection timed out" in line and tool):
            name, value = asked, "timeout"
        elif tool == "dig" and (status := re.search(r"status: (NXDOMAIN|SERVFAIL|REFUSED)", line)):
            name, value = asked, status[1]
        elif answer := _ANSWER.match(line) or _HAS.match(line):
            name, value = answer[1], answer[2]
        elif tool == "getent" and (hosts := _HOSTS.match(line)):
            name, value = hosts[2].split()[0] if " STREAM" not in line else asked or hosts[2], hosts[1]
        elif tool == "dig" and re.fullmatch(IP, line):
            name, value = asked, line
        elif line.startswith("Name:"):
            name = line[5:].strip().rstrip(".")
        elif line.startswith("Address") and name and tool == "nslookup":
            match = re.search(rf"({IP})\s*$|: ({IP}) \S+$", line)
            value = (match[1] or match[2]) if match else ""
        if value and name:
            yield Setting(exhibit.place(index), "dns", name, value, tool, exhibit.host)

"""Listening sockets and who owns them: ss, netstat, lsof. Connections are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Listener
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows

_SS: Final = lazily(
    r"^(?:(?:tcp|udp|u_str)\s+)?(?:LISTEN|UNCONN)\s+\d+\s+\d+\s+(\S+):(\S+)\s+\S+:\S*(?:\s+users:\(\((.*))?"
)
_NETSTAT: Final = lazily(
    r"^(?:tcp|udp)6?\s+\d+\s+\d+\s+(\S+):(\d+)\s+\S+:(?:\*|\d+)\s+(?:(LISTEN)\s*)?(?:(\d+)/([^\s:]+)|-)?"
)
_LSOF: Final = lazily(r"^(\S+)\s+\d+\s.*\b(?:TCP|UDP) (\S+):(\w+)(?: \((LISTEN)\))?$")
_NAMES: Final = {"bgp": 179, "ssh": 22, "http": 80, "https": 443, "domain": 53, "sunrpc": 111, "etcd-client": 2379}


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if "LISTEN" not in text and "UNCONN" not in text and "udp " not in text and "UDP " not in text:
        return
    for index, line in rows(exhibit):
        if line.startswith(("LISTEN", "UNCONN", "tcp", "udp")):
            found = _from_ss(line) or _from_netstat(line)
        elif " TCP " in line or " UDP " in line:
            found = _from_lsof(line)
        else:
            continue
        if found:
            address, port, program = found
            yield Listener(exhibit.place(index), port, address, program, exhibit.host)


def _from_ss(line: str) -> tuple[str, int, str] | None:
    match = _SS.match(line)
    port = _port(match[2]) if match else 0
    if not match or not port:
        return None
    program = re.match(r'"([^"]+)"', match[3] or "")
    return match[1], port, program[1] if program else ""


def _from_netstat(line: str) -> tuple[str, int, str] | None:
    match = _NETSTAT.match(line)
    if not match or not (match[3] or line.startswith("udp")):
        return None
    return match[1], int(match[2]), match[5] or ""


def _from_lsof(line: str) -> tuple[str, int, str] | None:
    match = _LSOF.match(line)
    port = _port(match[3]) if match else 0
    if not match or not port or "->" in line or not (match[4] or " UDP " in line):
        return None
    return match[2], port, match[1]


def _port(text: str) -> int:
    return int(text) if text.isdecimal() else _NAMES.get(text, 0)

"""Packets and counters: tcpdump, nstat; who manages the links; a cloud's packet filter. Scopes are told in host.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows

KEPT: Final = 200  # lines of one capture
_PACKET: Final = lazily(r"^\d\d:\d\d:\d\d\.\d{3,6} (?:\S+ +(?:In|Out|B|M) +)?(?:IP6? |ARP|ethertype)")
_DEVICE: Final = lazily(r"\btcpdump\b.{0,300}?\s-\w{0,8}i\s{0,8}(\S{1,60})")
_LISTENING: Final = lazily(r"listening on ([\w.-]+)")
_COUNTER: Final = lazily(r"^((?:Udp|Ip|Tcp|Icmp)\w+)\s+(\d+)\s+[\d.]+$")
_NETSTAT: Final = lazily(r"^(InCsumErrors): (\d+)$")
_NM_LONG: Final = lazily(r"^([\w.-]+): ((?:connected|connecting|disconnected|unmanaged|unavailable)\b.*)$")
_NM_STATES: Final = ("connected", "connecting", "disconnected", "unmanaged", "unavailable", "deactivating")
_NETWORKD: Final = lazily(
    r"^\d+\s+(\S+)\s+\S+\s+[\w-]+\s+(configured|configuring|unmanaged|pending|failed|linger|initialized)$"
)
_PROTOCOL: Final = lazily(r"(?<![\w.:/-])(tcp|udp|icmp|ipip|ipencap|any|all|-1|4|None)(?![\w.:/-])", re.I)


def captures(exhibit: Exhibit) -> Iterator[Fact]:
    text, command = exhibit.text, exhibit.command
    if "tcpdump" in command or "packets captured" in text or (" > " in text and "IP " in text):
        yield from _packets(exhibit)
    if "nstat" in command or "Csum" in text:
        of_udp = "netstat -su" in command  # `-s` alone has such a counter of TCP, too
        for index, line in rows(exhibit):
            if match := _COUNTER.match(line):
                yield Setting(exhibit.place(index), "counter", match[1], match[2], "", exhibit.host)
            elif of_udp and (match := _NETSTAT.match(line)):
                yield Setting(exhibit.place(index), "counter", f"Udp{match[1]}", match[2], "", exhibit.host)
    if "nmcli" in command or "networkctl" in command or ("DEVICE " in text and "CONNECTION" in text):
        yield from _managers(exhibit)
    if (
        ("security" in command and ("group" in command or "rule" in command))
        or "-nsg" in command
        or "firewall-rules" in command
    ):
        yield from _group_rules(exhibit)


def _packets(exhibit: Exhibit) -> Iterator[Fact]:
    asked = _DEVICE.search(exhibit.command)
    device = asked[1].strip("'\"") if asked else ""
    capturing = "tcpdump" in exhibit.command
    kept, continued = 0, False
    for index, line in rows(exhibit):
        if listening := _LISTENING.search(line):
            device = device or listening[1]
            continue
        packet = _PACKET.match(line) is not None
        continued = packet or (continued and exhibit.lines[index][:1].isspace())
        told = line.endswith(("packets captured", "packet captured")) or (
            capturing and (" > " in line or "cksum" in line)
        )
        if packet or continued or told:
            yield Setting(exhibit.place(index), "capture", device, line, "", exhibit.host)
            kept += 1
            if kept >= KEPT:
                return


def _managers(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        if match := _NM_LONG.match(line):
            yield Setting(place, "link-manager", match[1], match[2], "NetworkManager", exhibit.host)
        elif match := _NETWORKD.match(line):
            yield Setting(place, "link-manager", match[1], match[2], "systemd-networkd", exhibit.host)
        else:
            cells = re.split(r"\s{2,}", line)
            if len(cells) == 1:
                cells = line.split(None, 3)
            if len(cells) >= 3 and cells[2].startswith(_NM_STATES):
                yield Setting(place, "link-manager", cells[0], cells[2], "NetworkManager", exhibit.host)


def _group_rules(exhibit: Exhibit) -> Iterator[Fact]:
    """Whatever the cloud prints: one rule a line, or a JSON with IpProtocol."""
    for index, line in rows(exhibit):
        if not line.strip("+-=|{}[], ") or line.startswith(("Error", "usage")):
            continue
        match = _PROTOCOL.search(line)
        name = match[1].lower() if match else ""
        yield Setting(exhibit.place(index), "security-group", name, line, "", exhibit.host)

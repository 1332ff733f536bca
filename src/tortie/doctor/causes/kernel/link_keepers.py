"""What programs that manage links say to do with Calico's, and what a new start of one of them takes away."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.kernel.link_addresses import program_of
from tortie.doctor.causes.underlay.traffic_evidence import counted
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_DEVICE: Final = lazily(r"\b(?:cali[0-9a-f]{11}|cali[0-9a-f]{6,10}|tunl0|vxlan(?:-v6)?\.calico)\b")
# A link that is only watched comes, goes and has a carrier in their logs, too. These are words of one that is set up.
_SET_UP: Final = {
    "NetworkManager": lazily(
        r"\bActivation:? \(|starting connection"
        r"|state change: \S+ -> (?:prepare|config|ip-config|secondaries|need-auth)\b"
        r"|\bdhcp4 \(|Beginning DHCPv4|\bDHCPv4 lease"
    ),
    "systemd-networkd": lazily(
        r": Configur(?:ing with|ed\b)|: DHCP|: Could not (?:bring up|set)|: Failed to (?:set|configure)"
    ),
    "dhclient": lazily(r"\bDHCP(?:DISCOVER|REQUEST)\b"),
    "dhcpcd": lazily(r"soliciting|\bIAID\b|\bleased\b|: (?:adding|probing|using)\b"),
    "connman": lazily(r"\{add\} (?:address \d|route)"),
    "wicked": lazily(r"setup-in-progress|Request to acquire|dhcp4|: (?:up|device-ready)\b"),
}  # fmt: skip
_OUTSIDE: Final = "'external'"  # NetworkManager's word for what others have set up and it only shows
_BEGUN: Final = ("Network Service", "Network Configuration", "Enumeration completed")
_BEGINS: Final = lazily(
    r"\bsystemctl (?:try-)?(?:restart|start|reload-or-restart) (?:-\S+ )?systemd-networkd|\bnetplan (?:apply|try)\b"
)


def set_up(picture: Picture) -> list[LogLine]:
    """Their own words that they configure a link of Calico's."""
    lines = [line for line in picture.of(LogLine) if line.program and _DEVICE.search(line.message)]
    return [line for line in lines if _configures(line)]


def _configures(line: LogLine) -> bool:
    words = _SET_UP.get(program_of(line.program))
    return bool(words and words.search(line.message)) and _OUTSIDE not in line.message


class Shown(NamedTuple):
    """Where something is shown, and of which host."""

    place: Place
    host: str


def begun(picture: Picture) -> list[Shown]:
    """networkd's own words, or systemd's about it, that it has just begun; or somebody who starts it anew."""
    lines = [one for one in picture.of(LogLine) if "networkd" in one.program or one.program == "systemd"]
    logged = [line for line in lines if any(words in line.message for words in _BEGUN)]
    typed = [one for one in picture.exhibits if one.command and _BEGINS.search(one.command)]
    return [*(Shown(line.place, line.host) for line in logged), *(Shown(one.place(0), one.host) for one in typed)]


def routes_counted_away(picture: Picture) -> list[Place]:
    """Routes to pods counted before and after: there were some, and then there are none or hardly any."""
    seen: dict[str, int] = {}
    for part, number, exhibit in counted(picture, "route", "cali"):
        before = seen.get(exhibit.host, 0)
        if "route" in part and before >= 2 and number * 4 <= before:
            return [exhibit.place(0, max(1, len(exhibit.lines)))]
        seen[exhibit.host] = number
    return []

"""Addresses and routes on Calico's links that Calico never puts there, and the programs of a host that do.

Felix gives a pod's link no IPv4 address, and only the routes to that pod. A zeroconf address (169.254.0.0/16), its
network or a default route there is the work of a program that takes every new link for one more way into some network.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, LogLine, Process, Route, Unit
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

# Daemon to program, those first that give a link without an answer from DHCP an address of their own.
_PROGRAMS: Final = {
    "connman": "connman",
    "connmand": "connman",
    "dhcpcd": "dhcpcd",
    "dhcpcd5": "dhcpcd",
    "avahi-autoipd": "avahi-autoipd",
    "wicked": "wicked",
    "wickedd": "wicked",
    "wickedd-auto4": "wicked",
    "wickedd-nanny": "wicked",
    "NetworkManager": "NetworkManager",
    "systemd-networkd": "systemd-networkd",
    "systemd-network": "systemd-networkd",
    "dhclient": "dhclient",
}
_BY_THEMSELVES: Final = ("connman", "dhcpcd", "avahi-autoipd")
_CALI: Final = lazily(r"\b(?P<device>cali[0-9a-f]{6,11}|cali[\w-]+)\b", re.I)
_GIVES: Final = lazily(
    r"\b169\.254\.\d{1,3}\.\d{1,3}\b|\bipv4ll\b|default (?:route|for ipv4 routing)|\broute 0\.0\.0\.0\b", re.I
)
_NAMED: Final = lazily(r"\b(?P<program>connmand?|dhcpcd5?|avahi-autoipd)\b", re.I)
_NOT: Final = lazily(r"\bnot?\b|n't\b|\bwithout\b|\bnever\b|没有|不是|并未|未安装|没装|未使用|不用", re.I)


class Manager(NamedTuple):
    """A program that manages links, and where it is shown."""

    name: str
    place: Place
    host: str
    running: bool  # it is shown to run; else somebody only speaks of it


class Marks:
    """What such a program left behind on Calico's links."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.links = [link for link in picture.interfaces() if link.name.startswith("cali") and _zeroconf(link)]
        self.routes = [route for route in picture.of(Route) if _foreign(route)]

    @cached_property
    def told(self) -> list[LogLine]:
        """The programs' own words that they put an address or a default route on such a link."""
        lines = [line for line in self.picture.of(LogLine) if line.program and program_of(line.program)]
        about = [line for line in lines if _CALI.search(line.message)]
        return [line for line in about if _GIVES.search(line.message)]

    @property
    def any(self) -> bool:
        return bool(self.links or self.routes or self.told)

    @property
    def default_route(self) -> bool:
        return any(route.destination == "default" for route in self.routes)

    @cached_property
    def devices(self) -> list[str]:
        said = (_CALI.search(line.message) for line in self.told)
        found = [*(route.device for route in self.routes), *(link.name for link in self.links)]
        return list(dict.fromkeys([*found, *(match["device"] for match in said if match)]))

    @cached_property
    def host(self) -> str:
        hosts = [route.host for route in self.routes] + [link.host for link in self.links]
        return next((host for host in [*hosts, *(line.host for line in self.told)] if host), "")

    @cached_property
    def manager(self) -> Manager | None:
        """Who did it: who says so, else the likeliest of those that run there, else the only one that is spoken of."""
        if self.told:
            line = self.told[0]
            return Manager(program_of(line.program), line.place, line.host, True)
        there = [one for one in _running(self.picture) if self.host in ("", one.host) or not one.host]
        order = list(dict.fromkeys(_PROGRAMS.values()))
        there.sort(key=lambda one: order.index(one.name))
        if there:
            return there[0]
        named = _spoken_of(self.picture)
        return named[0] if len({one.name for one in named}) == 1 else None

    @property
    def certain(self) -> bool:
        """Its own words; or it runs, and gives links addresses without being told to, or no other does."""
        one = self.manager
        if one is None or not one.running:
            return False
        names = {other.name for other in _running(self.picture)}
        return bool(self.told) or one.name in _BY_THEMSELVES or (len(names) == 1 and one.name != "dhclient")


def program_of(name: str) -> str:
    """The link manager that a unit, a process or a log's tag belongs to; empty for everything else."""
    plain = name.rpartition("/")[2].rstrip(":").partition("(")[0]
    return _PROGRAMS.get(plain, "")


def _zeroconf(link: Interface) -> bool:
    """A whole network of such addresses; a single one (/32) may be a gateway that somebody made for pods."""
    return any(a.startswith("169.254.") and not a.endswith("/32") for a in link.addresses)


def _foreign(route: Route) -> bool:
    if not route.device.startswith("cali") or route.host.startswith(OF_POD) or route.kind:
        return False
    if route.table not in ("", "main"):
        return False
    destination = route.destination
    return destination in ("default", "0.0.0.0/0", "0.0.0.0/1", "169.254.0.0/16", "169.254.0.0")


def _running(picture: Picture) -> list[Manager]:
    units = [
        Manager(name, unit.place, unit.host, True)
        for unit in picture.of(Unit)
        if unit.active in ("active", "activating") and (name := program_of(unit.name))
    ]
    processes = [
        Manager(name, process.place, process.host, True)
        for process in picture.of(Process)
        if process.command and (name := program_of(process.command.split()[0]))
    ]
    logs = [
        Manager(name, line.place, line.host, True) for line in picture.of(LogLine) if (name := program_of(line.program))
    ]
    return [*units, *processes, *logs]


def _spoken_of(picture: Picture) -> list[Manager]:
    """What people say is installed there; what they say is not, is not."""
    found = []
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines) if exhibit.prose else ():
            match = _NAMED.search(line)
            if match and not _NOT.search(line):
                name = program_of(match["program"].lower())
                found.append(Manager(name, exhibit.place(index), exhibit.host, False))
    return found

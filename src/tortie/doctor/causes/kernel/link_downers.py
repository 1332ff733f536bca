"""Links of pods that somebody puts down again as soon as they are up, and services that do such things.

Felix and networkd both tell when a link comes up and goes down; neither of them puts it down by itself. A link of a
pod that is deleted, or never got ready, goes down, too: that one is gone then, and in no list of links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Interface, LogLine, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

_AT_ONCE: Final = 5.0  # seconds
_FELIX: Final = lazily(
    r"interface state changed\b.{0,80}?\bifaceName=\"(?P<name>cali\w+)\" state=\"(?P<state>up|down)\""
)
_NETWORKD: Final = lazily(r"^(?P<name>cali\w+): Link (?P<state>UP|DOWN)\b")
# Services that configure links by files or scripts of their own, and may be told to treat all that they do not know.
_MANAGES: Final = lazily(
    r"(?:netscript\S{0,8}|ifupdown(?:2|-ng|-extra)?|ifplugd|wicked\w*|connman|netctl\S{0,20}|dhcpcd\w*|laptop-net|guessnet"
    r"|NetworkManager|network-manager)(?:@\S{0,20})?"
)
_COMPARED: Final = lazily(r"^(?:[<>]\s|[-+](?![-+]))\s{0,4}(?P<name>[\w@.-]{2,60})\.service\b")
_COMPARES: Final = re.compile(r"\bdiff\b|\bcomm\b")


class PutDown(NamedTuple):
    """Links that fell, where it is told, and who may have done it: services of that machine alone, or of all."""

    links: tuple[Interface, ...]
    falls: tuple[LogLine, ...]
    only_there: tuple[tuple[Place, str], ...]
    running: tuple[tuple[Place, str], ...]


def put_down(picture: Picture) -> PutDown | None:
    down = [link for link in picture.interfaces() if link.name.startswith("cali") and link.state == "DOWN"]
    falls = list(_falls(picture)) if down else []
    if not falls:
        return None
    units = ((one.place, one.name.removesuffix(".service")) for one in picture.of(Unit) if one.active == "active")
    running = tuple((place, name) for place, name in units if _MANAGES.fullmatch(name))
    return PutDown(tuple(down[:2]), tuple(falls[:2]), tuple(_compared(picture)), running)


def _falls(picture: Picture) -> Iterator[LogLine]:
    """Up and down within seconds."""
    rose: dict[tuple[str, str], LogLine] = {}
    for line in picture.of(LogLine):
        told = _FELIX.search(line.message) or (_NETWORKD.match(line.message) if "networkd" in line.program else None)
        if not told:
            continue
        key = (line.program, told["name"])
        if told["state"].lower() == "up":
            rose[key] = line
        elif (before := rose.pop(key, None)) and 0 <= _clock(line) - _clock(before) <= _AT_ONCE:
            yield line


def _clock(line: LogLine) -> float:
    return line.time if line.time is not None else line.of_some_year or 0.0


def _compared(picture: Picture) -> Iterator[tuple[Place, str]]:
    """Somebody held the services of a node that is well against those of this one."""
    for exhibit in picture.exhibits:
        if not _COMPARES.search(exhibit.command) or "systemctl" not in exhibit.command:
            continue
        for index, line in enumerate(exhibit.lines):
            row = _COMPARED.match(line[:200])
            if row and _MANAGES.fullmatch(row["name"]):
                yield exhibit.place(index), row["name"]

"""What Tortie's own node says of itself: `tortie node explain` and `tortie node timeline`.

`node status` and `get` have calicoctl's forms and are read as those; only what has no effect on a node is said by
nobody else. Settings of scope `effects`: its lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Registered, Setting
from tortie.doctor.reading.exhibit import Exhibit

_WITHOUT: Final = "Without effect on this node:"
_SECTIONS: Final = ("NODE", "SETTINGS", "DATASTORE", "IPv4 ADDRESS", "IPv6 ADDRESS", "DEFAULT POOLS")
_ADDRESS: Final = lazily(r"  (?P<ip>[0-9a-f.:]+)/(?P<length>\d+) on (?P<link>\S+)")
_SETTING: Final = lazily(r"  (?P<name>[A-Z][A-Z0-9_]+)\s{2,}(?P<value>\S.*?)\s{2,}(?P<source>\S.*)$")
_PHASE: Final = lazily(r"(?P<phase>[a-z][a-z-]+)\s+(?P<seconds>\d+\.\d+)\s+(?P<trips>\d+)\s")


def read(exhibit: Exhibit) -> Iterator[Fact]:
    if "ROUND TRIPS" in exhibit.text and "PHASE" in exhibit.text:
        yield from _timeline(exhibit)
    elif "IPv4 ADDRESS" in exhibit.lines and "SETTINGS" in exhibit.lines:
        yield from _explained(exhibit)
    if _WITHOUT in exhibit.lines:
        yield from _without_effect(exhibit)


def _without_effect(exhibit: Exhibit) -> Iterator[Fact]:
    begin = exhibit.lines.index(_WITHOUT)
    for index, line in enumerate(exhibit.lines[begin:], begin):
        if index > begin and not line.startswith("  "):
            return
        yield Setting(exhibit.place(index), "effects", "told", line.strip(), "", exhibit.host)


def _explained(exhibit: Exhibit) -> Iterator[Fact]:
    section, node = "", exhibit.host
    for index, line in enumerate(exhibit.lines):
        place = exhibit.place(index)
        if line in _SECTIONS:
            section = line
            yield Setting(place, "explain", section, "", node, exhibit.host)
        elif section == "NODE" and line.strip():
            node = line.split()[0]
            yield Setting(place, "explain", "node", line.strip(), node, exhibit.host)
        elif section == "SETTINGS":
            match = _SETTING.match(line)
            if match and match["name"] != "VARIABLE":
                yield Setting(place, "env", match["name"], match["value"], "calico-node", exhibit.host)
        elif section.endswith("ADDRESS"):
            match = _ADDRESS.match(line)
            if match and "registered" in line:  # without that it is only what would be chosen here
                length = int(match["length"])
                yield Registered(place, node, match["ip"], length, "explain", match["link"])
            elif line.strip():
                yield Setting(place, "explain", section, line.strip(), node, exhibit.host)
        elif section and line.strip():
            yield Setting(place, "explain", section, line.strip(), node, exhibit.host)


def _timeline(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in enumerate(exhibit.lines):
        match = _PHASE.match(line)
        if match:
            yield Setting(exhibit.place(index), "start-phase", match["phase"], match["seconds"], "", exhibit.host)
        elif line.strip():
            yield Setting(exhibit.place(index), "start", "timeline", line.strip(), "", exhibit.host)

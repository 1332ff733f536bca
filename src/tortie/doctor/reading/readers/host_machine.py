"""Clock, SELinux, mounts and kernel modules of a machine; the scopes of the settings are told in host.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Clock, Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import IP, ran, rows, segments, words_after
from tortie.doctor.reading.readers.host_times import moment

_MOUNT: Final = lazily(r"^(\S+) on (/\S*) type (\S+) \(([^)]*)\)")
_TABLE: Final = lazily(r"^[│├└─|`\s-]*(/\S*)\s+(\S+)\s+(\S+)\s+((?:rw|ro)(?:,\S*)?)$")
_PROC: Final = lazily(r"^(\S+) (/\S*) (\S+) ((?:rw|ro|defaults)(?:,\S*)?) \d \d$")
_OPTIONS: Final = lazily(r"^(?:rw|ro)(?:,[\w=:.,/\"-]+)?$")
_PROPAGATION: Final = lazily(r"^(/\S*)\s+(private|shared|slave|unbindable|private,slave|shared,slave)$")
_LOADED: Final = lazily(r"^(\w+)\s+\d+\s+\d+(?:\s+[\w,-]+)?(?:\s+\[permanent\])?$")
_ABSENT: Final = lazily(r"modprobe: FATAL: Module ([\w-]+) not found")
_FAILED: Final = lazily(r"modprobe: ERROR: could not insert '([\w-]+)': (.*)")
_CONFIG: Final = lazily(r"^(?:# )?(CONFIG_\w+)(?:=(\w+)| is not set)")
_HOST_DATE: Final = lazily(r"^(?=[\d._-]{0,80}[A-Za-z])([\w.-]{1,260}+)\s*+[:|=]?\s++(?<=\s)(.*\d\d:\d\d.*)$")
_OFFSET: Final = lazily(r"^System time\s*:\s*([\d.]+) seconds (slow|fast) of NTP")
_HOSTNAME: Final = lazily(r"(?:^|[;&|'\"(\s])(?:hostname(?:\s+-[sfIi]+)?|uname -n|cat /etc/hostname)\s*(?:$|[;&|'\")])")
_OWN_NAME: Final = lazily(r"^(?:Static hostname:\s+)?([A-Za-z0-9][\w.-]*)$")
_OWN_ADDRESSES: Final = lazily(rf"^{IP}(?:\s+{IP})*$")
_MODES: Final = ("Enforcing", "Permissive", "Disabled")
_CLOCK_WORDS: Final = ("System clock sync", "NTP synchronized:", "Universal time:", "Leap status", "System time  ")
_ANSWER: Final = 500  # lines; an answer to date is short
_DRIFT_S: Final = 5.0  # an offset that no certificate and no lease minds


def machine(exhibit: Exhibit) -> Iterator[Fact]:
    text, command = exhibit.text, exhibit.command
    if any(word in text for word in _CLOCK_WORDS) or ran(exhibit, "date", "ntpq", "chronyc", "ntpstat"):
        yield from _clock(exhibit)
    if any(mode in text for mode in _MODES) or "SELinux" in text or "Current mode" in text:
        yield from _selinux(exhibit)
    if " type " in text or ran(exhibit, "mount", "findmnt") or "/mounts" in command or "fstab" in command:
        yield from _mounts(exhibit)
    if "hostname" in text or "name" in command:
        yield from _identity(exhibit)
    if "modprobe" in text or "CONFIG_" in text or ran(exhibit, "lsmod", "modprobe"):
        yield from _modules(exhibit)


def _identity(exhibit: Exhibit) -> Iterator[Fact]:
    """What a host calls itself, and its addresses without their links."""
    asked = _HOSTNAME.search(exhibit.command) is not None
    said = set[str]()
    for index, line in rows(exhibit):
        field, match = "addresses", _OWN_ADDRESSES.match(line)
        if not match:
            field, match = "name", _OWN_NAME.match(line)
        if match and field not in said and (asked or line.startswith("Static hostname:")):
            said.add(field)
            value = line if field == "addresses" else match[1]
            yield Setting(exhibit.place(index), "host", field, value, "", exhibit.host)


def _clock(exhibit: Exhibit) -> Iterator[Fact]:
    time: float | None = None
    synchronised: bool | None = None
    last = -1
    dated = ran(exhibit, "date") and len(exhibit.lines) <= _ANSWER
    machines = _machines(exhibit) if dated else []
    asked, listed = ran(exhibit, "ntpq", "chronyc"), ran(exhibit, "ntpq")
    for index, line in rows(exhibit):
        if dated and not line.startswith(("{", "-", "#")) and len(line) < 100:
            for clock in _date(exhibit, index, line):
                yield clock._replace(host=machines.pop(0)) if machines and clock.host == exhibit.host else clock
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon:
            if "unsynchronised" in line[:20] or "synchronised to" in line[:20]:
                synchronised, last = not line.startswith("un"), index
            elif (asked and line[:2] in ("^*", "#*")) or (line.startswith("*") and listed):
                synchronised, last = True, index
                yield Setting(exhibit.place(index), "clock", "source", line, "", exhibit.host)
            elif asked and line[:2] in ("^?", "^x") and synchronised is None:
                synchronised, last = False, index
        elif name == "Universal time" or (name == "Local time" and time is None):
            moment_shown = moment(value)
            time, last = (moment_shown, index) if moment_shown is not None else (time, last)
        elif name in ("System clock synchronized", "NTP synchronized"):
            synchronised, last = value.startswith("yes"), index
        elif name == "Leap status":
            synchronised, last = "Not" not in value, index
        elif offset := _OFFSET.match(line):
            yield Setting(exhibit.place(index), "clock", "offset", f"{offset[1]} {offset[2]}", "", exhibit.host)
            if synchronised is None:
                synchronised, last = float(offset[1]) < _DRIFT_S, index
    if last >= 0:
        yield Clock(exhibit.place(last), time, synchronised, exhibit.host)


def _machines(exhibit: Exhibit) -> list[str]:
    """Where each `date` of the command ran, when some ran over ssh and as many answers came."""
    found = []
    for segment in segments(exhibit.command):
        if words_after(segment, "date") or segment.rstrip("'\"").endswith("date"):
            words = [word for word in words_after(segment, "ssh") if not word.startswith("-")]
            found.append(words[0].rpartition("@")[2] if words else exhibit.host)
    answers = sum(1 for _, line in rows(exhibit) if moment(line) is not None)
    return found if len(found) > 1 and len(found) == answers else []


def _date(exhibit: Exhibit, index: int, line: str) -> Iterator[Clock]:
    time = moment(line) if not line.isdecimal() or "+%s" in exhibit.command else None
    if time is not None:
        yield Clock(exhibit.place(index), time, None, exhibit.host)
        return
    named = _HOST_DATE.match(line)  # a loop over machines puts their names before
    time = moment(named[2]) if named else None
    if named and time is not None:
        yield Clock(exhibit.place(index), time, None, named[1].rstrip(":"))


def _selinux(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        asked = not exhibit.command or "enforce" in exhibit.command or "sestatus" in exhibit.command
        value = line if asked and line in _MODES else ""
        if line.startswith("Current mode:"):
            value = line.split()[-1].capitalize()
        elif line.startswith("SELinux status:") and line.endswith("disabled"):
            value = "Disabled"
        elif line.startswith("SELINUX=") and "grep" in exhibit.command:
            value = line[8:].capitalize()
        if value in _MODES:
            yield Setting(exhibit.place(index), "selinux", "mode", value, "", exhibit.host)


def _mounts(exhibit: Exhibit) -> Iterator[Fact]:
    asked = [word for word in exhibit.command.split() if word.startswith("/")] if ran(exhibit, "findmnt") else []
    turn = 0
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        if match := _MOUNT.match(line):
            yield Setting(place, "mount", match[2], match[4], f"{match[1]} {match[3]}", exhibit.host)
        elif match := _PROPAGATION.match(line):
            yield Setting(place, "mount-propagation", match[1], match[2], "", exhibit.host)
        elif match := _TABLE.match(line):
            yield Setting(place, "mount", match[1], match[4], f"{match[2]} {match[3]}", exhibit.host)
        elif match := _PROC.match(line):
            yield Setting(place, "mount", match[2], match[4], f"{match[1]} {match[3]}", exhibit.host)
        elif asked and _OPTIONS.match(line):
            yield Setting(place, "mount", asked[min(turn, len(asked) - 1)].strip("'\";"), line, "", exhibit.host)
            turn += 1


def _modules(exhibit: Exhibit) -> Iterator[Fact]:
    listed = ran(exhibit, "lsmod") or "Used by" in exhibit.text
    for index, line in rows(exhibit):
        place = exhibit.place(index)
        if match := _ABSENT.search(line):
            yield Setting(place, "module", match[1], "missing", "modprobe", exhibit.host)
        elif match := _FAILED.search(line):
            yield Setting(place, "module", match[1], "failed", match[2], exhibit.host)
        elif match := _CONFIG.match(line):
            yield Setting(place, "module", match[1], match[2] or "is not set", "config", exhibit.host)
        elif listed and (match := _LOADED.match(line)):
            yield Setting(place, "module", match[1], "loaded", "lsmod", exhibit.host)
        elif "modprobe" in exhibit.command and (match := re.match(r"^(?:missing|no) ([\w-]+)$", line)):
            yield Setting(place, "module", match[1], "missing", "modprobe", exhibit.host)

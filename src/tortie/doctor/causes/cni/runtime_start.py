"""When a container runtime was started, beside when a file was written: what is newer has to be noticed by it."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.cni.file_times import line_of, written_at
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.host_times import moment
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

ACTIVE_SINCE: Final = Sign("runtime-active-since", "ActiveEnterTimestamp=<rest>")
_RUNTIMES: Final = ("containerd", "crio", "cri-o", "k3s", "rke2")
_ZONED: Final = lazily(r" [+-]\d{4}\s")
_ZONE: Final = lazily(r"(?<!\s)\s{1,4}(?:[A-Z]{2,5}|[+-]\d\d(?::?\d\d)?)$")
# A style of `ls` that has nothing but the time of day.
_HOUR: Final = lazily(r"^\s{0,40}[-dl][-rwxsStT]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+\d+\s+(\d\d):(\d\d)(?::\d\d)?\s")
_AGO: Final = lazily(r"(\d{1,4}) ?(year|month|week|day|h|min|s)")
_UNITS: Final = {
    "s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0, "week": 604_800.0, "month": 2_629_800.0,
    "year": 31_557_600.0,
}  # fmt: skip
_DAY_S: Final = 86_400.0
_SLACK_S: Final = 120.0


class Start(NamedTuple):
    """As the machine's own clock showed it, and in truth; and what that clock shows now."""

    place: Place
    local: float
    true: float
    now: float | None
    host: str


class Compared(NamedTuple):
    """A file against the start: newer by so many seconds; `sure` where its day is known, too."""

    place: Place
    newer_s: float
    sure: bool


def compared(picture: Picture, files: list[HostFile]) -> Compared | None:
    """The newest of these files against the last start that is shown of its machine."""
    found = []
    for start in _starts(picture):
        for file in files:
            same = not start.host or not file.host or start.host == file.host
            if same and (one := _compare(picture, file, start)):
                found.append(one)
    return max(found, key=lambda one: one.newer_s, default=None)


def too_old(one: Compared | None) -> bool:
    """The runtime found the file when it started."""
    return one is not None and one.sure and one.newer_s < -_SLACK_S


def _compare(picture: Picture, file: HostFile, start: Start) -> Compared | None:
    line = line_of(picture, file)
    if file.modified is not None:
        zoned = _ZONED.search(line) is not None
        return Compared(start.place, file.modified - (start.true if zoned else start.local), True)
    if start.now is not None and (match := _HOUR.match(line)):
        of_day = int(match[1]) * 3600.0 + int(match[2]) * 60.0
        at = start.now // _DAY_S * _DAY_S + of_day
        return Compared(start.place, (at if at <= start.now + _SLACK_S else at - _DAY_S) - start.local, False)
    at_day = written_at(picture, file, start.now)
    return Compared(start.place, at_day - start.local, True) if at_day is not None else None


def _starts(picture: Picture) -> list[Start]:
    told = [(hit.value("rest"), hit.place, hit.host) for hit in picture.hits(ACTIVE_SINCE)]
    told += [
        (setting.value, setting.place, setting.host)
        for setting in picture.settings("since", "unit")
        if setting.owner.startswith(_RUNTIMES) or "containerd" in setting.owner
    ]
    last = {host: start for text, place, host in told if (start := _start(text, place, host))}
    return list(last.values())


def _start(text: str, place: Place, host: str) -> Start | None:
    """`Wed 2024-04-10 14:03:27 CEST; 3h 38min ago`."""
    since, _, ago = text.strip().partition("; ")
    true, local = moment(since), moment(_ZONE.sub("", since))
    if true is None or local is None:
        return None
    age = sum(int(number) * _UNITS[unit] for number, unit in _AGO.findall(ago))
    return Start(place, local, true, local + age if ago and age else None, host)

"""When the CNI plugin's token ends, when its file was written, and by whom: what TRT6001 compares."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.causes.cni.cni_evidence import kubeconfigs
from tortie.doctor.causes.cni.file_times import written_at
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Clock, HostFile, LogLine, Process, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

WROTE: Final = Sign("cni-token-wrote", "Wrote updated CNI kubeconfig file")
MANAGE: Final = "CALICO_MANAGE_CNI"
DAY_S: Final = 86_400.0
SIGNING_KEYS: Final = ("sa.key", "sa.pub", "service-account.key", "service.key", "service-account-key.pem")
REFRESHES: Final = (3, 24)  # the first release that asks for a token of its own and renews it
_SHORT: Final = 200  # lines; answers that hold a decoded token are short

_LONGEST: Final = 400  # characters of a line
_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_EXPIRES: Final = lazily(
    r"\b(?P<month>[A-Z][a-z]{2}) (?P<day>\d\d), (?P<year>\d{4}) (?P<time>\d\d:\d\d) UTC\s+(?P<left>\d{1,4})d\b"
)
_MAKES_KEY: Final = lazily(r"\bkubeadm init phase certs (?:sa|all)\b|\bopenssl genrsa\b.{0,120}\bsa\.key\b")


class Moment(NamedTuple):
    at: float
    place: Place


def expiry(picture: Picture) -> Moment | None:
    """`"exp": 1664946137` or a date, as a decoded token shows it."""
    shown = (exhibit for exhibit in reversed(picture.exhibits) if not exhibit.prose and len(exhibit.lines) <= _SHORT)
    return next((moment for exhibit in shown if (moment := _expiry(exhibit))), None)


def _expiry(exhibit: Exhibit) -> Moment | None:
    from tortie.doctor.reading.readers.times import epoch

    for index, line in enumerate(exhibit.lines):
        match = _compiled(r"[\"']exp[\"']?\s*:\s*[\"']?([0-9T:Z.+-]{9,35})").search(line) if "exp" in line else None
        at = (float(match[1]) if match[1].isdecimal() else epoch(match[1])) if match else None
        if at:
            return Moment(at, exhibit.place(index))
    return None


def now(picture: Picture) -> Moment | None:
    """The last clock shown, or what `date +%s` answered."""
    clocks = [clock for clock in picture.of(Clock) if clock.time is not None]
    if clocks and clocks[-1].time is not None:
        return Moment(clocks[-1].time, clocks[-1].place)
    for exhibit in reversed(picture.exhibits):
        if "date" in exhibit.command and len(exhibit.lines) <= 50:
            for index, line in enumerate(exhibit.lines):
                if _compiled(r"\d{10}$").match(line.strip()):
                    return Moment(float(line.strip()), exhibit.place(index))
    return None


def refused_at(picture: Picture, refused: list[Hit]) -> Moment | None:
    """When a token was last refused, as the log has it that says so."""
    places = {hit.place.first for hit in refused}
    times = [Moment(line.time, line.place) for line in picture.of(LogLine) if line.time and line.place.first in places]
    return max(times, key=lambda moment: moment.at, default=None)


def files_written(picture: Picture) -> list[Moment]:
    """Times of calico-kubeconfig, the oldest first."""
    times = [(written_at(picture, file), file.place) for file in kubeconfigs(picture)]
    return sorted((Moment(at, place) for at, place in times if at is not None), key=lambda moment: moment.at)


def last_wrote(picture: Picture) -> Moment | None:
    """When the refresher last said that it wrote the file; None without a line of it that has a time."""
    spoken = {hit.place.first for hit in picture.hits(WROTE)}
    times = [Moment(line.time, line.place) for line in picture.of(LogLine) if line.time and line.place.first in spoken]
    return max(times, key=lambda moment: moment.at, default=None)


def key_replaced(picture: Picture) -> tuple[Moment, Moment] | None:
    """The key that signs tokens, and the file that was written before it."""
    keys = [(written_at(picture, file), file.place) for file in picture.of(HostFile) if file.name in SIGNING_KEYS]
    newest = max((Moment(at, place) for at, place in keys if at is not None), key=lambda m: m.at, default=None)
    files = files_written(picture)
    return (newest, files[0]) if files and newest and newest.at > files[0].at else None


def key_made(picture: Picture) -> list[object]:
    """Somebody says that the signing key was made anew, or did it before our eyes."""
    typed = [
        exhibit.place(0)
        for exhibit in picture.exhibits
        if exhibit.lines and _MAKES_KEY.search(exhibit.command[:_LONGEST]) and "existing" not in exhibit.text
    ]
    return [*picture.said("signing-key-replaced"), *typed]


def clock_by_certificates(picture: Picture) -> Moment | None:
    """`Aug 02, 2023 01:31 UTC   364d` of kubeadm: the day on which that was printed."""
    from tortie.doctor.reading.readers.times import epoch

    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines[:_SHORT] if " UTC " in exhibit.text else ()):
            row = _EXPIRES.search(line[:_LONGEST])
            month = _MONTHS.find(row["month"].lower()) if row else -1
            if row and month >= 0 and month % 3 == 0:
                end = epoch(f"{row['year']}-{month // 3 + 1:02}-{row['day']}T{row['time']}:00Z")
                if end:
                    return Moment(end - int(row["left"]) * DAY_S, exhibit.place(index))
    return None


def unmanaged(picture: Picture) -> Setting | None:
    """The agent is told to leave CNI's files alone."""
    setting = picture.setting(MANAGE)
    return setting if setting and setting.value.strip("\"' ").lower() == "false" else None


def unmonitored(picture: Picture) -> Process | None:
    """The agent's processes were listed, and the one that renews the token is missing."""
    version = picture.version("calico")
    agent = [process for process in picture.of(Process) if "calico-node -" in process.command]
    if len(agent) < 2 or (version is not None and version < REFRESHES):
        return None
    return None if any("-monitor-token" in process.command for process in agent) else agent[0]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

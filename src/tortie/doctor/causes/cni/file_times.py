"""When a file was written, as far as a listing says: `ls -l` leaves out the year, or the time of day."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import Clock, HostFile, LogLine
from tortie.doctor.picture.picture import Picture

DAY_S = 86_400.0
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_LONGEST = 500  # characters of a line that may hold a date


SOME_YEAR: Final = 1_735_603_200.0  # the end of one: all dates without a year are in it, then


def written_at(picture: Picture, file: HostFile, no_clock: float | None = None) -> float | None:
    """Seconds since the epoch. Without a zone in the listing it may be off by hours, but alike for one machine.

    Where no clock is shown, dates without a year are none, unless the caller only compares them (`SOME_YEAR`).
    """
    if file.modified is not None:
        return file.modified
    line = line_of(picture, file)
    clock = clock_of(picture, file.host)
    return _parsed(line, no_clock if clock is None else clock) if line else None


def clock_of(picture: Picture, host: str = "") -> float | None:
    """What the machine's clock showed, else anybody's, else the latest line of a log."""
    clocks = [clock for clock in picture.of(Clock) if clock.time is not None]
    own = [clock for clock in clocks if host and clock.host == host]
    if own or clocks:
        return (own or clocks)[-1].time
    return max((line.time for line in picture.of(LogLine) if line.time is not None), default=None)


def line_of(picture: Picture, file: HostFile) -> str:
    for exhibit in picture.exhibits:
        if exhibit.source != file.place.source or not exhibit.lines:
            continue
        if exhibit.number(0) <= file.place.first <= exhibit.number(len(exhibit.lines) - 1):
            numbers = range(len(exhibit.lines))
            found = (exhibit.lines[i] for i in numbers if exhibit.number(i) == file.place.first)
            return next(found, "")[:_LONGEST]
    return ""


def _parsed(line: str, clock: float | None) -> float | None:
    """`May  1 09:12`, `11月  6 22:10`, `6 Nov 22:10`: within the year before the clock; `May  1  2022` has its year."""
    from tortie.doctor.reading.readers.times import epoch

    match = _stamp().search(line)
    if match is None:
        return None
    name = (match["name"] or match["name2"] or "").lower()
    month = int(match["number"]) if match["number"] else _number(name)
    day = int(match["day"] or match["day2"] or match["day3"])
    if not 1 <= month <= 12:
        return None
    clock_time = match["time"] or "00:00"
    if match["year"]:
        return epoch(f"{match['year']}-{month:02}-{day:02}T{clock_time}:00Z")
    if clock is None:
        return None
    year = 1970 + int(clock // 31_556_952)
    at = epoch(f"{year}-{month:02}-{day:02}T{clock_time}:00Z")
    if at is not None and at > clock + DAY_S:
        at = epoch(f"{year - 1}-{month:02}-{day:02}T{clock_time}:00Z")
    return at


def _number(name: str) -> int:
    at = _MONTHS.find(name)
    return at // 3 + 1 if at >= 0 and at % 3 == 0 else 0


@cache
def _stamp() -> re.Pattern[str]:
    return re.compile(
        r"\s(?:(?P<name>[A-Z][a-z]{2}) +(?P<day>\d{1,2})|(?P<number>\d{1,2})月 +(?P<day3>\d{1,2})日?"
        r"|(?P<day2>\d{1,2}) (?P<name2>[A-Z][a-z]{2})) +(?:(?P<time>\d\d:\d\d)|(?P<year>\d{4}))\s"
    )

"""Times as logs write them, as seconds since the epoch. Where the year is missing, somebody else must give it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FULL = lazily(
    r"(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<part>\d{1,9}))?(?: ?(?P<zone>Z|[+-]\d\d:?\d\d)(?!\d))?"
)
_YEAR = lazily(
    r"\b(20[012]\d)[-/]\d\d[-/]\d\d[ T]|\b[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{3,4} )?(20\d\d)\b"
)


class Moment(NamedTuple):
    """A point in time on somebody's clock, perhaps without its year; `offset` are the seconds its zone is ahead."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: float
    offset: int = 0

    def epoch(self, year: int = 0) -> float | None:
        """Seconds since 1970, with `year` for a moment that has none; None when there is no year or no such day."""
        year = self.year or year
        if not year or not 1 <= self.month <= 12 or not 1 <= self.day <= 31 or self.hour > 24:
            return None
        clock = self.hour * 3600 + self.minute * 60 + self.second
        return days(year, self.month, self.day) * 86400 + clock - self.offset


@lru_cache(maxsize=512)
def days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar; March is the first month, so that the leap day is the last."""
    year -= month <= 2
    century = year // 400
    of_era = year - century * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return century * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def full(text: str, start: int = 0) -> tuple[Moment, int] | None:
    """The moment with a date that stands at `start`, and where it ends."""
    match = _FULL.match(text, start)
    if not match:
        return None
    part = match["part"] or ""
    second = int(match["second"]) + (int(part) / 10 ** len(part) if part else 0.0)
    moment = Moment(
        int(match["year"]), int(match["month"]), int(match["day"]), int(match["hour"]), int(match["minute"]), second,
        zone(match["zone"] or ""),
    )  # fmt: skip
    return moment, match.end()


def zone(text: str) -> int:
    """Seconds ahead of UTC of `Z`, `+08:00`, `+0800`."""
    if text[:1] not in ("+", "-") or len(text) < 5:
        return 0
    ahead = int(text[1:3]) * 3600 + int(text[-2:]) * 60
    return -ahead if text[0] == "-" else ahead


def year_in(text: str) -> int:
    """The first year that a date in this text names, 0 without."""
    match = _YEAR.search(text)
    return int(match[1] or match[2]) if match else 0


def clock_of(text: str) -> tuple[int, int, float]:
    """Hour, minute, second of 05:33:01.977085."""
    hour, minute, second = text.split(":")
    return int(hour), int(minute), float(second.replace(",", "."))


def month_of(name: str) -> int:
    """Jan or 1月 is 1."""
    return int(name[:-1]) if name.endswith("月") else MONTHS.index(name) + 1

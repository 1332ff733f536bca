"""Moments as machines print them: date, timedatectl, openssl, kubeadm, ls; seconds since the epoch or None."""

from __future__ import annotations

import re
from functools import cache

from tortie.doctor.reading.readers.times import epoch

_ZONES = {
    "UTC": "+0000", "GMT": "+0000", "CST": "+0800", "JST": "+0900", "KST": "+0900", "IST": "+0530", "MSK": "+0300",
    "BST": "+0100", "CET": "+0100", "CEST": "+0200", "EST": "-0500", "EDT": "-0400", "PST": "-0800", "PDT": "-0700",
}  # fmt: skip
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_CLOCK = r"(\d\d:\d\d(?::\d\d)?)(?: (AM|PM))?"
_ZONE = r"(?: ([A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?))?"


@cache
def _forms() -> tuple[tuple[re.Pattern[str], tuple[int, int, int, int, int, int]], ...]:
    """Each form with the groups of day, month, year, clock, AM/PM, zone."""
    return (
        (re.compile(rf"(?:\w{{3}} )?({_MONTHS}) (\d{{1,2}}) {_CLOCK}{_ZONE} (\d{{4}})$"), (2, 1, 6, 3, 4, 5)),
        (re.compile(rf"(?:\w{{3}} )?({_MONTHS}) (\d{{1,2}}) {_CLOCK} (\d{{4}}){_ZONE}$"), (2, 1, 5, 3, 4, 6)),
        (re.compile(rf"(?:\w{{3}} )?(\d{{1,2}}) ({_MONTHS}) {_CLOCK}{_ZONE} (\d{{4}})$"), (1, 2, 6, 3, 4, 5)),
        (re.compile(rf"(?:\w{{3}} )?(\d{{1,2}}) ({_MONTHS}) (\d{{4}}) {_CLOCK}{_ZONE}$"), (1, 2, 3, 4, 5, 6)),
        (re.compile(rf"({_MONTHS}) (\d{{1,2}}), (\d{{4}}) {_CLOCK}{_ZONE}$"), (2, 1, 3, 4, 5, 6)),
    )


def moment(text: str) -> float | None:
    """Also of ISO text behind the name of a day, of digits (seconds), and of the Chinese form of date."""
    text = " ".join(text.strip().strip("\"',").split())
    if re.fullmatch(r"\d{9,10}", text):
        return float(text)
    for pattern, (day, month, year, clock, half, zone) in _forms():
        match = pattern.match(text)
        if match:
            return _joined(match[day], match[month], match[year], match[clock], match[half], match[zone])
    chinese = re.match(rf"(\d{{4}})年 ?(\d{{1,2}})月 ?(\d{{1,2}})日 ?(?:星期.|周.)? ?{_CLOCK}{_ZONE}", text)
    if chinese:
        named_month = _MONTHS.split("|")[min(max(int(chinese[2]), 1), 12) - 1]
        return _joined(chinese[3], named_month, chinese[1], chinese[4], chinese[5], chinese[6])
    named = re.match(
        r"(?:\w{3} )?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(:\d\d)?(\.\d+)?(?: ?([A-Z]{2,5}|[+-]\d\d:?\d\d|Z))?$", text
    )
    if named:
        zone_name = named[5] or "Z"
        return epoch(f"{named[1]} {named[2]}{named[3] or ':00'} {_ZONES.get(zone_name, zone_name)}")
    return epoch(text)


def _joined(day: str, month: str, year: str, clock: str, half: str | None, zone: str | None) -> float | None:
    hours, _, rest = clock.partition(":")
    if half:
        hours = f"{int(hours) % 12 + (12 if half == 'PM' else 0):02d}"
    rest = rest if ":" in rest else f"{rest}:00"
    zone = _ZONES.get(zone or "UTC", zone or "+0000")
    if len(zone) == 3 and zone[0] in "+-":
        zone += "00"
    return epoch(f"{int(day)} {month} {year} {hours}:{rest} {zone}")

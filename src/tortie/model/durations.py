"""Spans of time as Go reads and writes them: what a person writes as 90s is stored as 1m30s."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # the micro sign
    "μs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SECOND: Final = _UNITS["s"]
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")


def nanoseconds(text: str) -> int:
    """Of a text that has the form of a duration."""
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or 0) * _UNITS[unit]
        if fraction:  # by a float, as Go does it: the last digit of thirds depends on that
            total += int(int(fraction) * (_UNITS[unit] / 10 ** len(fraction)))
    return -total if text.startswith("-") else total


def spelled(text: str) -> str:
    """The same span as Go writes it: hours, minutes and seconds, or below a second in the largest unit that fits."""
    count = nanoseconds(text)
    sign, count = ("-", -count) if count < 0 else ("", count)
    if not count:
        return "0s"
    if count < _SECOND:
        unit = next(unit for unit in ("ms", "µs", "ns") if count >= _UNITS[unit])
        return f"{sign}{_decimal(count, _UNITS[unit])}{unit}"
    minutes, rest = divmod(count, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = _decimal(rest, _SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def _decimal(count: int, unit: int) -> str:
    whole, rest = divmod(count, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0")
    return f"{whole}.{digits}" if rest else str(whole)

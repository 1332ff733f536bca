"""Ages and moments as Kubernetes and its tools print them: `7d22h`, `2m4s (x52551 over 6d2h)`, RFC 1123, RFC 3339."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

_UNITS: Final = {"y": 31_536_000.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AGE: Final = lazily(r"(?:\d+(?:\.\d+)?(?:ms|[ydhms])){1,6}$")
_PART: Final = lazily(r"(\d+(?:\.\d+)?)(ms|[ydhms])")
_MONTHS: Final = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10,
                  "nov": 11, "dec": 12}  # fmt: skip
_WORDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "week": 604_800.0,
                 "month": 2_592_000.0, "year": 31_536_000.0}  # fmt: skip


class Ages(NamedTuple):
    """The Age column of an event."""

    last_s: float | None
    times: int = 1
    over_s: float | None = None


def age_s(text: str) -> float | None:
    """`7d22h`, `62s`, `2y145d`, `<invalid>` (None); the words of docker and crictl: `About an hour ago`."""
    text = text.strip()
    if _AGE.match(text):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return _words_s(text.lower()) if " " in text else None


def is_age(text: str) -> bool:
    return bool(_AGE.match(text)) or text in ("<invalid>", "<unknown>")


def _words_s(text: str) -> float | None:
    if "less than a second" in text:
        return 0.0
    match = _compiled(r"(\d+|an?)\s+(second|minute|hour|day|week|month|year)s?\b").search(text)
    if not match:
        return None
    count = 1.0 if match[1].startswith("a") else float(match[1])
    return count * _WORDS[match[2]]


def event_ages(text: str) -> Ages:
    """`2m4s (x52551 over 6d2h)`, `59m (x7 over 2d2h)`, `12s`."""
    match = _compiled(r"\s*(\S+?)\s*(?:\(x(\d+)(?:\s+over\s+(\S+?))?\))?\s*$").match(text)
    if not match:
        return Ages(None)
    over = age_s(match[3]) if match[3] else None
    return Ages(age_s(match[1]), int(match[2] or 1), over)


def is_cut(message: str) -> bool:
    """Whether a table shows only the first line of a message: kubectl puts dots for the rest, older ones nothing."""
    return message.endswith(("...", "…", ":"))


def epoch(text: str) -> float | None:
    """Seconds since the epoch of `Thu, 12 Jan 2023 13:55:26 +0800` or `2023-01-12T05:55:26.123Z`; None otherwise."""
    text = text.strip().strip("\"'")
    match = _compiled(
        r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?\s*(Z|UTC|[+-]\d\d:?\d\d)?(?:\s+[A-Z]{2,5})?$"
    ).match(text)
    if match:
        year, month, day = int(match[1]), int(match[2]), int(match[3])
        clock = (match[4], match[5], match[6])
        return _moment(year, month, day, clock, match[8] or "Z") + float(match[7] or 0)
    match = _compiled(
        r"(?:[A-Z][a-z]{2},?\s+)?(\d{1,2})\s+([A-Z][a-z]{2})\s+(\d{4})\s+(\d\d):(\d\d):(\d\d)\s*([+-]\d{4}|[A-Z]{2,5})?$"
    ).match(text)
    if match and match[2].lower() in _MONTHS:
        clock = (match[4], match[5], match[6])
        return _moment(int(match[3]), _MONTHS[match[2].lower()], int(match[1]), clock, match[7] or "Z")
    return None


def _moment(year: int, month: int, day: int, clock: tuple[str, str, str], zone: str) -> float:
    hours, minutes, seconds = (int(part) for part in clock)
    return _days(year, month, day) * 86_400.0 + hours * 3_600 + minutes * 60 + seconds - _offset_s(zone)


def _offset_s(zone: str) -> int:
    if zone[0] not in "+-":
        return {"CST": 28_800}.get(zone, 0)  # China's, among Kubernetes users; other names count as UTC
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

"""Times of Kubernetes objects, and how kubectl tells how long ago they were. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"
_MINUTE: Final = 60
_HOUR: Final = 3600
_SEVERAL_DAYS: Final = 8
_YEAR: Final = 365


def seconds_of(text: object) -> float | None:
    """A time of an object (RFC 3339) as seconds since the epoch; None where there is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except ValueError:
        return None


def stamp(seconds: float) -> str:
    """The form in which objects carry times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def long_date(text: object) -> str:
    """As `kubectl describe` writes a time: Mon, 16 Nov 2026 15:04:05 +0000."""
    seconds = seconds_of(text)
    if seconds is None:
        return "Mon, 01 Jan 0001 00:00:00 +0000"
    return datetime.fromtimestamp(seconds, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")


def since(text: object, now: float) -> str:
    """How long ago that was, in kubectl's words."""
    seconds = seconds_of(text)
    return UNKNOWN if seconds is None else human(now - seconds)


def human(seconds: float) -> str:
    """Two or three figures of a duration: 119s, 2m5s, 10m, 3h, 7h59m, 47h, 2d3h, 8d, 2y1d."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    minutes, hours = whole // _MINUTE, whole // _HOUR
    if minutes < 10:
        return _two(minutes, "m", whole % _MINUTE, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < _SEVERAL_DAYS:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * _YEAR:
        return f"{days}d"
    return _two(days // _YEAR, "y", days % _YEAR, "d") if days < 8 * _YEAR else f"{days // _YEAR}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"

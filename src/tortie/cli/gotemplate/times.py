"""Times and durations as Go prints them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

_NANOSECONDS: Final = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ns": 1,
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|h|m|s)")


def moment(raw: Any) -> str:
    """2026-01-31 09:00:00 +0000 UTC, in the zone of this machine."""
    if raw is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    try:
        when = datetime.fromisoformat(str(raw))
    except ValueError:
        return str(raw)
    when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone()
    fraction = f".{when.microsecond:06d}".rstrip("0") if when.microsecond else ""
    return f"{when:%Y-%m-%d %H:%M:%S}{fraction} {when:%z} {when:%Z}"


def span(raw: Any) -> str:
    """1m30s, 1h0m0s, 1.5ms."""
    text = str(raw or "0")
    parts = _PART.findall(text)
    if not parts and text not in ("0", "-0", "+0"):
        return text
    nanoseconds = round(sum(float(number) * _NANOSECONDS[unit] for number, unit in parts))
    sign = "-" if text.startswith("-") and nanoseconds else ""
    if nanoseconds < _NANOSECONDS["s"]:
        if not nanoseconds:
            return "0s"
        unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= _NANOSECONDS[unit])
        return f"{sign}{_decimal(nanoseconds, _NANOSECONDS[unit])}{unit}"
    minutes, rest = divmod(nanoseconds, _NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, _NANOSECONDS['s'])}s"
    return sign + (f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}" if minutes else seconds)


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)

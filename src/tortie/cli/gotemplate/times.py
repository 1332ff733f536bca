"""Times and durations as Go prints them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

from tortie.model.durations import spelled

_SPAN: Final = re.compile(r"[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")


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
    return spelled(text) if _SPAN.fullmatch(text) else text

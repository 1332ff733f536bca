"""Spans of time as BIRD can be told them: whole seconds in a range. Pure."""

from __future__ import annotations

from typing import Final

from tortie.bgp.plan import Refusal
from tortie.model.fields import Duration

# What an OPEN can say: a restart in 12 bits, a hold time, which is three keepalives, in 16.
RESTART_S: Final = range(1 << 12)
KEEPALIVE_S: Final = range(1, (1 << 16) // 3 + 1)


def whole_seconds(duration: Duration | None, possible: range, setting: str, refusals: list[Refusal]) -> int | None:
    """A duration of Go's, rounded. Outside of what is possible the setting is passed over, and the session stays."""
    if duration is None:
        return None
    seconds = duration.seconds
    if not duration.startswith("-") and possible[0] - 0.5 <= seconds < possible[-1] + 0.5:
        return int(seconds + 0.5)
    why = f"{duration} is not from {possible[0]} to {possible[-1]} seconds"
    fix = "set a time in this range, or leave it out"
    refusals.append(Refusal(f"{setting} is passed over", why, fix, "resource"))
    return None

"""How long to wait before the next try: longer each time, and never all nodes at the same moment."""

from __future__ import annotations

_DOUBLINGS_MAX = 40  # beyond any longest pause; keeps the number small however long an outage lasts


def pause_s(attempt: int, chance: float, first_s: float = 0.2, longest_s: float = 10.0) -> float:
    """`attempt` counts from 0, `chance` is from 0 up to 1.

    The pause lies from half to one and a half of a value that doubles with each attempt. That value stops growing
    where one and a half of it would pass `longest_s`, so that nodes stay spread out during a long outage too.
    """
    middle_s = min(first_s * 2.0 ** min(max(attempt, 0), _DOUBLINGS_MAX), longest_s / 1.5)
    return middle_s * (0.5 + chance)

"""How long to wait: before the next try, so that nodes do not all try at once, and for more news before acting."""

from __future__ import annotations

import math
from typing import Final

_DOUBLINGS_MAX = 40  # beyond any longest pause; keeps the number small however long an outage lasts

QUIET_S: Final = 0.05
_QUIET_PER_NODE_S: Final = 0.005
_QUIET_MAX_S: Final = 2.0
_AT_MOST: Final = 5  # times the quiet, if it never gets quiet


def pause_s(attempt: int, chance: float, first_s: float = 0.2, longest_s: float = 10.0) -> float:
    """`attempt` counts from 0, `chance` is from 0 up to 1.

    The pause lies from half to one and a half of a value that doubles with each attempt. That value stops growing
    where one and a half of it would pass `longest_s`, so that nodes stay spread out during a long outage too.
    """
    middle_s = min(first_s * 2.0 ** min(max(attempt, 0), _DOUBLINGS_MAX), longest_s / 1.5)
    return middle_s * (0.5 + chance)


class Gathering:
    """News that are acted upon together: once it has been quiet for a moment, or at the latest after a few of those.

    Nodes of a new cluster come one after the other, and to act upon each would cost every node more than everything
    else it does. The more nodes there are, the longer the moment, unless somebody waits for what has changed.
    """

    def __init__(self) -> None:
        self.due = math.inf  # when to act
        self._latest = math.inf

    def hear(self, now: float, *, nodes: int, urgent: bool) -> None:
        quiet_s = QUIET_S if urgent else min(QUIET_S + _QUIET_PER_NODE_S * nodes, _QUIET_MAX_S)
        self._latest = min(self._latest, now + _AT_MOST * quiet_s)
        self.due = min(now + quiet_s, self._latest)

    def acted(self) -> None:
        self.due = self._latest = math.inf

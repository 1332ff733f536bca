"""One call's way from endpoint to endpoint, until one answers or its time is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from tortie.store.contract import Unreachable
from tortie.store.etcd.config import Endpoint
from tortie.store.etcd.connection import Connection
from tortie.store.etcd.trouble import Trouble, no_answer

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5
_SHORTEST_TRY_S = 0.05  # in less an endpoint that has failed tells nothing new, but "no answer" instead of the reason


class Search:
    """Begins at the endpoint that answered last, goes round, and rests a little after each round without success."""

    def __init__(self, connections: Sequence[Connection], first: int, where: str, doing: str, timeout_s: float) -> None:
        self.doing = doing
        self._connections = connections
        self._at = first
        self._where = where
        self.timeout_s = timeout_s
        self._began = time.monotonic()
        self._failures = 0
        self.token_renewed = False
        self._troubles: dict[Endpoint, Trouble] = {}

    @property
    def position(self) -> int:
        return self._at

    def restart(self) -> None:
        """An endpoint was heard: whatever happens next has the whole time again."""
        self._began = time.monotonic()

    def remaining_s(self) -> float:
        return self._began + self.timeout_s - time.monotonic()

    def share_s(self) -> float:
        """How long an endpoint may be silent: it must leave time for each of the others, and for a second try."""
        return max(0.0, min(self.remaining_s(), self.timeout_s / (len(self._connections) + 1)))

    def candidate(self) -> Connection:
        """The endpoint to try now; `Unreachable` when there is no time or no hope left."""
        candidate = self._connections[self._at]
        needed_s = _SHORTEST_TRY_S if candidate.endpoint in self._troubles else 0.0
        if self.remaining_s() <= needed_s or self._hopeless():
            raise self.unreachable()
        return candidate

    def failed(self, connection: Connection, trouble: Trouble) -> None:
        """Notes it and turns to the next endpoint.

        The last try is cut off by the end of the time: what a whole one before it found out is worth more.
        """
        if self.remaining_s() > 0 or connection.endpoint not in self._troubles:
            self._troubles[connection.endpoint] = trouble
        self._at = (self._at + 1) % len(self._connections)
        self._failures += 1

    async def rest(self) -> None:
        """A pause after each full round of failures; they grow, so that a dead cluster is not hammered."""
        rounds, within_round = divmod(self._failures, len(self._connections))
        if rounds and within_round == 0 and not self._hopeless():
            pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (rounds - 1))
            await asyncio.sleep(max(0.0, min(pause_s, self.remaining_s())))

    def unreachable(self, *, uncertain: bool = False) -> Unreachable:
        tried_s = min(time.monotonic() - self._began, self.timeout_s)
        troubles = self._troubles or {self._connections[self._at].endpoint: no_answer(tried_s)}
        fixes = dict.fromkeys(trouble.fix for trouble in troubles.values() if trouble.fix)
        return Unreachable(
            self._where,
            self.doing,
            tried_s,
            "; ".join(f"{endpoint}: {trouble.text}" for endpoint, trouble in troubles.items()),
            "; ".join(fixes),
            uncertain=uncertain,
        )

    def _hopeless(self) -> bool:
        return len(self._troubles) == len(self._connections) and all(
            trouble.lasting for trouble in self._troubles.values()
        )

"""One call's way from endpoint to endpoint, until one answers or its time is over."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tortie.model.light import Generic, Protocol, TypeVar
from tortie.store.contract import Unreachable
from tortie.store.etcd.config import Endpoint
from tortie.store.etcd.trouble import Trouble, no_answer

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5
_SHORTEST_TRY_S = 0.05  # in less an endpoint that has failed tells nothing new, but "no answer" instead of the reason


class Reached(Protocol):
    """A connection, as far as it matters here."""

    @property
    def endpoint(self) -> Endpoint: ...


C = TypeVar("C", bound=Reached)


class Search(Generic[C]):
    """Begins at the endpoint that answered last, goes round, and rests a little after each round without success."""

    def __init__(self, connections: Sequence[C], first: int, where: str, doing: str, timeout_s: float) -> None:
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

    def candidate(self) -> C:
        """The endpoint to try now; `Unreachable` when there is no time or no hope left."""
        candidate = self._connections[self._at]
        needed_s = _SHORTEST_TRY_S if candidate.endpoint in self._troubles else 0.0
        if self.remaining_s() <= needed_s or self._hopeless():
            raise self.unreachable()
        return candidate

    def failed(self, connection: C, trouble: Trouble) -> None:
        """Notes it and turns to the next endpoint.

        The last try is cut off by the end of the time: what a whole one before it found out is worth more.
        """
        if self.remaining_s() > 0 or connection.endpoint not in self._troubles:
            self._troubles[connection.endpoint] = trouble
        self._at = (self._at + 1) % len(self._connections)
        self._failures += 1

    def pause_s(self) -> float:
        """How long to rest now: after each full round of failures longer, so that a dead cluster is not hammered."""
        rounds, within_round = divmod(self._failures, len(self._connections))
        if not rounds or within_round or self._hopeless():
            return 0.0
        pause_s: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (rounds - 1))
        return max(0.0, min(pause_s, self.remaining_s()))

    def unreachable(
        self, *, uncertain: bool = False, doing: str = "", last: tuple[C, Trouble] | None = None
    ) -> Unreachable:
        """`doing` where it was one part of several; `last` what is known of its own attempt."""
        tried_s = min(time.monotonic() - self._began, self.timeout_s)
        known = {last[0].endpoint: last[1]} if last else {}
        troubles = {**self._troubles, **known} or {self._connections[self._at].endpoint: no_answer(tried_s)}
        fixes = dict.fromkeys(trouble.fix for trouble in troubles.values() if trouble.fix)
        return Unreachable(
            self._where,
            doing or self.doing,
            tried_s,
            "; ".join(f"{endpoint}: {trouble.text}" for endpoint, trouble in troubles.items()),
            "; ".join(fixes),
            uncertain=uncertain,
        )

    def _hopeless(self) -> bool:
        return len(self._troubles) == len(self._connections) and all(
            trouble.lasting for trouble in self._troubles.values()
        )

"""What is known about the health of a node, and how each piece of news changes it.

A start is a row of named phases. Each has a bound: the time within which something must move. Slow is fine, stuck is
not. Everything else that decides has a name, too: needs, without which the node is not ready, and components that
report for themselves, as Felix's parts do.

Values only; `tortie.health.health` keeps the present one, `tortie.health.verdict` judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Fault = Literal["this node", "a peer", "the datastore", "the configuration", "the network"]

LAUNCH: Final = "launch"  # from the first moment of the process to the first phase that somebody begins
LAUNCH_BOUND_S: Final = 30.0
RUNNING: Final = "running"


class Trouble(NamedTuple):
    """Something that is wrong, for people: what, why, what would mend it, and whose fault it is."""

    what: str
    why: str
    fix: str
    fault: Fault


class Phase(NamedTuple):
    """A phase that is over. One that was entered several times counts once, with its times added up."""

    name: str
    seconds: float
    round_trips: int


class Error(NamedTuple):
    """The last trouble, until it is resolved."""

    trouble: Trouble
    phase: str
    at: float
    times: int


class Need(NamedTuple):
    trouble: Trouble
    since: float


class Component(NamedTuple):
    """A reporter of its own. None: it has nothing to say about liveness, or about readiness."""

    live: bool | None
    ready: bool | None
    detail: str
    timeout_s: float | None
    at: float  # of the last report
    since: float  # when what it reports last changed


class State(NamedTuple):
    begun_at: float
    phase: str
    entered: float
    moved: float
    bound_s: float | None
    doing: str = ""
    waits_for: Fault = "this node"  # whose turn it is, as long as nothing has gone wrong
    round_trips: int = 0  # in this phase
    attempts: Mapping[str, int] = {}  # how often each phase of this start was begun
    attempted: float | None = None  # when the present phase was last begun
    took_s: float | None = None  # the whole start; None while it is under way
    past: tuple[Phase, ...] = ()
    requests: Mapping[tuple[str, str], int] = {}  # by operation and phase, since the process began
    error: Error | None = None
    needs: Mapping[str, Need] = {}
    components: Mapping[str, Component] = {}
    remarks: Mapping[str, tuple[str, ...]] = {}  # worth telling, and no reason not to be ready
    loop_bound_s: float | None = None
    beaten: float | None = None  # when the event loop last turned

    def begin(self, now: float, phase: str, bound_s: float, doing: str, waits_for: Fault = "this node") -> State:
        """A phase that is begun again while it runs goes on: a second attempt is no second phase."""
        earlier = {} if self.phase == RUNNING else self.attempts
        tried = self._replace(moved=now, bound_s=bound_s, attempted=now, waits_for=waits_for)
        tried = tried._replace(attempts={**earlier, phase: earlier.get(phase, 0) + 1})
        if phase == self.phase:
            return tried._replace(doing=doing or self.doing)
        entered = tried._replace(phase=phase, entered=now, doing=doing, round_trips=0)
        if self.phase == RUNNING:
            return entered._replace(begun_at=now, took_s=None, past=())
        return entered._replace(past=self._past(now))

    def started(self, now: float) -> State:
        if self.phase == RUNNING:
            return self
        return self._replace(
            phase=RUNNING,
            entered=now,
            moved=now,
            bound_s=None,
            doing="",
            round_trips=0,
            attempts={},
            attempted=None,
            past=self._past(now),
            took_s=now - self.begun_at,
        )

    def _past(self, now: float) -> tuple[Phase, ...]:
        phases = {phase.name: phase for phase in self.past}
        before = phases.get(self.phase, Phase(self.phase, 0.0, 0))
        seconds = before.seconds + now - self.entered
        phases[self.phase] = Phase(self.phase, seconds, before.round_trips + self.round_trips)
        return tuple(phases.values())

    def progress(self, now: float, doing: str) -> State:
        return self._replace(moved=now, doing=doing or self.doing)

    def counted(self, op: str) -> State:
        key = (op, self.phase)
        requests = {**self.requests, key: self.requests.get(key, 0) + 1}
        return self._replace(round_trips=self.round_trips + 1, requests=requests)

    def failed(self, now: float, trouble: Trouble) -> State:
        """An attempt that failed has ended, and that is movement; the same again is counted."""
        last = self.error
        again = last is not None and (last.trouble.what, last.trouble.fault) == (trouble.what, trouble.fault)
        times = last.times + 1 if last and again else 1
        return self._replace(moved=now, error=Error(trouble, self.phase, now, times))

    def resolved(self) -> State:
        return self._replace(error=None)

    def need(self, now: float, name: str, trouble: Trouble) -> State:
        before = self.needs.get(name)
        return self._replace(needs={**self.needs, name: Need(trouble, before.since if before else now)})

    def blocked_by(self) -> str:
        """The need whose trouble is what failed last. Whatever the next attempt is busy with, it waits for that."""
        failed = self.error.trouble if self.error else None
        return next((name for name, need in self.needs.items() if need.trouble == failed), "")

    def met(self, name: str) -> State:
        return self._replace(needs={key: need for key, need in self.needs.items() if key != name})

    def report(
        self, now: float, name: str, live: bool | None, ready: bool | None, detail: str, timeout_s: float | None
    ) -> State:
        before = self.components.get(name)
        same = before is not None and (before.live, before.ready) == (live, ready)
        since = before.since if before and same else now
        component = Component(live, ready, detail, timeout_s, now, since)
        return self._replace(components={**self.components, name: component})

    def drop(self, name: str) -> State:
        return self._replace(components={key: part for key, part in self.components.items() if key != name})


def at_launch(now: float) -> State:
    return State(begun_at=now, phase=LAUNCH, entered=now, moved=now, bound_s=LAUNCH_BOUND_S)

"""Is the node live, is it ready, and if not, why, since when and whose fault is that? A pure function of the state.

Not live is what a restart could mend: an event loop that hangs, a phase in which nothing moves, a child that died, a
component that says so or has fallen silent. Whatever is not live is not ready either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from tortie.health.state import RUNNING, Component, Phase, State, Trouble
from tortie.model.spans import span

START_UP = "start-up"
EVENT_LOOP = "event-loop"

Liveness = Literal["live", "non-live", "timed out", ""]
Readiness = Literal["ready", "non-ready", "timed out", ""]

_RESTARTED = "its liveness probe restarts it; if this comes again, look at what it did last and at the machine's load"


class NotReady(NamedTuple):
    name: str
    trouble: Trouble
    since_s: float
    not_live: bool = False


class LastError(NamedTuple):
    trouble: Trouble
    phase: str
    age_s: float
    times: int
    told_by: str = ""  # the reason for not being ready that explains the same trouble


class Row(NamedTuple):
    """One reporter as Felix's table shows it; "" stands for what it says nothing about."""

    name: str
    timeout_s: float | None
    liveness: Liveness
    readiness: Readiness
    detail: str


class Report(NamedTuple):
    live: bool
    ready: bool
    why_not_live: str
    not_ready: tuple[NotReady, ...]
    phase: str
    phase_age_s: float
    attempt: int  # how often this phase was begun in this start
    attempt_age_s: float
    progress_age_s: float
    bound_s: float | None
    doing: str
    round_trips: int  # in this phase
    last: LastError | None
    start_age_s: float
    start_took_s: float | None  # None while the start is under way
    phases: tuple[Phase, ...]  # those that are over
    requests: Mapping[tuple[str, str], int]  # datastore round trips by operation and phase
    components: tuple[Row, ...]  # by name, with our own parts
    remarks: Mapping[str, tuple[str, ...]]

    @property
    def not_live(self) -> tuple[NotReady, ...]:
        return tuple(cause for cause in self.not_ready if cause.not_live)


def judge(state: State, now: float) -> Report:
    causes = tuple(_causes(state, now))
    dead = [cause.trouble.what for cause in causes if cause.not_live]
    return Report(
        live=not dead,
        ready=not causes,
        why_not_live="; ".join(dead),
        not_ready=causes,
        phase=state.phase,
        phase_age_s=_since(state.entered, now),
        attempt=state.attempts.get(state.phase, 1),
        attempt_age_s=_since(state.entered if state.attempted is None else state.attempted, now),
        progress_age_s=_since(state.moved, now),
        bound_s=state.bound_s,
        doing=state.doing,
        round_trips=state.round_trips,
        last=_last(state, now),
        start_age_s=_since(state.begun_at, now),
        start_took_s=state.took_s,
        phases=state.past,
        requests=state.requests,
        components=tuple(sorted(_rows(state, now), key=lambda row: row.name)),
        remarks=state.remarks,
    )


def _last(state: State, now: float) -> LastError | None:
    error = state.error
    if error is None:
        return None
    told_by = state.blocked_by() or (START_UP if _trouble_of_phase(state) else "")
    return LastError(error.trouble, error.phase, _since(error.at, now), error.times, told_by)


def _causes(state: State, now: float) -> Iterator[NotReady]:
    if _hangs(state, now):
        yield _hanging_loop(state, now)
    if state.phase != RUNNING:
        yield _starting(state, now)
    for name, need in state.needs.items():
        yield NotReady(name, need.trouble, _since(need.since, now))
    for name, part in state.components.items():
        if cause := _failing(name, part, now):
            yield cause


def _hanging_loop(state: State, now: float) -> NotReady:
    silent_s, bound_s = _since(state.beaten, now), state.loop_bound_s or 0.0
    last = state.doing or f"phase {state.phase}"
    what = f"the event loop has not turned for {span(silent_s)} (bound {span(bound_s)}), last doing: {last}"
    return NotReady(EVENT_LOOP, Trouble(what, "", _RESTARTED, "this node"), silent_s, True)


def _starting(state: State, now: float) -> NotReady:
    """How long: since the start began, however often its phases were begun again in the meantime."""
    age_s = _since(state.begun_at, now)
    trouble = _trouble_of_phase(state)
    need = state.blocked_by()
    why = f"{trouble.what}: {trouble.why}".removesuffix(": ") if trouble else ""
    fault = trouble.fault if trouble else state.waits_for
    if _stuck(state, now):
        silent_s, bound_s = _since(state.moved, now), state.bound_s or 0.0
        last = f", last doing: {state.doing}" if state.doing else ""
        what = (
            f"start-up is stuck: phase {state.phase} has not moved for {span(silent_s)} (bound {span(bound_s)}){last}"
        )
        fix = trouble.fix if trouble else _RESTARTED
        return NotReady(START_UP, Trouble(what, why, fix, fault), age_s, True)
    what = f"start-up is in phase {state.phase} {_how_long(state, now)}"
    what += f": {state.doing}" if state.doing else ""
    if need:
        # The need itself has the words for it, and they may be many.
        return NotReady(START_UP, Trouble(what, f"see {need}", "", state.needs[need].trouble.fault), age_s)
    bound = f"; it would be stuck after {span(state.bound_s)} without any movement" if state.bound_s else ""
    fix = trouble.fix if trouble else f"nothing to mend yet{bound}"
    return NotReady(START_UP, Trouble(what, why, fix, fault), age_s)


def _trouble_of_phase(state: State) -> Trouble | None:
    """What failed in the present phase of the start, unless a need tells it.

    An error of an earlier phase is history: that phase is over.
    """
    error = state.error
    if error is None or state.phase == RUNNING or error.phase != state.phase or state.blocked_by():
        return None
    return error.trouble


def _how_long(state: State, now: float) -> str:
    attempt = state.attempts.get(state.phase, 1)
    if attempt == 1:
        return f"for {span(_since(state.entered, now))}"
    return f"(attempt {attempt}, starting for {span(_since(state.begun_at, now))})"


def _failing(name: str, part: Component, now: float) -> NotReady | None:
    if _silent(part, now):
        silent_s, timeout_s = _since(part.at, now), part.timeout_s or 0.0
        what = f"{name} has not reported for {span(silent_s)} (bound {span(timeout_s)})"
        why = f"its last word: {part.detail}" if part.detail else ""
        return NotReady(name, Trouble(what, why, _RESTARTED, "this node"), silent_s - timeout_s, True)
    if part.live is False:
        what = part.detail or f"{name} says that it is not live"
        return NotReady(name, Trouble(what, "", _RESTARTED, "this node"), _since(part.since, now), True)
    if part.ready is False:
        trouble = Trouble(f"{name} is not ready", part.detail, f"the log says what {name} is waiting for", "this node")
        return NotReady(name, trouble, _since(part.since, now))
    return None


def _rows(state: State, now: float) -> Iterator[Row]:
    doing = f"phase {state.phase}: {state.doing}".removesuffix(": ") if state.phase != RUNNING else ""
    liveness: Liveness = "timed out" if _stuck(state, now) else "live"
    yield Row(START_UP, state.bound_s, liveness, "ready" if state.phase == RUNNING else "non-ready", doing)
    if state.beaten is not None and state.loop_bound_s is not None:
        turning: Liveness = "timed out" if _hangs(state, now) else "live"
        yield Row(EVENT_LOOP, state.loop_bound_s, turning, "", state.doing if turning == "timed out" else "")
    for name, need in state.needs.items():
        yield Row(name, None, "", "non-ready", need.trouble.what)
    for name, part in state.components.items():
        if _silent(part, now):
            yield Row(name, part.timeout_s, "timed out", "timed out", part.detail)
        else:
            live: Liveness = "" if part.live is None else "live" if part.live else "non-live"
            ready: Readiness = "" if part.ready is None else "ready" if part.ready else "non-ready"
            yield Row(name, part.timeout_s, live, ready, part.detail)


def _stuck(state: State, now: float) -> bool:
    return state.bound_s is not None and _since(state.moved, now) > state.bound_s


def _hangs(state: State, now: float) -> bool:
    """Before the first beat there is no loop that could hang; until then the phase's bound decides."""
    bounded = state.beaten is not None and state.loop_bound_s is not None
    return bounded and _since(state.beaten, now) > (state.loop_bound_s or 0.0)


def _silent(part: Component, now: float) -> bool:
    return part.timeout_s is not None and _since(part.at, now) > part.timeout_s


def _since(then: float | None, now: float) -> float:
    return max(0.0, now - then) if then is not None else 0.0

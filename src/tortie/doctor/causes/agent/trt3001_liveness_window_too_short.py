"""TRT3001: a start that makes progress takes longer than liveness allows, so kubelet kills it, again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import ceil
from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    as_culprits,
    crash_looping,
    fits,
    hosts_of,
    kills,
    lifetimes,
    node_of,
    nodes_named,
    probe_failures,
    settled,
    sick_names,
    started_to_killed,
    window,
)
from tortie.doctor.causes.agent.start_log import StartLog, fatal_lines, start_logs, terminations
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, calm, overload
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.picture.facts import Container, Event
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Text
from tortie.health.window import ProbeWindow

CONFLICT_CHECK: Final = "check for conflicts"
SLOWEST_STEP_S: Final = 45.0  # a log whose lines are further apart stands still; it does not make progress
ENOUGH_S: Final = 150.0  # what a start gets at least, once somebody widens the window
STARTUP_PROBES: Final = (1, 18)  # Kubernetes
FELIX_LIVE: Final = (3, 9)  # the command that a startupProbe would run


class Seen:
    """What the start did, what killed it, and how long it had."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.probe, self.budget = window(picture)
        self.killed = kills(picture)
        self.failing = probe_failures(picture, "liveness")
        self.refused = [failure for failure in self.failing if "refused" in failure.text]

    @cached_property
    def logs(self) -> list[StartLog]:
        return [log for log in start_logs(self.picture) if not log.finished]

    @cached_property
    def sick(self) -> list[StartLog]:
        """Not those of agents that are well: nobody cut them off."""
        well = {pod.name for pod in self.picture.agents_now() if pod.all_ready and pod.restarts == 0}
        return [log for log in self.logs if log.last.pod not in well]

    @cached_property
    def lived(self) -> list[tuple[Container | Event, float]]:
        """Who was ended by the window, and when. What describe says is exact to the second; ages of events are not."""
        both: list[tuple[Container | Event, float]] = [*started_to_killed(self.picture), *lifetimes(self.picture)]
        return [(one, seconds) for one, seconds in both if fits(seconds, self.budget)]

    @cached_property
    def looping(self) -> bool:
        return crash_looping(self.picture)

    @property
    def killed_from_outside(self) -> bool:
        return bool(self.killed or self.refused) and self.looping

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hits = [*self.killed[:2], *(failure.hit for failure in self.failing[:2])]
        names = [*hosts_of(self.picture, *hits), *sick_names(self.picture), *nodes_named(self.picture)]
        names += [*(log.last.pod for log in self.sick), *(log.last.host for log in self.sick)]
        settings = (f"initialDelaySeconds {self.budget.initial_delay_s:g}", f"failureThreshold {self.budget.failures}")
        return culprits(
            Culprit("setting", "livenessProbe"),
            as_culprits(names),
            named("setting", *settings),
            Culprit("message", "Liveness probe"),
        )

    def found(self, strength: float, evidence: Iterable[object], seconds: float | None = None) -> Finding:
        """With the window in the sentence's words."""
        budget = self.budget
        return found(
            strength, self.culprits, evidence, node=node_of(self.picture, self.culprits),
            seconds=f"{seconds:.0f}" if seconds is not None else "", window=f"{budget.kill_after_s:g}",
            delay=f"{budget.initial_delay_s:g}", period=f"{budget.period_s:g}", failures=budget.failures,
            assumed="" if self.probe else Text(__name__, "word assumed"),
        )  # fmt: skip


def agents_ready(seen: Seen) -> Finding | None:
    pods = settled(seen.picture)
    return ruled_out(pods[:2]) if pods else None


def never_restarted(seen: Seen) -> Finding | None:
    """All agents are shown and none was ever started again: nobody cut their start off."""
    pods = seen.picture.agents_now()
    once = pods and all(pod.restarts == 0 and pod.status == "Running" for pod in pods)
    return ruled_out(pods[:2]) if once and not seen.killed and not seen.looping else None


def ended_by_itself(seen: Seen) -> Finding | None:
    ended = terminations(seen.picture)
    return ruled_out(ended[:1]) if ended else None


def host_starved(seen: Seen) -> Finding | None:
    strained = overload(seen.picture)
    return ruled_out(strained[0].places, strain=strained[0].text) if strained else None


def error_in_log(seen: Seen) -> Finding | None:
    failed = fatal_lines(seen.picture)
    return ruled_out(failed[:1]) if failed else None


def cut_off(seen: Seen) -> Finding | None:
    """The log advances up to the end of the window, and ends there."""
    cut = [log for log in seen.sick if _was_cut(log, seen.budget)]
    if not cut:
        return None
    log, picture = cut[-1], seen.picture
    reads = any("Get Key" in hit.text for hit in picture.hits("start-key-read"))
    checking = CONFLICT_CHECK in log.first.message or reads
    fitting = seen.probe or seen.looping or seen.failing or calm(picture)
    strength = STRONG if fitting else LIKELY if checking else POSSIBLE
    evidence = (seen.probe, log.first, log.last, *seen.killed[:1])
    return seen.found(strength, evidence, log.seconds)


def killed_in_the_middle(seen: Seen) -> Finding | None:
    if not (seen.killed and seen.lived and seen.logs):
        return None
    who, seconds = seen.lived[-1]
    evidence = (seen.probe, who, *(log.last for log in seen.sick[-1:]), *seen.killed[:1])
    strength = STRONG if calm(seen.picture) else POSSIBLE
    return seen.found(strength, evidence, seconds)


def other_text(seen: Seen) -> Finding | None:
    if seen.killed_from_outside and seen.failing and not seen.refused:
        return ruled_out([seen.failing[0].hit])
    return None


def killed_without_error(seen: Seen) -> Finding | None:
    """Killed from outside, and the time it had is not shown."""
    if not seen.killed_from_outside:
        return None
    grown = seen.picture.said("datastore-far", "new-nodes-fail")
    likely = seen.logs and (grown or calm(seen.picture))
    some = seen.picture.said("only-some-nodes", "one-node-only")
    evidence = (seen.probe, *seen.killed[:1], *(failure.hit for failure in seen.refused[:1]), *grown[:1])
    strength = LIKELY if likely else POSSIBLE - 0.05 if some else POSSIBLE
    return seen.found(strength, evidence)


def _was_cut(log: StartLog, budget: ProbeWindow) -> bool:
    """It advanced up to the end of the window. Of a log cut down to its ends only the ends are known."""
    advancing = log.lines <= 3 or log.longest_gap_s <= SLOWEST_STEP_S
    return fits(log.seconds, budget) and advancing and not log.failed


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del finding
    if has_operator(picture):
        yield do("operator")
    else:
        yield from _wider(picture)
    yield do("shorten")


def _wider(picture: Picture) -> Iterator[Do]:
    """Twice the time it has now; more than a start-up needs does no harm."""
    _, budget = window(picture)
    delay = max(60.0, budget.initial_delay_s)
    failures = ceil((max(ENOUGH_S, 2 * budget.kill_after_s) - delay) / budget.period_s) + 1
    wider = ProbeWindow(delay, budget.period_s, max(failures, budget.failures))
    yield do("widen", seconds=f"{wider.kill_after_s:g}", new_delay=f"{delay:g}", threshold=wider.failures)
    kubernetes = picture.version("kubernetes") or picture.version("kubelet")
    calico = picture.version("calico")
    if (kubernetes is None or kubernetes >= STARTUP_PROBES) and (calico is None or calico >= FELIX_LIVE):
        yield do("startup")


CAUSE = Cause(
    module=__name__,
    id="liveness-window-too-short",
    code="TRT3001",
    severity="medium",
    explains=("crash-loop", "killed-by-liveness", "restarts", "not-ready", "bgp-down"),
    signs=(*START_SIGNS, *NODE_SIGNS),
    look=Seen,
    rules=(
        agents_ready, never_restarted, ended_by_itself, host_starved, error_in_log, cut_off, killed_in_the_middle,
        other_text, killed_without_error,
    ),
    fix=fix,
    yields_to=(
        "node-overloaded", "port-9099-conflict", "localhost-misresolved", "loopback-down", "missing-mount",
        "bird-config-invalid", "bird-overloaded",
    ),
)  # fmt: skip

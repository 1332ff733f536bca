"""TRT3003: the host has no CPU or disk time left, so the agent cannot start or answer in time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    ProbeFailure,
    as_culprits,
    crash_looping,
    hosts_of,
    kills,
    node_of,
    nodes_named,
    probe_failures,
    settled,
    sick_names,
    window,
)
from tortie.doctor.causes.agent.start_log import fatal_lines, start_logs, terminations
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, calm, hogs, overload
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Text

SOME: Final = ("only-some-nodes", "one-node-only")
SLOW_WORDS: Final = ("Client.Timeout", "context deadline exceeded")
EMPTYDIR: Final = (1, 20)  # kubectl's option for local data has another name since


class Seen:
    """The load of the hosts, and what the probes of the agents say."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.strained = overload(picture)
        self.liveness = probe_failures(picture, "liveness")
        self.killed = kills(picture)
        self.slow = [failure for failure in probe_failures(picture) if _late(failure)]
        self.refused = [failure for failure in self.liveness if "refused" in failure.text]

    @cached_property
    def suffers(self) -> bool:
        return bool(self.liveness or self.slow or self.killed or crash_looping(self.picture))

    @property
    def other_reason(self) -> bool:
        """Liveness says why it failed, and it is neither late nor refused."""
        return not (self.slow or self.refused) and any(failure.text for failure in self.liveness)

    @cached_property
    def starved(self) -> tuple[Culprit, ...]:
        picture = self.picture
        hosts = [strain.host for strain in self.strained if strain.host]
        hits = [*(failure.hit for failure in (self.slow or self.refused or self.liveness)[:3]), *self.killed[:2]]
        said = [value for one in picture.said("load-high", *SOME) for value in one.values]
        names = [*said, *hosts, *sick_names(picture), *nodes_named(picture), *hosts_of(picture, *hits)]
        return culprits(
            as_culprits(names),
            named("program", *hogs(picture, hosts)),
            Culprit("message", self.strained[0].text),
        )


def load_normal(seen: Seen) -> Finding | None:
    relaxed = calm(seen.picture)
    return ruled_out(relaxed[0].places, host=relaxed[0].host, strain=relaxed[0].text) if relaxed else None


def agents_ready(seen: Seen) -> Finding | None:
    pods = settled(seen.picture)
    return ruled_out(pods[:2]) if pods else None


def loaded_without_harm(seen: Seen) -> Finding | None:
    if not seen.strained or seen.suffers:
        return None
    evidence = [place for strain in seen.strained[:2] for place in strain.places]
    node = node_of(seen.picture, seen.starved)
    return found(POSSIBLE, seen.starved, evidence, strain=seen.strained[0].text, node=node)


def starved(seen: Seen) -> Finding | None:
    if not seen.strained:
        return None
    failures = seen.slow or seen.refused or seen.liveness
    ended = terminations(seen.picture)
    strength = POSSIBLE if ended else PROVEN if not seen.strained[0].said and failures else STRONG
    if not (failures or seen.killed or ended):
        strength = LIKELY
    load = [place for strain in seen.strained[:3] for place in strain.places]
    evidence = (*load, *(failure.hit for failure in failures[:2]), *seen.killed[:1], *seen.picture.said(*SOME)[:1])
    node = node_of(seen.picture, seen.starved)
    return found(strength, seen.starved, evidence, strain=seen.strained[0].text, node=node)


def ended_by_itself(seen: Seen) -> Finding | None:
    ended = terminations(seen.picture)
    return ruled_out(ended[:1]) if ended else None


def error_in_log(seen: Seen) -> Finding | None:
    failed = fatal_lines(seen.picture)
    return ruled_out(failed[:1]) if failed else None


def load_not_shown(seen: Seen) -> Finding | None:
    """Killed from outside without an error: the load would do this, and the window as well."""
    if seen.other_reason or not (seen.killed or seen.refused or seen.slow):
        return None
    picture, failures = seen.picture, (seen.slow or seen.refused)[:2]
    probe, budget = window(picture)
    said = picture.said(*SOME)
    some = bool(said) or _some_agents(picture)
    hits = [failure.hit for failure in failures]
    names = [*(value for one in said for value in one.values), *sick_names(picture), *nodes_named(picture)]
    blamed = as_culprits([*names, *hosts_of(picture, *seen.killed[:2], *hits)])
    logs = [log for log in start_logs(picture) if not log.finished]
    return found(
        POSSIBLE + 0.05 if some else POSSIBLE - 0.1, blamed,
        (*hits, *seen.killed[:1], *(log.last for log in logs[:1]), probe),
        window=f"{budget.kill_after_s:g}", where=Text(__name__, "word some") if some else "",
        node=node_of(picture, blamed),
    )  # fmt: skip


def _late(failure: ProbeFailure) -> bool:
    """Felix's health endpoint answered too late; other programs' endpoints are another matter."""
    late = any(word in failure.text for word in SLOW_WORDS)
    return late and any(word in failure.text for word in ("9099", "felix", "Felix"))


def _some_agents(picture: Picture) -> bool:
    """Some agents fail while others of the same DaemonSet are ready."""
    pods = picture.agents_now()
    return any(pod.all_ready for pod in pods) and any(not pod.all_ready for pod in pods)


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del finding
    yield do("look")
    version = picture.version("kubernetes") or picture.version("kubelet")
    yield do("drain-before-1-20" if version and version < EMPTYDIR else "drain")
    if not _has_request(picture):
        yield do("request-operator" if has_operator(picture) else "request")
    yield do("origin")


def _has_request(picture: Picture) -> bool:
    boxes = [box for box in picture.containers(init=False) if is_agent(box.pod) or is_agent(box.name)]
    return any(dict(box.requests).get("cpu") for box in boxes)


CAUSE = Cause(
    module=__name__,
    id="node-overloaded",
    code="TRT3003",
    severity="medium",
    explains=("crash-loop", "killed-by-liveness", "restarts", "not-ready", "bgp-down", "felix-not-ready"),
    signs=(*START_SIGNS, *NODE_SIGNS),
    look=Seen,
    rules=(
        load_normal, agents_ready, loaded_without_harm, starved, ended_by_itself, error_in_log, load_not_shown,
    ),
    fix=fix,
)  # fmt: skip

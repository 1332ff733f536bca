"""TRT3004: a CPU limit on the agent throttles it while its host is idle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import is_ours, of_another
from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    as_culprits,
    hosts_of,
    kills,
    probe_failures,
    sick_names,
)
from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, calm, overload
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container, Setting
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

THROTTLED: Final = Sign("cpu-nr-throttled", "nr_throttled <n_count>")
PERIODS: Final = Sign("cpu-nr-periods", "nr_periods <n_count>")
METRIC: Final = Sign("cpu-throttled-metric", "container_cpu_cfs_throttled_periods_total")
# The alert that Prometheus' usual rules carry.
ALERT: Final = Sign("cpu-throttling-alert", "<share> throttling of CPU in namespace <namespace> for container <name>")
SMALL_M: Final = 500  # millicores; Felix alone passes this while it programs many rules
OFTEN: Final = 0.05  # share of periods in which the agent had to wait
ALL_OF_IT: Final = 0.9  # share of the limit from which it counts as used up


_OF_MEMORY: Final = lazily(r"\bmem(?:ory)?\b|\boom|内存", re.IGNORECASE)


class Limit(NamedTuple):
    millicores: float
    text: str
    place: Place
    container: str = ""
    pod: str = ""


class Seen:
    """The agent's limit, how often it had to wait for its turn, and what it uses."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.limit = _limit(picture)
        counts = picture.hits(THROTTLED)
        self.counts = [hit for hit in counts if float(hit.value("n_count")) > 0 and not of_another(picture, hit)]
        alerts = [hit for hit in picture.hits(ALERT) if is_agent(hit.value("name")) or "felix" in hit.value("name")]
        self.alerts = [hit for hit in alerts if _percent(hit.value("share")) >= OFTEN]
        self.zeros = [hit for hit in counts if float(hit.value("n_count")) == 0]
        self.at_limit_as_told = [said for said in picture.said("at-cpu-limit") if not _OF_MEMORY.search(said.text)]
        self.well_without = [said for said in picture.said("without-limit-well") if not _OF_MEMORY.search(said.text)]
        self.suffering = probe_failures(picture)
        self.killed = kills(picture)
        self.used, self.used_at = _use(picture)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hits = [*self.counts[:1], *self.alerts[:1], *(failure.hit for failure in self.suffering[:2])]
        limit = self.limit
        return culprits(
            Culprit("setting", f"cpu: {limit.text}" if limit else "resources.limits.cpu"),
            named("container", limit.container if limit else "calico-node"),
            named("pod", limit.pod if limit else ""),
            as_culprits([*hosts_of(self.picture, *hits), *sick_names(self.picture)]),
        )

    @cached_property
    def free(self) -> list[Container]:
        """The agent's containers that are shown to have no limit."""
        boxes = self.picture.containers(init=False)
        ours = [box for box in boxes if is_agent(box.pod) or is_agent(box.name) or not (box.pod or box.name)]
        return [box for box in ours if box.requests and not box.limits] if self.limit is None else []

    @property
    def whose(self) -> bool:
        """The counts are those of the agent: its pod was asked, or it is what has a limit."""
        return bool(self.limit) or any(is_ours(hit.command) for hit in self.counts)

    def found(self, strength: float, count: str = "", share: str = "", used: str = "", say: str = "") -> Finding:
        failures = [failure.hit for failure in self.suffering[:2]]
        evidence = (self.limit, *self.counts[:2], *self.alerts[:1], *self.used_at, *failures, *self.killed[:1])
        told = (*self.at_limit_as_told[:1], *self.well_without[:1])
        limit = self.limit.text if self.limit else ""
        container = self.limit.container if self.limit else "calico-node"
        return found(
            strength, self.culprits, (*evidence, *told), say=say or _say(self), limit=limit,
            container=container, count=count, share=share, used=used,
        )  # fmt: skip

    @property
    def at_limit(self) -> bool:
        return bool(self.limit and self.used is not None and self.used >= ALL_OF_IT * self.limit.millicores)

    def limited(self, strength: float) -> Finding:
        return self.found(strength, used=f"{self.used}m" if self.at_limit else "")


def _say(seen: Seen) -> str:
    return "throttled" if seen.counts else "alerted" if seen.alerts else "limited"


def no_limit(seen: Seen) -> Finding | None:
    """Then nobody is throttled but others; a LimitRange gives a limit to the pod only, and its own counts tell."""
    return ruled_out(seen.free[:1]) if seen.free and not (seen.counts and seen.whose) else None


def never_throttled(seen: Seen) -> Finding | None:
    return ruled_out(seen.zeros[:1]) if seen.limit and seen.zeros and not seen.counts else None


def throttled(seen: Seen) -> Finding | None:
    if not seen.counts:
        return None
    share = _share(seen.picture)
    proven, ours = seen.limit and seen.suffering, seen.whose
    strength = POSSIBLE if share is not None and share < OFTEN else PROVEN if proven else STRONG if ours else POSSIBLE
    return seen.found(strength, count=seen.counts[-1].value("n_count"), share=f"{share:.0%}" if share else "")


def alerted(seen: Seen) -> Finding | None:
    """Prometheus counted for us; throttled without harm is worth a word only."""
    if not seen.alerts:
        return None
    share = seen.alerts[-1].value("share")
    harmed = seen.suffering or seen.killed
    strength = (PROVEN if seen.limit else STRONG) if harmed else POSSIBLE
    return seen.found(strength, share=share)


def host_starved(seen: Seen) -> Finding | None:
    return seen.limited(POSSIBLE) if seen.limit and overload(seen.picture) else None


def at_limit(seen: Seen) -> Finding | None:
    return seen.limited(STRONG if seen.suffering or seen.killed else LIKELY) if seen.at_limit else None


def small_limit(seen: Seen) -> Finding | None:
    small = seen.limit and seen.limit.millicores <= SMALL_M
    if not small or not (seen.suffering or seen.killed):
        return None
    texts = [failure.text for failure in seen.suffering]
    slow = all(not text or "timed out" in text or "deadline" in text for text in texts)
    return seen.limited(LIKELY if calm(seen.picture) and slow else POSSIBLE)


def told(seen: Seen) -> Finding | None:
    """All of its limit is used, and where the limit is gone nothing fails any more: as a person says it."""
    if seen.limit or not any("calico" in exhibit.text.lower() for exhibit in seen.picture.exhibits if exhibit.prose):
        return None
    return seen.found(LIKELY, say="told") if seen.at_limit_as_told and seen.well_without else None


def limit_alone(seen: Seen) -> Finding | None:
    return cannot_tell() if seen.limit else None


def _limit(picture: Picture) -> Limit | None:
    """The agent's CPU limit; limits that were shown without a name are taken for its own."""
    for box in picture.containers(init=False):
        cpu = dict(box.limits).get("cpu", "")
        ours = is_agent(box.pod) or is_agent(box.name) or not (box.pod or box.name)
        if cpu and ours:
            return Limit(_millicores(cpu), cpu, box.place, box.name or "calico-node", box.pod)
    return None


def _millicores(text: str) -> float:
    number = re.match(r"[\d.]+", text)
    return float(number[0]) * (1 if text.endswith("m") else 1000) if number else 0.0


def _percent(text: str) -> float:
    number = re.match(r"[\d.]+", text)
    return float(number[0]) / 100 if number and number[0].strip(".") else 0.0


def _share(picture: Picture) -> float | None:
    throttled, periods = picture.hits(THROTTLED), picture.hits(PERIODS)
    if throttled and periods and float(periods[-1].value("n_count")):
        return float(throttled[-1].value("n_count")) / float(periods[-1].value("n_count"))
    return None


def _use(picture: Picture) -> tuple[int | None, list[Place]]:
    """What `kubectl top pod` shows of the busiest agent, in millicores."""
    best: tuple[int | None, list[Place]] = (None, [])
    for row in picture.of(Setting):
        if (row.scope, row.name) == ("top", "cpu") and is_agent(row.owner) and row.value.rstrip("m").isdecimal():
            used = round(_millicores(row.value))
            if best[0] is None or used > best[0]:
                best = used, [row.place]
    return best


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if has_operator(picture):
        yield do("remove-operator")
    else:
        yield do("remove", container=finding.value("container", "calico-node"))
    yield do("who-sets-it")


CAUSE = Cause(
    module=__name__,
    id="cpu-throttled",
    code="TRT3004",
    severity="low",
    explains=("restarts", "killed-by-liveness", "not-ready", "felix-not-ready", "bird-not-ready"),
    signs=(THROTTLED, PERIODS, METRIC, ALERT, *START_SIGNS, *NODE_SIGNS),
    look=Seen,
    rules=(no_limit, never_throttled, throttled, alerted, host_starved, at_limit, small_limit, told, limit_alone),
    fix=fix,
    yields_to=("node-overloaded",),
)

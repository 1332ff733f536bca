"""TRT3006: another program holds Felix's health port, so liveness kills a Felix that works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    as_culprits,
    hosts_of,
    node_of,
    probe_failures,
    sick_names,
)
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import set_agent_env
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Listener, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

IN_USE: Final = Sign("health-port-in-use", "listen tcp <where>: bind: address already in use")
OTHER_BIRD: Final = Sign("another-bird", "I found another BIRD running")
PORTS: Final = ("9099", "9098", "9091")  # Felix health, Typha health, Felix metrics
HEALTH, METRICS = "9099", "9091"
OURS: Final = ("calico", "felix", "tortie")
# How Felix is told another port; Typha is none of the agent's.
SETTINGS: Final = {"9099": ("FELIX_HEALTHPORT", "9199"), "9091": ("FELIX_PROMETHEUSMETRICSPORT", "9191")}
# What Felix never answers on its paths; 503 is its own word for "not ready".
_FOREIGN_ANSWER: Final = lazily(r"(?:statuscode:|reporting|returned) ?(?:40[0-5]|50[02])\b|malformed HTTP", re.I)


class Owner(NamedTuple):
    """Who has the port: a program, or the container for which docker forwards it."""

    place: Place
    program: str
    host: str


class Seen:
    """Who could not open a port, who has it, and what answers on it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.bound = [hit for hit in picture.hits(IN_USE) if hit.value("where").rpartition(":")[2] in PORTS]
        ports = [hit.value("where").rpartition(":")[2] for hit in self.bound]
        self.port = next((port for port in ports if port != METRICS), ports[0] if ports else HEALTH)
        listening = picture.of(Listener)
        self.owners = [one for one in listening if str(one.port) == self.port and one.program]
        self.foreign = _foreign(picture, self.port, self.owners)
        self.odd = [failure for failure in probe_failures(picture) if _FOREIGN_ANSWER.search(failure.text)]

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = [one.host for one in self.foreign or self.owners]
        hits = [*self.bound[:2], *(failure.hit for failure in self.odd[:1])]
        return culprits(
            named("program", *(one.program for one in self.foreign)),
            Culprit("port", f"{self.port}/tcp"),
            as_culprits([*hosts, *hosts_of(self.picture, *hits), *sick_names(self.picture)]),
            Culprit("setting", "FELIX_HEALTHPORT"),
        )

    @property
    def node(self) -> str:
        return node_of(self.picture, self.culprits)


def metrics_only(seen: Seen) -> Finding | None:
    """No probe asks for metrics: Felix works without, and agents that are not ready have another reason."""
    if seen.port != METRICS or not sick_names(seen.picture):
        return None
    program = seen.foreign[0].program if seen.foreign else ""
    evidence = (*seen.foreign[:1], *seen.bound[:2])
    return found(POSSIBLE, seen.culprits, evidence, program=program, port=seen.port, node=seen.node)


def moved(seen: Seen) -> Finding | None:
    """Felix was given another port: who has the usual one is in nobody's way."""
    told = [*seen.picture.settings("FELIX_HEALTHPORT"), *seen.picture.settings("healthPort")][-1:]
    elsewhere = [one for one in told if one.value.strip("'\"").isdecimal() and one.value.strip("'\"") != HEALTH]
    if not elsewhere or seen.bound or seen.odd:
        return None
    return ruled_out(elsewhere, other=elsewhere[0].value.strip("'\""))


def foreign_owner(seen: Seen) -> Finding | None:
    if not seen.foreign:
        return None
    failing = [] if seen.bound or seen.odd else probe_failures(seen.picture, "liveness")
    strength = PROVEN if seen.bound or seen.odd else STRONG if failing else LIKELY
    answers = [failure.hit for failure in (*seen.odd[:1], *failing[:1])]
    return found(
        strength, seen.culprits, (*seen.foreign[:1], *seen.bound[:2], *answers),
        program=seen.foreign[0].program, port=seen.port, node=seen.node,
    )  # fmt: skip


def second_instance(seen: Seen) -> Finding | None:
    if seen.owners and seen.bound:
        return ruled_out((*seen.owners[:1], *seen.bound[:1]), port=seen.port)
    return None


def own_port(seen: Seen) -> Finding | None:
    return ruled_out(seen.owners[:1], port=seen.port) if seen.owners else None


def taken_by_unknown(seen: Seen) -> Finding | None:
    if not seen.bound:
        return None
    twice = seen.picture.hits(OTHER_BIRD) or seen.picture.said("two-installs")
    strength = POSSIBLE if twice else LIKELY
    return found(strength, seen.culprits, (*seen.bound[:2], *twice[:1]), port=seen.port, node=seen.node)


def strange_answer(seen: Seen) -> Finding | None:
    if not seen.odd:
        return None
    answer = seen.odd[0]
    return found(POSSIBLE, seen.culprits, [answer.hit], port=seen.port, answer=answer.text[:60], node=seen.node)


def _foreign(picture: Picture, port: str, owners: list[Listener]) -> list[Owner]:
    published = [
        Owner(one.place, one.owner, one.host)
        for one in picture.of(Setting)
        if one.scope == "published-port" and one.name == port
    ]
    listening = [
        Owner(owner.place, owner.program, owner.host)
        for owner in owners
        if not any(word in owner.program.lower() for word in OURS)
    ]
    return [*published, *listening]


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    port = finding.value("port", HEALTH)
    if finding.value("program"):
        yield do("move")
    else:
        yield do("owner", port=port)
        yield do("move-it")
    setting, other = SETTINGS.get(port, ("", ""))
    if not setting:
        yield do("typha")
        return
    if port == HEALTH:
        yield do("instead", other=other)
    yield from set_agent_env(picture, setting, other)


CAUSE = Cause(
    module=__name__,
    id="port-9099-conflict",
    code="TRT3006",
    severity="medium",
    explains=("killed-by-liveness", "crash-loop", "restarts", "not-ready", "felix-not-ready", "log-errors"),
    signs=(IN_USE, OTHER_BIRD, *START_SIGNS),
    look=Seen,
    rules=(metrics_only, moved, foreign_owner, second_instance, own_port, taken_by_unknown, strange_answer),
    fix=fix,
)

"""TRT8002: 6443 is open through the load balancer but not on the masters to which the service address leads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    RULE_SIGNS,
    VIP_SIGNS,
    alive_otherwise,
    direct_answers,
    direct_failures,
    kubernetes_endpoints,
    vip_rules,
    vip_troubles,
)
from tortie.doctor.causes.firewall.security_groups import let_in
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Ping, PortTest
from tortie.doctor.picture.picture import Picture

PORT: Final = "6443"
_SHOWN: Final = 3
_NO_ROUTE: Final = "no route to host"


class Seen:
    """Masters that were asked directly, from where, and what the service address leads to."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.failing, self.rules = vip_troubles(picture), vip_rules(picture)
        self.targets = {endpoint.address for endpoint in kubernetes_endpoints(picture)}
        ips = picture.internal_ips()
        self.masters = {ips.get(pod.node, pod.ip) for pod in picture.pods_now("kube-apiserver")} | self.targets
        self.said = picture.said("lb-ok-masters-not")
        self.vip = self.failing[0].address if self.failing else ""

    @cached_property
    def blocked(self) -> list[PortTest]:
        """Masters that did not answer; others only where no master was asked."""
        silent = [test for test in direct_failures(self.picture) if test.result != "refused"]
        return [test for test in silent if test.address in self.masters] or silent

    @property
    def addresses(self) -> set[str]:
        return {test.address for test in self.blocked}

    @cached_property
    def answers(self) -> list[PortTest]:
        """What answers this node, or anybody at another address."""
        here = {"", self.blocked[0].host} if self.blocked else set()
        tests = direct_answers(self.picture)
        return [test for test in tests if not self.blocked or test.host in here or test.address not in self.addresses]

    @cached_property
    def through(self) -> list[PortTest]:
        return [test for test in self.answers if test.address not in self.addresses]

    @cached_property
    def elsewhere(self) -> list[PortTest]:
        """The same address answers another machine."""
        tests = [test for test in direct_answers(self.picture) if test.address in self.addresses]
        return [test for test in tests if test.host != self.blocked[0].host]

    @cached_property
    def alive(self) -> list[Ping | PortTest]:
        return alive_otherwise(self.picture, self.addresses)

    @property
    def strength(self) -> float:
        proof = bool(self.through or self.elsewhere or self.said)
        there = bool(self.alive or self.elsewhere)
        if (self.failing or (self.rules and self.rules.present)) and proof and there:
            return PROVEN
        if proof and not there and not self.addresses & set(self.picture.internal_ips().values()):
            return POSSIBLE  # nothing says that this address is a master's at all
        if not proof and not self.alive:
            return POSSIBLE
        return STRONG if self.failing else LIKELY


def masters_silent(seen: Seen) -> Finding | None:
    if not seen.blocked:
        return None
    first = seen.blocked[0]
    sockets = tuple(dict.fromkeys(f"{test.address}:{test.port}" for test in seen.blocked))
    blamed = culprits(
        Culprit("port", f"{first.port}/tcp"),
        named("address", *(test.address for test in seen.blocked), *sockets, seen.vip),
        named("node", *(test.host for test in seen.blocked)),
    )
    place = seen.rules.place if seen.rules else None
    tried = (*seen.blocked[:2], *seen.through[:1], *seen.elsewhere[:1], *seen.alive[:1])
    other = f"{seen.through[0].address}:{seen.through[0].port}" if seen.through else ""
    return found(
        seen.strength, blamed, (*tried, place, *seen.said[:1], *seen.failing[:2]), sockets=sockets[:_SHOWN],
        other=other, port=str(first.port), master=first.address, node=first.host,
    )  # fmt: skip


def refused_on_the_way(seen: Seen) -> Finding | None:
    """`No route to host` of a machine that answers pings is what a packet filter's reject looks like."""
    dialled = [hit for hit in seen.picture.hits(DIAL_FAILED) if hit.value("port") == PORT and _NO_ROUTE in hit.text]
    for hit in dialled:
        answer = next((p for p in seen.picture.of(Ping) if p.ok and not p.pod and p.address == hit.value("ip")), None)
        if answer and not any(test.address == answer.address for test in seen.answers):
            who = culprits(Culprit("port", f"{PORT}/tcp"), named("address", answer.address), named("node", answer.host))
            return found(STRONG, who, (hit, answer), port=PORT, master=answer.address, node=answer.host)
    return None


def balancer_answers(seen: Seen) -> Finding | None:
    if not seen.said or not seen.failing:
        return None
    blamed = culprits(Culprit("port", f"{PORT}/tcp"), named("address", seen.vip))
    return found(LIKELY, blamed, (*seen.said[:1], *seen.failing[:1]), port=PORT, master=_only(seen.targets))


def master_answers(seen: Seen) -> Finding | None:
    if not [test for test in seen.answers if not seen.masters or test.address in seen.masters]:
        return None
    first = seen.answers[0]
    return ruled_out((first,), answers=f"{first.address}:{first.port}")


def rules_there(seen: Seen) -> Finding | None:
    if not seen.failing or not seen.rules or not seen.rules.present:
        return None
    blamed = culprits(Culprit("port", f"{PORT}/tcp"), named("address", *sorted(seen.targets), seen.vip))
    evidence = (seen.rules.place, *seen.failing[:1])
    return found(POSSIBLE, blamed, evidence, vip=seen.vip, port=PORT, master=_only(seen.targets))


def not_asked(seen: Seen) -> Finding | None:
    if not seen.failing:
        return None
    blamed = culprits(Culprit("port", f"{PORT}/tcp"), named("address", seen.vip))
    return found(HINT, blamed, seen.failing[:1], vip=seen.vip, port=PORT, master=_only(seen.targets))


def _only(some: set[str]) -> str:
    return next(iter(some)) if len(some) == 1 else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    yield from let_in(picture, finding.value("port", PORT), "tcp")


CAUSE = Cause(
    module=__name__,
    id="apiserver-port-blocked",
    code="TRT8002",
    severity="high",
    explains=(
        "api-unreachable", "init-crash", "init-stuck", "crash-loop", "datastore-error", "service-dead",
        "controllers-failing",
    ),
    signs=(*VIP_SIGNS, *RULE_SIGNS),
    look=Seen,
    rules=(masters_silent, refused_on_the_way, balancer_answers, master_answers, rules_there, not_asked),
    fix=fix,
    yields_to=("policy-blocks-host", "apiserver-advertise-wrong"),
)  # fmt: skip

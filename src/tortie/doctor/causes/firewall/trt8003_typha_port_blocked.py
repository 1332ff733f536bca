"""TRT8003: TCP 5473 between nodes is filtered while Typha runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import TYPHA_PORT, VIP_SIGNS
from tortie.doctor.causes.datastore.api_trust import AFTER, EXPIRED, refusals
from tortie.doctor.causes.datastore.trt2013_typha_unavailable import CONNECT, typha_troubles, typhas, typhas_ready
from tortie.doctor.causes.firewall.security_groups import let_in
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Listener, PortTest, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

FOUND_READY: Final = Sign("trt8003-found-ready", "Found ready Typha addresses")
ALL_FAILED: Final = Sign("trt8003-all-failed", "connection to typhas")
DROPPED: Final = ("timeout", "no-route", "closed")
PORT: Final = Culprit("port", f"{TYPHA_PORT}/tcp")


class Seen:
    """Attempts to reach Typha from other nodes, Typhas that are ready, and agents that are not."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.failing = typha_troubles(picture)
        self.dropped = [trouble for trouble in self.failing if trouble.how in DROPPED]
        self.pods, self.ready = typhas(picture), typhas_ready(picture)
        self.agents = picture.agents_now()
        self.sick = [pod for pod in self.agents if not pod.all_ready]
        self.tests = picture.of(PortTest)
        self.addresses = sorted({trouble.address for trouble in self.dropped})

    @cached_property
    def alone(self) -> bool:
        """Ready agents are exactly those with a Typha on their node."""
        homes = {pod.node for pod in self.ready if pod.node}
        bad = {pod.node for pod in self.sick if pod.node}
        good = {pod.node for pod in self.agents if pod.node and pod.all_ready}
        return bool(homes and bad) and not homes & bad and good <= homes

    @cached_property
    def others(self) -> list[PortTest]:
        """Another port of the same machine is open."""
        there = [test for test in self.tests if test.address in self.addresses and test.port != TYPHA_PORT]
        return [test for test in there if test.result == "open"]

    @cached_property
    def listening(self) -> list[Listener]:
        return [listener for listener in self.picture.of(Listener) if listener.port == TYPHA_PORT]

    @cached_property
    def through_service(self) -> bool:
        """Whether what was dialled is the service's address, as its table or a person says."""
        known = {one.value for one in self.picture.of(Setting) if one.scope == "service"}
        lines = [line.lower() for one in self.picture.exhibits if one.prose for line in one.lines]
        told = {address for address in self.addresses for line in lines if address in line and "service" in line}
        return bool(self.addresses) and all(address in known | told for address in self.addresses)

    @property
    def strength(self) -> float:
        tried = any(trouble.tried for trouble in self.dropped) and bool(self.others)
        runs = bool(self.ready or self.listening)
        if runs and (tried or self.alone):
            return PROVEN
        if self.through_service and not (self.alone or tried):
            return POSSIBLE  # on the way there kube-proxy comes first
        if runs or self.alone or tried:
            return STRONG
        return LIKELY if self.picture.hits(FOUND_READY) else POSSIBLE

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            PORT,
            named("address", *(f"{address}:{TYPHA_PORT}" for address in self.addresses), *self.addresses),
            named("pod", *(pod.name for pod in self.ready)),
            named("node", *(pod.node for pod in self.ready)),
        )


def certificate_expired(seen: Seen) -> Finding | None:
    expired = [refusal for refusal in refusals(seen.picture, AFTER, EXPIRED) if refusal.server == "typha"]
    return ruled_out((expired[0].hit,)) if expired else None


def none_ready(seen: Seen) -> Finding | None:
    return ruled_out(seen.pods[:2]) if seen.pods and not seen.ready else None


def agents_ready(seen: Seen) -> Finding | None:
    return ruled_out(seen.agents[:2]) if seen.agents and not seen.sick else None


def not_filtered(seen: Seen) -> Finding | None:
    opened = [test for test in seen.tests if test.port == TYPHA_PORT and test.result == "open"]
    reached = (seen.failing or opened) and not seen.dropped and not seen.alone
    return ruled_out((*seen.failing[:1], *opened[:1])) if reached else None


def only_local(seen: Seen) -> Finding | None:
    """Nobody complains about Typha: something else may make these nodes fail."""
    if not seen.alone or seen.dropped or seen.picture.hits(CONNECT, ALL_FAILED):
        return None
    return found(POSSIBLE, seen.culprits, (*seen.ready[:2], *seen.sick[:2]), typha=_home(seen))


def blocked(seen: Seen) -> Finding | None:
    if not seen.dropped and not seen.alone:
        return None
    tried = [trouble for trouble in seen.dropped if trouble.tried]
    claims = seen.picture.hits(FOUND_READY)
    there = (*tried[:1], *seen.others[:1], *seen.listening[:1], *seen.ready[:2], *claims[:1])
    strength = seen.strength
    return found(
        strength, seen.culprits, (*there, *seen.dropped[:2], *seen.sick[:2]),
        say="silent" if strength < LIKELY else "blocked-but-local" if seen.alone else "blocked",
        sockets=_sockets(seen), typha=_home(seen),
    )  # fmt: skip


def _sockets(seen: Seen) -> tuple[str, ...]:
    named_in = tuple(dict.fromkeys(f"{trouble.address}:{trouble.port}" for trouble in seen.dropped))
    return named_in or (f"{TYPHA_PORT}/tcp",)


def _home(seen: Seen) -> str:
    """An address at which a Typha runs."""
    ips = seen.picture.internal_ips()
    homes = [pod.ip or ips.get(pod.node, pod.node) for pod in seen.ready if pod.ip or pod.node]
    return (*seen.addresses, *homes, "")[0]


def fix(picture: Picture, _finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    yield from let_in(picture, str(TYPHA_PORT), "tcp")


CAUSE = Cause(
    module=__name__,
    id="typha-port-blocked",
    code="TRT8003",
    severity="high",
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    signs=(*VIP_SIGNS, FOUND_READY, ALL_FAILED, CONNECT, AFTER, EXPIRED),
    look=Seen,
    rules=(certificate_expired, none_ready, agents_ready, not_filtered, only_local, blocked),
    fix=fix,
)

"""TRT3008: the loopback interface is down or has lost 127.0.0.1."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of, sick_names
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Finding, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, overload
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.picture.facts import Interface, Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

LO_DOWN: Final = Sign("loopback-state-down", "1: lo: <list> state DOWN")
NO_ROUTE: Final = ("network is unreachable", "no route to host", "host is unreachable")
WITH_ADDRESSES: Final = ("addr", "ip a", "ifconfig")  # commands whose answer would show an address


class Seen:
    """lo itself, and who tried to reach 127.0.0.1."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        dials = [hit for hit in picture.hits(DIAL_FAILED) if hit.value("ip").startswith("127.")]
        self.dials = [hit for hit in dials if "refused" not in hit.text]
        self.links = [link for link in picture.of(Interface) if link.name == "lo"]
        self.broken = [link for link in self.links if _is_down(link) or _lost_address(picture, link)]
        self.pings = [one for one in picture.of(Ping) if one.address.startswith("127.") or one.address == "localhost"]
        self.failed = [ping for ping in self.pings if not ping.ok]
        self.down = picture.hits(LO_DOWN)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = [*(link.host for link in self.broken), *(ping.host for ping in self.pings)]
        hosts += hosts_of(self.picture, *self.down[:1], *self.dials[:2])
        return culprits(
            Culprit("interface", "lo"),
            Culprit("address", "127.0.0.1"),
            as_culprits([*hosts, *sick_names(self.picture)]),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.broken[:1], *self.down[:1], *self.failed[:1], *self.dials[:2])

    @property
    def node(self) -> str:
        return node_of(self.picture, self.culprits)


def broken(seen: Seen) -> Finding | None:
    if not (seen.broken or seen.down):
        return None
    lost = any(not _is_down(link) for link in seen.broken) and not seen.down
    strength = PROVEN if seen.dials or seen.failed else STRONG
    return found(strength, seen.culprits, seen.evidence, say="lost" if lost else "down", node=seen.node)


def answers_ping(seen: Seen) -> Finding | None:
    return ruled_out(seen.pings[:1]) if any(ping.ok for ping in seen.pings) else None


def ping_fails(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, seen.evidence, node=seen.node) if seen.failed else None


def up_with_address(seen: Seen) -> Finding | None:
    return ruled_out(seen.links[:1]) if any(link.addresses for link in seen.links) else None


def no_route(seen: Seen) -> Finding | None:
    unroutable = [hit for hit in seen.dials if any(word in hit.text.lower() for word in NO_ROUTE)]
    return found(LIKELY, seen.culprits, unroutable[:2], node=seen.node) if unroutable else None


def times_out(seen: Seen) -> Finding | None:
    if seen.dials and not overload(seen.picture):
        return found(POSSIBLE, seen.culprits, seen.dials[:2], node=seen.node)
    return None


def _is_down(link: Interface) -> bool:
    return link.state.upper() == "DOWN"


def _lost_address(picture: Picture, link: Interface) -> bool:
    """No 127.0.0.1 on lo, in an answer that would have shown it."""
    if any(address.startswith("127.") for address in link.addresses):
        return False
    for exhibit in picture.exhibits:
        numbers = exhibit.numbers or range(exhibit.first, exhibit.first + len(exhibit.lines))
        if exhibit.source == link.place.source and link.place.first in numbers:
            asked = any(word in exhibit.command for word in WITH_ADDRESSES) and " -6" not in exhibit.command
            return asked and "grep" not in exhibit.command and "awk" not in exhibit.command
    return False


CAUSE = Cause(
    module=__name__,
    id="loopback-down",
    code="TRT3008",
    severity="high",
    explains=("killed-by-liveness", "crash-loop", "not-ready", "felix-not-ready", "restarts"),
    signs=(LO_DOWN, DIAL_FAILED, *NODE_SIGNS),
    look=Seen,
    rules=(broken, answers_ping, ping_fails, up_with_address, no_route, times_out),
)

"""TRT7018: the kernel's table of neighbours is full, so that packets to new neighbours, even to itself, fail."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.whose_node import nobody_suffers
from tortie.doctor.causes.recovery import node_of, writers
from tortie.doctor.picture.facts import Number, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

OVERFLOW: Final = Sign("neigh-overflow", "neighbor table overflow")  # since 4.x: neighbour: arp_cache: neighbor table …
OVERFLOW_OLD: Final = Sign("neigh-overflow-old", "neighbour table overflow")
SENDMSG: Final = Sign("neigh-sendmsg", "sendmsg: Invalid argument")
SENDMSG_ZH: Final = Sign("neigh-sendmsg-zh", "sendmsg: 无效的参数")
CONNECT: Final = Sign("neigh-connect", ": connect: invalid argument")
FULL: Final = 0.9  # of the limit: the kernel collects before it is reached
EASY: Final = 0.5
LIMIT: Final = "net.ipv{}.neigh.default.gc_thresh3"
USUAL: Final = 1024  # the kernel's default limit
ROOM: Final = 16_384


class Seen:
    """The kernel's line, how many neighbours there are, and how many there may be."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.overflow = picture.hits(OVERFLOW, OVERFLOW_OLD)
        self.failed = picture.hits(SENDMSG, SENDMSG_ZH, CONNECT)
        self.family = 6 if any("ndisc" in hit.line for hit in self.overflow) else 4
        self.setting = LIMIT.format(self.family)

    @cached_property
    def limit(self) -> Setting | None:
        shown = self.picture.setting(self.setting)
        return shown if shown and shown.value.isdecimal() else None

    @cached_property
    def entries(self) -> Number | None:
        counted = [number for number in self.picture.of(Number) if _counts_neighbours(number.command)]
        return counted[-1] if counted else None

    @property
    def filled(self) -> float | None:
        """How full the table is; None where one of the two is not shown."""
        if self.limit is None or self.entries is None or not int(self.limit.value):
            return None
        return self.entries.value / int(self.limit.value)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = [self.limit.host] if self.limit else []
        written = writers(self.picture, *self.overflow[:1], *self.failed[:1])
        return culprits(named("setting", self.setting), written, named("node", *hosts))


def _counts_neighbours(command: str) -> bool:
    words = command.split()
    asks = words[:1] == ["ip"] and any(word.startswith("neigh") or word == "n" for word in words[1:4])
    return (asks or words[:1] == ["arp"]) and ("wc" in words or "-c" in words)


def room(seen: Seen) -> Finding | None:
    """Half of the table is free: it was raised since, or this was never the trouble."""
    spare = seen.filled is not None and seen.filled <= EASY
    if not spare or not (seen.overflow or seen.failed):
        return None
    return ruled_out((seen.entries, seen.limit), entries=_text(seen.entries), limit=_value(seen.limit))


def raised(seen: Seen) -> Finding | None:
    """The limit is far above the kernel's own, and the agents are well: what the kernel said was before that."""
    large = seen.limit is not None and int(seen.limit.value) >= 4 * USUAL
    calm = large and seen.filled is None and nobody_suffers(seen.picture)
    return ruled_out((seen.limit,), limit=_value(seen.limit)) if calm and seen.overflow else None


def full(seen: Seen) -> Finding | None:
    if seen.filled is None or seen.filled < FULL:
        return None
    evidence = (seen.limit, seen.entries, *seen.overflow[:1], *seen.failed[:1])
    return found(
        PROVEN if seen.overflow else LIKELY, seen.culprits, evidence,
        limit=_value(seen.limit), entries=_text(seen.entries), setting=seen.setting, node=node_of(seen.culprits),
    )  # fmt: skip


def overflow(seen: Seen) -> Finding | None:
    if not seen.overflow:
        return None
    evidence = (*seen.overflow[:2], seen.limit, *seen.failed[:1])
    strength = POSSIBLE if nobody_suffers(seen.picture) else STRONG
    return found(
        strength, seen.culprits, evidence, limit=_value(seen.limit), setting=seen.setting, node=node_of(seen.culprits)
    )


def invalid_argument(seen: Seen) -> Finding | None:
    """The kernel answers so when it has no place for a neighbour; a bad route or address can make it do so, too."""
    sent = seen.picture.hits(SENDMSG, SENDMSG_ZH)
    return found(POSSIBLE, seen.culprits, sent[:2], node=node_of(seen.culprits)) if sent else None


def _value(limit: Setting | None) -> str:
    return limit.value if limit else ""


def _text(entries: Number | None) -> str:
    return str(entries.value) if entries else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    now = int(finding.value("limit") or USUAL)
    high = max(ROOM, 4 * now)
    family = "6" if "ipv6" in finding.value("setting") else "4"
    limits = {"low": str(high // 4), "middle": str(high // 2), "high": str(high)}
    yield do("see", family=family)
    yield do(f"raise-{family}", **limits)
    yield do(f"keep-{family}", **limits)
    yield do("who")


CAUSE = Cause(
    module=__name__,
    id="neigh-table-overflow",
    code="TRT7018",
    severity="high",
    explains=(
        "traffic-dead", "service-dead", "not-ready", "felix-not-ready", "bird-not-ready", "killed-by-liveness",
        "restarts", "bgp-down", "api-unreachable", "datastore-error", "log-errors", "node-not-ready",
    ),
    signs=(OVERFLOW, OVERFLOW_OLD, SENDMSG, SENDMSG_ZH, CONNECT),
    look=Seen,
    rules=(room, raised, full, overflow, invalid_argument),
    fix=fix,
)  # fmt: skip

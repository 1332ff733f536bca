"""TRT5003: every address of the pools that fit is really in use."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.ipam.further_pool import like_the_first
from tortie.doctor.causes.ipam.ipam_evidence import EXHAUSTION, NUMBERS, ROOMY, exhaustion, numbers, pool_uses
from tortie.doctor.causes.ipam.node_range import NODE_RANGE_FULL, NodeRange
from tortie.doctor.picture.picture import Picture


class Seen:
    """Who found no address, and the numbers of the fullest pool."""

    def __init__(self, picture: Picture) -> None:
        self.hits = exhaustion(picture)
        self.known = numbers(picture)
        self.range = NodeRange(picture)
        self.others = [
            use for use in pool_uses(picture) if use.cidr != self.known.cidr and use.used < ROOMY * use.total
        ]
        self.evidence = (*self.known.places, *self.hits[:2])

    @property
    def few_blocks(self) -> bool:
        """As many affinities as nodes need: nothing hints at dead owners."""
        known = self.known
        owned = known.affinities or known.blocks
        return bool(owned and known.nodes and known.use and owned.value <= known.nodes.value + known.use.total // 64)


def held_by_the_gone(seen: Seen) -> Finding | None:
    return ruled_out(seen.known.places[:4]) if seen.known.leaking else None


def room_left(seen: Seen) -> Finding | None:
    known = seen.known
    if not known.use or not known.roomy:
        return None
    return ruled_out((known.use,), cidr=known.cidr, used=known.use.used, total=known.use.total)


def room_elsewhere(seen: Seen) -> Finding | None:
    """One pool is full, another one is not, and nobody says that an address could not be had."""
    return (
        ruled_out((seen.known.use, seen.others[0]), other=seen.others[0].cidr)
        if seen.others and not seen.hits
        else None
    )


def range_leaks(seen: Seen) -> Finding | None:
    return ruled_out(seen.range.places) if seen.range.leaking else None


def node_range_full(seen: Seen) -> Finding | None:
    """host-local: as many pods as the node's range has addresses, or nobody counts them."""
    one = seen.range
    if not one.hits:
        return None
    counted = bool(one.pods and one.size and one.pods.value >= ROOMY * one.size)
    who = culprits(named("cidr", one.range), named("node", one.node))
    return found(
        STRONG if counted else POSSIBLE, who, one.places, range=one.range, node=one.node,
        pods=one.pods.value if one.pods and counted else "",
    )  # fmt: skip


def full_of_pods(seen: Seen) -> Finding | None:
    known = seen.known
    if not known.use or not known.full or not known.pods:
        return None
    return found(
        PROVEN if seen.hits else STRONG, known.culprits, seen.evidence, cidr=known.cidr, pool_prefix=known.prefix,
        used=known.use.used, total=known.use.total, pods=known.pods.value,
    )  # fmt: skip


def full(seen: Seen) -> Finding | None:
    """How many pods there are is not shown; a check without problems says that nothing is leaked."""
    known = seen.known
    if not known.use or not known.full:
        return None
    checked = known.problems is not None and not known.problems.value
    return found(
        STRONG if checked else LIKELY if seen.hits and seen.few_blocks else POSSIBLE, known.culprits, seen.evidence,
        cidr=known.cidr, pool_prefix=known.prefix, used=known.use.used, total=known.use.total,
    )  # fmt: skip


def no_free_address(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    return found(
        POSSIBLE, seen.known.culprits, seen.hits[:3], cidr=seen.known.cidr, pool_prefix=seen.known.prefix
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "node-range-full":
        yield do("wider")
        yield do("large")
        return
    yield do("second-pool", **like_the_first(picture))
    yield do("large")


CAUSE = Cause(
    module=__name__,
    id="ippool-exhausted",
    code="TRT5003",
    severity="high",
    explains=(
        "crash-loop", "start-terminated", "sandbox-failed", "pod-pending", "not-ready", "no-address", "log-errors",
    ),
    signs=(*EXHAUSTION, *NUMBERS, NODE_RANGE_FULL),
    look=Seen,
    rules=(
        held_by_the_gone, range_leaks, node_range_full, room_left, room_elsewhere, full_of_pods, full, no_free_address,
    ),
    fix=fix,
)  # fmt: skip

"""TRT5002: addresses and blocks of nodes or pods that are gone were never released, so the pool fills."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.ipam_evidence import (
    EXHAUSTION,
    FULL,
    NUMBERS,
    RELEASE_NOT_EMPTY,
    ROOMY,
    exhaustion,
    numbers,
    owners_alive,
)
from tortie.doctor.causes.ipam.node_range import NODE_RANGE_FULL, NodeRange
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

# No block for a node that is new, or no address for its tunnel: of many reasons this is one.
CLAIM_FAILED = Sign("ipam-claim-failed", "Failed to claim an affine block")
TUNNEL_ADDRESS = Sign("ipam-tunnel-address", "Unable to autoassign an address for (IPIP|VXLAN|Wireguard)")


class Seen:
    """Who found no address, and the numbers of the fullest pool."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = exhaustion(picture)
        self.known = numbers(picture)
        self.range = NodeRange(picture)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(self.known.culprits, named("node", *self.known.dead_owners[:10]))

    @property
    def owned(self) -> tuple[int, int] | None:
        """Affinities and nodes, where both are counted."""
        known = self.known
        return (known.affinities.value, known.nodes.value) if known.affinities and known.nodes else None


def more_than_pods(seen: Seen) -> Finding | None:
    return _leak(seen) if seen.known.above else None


def owners_gone(seen: Seen) -> Finding | None:
    return _leak(seen) if seen.known.dead_owners else None


def owners_counted(seen: Seen) -> Finding | None:
    return _leak(seen) if seen.known.dead and seen.known.dead.value else None


def hosts_beyond_nodes(seen: Seen) -> Finding | None:
    """Hosts that own blocks are counted, and most of them are no nodes any more."""
    known = seen.known
    if not known.beyond or not known.hosts or not known.nodes:
        return None
    full = bool(known.capacity and known.blocks and known.blocks.value >= FULL * known.capacity)
    late = [*seen.hits, *seen.picture.hits(CLAIM_FAILED, TUNNEL_ADDRESS)]
    felt = full or bool(late)
    return found(
        PROVEN if full and late else STRONG if felt else POSSIBLE, seen.culprits, (*known.places, *late[:2]),
        aside=not felt, cidr=known.cidr, hosts=known.hosts.value, nodes=known.nodes.value,
        blocks=known.blocks.value if full and known.blocks else "", capacity=(known.capacity or "") if full else "",
    )  # fmt: skip


def leaks_checked(seen: Seen) -> Finding | None:
    return _leak(seen) if seen.known.checked else None


def node_range_leaks(seen: Seen) -> Finding | None:
    """host-local: a node's range is full of files of pods that are gone."""
    one = seen.range
    if not one.leaking or one.pods is None:
        return None
    who = culprits(named("cidr", one.range), named("folder", "/var/lib/cni/networks"), named("node", one.node))
    return found(STRONG, who, one.places, used=one.taken or 0, range=one.range, pods=one.pods.value, node=one.node)


def fits_the_pods(seen: Seen) -> Finding | None:
    use, pods = seen.known.use, seen.known.pods
    return ruled_out((use, pods), used=use.used, pods=pods.value) if use and pods else None


def no_leak_checked(seen: Seen) -> Finding | None:
    leaked = seen.known.leaked
    return ruled_out((leaked,)) if leaked and not leaked.value else None


def blocks_beyond_nodes(seen: Seen) -> Finding | None:
    """The pool is said to be exhausted; addresses in use or pods are not counted."""
    if not seen.hits or not seen.owned or seen.owned[0] <= 2 * seen.owned[1]:
        return None
    known = seen.known
    many, nodes = seen.owned
    full = bool(known.capacity and many >= known.capacity)
    replaced = seen.picture.said("nodes-replaced", "spot-instances")
    evidence = (known.affinities, known.nodes, *seen.hits[:2])
    return found(
        LIKELY if full and replaced else POSSIBLE, seen.culprits, evidence,
        cidr=known.cidr, affinities=many, nodes=nodes,
    )  # fmt: skip


def owners_live(seen: Seen) -> Finding | None:
    """Addresses are free, and every block belongs to a node that is well: nothing that is gone holds anything."""
    alive = owners_alive(seen.picture)
    return ruled_out((seen.known.use, *alive[:2])) if alive and seen.known.use and seen.known.roomy else None


def node_range_full(seen: Seen) -> Finding | None:
    if not seen.range.hits:
        return None
    return found(
        POSSIBLE, culprits(named("cidr", seen.range.range), named("node", seen.range.node)), seen.range.hits[:2],
        range=seen.range.range, node=seen.range.node,
    )  # fmt: skip


def no_address(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    churn = seen.picture.hits(RELEASE_NOT_EMPTY)
    return found(POSSIBLE, seen.culprits, (*churn[:1], *seen.hits[:2]), cidr=seen.known.cidr)


def _leak(seen: Seen) -> Finding:
    known = seen.known
    many, nodes = seen.owned or (0, 0)
    # A leak that has not filled the pool is worth mending, but it is nobody's symptom yet.
    felt = bool(seen.hits) or (known.share is not None and known.share >= ROOMY)
    return found(
        (PROVEN if known.above and seen.hits else STRONG) if felt else POSSIBLE,
        seen.culprits, (*known.places, *seen.hits[:2]), aside=not felt,
        cidr=known.cidr,
        used=known.use.used if known.use else "",
        pods=known.pods.value if known.pods else "",
        affinities=many if many > nodes else "",
        nodes=nodes if many > nodes else "",
        leaked=known.leaked.value if known.leaked and known.leaked.value else "",
        owners=known.dead_owners[:3],
        dead=known.dead.value if known.dead and known.dead.value and not known.dead_owners else "",
    )  # fmt: skip


def fix(_picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule in ("node-range-leaks", "node-range-full"):
        yield do("files")
        yield do("drain-node")
        yield do("empty")
        return
    yield do("report")
    yield do("lock")
    yield do("release")
    yield do("unlock")
    yield do("controllers")


CAUSE = Cause(
    module=__name__,
    id="ipam-leak",
    code="TRT5002",
    severity="high",
    explains=(
        "crash-loop", "start-terminated", "sandbox-failed", "pod-pending", "not-ready", "no-address", "log-errors",
    ),
    signs=(*EXHAUSTION, *NUMBERS, NODE_RANGE_FULL, CLAIM_FAILED, TUNNEL_ADDRESS),
    look=Seen,
    rules=(
        node_range_leaks, more_than_pods, owners_gone, owners_counted, hosts_beyond_nodes,
        leaks_checked, fits_the_pods, no_leak_checked, blocks_beyond_nodes, owners_live, no_address, node_range_full,
    ),
    fix=fix,
)  # fmt: skip

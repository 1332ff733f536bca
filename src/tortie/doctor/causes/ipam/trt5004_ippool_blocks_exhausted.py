"""TRT5004: the pool has fewer blocks than nodes need; late nodes get none though few addresses are used."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.borrowed import affinities, borrowed
from tortie.doctor.causes.ipam.borrowed_pods import borrowed_pods
from tortie.doctor.causes.ipam.further_pool import like_the_first
from tortie.doctor.causes.ipam.ipam_evidence import (
    BLOCK_LIMIT,
    BLOCK_LIMIT_REACHED,
    EXHAUSTION,
    NO_FREE_BLOCKS,
    NO_FREE_POOL_BLOCKS,
    NUMBERS,
    RAN_OUT_OF_AFFINE,
    STRICT,
    block_size,
    capacity_of_all,
    exhaustion,
    numbers,
    owners_alive,
)
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Value

BLOCK_SIZE = Culprit("setting", "blockSize")
LIMIT = Culprit("setting", "maxBlocksPerHost")
_SHOWN = 3


class Seen:
    """Who found no address or block, and the numbers of the fullest pool."""

    def __init__(self, picture: Picture) -> None:
        self.hits = exhaustion(picture)
        self.known = numbers(picture)
        self.taken = self.known.blocks or affinities(picture) or self.known.affinities
        self.limit = picture.hits(BLOCK_LIMIT, BLOCK_LIMIT_REACHED)
        self.blocks = picture.hits(NO_FREE_POOL_BLOCKS, NO_FREE_BLOCKS, RAN_OUT_OF_AFFINE)
        self.strict = picture.hits(STRICT)
        self.culprits = culprits(self.known.culprits, BLOCK_SIZE)
        self.alive = owners_alive(picture)
        self.borrowed = borrowed(picture, block_size(self.known.pool, self.known.cidr, picture))
        self.pods = sorted(borrowed_pods(picture), key=lambda one: (not one.dropped, not one.homeless))
        self.told = picture.said("blocks-used-up")
        self.capacity = capacity_of_all(picture)
        self.suffered = picture.said("suffers", "network-dead", "cross-node-dead", "service-dead", "one-node-only")
        self.lost = [ping for ping in picture.of(Ping) if not ping.ok]
        self.evidence = (*self.known.places, *self.alive[:1], *self.hits[:2])


def held_by_the_gone(seen: Seen) -> Finding | None:
    return ruled_out(seen.known.places[:4]) if seen.known.leaking else None


def host_limit(seen: Seen) -> Finding | None:
    if not seen.limit:
        return None
    told = next((hit.value("n") for hit in seen.limit if hit.value("n").isdecimal()), "")
    blamed = culprits(LIMIT, seen.culprits)
    evidence = (*seen.limit[:2], *seen.known.places)
    return found(STRONG, blamed, evidence, cidr=seen.known.cidr, limit=told, blocks=str(2 * int(told)) if told else "")


def addresses_used_up(seen: Seen) -> Finding | None:
    known = seen.known
    return ruled_out((known.use,), used=known.use.used) if known.use and known.full else None


def fewer_blocks_than_nodes(seen: Seen) -> Finding | None:
    known = seen.known
    if not seen.hits or not known.capacity or not known.nodes or known.nodes.value <= known.capacity:
        return None
    return found(
        PROVEN if known.use else STRONG, seen.culprits, seen.evidence,
        cidr=known.cidr, capacity=known.capacity, nodes=known.nodes.value,
    )  # fmt: skip


def all_taken(seen: Seen) -> Finding | None:
    known, taken = seen.known, seen.taken
    if not seen.hits or not known.capacity or not taken or taken.value < known.capacity:
        return None
    # Dead owners would be a leak; without pods, nodes or a check nothing excludes them.
    lively = known.pods is not None or (known.problems is not None and not known.problems.value) or bool(seen.alive)
    owned = bool(known.nodes and taken.value <= 2 * known.nodes.value)
    strength = (PROVEN if lively else STRONG) if known.roomy and (lively or owned) else POSSIBLE
    return found(
        strength, seen.culprits, seen.evidence, cidr=known.cidr, taken=taken.value,
        used=known.use.used if known.use else "", total=known.use.total if known.use else "",
    )  # fmt: skip


def none_to_borrow(seen: Seen) -> Finding | None:
    """IPAM says so itself, and addresses are free: they lie in blocks of other nodes."""
    known = seen.known
    if not seen.strict or not known.roomy or known.use is None:
        return None
    evidence = (*seen.strict[:1], *known.places, *seen.alive[:1])
    return found(STRONG, seen.culprits, evidence, cidr=known.cidr, used=known.use.used, total=known.use.total)


def tunnel_borrowed(seen: Seen) -> Finding | None:
    """Nobody complains of addresses: the late node borrowed one for its tunnel, and answers go to the block's owner."""
    if not seen.borrowed:
        return None
    known, taken, first = seen.known, seen.taken, seen.borrowed[0]
    if known.cidr and not inside(first.address, known.cidr):
        return None
    full = bool(known.capacity and taken and taken.value >= known.capacity)
    if not (seen.suffered or seen.lost) or (not full and known.capacity and taken):
        return None
    strength = PROVEN if full and known.roomy else STRONG if full else POSSIBLE
    who = culprits(
        seen.culprits, named("node", first.node), named("address", first.address), named("block", first.block)
    )
    evidence = (*(fact for fact in (taken, known.pool, known.use) if fact), *first.places, *seen.lost[:1])
    return found(strength, who, evidence, say="tunnel-borrowed" if full else "borrowed", aside=False, **_values(seen))


def pod_borrowed(seen: Seen) -> Finding | None:
    """Pods on one node have addresses of another node's block, and that one does not get to them."""
    if not seen.pods or not (seen.suffered or seen.lost):
        return None
    first, nodes = seen.pods[0], seen.known.nodes
    few = bool(seen.capacity and nodes and nodes.value > seen.capacity)
    full = bool(seen.known.capacity and seen.taken and seen.taken.value >= seen.known.capacity)
    strength = PROVEN if few or full else STRONG if first.homeless or seen.told else POSSIBLE
    if not first.dropped:  # only whoever suffers on that very node may suffer from it
        named_there = any(first.node and first.node in one.text for one in seen.suffered)
        strength = STRONG if named_there and (few or full) else POSSIBLE
    who = culprits(
        seen.culprits, named("address", first.address), named("node", first.node), named("block", first.block)
    )
    counted = (seen.known.pool, nodes) if few else (seen.taken, seen.known.use) if full else ()
    felt = (*seen.lost[:1], *seen.suffered[:1])
    return found(
        strength, who, (*first.places, *(fact for fact in counted if fact), *seen.told[:1], *felt),
        say="", aside=False, address=first.address, node=first.node, block=first.block, owner=first.owner,
        **_sizes(seen, few),
    )  # fmt: skip


def nodes_told(seen: Seen) -> Finding | None:
    """No message is shown; a person says that no block is left, and the numbers agree, or that nodes get none."""
    if not seen.told:
        return None
    nodes = seen.known.nodes
    few = bool(seen.capacity and nodes and nodes.value > seen.capacity)
    evidence = (*(fact for fact in (seen.known.pool, nodes) if few and fact), *seen.told[:2])
    return found(STRONG if few else POSSIBLE, seen.culprits, evidence, say="", aside=False, **_sizes(seen, few))


def _sizes(seen: Seen, few: bool) -> dict[str, Value]:
    """Told where they prove it."""
    nodes = seen.known.nodes.value if seen.known.nodes else 0
    return {"cidr": seen.known.cidr, "capacity": seen.capacity or 0, "nodes": nodes} if few else {}


def _values(seen: Seen) -> dict[str, Value]:
    first = seen.borrowed[0]
    return {
        "cidr": seen.known.cidr, "taken": seen.taken.value if seen.taken else "", "address": first.address,
        "node": first.node, "block": first.block, "owner": first.owner,
    }  # fmt: skip


def many_free(seen: Seen) -> Finding | None:
    capacity, taken = seen.known.capacity, seen.taken
    free = capacity and taken and taken.value < capacity // 2
    return ruled_out((taken,), taken=taken.value, capacity=capacity) if taken and capacity and free else None


def no_block(seen: Seen) -> Finding | None:
    if not seen.hits and not seen.blocks:
        return None
    known = seen.known
    strength = LIKELY if seen.blocks and known.roomy and known.pods else POSSIBLE
    return found(strength, seen.culprits, (*known.places, *(seen.blocks or seen.hits)[:3]), cidr=known.cidr)


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "host-limit":
        yield do("limit")
        yield do("raise")
        return
    yield do("second-pool", **like_the_first(picture))
    if finding.rule == "pod-borrowed":
        yield do("recreate")
        return
    if finding.rule == "tunnel-borrowed":
        agent = next((pod.name for pod in picture.agents_now() if pod.node == finding.value("node")), "")
        yield do("release")
        yield do("restart", agent_pod=agent) if agent else do("restart")
        return
    agents = [pod for pod in picture.agents_now() if pod.containers is not None]
    unwell = [pod.name for pod in agents if not pod.all_ready]
    if not agents:
        yield do("restart")
    yield from (do("restart", agent_pod=name) for name in unwell[:_SHOWN])


CAUSE = Cause(
    module=__name__,
    id="ippool-blocks-exhausted",
    code="TRT5004",
    severity="high",
    explains=(
        "crash-loop", "start-terminated", "sandbox-failed", "pod-pending", "not-ready", "no-address", "log-errors",
        "traffic-dead", "service-dead",
    ),
    signs=(*EXHAUSTION, *NUMBERS),
    look=Seen,
    rules=(
        held_by_the_gone, host_limit, addresses_used_up, fewer_blocks_than_nodes, none_to_borrow, all_taken,
        tunnel_borrowed, pod_borrowed, many_free, nodes_told, no_block,
    ),
    fix=fix,
)  # fmt: skip

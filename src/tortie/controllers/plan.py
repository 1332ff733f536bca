"""One look at the store: what there is to do now, what has to wait, and what is remembered for the next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from tortie.controllers.leaks import Leaks, Suspect, find_leaks
from tortie.controllers.nodes import (
    EmptyBlock,
    Orphan,
    claimants,
    cooled_down,
    empty_blocks,
    existing_nodes,
    giving_up,
    gone_nodes,
    mentioned_nodes,
    missing_nodes,
    orphans,
    ownerless_empty,
    stale_endpoints,
    superfluous,
    unclaimed_blocks,
)
from tortie.controllers.ripening import due, ripe, seen_again
from tortie.ipam.census import Census, Cluster, Endpoint, NodeAddresses
from tortie.ipam.usage import Users
from tortie.model.keys import block_key, handle_key
from tortie.model.network import Network
from tortie.store.contract import Delete, Operation

# An agent that runs puts its node's record back within moments, however it came to be deleted.
GONE_S: Final = 10.0


class Patience(NamedTuple):
    """How long something must have been so before it is acted upon."""

    grace_s: float = 900.0  # 0: what belongs to nodes that exist is left alone
    gone_s: float = GONE_S


class Memory(NamedTuple):
    """What was seen earlier, and since when; by our own clock."""

    suspects: Mapping[Suspect, float] = {}
    missing: Mapping[str, float] = {}
    empty: Mapping[EmptyBlock, float] = {}
    orphans: Mapping[Orphan, float] = {}
    known: frozenset[str] = frozenset()  # nodes that exist, or did


class Stuck(NamedTuple):
    """A node that is gone, and that cannot be cleaned up yet."""

    node: str
    in_use: int  # addresses that pods still have
    strangers: int  # addresses of somebody whom we do not understand


class Plan(NamedTuple):
    locked: bool = False
    gone: tuple[str, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    leaks: Leaks = Leaks()
    nodes: tuple[str, ...] = ()  # whose blocks and affinities are given up
    stuck: tuple[Stuck, ...] = ()
    blocks: tuple[tuple[EmptyBlock, int, tuple[Operation, ...]], ...] = ()
    tidying: tuple[tuple[str, Network | str, Operation], ...] = ()  # what it is, which one, and the write
    memory: Memory = Memory()
    claimed: frozenset[str] = frozenset()  # nodes that are gone and have blocks or affinities

    @property
    def is_idle(self) -> bool:
        return not (self.gone or self.leaks.confirmed or self.blocks or self.tidying)

    def next_due(self, now: float, patience: Patience) -> float | None:
        """When something that waits gets ripe."""
        moments = [due(self.memory.missing, now, patience.gone_s)]
        if patience.grace_s > 0 and not self.locked:
            moments.append(due(self.memory.suspects, now, patience.grace_s))
            moments.append(due(self.memory.empty, now, patience.grace_s))
            moments.append(due(self.memory.orphans, now, patience.grace_s))
        return min((moment for moment in moments if moment is not None), default=None)


def plan_of(census: Census, memory: Memory, now: float, today: datetime, patience: Patience) -> Plan:
    """`now`: our own clock, which the memory goes by; `today`: the time of day, which cooling addresses go by."""
    if census.cluster.is_locked:
        return Plan(locked=True, memory=memory)
    present = existing_nodes(census)
    gone, missing = gone_nodes(memory.missing, missing_nodes(census, memory.known), now, patience.gone_s)
    stale = stale_endpoints(census, gone)
    rest = (
        census._replace(endpoints=tuple(each for each in census.endpoints if each.node not in gone))
        if stale
        else census
    )
    leaks = find_leaks(rest, Users(rest), frozenset(gone), memory.suspects, now, patience.grace_s)
    strangers: dict[str, int] = {}
    for stranger in leaks.strangers:
        strangers[stranger.node] = strangers.get(stranger.node, 0) + 1
    stuck = tuple(
        Stuck(node, leaks.in_use.get(node, 0) + _waiting(leaks, node), strangers.get(node, 0))
        for node in gone
        if leaks.in_use.get(node) or _waiting(leaks, node) or node in strangers
    )
    stopped = {each.node for each in stuck}
    with_claims = claimants(census)
    empty = seen_again(memory.empty, empty_blocks(census, present), now)
    lone = seen_again(memory.orphans, orphans(census), now)
    blocks: list[tuple[EmptyBlock, int, tuple[Operation, ...]]] = []
    tidying: list[tuple[str, Network | str, Operation]] = []
    if patience.grace_s > 0:
        for found, total in superfluous(census, empty, now, patience.grace_s):
            blocks.append((found, total, tuple(giving_up(census, found))))
        tidying += [
            ("handle", orphan.handle, Delete(handle_key(orphan.handle), orphan.revision))
            for orphan in ripe(lone, now, patience.grace_s)
        ]
    tidying += [
        ("empty block", cidr, Delete(block_key(str(cidr)), revision)) for cidr, revision in ownerless_empty(census)
    ]
    released = {leak.block for leak in leaks.confirmed}  # these change in the same pass, and are for the next
    tidying += [
        ("block of a node that is gone", cidr, operation)
        for cidr, operation in unclaimed_blocks(census, set(gone) - stopped)
        if cidr not in released
    ]
    chosen = {operation.key for _, _, operation in tidying} | {each.key for _, _, all_ in blocks for each in all_}
    for cidr, operation in cooled_down(census, today):
        if operation.key not in chosen:
            tidying.append(("cooled-down addresses", cidr, operation))
    return Plan(
        False,
        tuple(gone),
        tuple(stale),
        leaks,
        tuple(node for node in gone if node not in stopped and node in with_claims),
        stuck,
        tuple(blocks),
        tuple(tidying),
        Memory(leaks.since, missing, empty, lone, memory.known | present),
        frozenset(gone) & with_claims,
    )


def _waiting(leaks: Leaks, node: str) -> int:
    """Leaks whose handle has addresses elsewhere that are in use."""
    return sum(leak.node == node for leak in leaks.candidates)


def forgotten(memory: Memory, nodes: tuple[str, ...]) -> Memory:
    """Once nothing is left of a node, nobody has to remember that it existed."""
    return memory._replace(known=memory.known - set(nodes), missing=_without(memory.missing, nodes))


def _without(since: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    return {name: begun for name, begun in since.items() if name not in names}


def as_if_gone(census: Census, node: str, today: datetime) -> Plan:
    """What there would be to do if the node were gone: for whoever is about to delete it, locked or not."""
    without = census._replace(
        cluster=Cluster(), nodes={name: each for name, each in census.nodes.items() if name != node}
    )
    unreadable = tuple(each for each in without.unreadable if not each.key.endswith(f"/nodes/{node}"))
    others = _with_all_others(without._replace(unreadable=unreadable), node)
    return plan_of(others, Memory(missing={node: 0.0}, known=frozenset({node})), GONE_S, today, Patience(grace_s=0.0))


def _with_all_others(census: Census, node: str) -> Census:
    """The other nodes count as there, whether they are or not: only this one is meant."""
    others = {name: NodeAddresses(name) for name in mentioned_nodes(census) if name != node}
    return census._replace(nodes={**others, **census.nodes})

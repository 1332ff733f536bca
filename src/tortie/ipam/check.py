"""Whether the records of IPAM agree: with each other, with the pools, and with those who use addresses. Pure.

Calico's own check asks the first questions of each kind; beyond them stand those that its users met: overlapping
blocks, claims without blocks and blocks without claims, counts that drifted, tunnels of IPv6. Time and memory grow
with what there is and no faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tortie.ipam.block import Block, Holding
from tortie.ipam.census import Census
from tortie.ipam.check_blocks import block_problems
from tortie.ipam.check_owners import owner_problems
from tortie.ipam.check_records import affinity_problems, handle_problems, settings_problems
from tortie.ipam.problems import Kind, Problem
from tortie.ipam.usage import Users
from tortie.model.keys import RESOURCES


class Totals(NamedTuple):
    blocks: int
    allocations: int
    cooling: int
    borrowed: int
    pools_active: int
    tunnel_ips: int
    workload_ips: int
    used_ips: int
    handles: int
    nodes: int


class Report(NamedTuple):
    problems: tuple[Problem, ...]
    totals: Totals
    per_node: dict[str, int]  # how many addresses each has; most first
    users: Users

    @property
    def is_clean(self) -> bool:
        return not self.problems

    @property
    def exit_code(self) -> int:
        if self.is_clean:
            return 0
        return 3 if any(problem.severity == "error" for problem in self.problems) else 4

    def of(self, *kinds: Kind) -> list[Problem]:
        return [problem for problem in self.problems if problem.kind in kinds]


def check(census: Census, now: datetime) -> Report:
    users = Users(census)
    problems = tuple(_problems(census, users, now))
    per_node: dict[str, int] = {}
    allocations = cooling = borrowed = 0
    for block in census.blocks.values():
        host = block.host or ""
        for index in block.allocations:
            if index is None:
                continue
            attribute = block.attributes[index]
            if attribute.released_at:
                cooling += 1
                continue
            allocations += 1
            node = attribute.node
            borrowed += bool(node) and node != host
            node = node or host
            per_node[node] = per_node.get(node, 0) + 1
    totals = Totals(
        len(census.blocks),
        allocations,
        cooling,
        borrowed,
        sum(not pool.disabled for pool in census.pools.values()),
        sum(len(node.tunnels) for node in census.nodes.values()),
        sum(len(endpoint.ips) for endpoint in census.endpoints),
        len(users),
        len(census.handles),
        len(census.nodes),
    )
    most_first = dict(sorted(per_node.items(), key=lambda item: (-item[1], item[0])))
    return Report(problems, totals, most_first, users)


def _problems(census: Census, users: Users, now: datetime) -> Iterator[Problem]:
    for lost in census.unreadable:
        cure = "`tortie datastore export` shows it as it is"
        cure += "; `tortie delete` removes it" if lost.key.startswith(RESOURCES) else ""
        yield Problem("unreadable", "error", lost.key, lost.why, cure)
    yield from block_problems(census, now)
    yield from owner_problems(census, users)
    yield from handle_problems(census)
    yield from affinity_problems(census)
    yield from settings_problems(census)


def is_borrowed(holding: Holding, block: Block) -> bool:
    """Of a block that is not its node's; where no node was noted, nobody can tell."""
    return bool(holding.attribute.node) and holding.attribute.node != (block.host or "")

"""The numbers of IPAM that Calico's controllers give, under the same names. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from ipaddress import collapse_addresses, ip_network
from typing import Final, NamedTuple

from tortie.controllers.leaks import Leak
from tortie.health.exposition import Metric, Sample
from tortie.ipam.block import WINDOWS_HANDLE, Block
from tortie.ipam.census import Census
from tortie.model.network import Network

NO_POOL: Final = "no_ippool"
NO_AFFINITY: Final = "no_affinity"
UNKNOWN_NODE: Final = "unknown_node"

Place = tuple[str, str]  # pool, node


class Figures(NamedTuple):
    """Counted in one look."""

    in_use: Mapping[Place, int] = {}
    borrowed: Mapping[Place, int] = {}
    blocks: Mapping[Place, int] = {}
    candidates: Mapping[Place, int] = {}
    sizes: Mapping[str, int] = {}
    reserved: Mapping[str, int] = {}
    pools: Mapping[str, Network] = {}

    def pool_of(self, cidr: Network) -> str:
        return pool_of(cidr, self.pools)


def count(census: Census, suspects: Iterable[Leak]) -> Figures:
    pools = {name: ip_network(pool.cidr) for name, pool in census.pools.items() if pool.cidr}
    in_use: Counter[Place] = Counter()
    borrowed: Counter[Place] = Counter()
    blocks: Counter[Place] = Counter()
    for cidr, block in census.blocks.items():
        pool = pool_of(cidr, pools)
        blocks[pool, block.host or block.affinity or NO_AFFINITY] += 1
        for node, number in _holders(block).items():
            in_use[pool, node or UNKNOWN_NODE] += number
            if block.host and node and node != block.host:
                borrowed[pool, node] += number
    reservations = [cidr for cidrs in census.reservations.values() for cidr in cidrs]
    return Figures(
        in_use,
        borrowed,
        blocks,
        Counter((pool_of(leak.block, pools), leak.node or UNKNOWN_NODE) for leak in suspects),
        {name: cidr.num_addresses for name, cidr in pools.items()},
        {name: _inside(cidr, reservations) for name, cidr in pools.items()},
        pools,
    )


def _holders(block: Block) -> Counter[str]:
    found: Counter[str] = Counter()
    for index, number in Counter(block.allocations).items():
        if index is not None:
            attribute = block.attributes[index]
            if attribute.handle != WINDOWS_HANDLE and not attribute.released_at:
                found[attribute.node] += number
    return found


def pool_of(cidr: Network, pools: Mapping[str, Network]) -> str:
    return next((name for name, pool in pools.items() if _is_in(cidr, pool)), NO_POOL)


def _is_in(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _inside(pool: Network, reservations: list[Network]) -> int:
    parts: list[Network] = []
    for cidr in reservations:
        if _is_in(cidr, pool):
            parts.append(cidr)
        elif _is_in(pool, cidr):
            return pool.num_addresses
    whole: Iterable[Network] = collapse_addresses(parts)  # type: ignore[type-var]
    return sum(each.num_addresses for each in whole)


def ipam_metrics(figures: Figures, reclaimed: Mapping[Place, int]) -> list[Metric]:
    """`reclaimed`: addresses collected by this process so far."""
    placed = (
        ("ipam_allocations_in_use", "Addresses that are held.", figures.in_use),
        ("ipam_allocations_borrowed", "Addresses of a node in another node's block.", figures.borrowed),
        ("ipam_blocks", "Blocks by their owner.", figures.blocks),
        ("ipam_allocations_gc_candidates", "Addresses that may have leaked.", figures.candidates),
    )
    legacy = (
        ("ipam_allocations_per_node", "Addresses that are held, by node.", figures.in_use),
        ("ipam_allocations_borrowed_per_node", "Borrowed addresses, by node.", figures.borrowed),
        ("ipam_blocks_per_node", "Blocks, by node.", figures.blocks),
    )
    by_pool = (
        ("ipam_ippool_size", "Addresses of a pool.", figures.sizes),
        ("ipam_ippool_reserved", "Addresses of a pool that are reserved.", figures.reserved),
    )
    collected = Metric(
        "ipam_allocations_gc_reclamations", "Leaked addresses that were released.", "counter", _placed(reclaimed)
    )
    return [
        *(Metric(name, help_, "gauge", _placed(values)) for name, help_, values in placed),
        collected,
        *(Metric(name, help_, "gauge", _by_node(values)) for name, help_, values in legacy),
        *(
            Metric(name, help_, "gauge", tuple(Sample(value, {"ippool": pool}) for pool, value in sorted(of.items())))
            for name, help_, of in by_pool
        ),
    ]


def _placed(values: Mapping[Place, int]) -> tuple[Sample, ...]:
    return tuple(Sample(value, {"ippool": pool, "node": node}) for (pool, node), value in sorted(values.items()))


def _by_node(values: Mapping[Place, int]) -> tuple[Sample, ...]:
    total: Counter[str] = Counter()
    for (_, node), value in values.items():
        total[node] += value
    return tuple(Sample(value, {"node": node}) for node, value in sorted(total.items()))

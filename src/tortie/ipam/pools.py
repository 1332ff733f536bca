"""Which pools a request may use, and for each of the others why not. Pure.

The rules are Calico's: pools that were asked for are used whatever their selectors say, as long as they are enabled and
allow the use; otherwise a pool has to be automatic and to select the node and the namespace. Pools are tried in the
order of their names, pools that were asked for in the order in which they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_network
from typing import NamedTuple

from tortie.ipam.choice import block_count
from tortie.ipam.errors import NoPool, NotUsed, UnknownPool
from tortie.ipam.request import Request
from tortie.model.network import IP, Network
from tortie.model.resources.ippool import IPPool, IPPoolSpec
from tortie.model.selector import Selector, parse

Labels = Mapping[str, str]


@lru_cache(maxsize=256)
def _parsed(text: str) -> Selector:
    """Every request asks all pools, and hardly ever does a selector change."""
    return parse(text)


class Pool(NamedTuple):
    name: str
    spec: IPPoolSpec

    @property
    def cidr(self) -> Network:
        return self.spec.cidr

    @property
    def block_size(self) -> int:
        return self.spec.block_size

    @property
    def blocks(self) -> int:
        return block_count(self.cidr, self.block_size)

    def selects(self, node_labels: Labels) -> bool:
        return _parsed(self.spec.nodeSelector).matches(node_labels)


class Eligible(NamedTuple):
    pools: tuple[Pool, ...]
    reasons: tuple[NotUsed, ...]  # each of the other pools of the family, and why not
    selected: bool  # some pool would do but for its allowed uses


def pool_of(resource: IPPool) -> Pool:
    return Pool(resource.metadata.name, resource.spec)


def eligible(pools: Iterable[Pool], request: Request, family: int, node_labels: Labels) -> Eligible:
    """`UnknownPool` if a pool that was asked for is not there."""
    ours = sorted((pool for pool in pools if pool.cidr.version == family), key=lambda pool: pool.name)
    wanted = request.pools4 if family == 4 else request.pools6
    reasons: list[NotUsed] = []
    if wanted:
        candidates = [_asked_for(text, ours) for text in wanted]
        reasons += [
            NotUsed(pool.name, pool.cidr, "another pool was asked for") for pool in ours if pool not in candidates
        ]
    else:
        candidates = []
        for pool in ours:
            if why := _why_not(pool, request, node_labels):
                reasons.append(NotUsed(pool.name, pool.cidr, why))
            else:
                candidates.append(pool)
    usable = []
    for pool in dict.fromkeys(candidates):
        if request.use not in pool.spec.uses:
            why = f"its allowedUses are {', '.join(pool.spec.uses)}, not {request.use}"
            reasons.append(NotUsed(pool.name, pool.cidr, why))
        elif not pool.blocks:
            reasons.append(NotUsed(pool.name, pool.cidr, f"it is smaller than one block of /{pool.block_size}"))
        else:
            usable.append(pool)
    return Eligible(tuple(usable), tuple(reasons), bool(candidates))


def usable(
    pools: Iterable[Pool], request: Request, family: int, node_labels: Labels, unreadable: Sequence[NotUsed] = ()
) -> tuple[Pool, ...]:
    """The same, with `NoPool` when none is left."""
    found = eligible(pools, request, family, node_labels)
    if not found.pools:
        reasons = (*found.reasons, *(item for item in unreadable if item.cidr.version == family))
        raise NoPool(request.node, family, request.use, reasons, for_use=found.selected)
    return found.pools


def pool_with(pools: Iterable[Pool], ip: IP, *, disabled: bool = False) -> Pool | None:
    """The pool that an address is in; disabled ones only if told so."""
    number, version = int(ip), ip.version
    for pool in pools:
        cidr = pool.cidr
        if cidr.version == version and (disabled or not pool.spec.disabled):
            first = int(cidr.network_address)
            if first <= number < first + cidr.num_addresses:
                return pool
    return None


def _asked_for(text: str, pools: Sequence[Pool]) -> Pool:
    for pool in pools:
        if pool.name == text or str(pool.cidr) == _canonical(text):
            if pool.spec.disabled:
                raise UnknownPool(text, f"the pool {pool.name} ({pool.cidr}) is disabled")
            return pool
    there = ", ".join(f"{pool.name} ({pool.cidr})" for pool in pools)
    raise UnknownPool(text, f"the pools of that family are {there}" if there else "there is no pool of that family")


def _canonical(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return text


def _why_not(pool: Pool, request: Request, node_labels: Labels) -> str:
    spec = pool.spec
    if spec.disabled:
        return "it is disabled"
    if spec.assignmentMode == "Manual":
        return "its assignmentMode is Manual, so it has to be asked for"
    if not pool.selects(node_labels):
        return f"its nodeSelector {spec.nodeSelector!s} does not select the node {request.node}"
    if spec.namespaceSelector and not _parsed(spec.namespaceSelector).matches(request.namespace_labels or {}):
        return f"its namespaceSelector {spec.namespaceSelector!s} does not select the namespace"
    return ""

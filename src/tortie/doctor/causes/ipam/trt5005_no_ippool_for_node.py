"""TRT5005: no enabled pool selects the node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.pods_served import all_served, served_since
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.ipam.ipam_evidence import exhaustion
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Node, Pool
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

NONE_FOR_NODE: Final = Sign("no-ippool-for-node", "no configured Calico pools for node <node>")
NONE: Final = Sign("no-ippool-none", "no configured Calico pools")
GIVEN_GONE: Final = Sign("no-ippool-given", "the given pool \\(<cidr>\\) does not exist")
NOT_QUALIFIED: Final = Sign("no-ippool-qualified", "cannot find a qualified ippool")
_EQUAL: Final = lazily(r"\s*([\w./-]+)\s*==\s*['\"]([\w.-]*)['\"]\s*")
_HAS: Final = lazily(r"\s*has\(\s*([\w./-]+)\s*\)\s*")


class Seen:
    """IPAM's own words, the pools that are shown, and the nodes that none of them selects."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(NONE_FOR_NODE, GIVEN_GONE, NOT_QUALIFIED) or picture.hits(NONE)
        self.pools = list({pool.name or pool.cidr: pool for pool in picture.of(Pool)}.values())
        self.enabled = [pool for pool in self.pools if not pool.disabled]
        self.off = [pool for pool in self.pools if pool.disabled]

    @cached_property
    def left_out(self) -> list[Node]:
        """Nodes whose labels are shown and which no enabled pool selects."""
        from tortie.model.selector import SelectorError, parse  # only when a pool and labels are there

        labelled = [node for node in self.picture.nodes_now().values() if node.labels]
        for pools in _families(self.enabled):
            if not all(pool.selector for pool in pools):
                continue
            try:
                parsed = [parse(pool.selector) for pool in pools]
            except SelectorError:
                continue
            left = [node for node in labelled if not any(one.matches(dict(node.labels)) for one in parsed)]
            if left:
                return left
        return []

    @cached_property
    def closed(self) -> list[Pool]:
        """All pools of one family, where none of them gives addresses; the other family is no help."""
        shut = [pools for pools in _families(self.pools) if all(pool.disabled for pool in pools)]
        return shut[0] if shut else []

    @cached_property
    def given(self) -> str:
        """The pool that pods ask for, where IPAM says that it is not there."""
        return self.hits[0].value("cidr") if self.hits else ""

    @cached_property
    def node(self) -> str:
        """Named by IPAM; else the host of its log, unless the nodes that are shown do not know it."""
        said = self.hits[0].value("node").strip(":.")
        nodes = self.picture.nodes_now()
        return said or (self.hits[0].host if not nodes or self.hits[0].host in nodes else "")

    @property
    def only(self) -> str:
        """The one pool that could serve the node if its selector were another."""
        return self.enabled[0].name if len(self.enabled) == 1 else ""

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            _pools(self.off),
            named("cidr", self.given),
            named("node", self.node),
            _pools(self.enabled),
        )


def _families(pools: Iterable[Pool]) -> list[list[Pool]]:
    """Pools of IPv4 and of IPv6: a pod gets its addresses of each for itself."""
    some = list(pools)
    both = [[pool for pool in some if (":" in pool.cidr) == six] for six in (False, True)]
    return [pools for pools in both if pools]


def _pools(pools: Iterable[Pool]) -> tuple[Culprit, ...]:
    some = tuple(pools)
    return (*named("pool", *(pool.name for pool in some)), *named("cidr", *(pool.cidr for pool in some)))


def refused_before(seen: Seen) -> Finding | None:
    """The pool that pods ask for could not be created."""
    tried = seen.picture.hits("ippool-overlaps-refused") if seen.given else []
    refused = [hit for hit in tried if hit.value("cidr_new") == seen.given]
    return ruled_out((refused[-1], seen.hits[0])) if refused else None


def served(seen: Seen) -> Finding | None:
    running = served_since(seen.picture, seen.hits)
    return ruled_out(running[:2]) if running else None


def selector_misses(seen: Seen) -> Finding | None:
    if not seen.left_out:
        return None
    pool, node = seen.enabled[0], seen.left_out[0]
    strength = PROVEN if seen.hits else LIKELY if exhaustion(seen.picture) else POSSIBLE
    others = named("node", *(node.name for node in seen.left_out[:5]))
    blamed = culprits(_pools(seen.enabled), others, named("setting", pool.selector))
    evidence = (*seen.enabled[:2], node, *seen.hits[:2])
    return found(
        strength, blamed, evidence, node=node.name, pool=pool.name, which=pool.name or pool.cidr, cidr=pool.cidr,
        selector=pool.selector, label=_label(pool.selector), only=seen.only,
    )  # fmt: skip


def pool_disabled(seen: Seen) -> Finding | None:
    if not seen.hits or not seen.off:
        return None
    pool = seen.off[0]
    evidence = (pool, *seen.hits[:3])
    return found(
        PROVEN, seen.culprits, evidence, node=seen.node, pool=pool.name, which=pool.name or pool.cidr,
        enabled="" if seen.enabled else "none", only=seen.only,
    )  # fmt: skip


def pool_not_there(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, seen.hits[:3], node=seen.node, cidr=seen.given) if seen.given else None


def none_selects(seen: Seen) -> Finding | None:
    return found(STRONG, seen.culprits, seen.hits[:3], node=seen.node, only=seen.only) if seen.hits else None


def all_disabled(seen: Seen) -> Finding | None:
    if not seen.closed:
        return None
    first = seen.closed[0]
    refused = exhaustion(seen.picture)
    # Of two families one may be closed on purpose.
    if seen.enabled and not refused:
        return None
    # Pods that run all the same have their addresses from elsewhere: a cloud's IPAM, host-local.
    strength = STRONG if refused else POSSIBLE if all_served(seen.picture) else LIKELY
    return found(strength, _pools(seen.closed), seen.closed, cidr=first.cidr, pool=first.name)


def enabled_for_all(seen: Seen) -> Finding | None:
    for_all = [pool for pool in seen.enabled if pool.selector.replace(" ", "") == "all()"]
    if not for_all or len(_families(for_all)) < len(_families(seen.pools)):
        return None
    return ruled_out(for_all[:1], which=for_all[0].name or for_all[0].cidr)


def _label(selector: str) -> str:
    """The label that a node needs, where the selector asks for exactly one."""
    if match := _EQUAL.fullmatch(selector):
        return f"{match[1]}={match[2]}"
    match = _HAS.fullmatch(selector)
    return f"{match[1]}=" if match else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("look")
    if finding.rule == "selector-misses":
        yield do("label-it")
    elif finding.rule == "all-disabled" or finding.value("enabled") == "none":
        yield do("enable")
    elif finding.rule == "pool-not-there":
        yield do("who-asks")
        yield do("given")
    else:
        yield do("enable-if")
        yield do("label-if")
    if finding.value("only"):
        yield do("for-all")


CAUSE = Cause(
    module=__name__,
    id="no-ippool-for-node",
    code="TRT5005",
    severity="medium",
    explains=(
        "crash-loop", "start-terminated", "sandbox-failed", "pod-pending", "not-ready", "no-address", "log-errors",
    ),
    signs=(NONE_FOR_NODE, NONE, GIVEN_GONE, NOT_QUALIFIED),
    look=Seen,
    rules=(
        refused_before, served, selector_misses, pool_disabled, pool_not_there, none_selects, all_disabled,
        enabled_for_all,
    ),
    fix=fix,
)  # fmt: skip

"""Whether those who use addresses and those who hold them are the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.ipam.block import WINDOWS_HANDLE, Block, Holding
from tortie.ipam.census import ENDPOINTS, NODES, POOLS, Census
from tortie.ipam.check_blocks import Pools
from tortie.ipam.problems import Problem, ReleaseAddress
from tortie.ipam.usage import Users, container_of, held_for


def owner_problems(census: Census, users: Users) -> Iterator[Problem]:
    # What one cannot read might be the very pod that has the address.
    blind = any(lost.key.startswith((ENDPOINTS, NODES)) for lost in census.unreadable)
    strict = census.settings.strict_affinity
    held: set[object] = set()
    for block in census.blocks.values():
        for holding in block.holdings():
            if not holding.attribute.released_at:
                held.add(holding.ip)
                if strict or not users.as_noted(holding):
                    yield from _holding_problems(holding, block, users, strict=strict, blind=blind)
    yield from _use_problems(census, users, held)


def _holding_problems(holding: Holding, block: Block, users: Users, *, strict: bool, blind: bool) -> Iterator[Problem]:
    if why := users.why_unused(holding):
        owner = held_for(holding.ip, holding.attribute).owner
        cure = f"tortie ipam release --ip={holding.ip}"
        repair: ReleaseAddress | None = ReleaseAddress(holding.ip, holding.attribute.handle, holding.sequence)
        if blind:
            cure, repair = "first mend the endpoints and nodes that cannot be read: one of them may have it", None
        yield Problem("leaked", "error", str(holding.ip), f"is held for {owner}, but {why}", cure, repair)
    node = holding.attribute.node
    if strict and node and block.host and node != block.host and holding.attribute.handle != WINDOWS_HANDLE:
        why = f"{node} has it out of {block.cidr}, which is {block.host}'s, although strictAffinity is on"
        yield Problem("borrowed", "warning", str(holding.ip), why, "delete the pod, it gets one of its own node's")
    yield from _other_owner(holding, users)


def _other_owner(holding: Holding, users: Users) -> Iterator[Problem]:
    secondary = holding.attribute.secondary or {}
    endpoints = users.endpoints_of(holding.ip) if secondary.get("pod") else ()
    if not endpoints:
        return
    name = (secondary.get("namespace", ""), secondary["pod"])
    same = [endpoint for endpoint in endpoints if (endpoint.namespace, endpoint.pod) == name]
    container, node = container_of(holding.attribute.handle), holding.attribute.node
    if same and any(each.container_id in ("", container) and each.node in ("", node) for each in same):
        return  # as it should be
    ip, noted = str(holding.ip), held_for(holding.ip, holding.attribute)
    if not same:
        using = ", ".join(use.owner for use in users.of(holding.ip))
        why = f"is held for {noted.owner}, but used by {using}"
        yield Problem("wrong-owner", "error", ip, why, "delete the pod that uses it, and it gets an address of its own")
        return
    if container and not any(endpoint.container_id in ("", container) for endpoint in same):
        why = f"is held for the container {container}, but the endpoint of {noted.owner} is {same[0].container_id}"
        yield Problem("wrong-owner", "warning", ip, why, "if it stays so, delete the pod: a new one is noted rightly")
    elif noted.node and not any(endpoint.node in ("", noted.node) for endpoint in same):
        why = f"is held for {noted.owner} on {noted.node}, but its endpoint is on {same[0].node}"
        yield Problem("wrong-node", "warning", ip, why, "if it stays so, delete the pod: a new one is noted rightly")


def _use_problems(census: Census, users: Users, held: set[object]) -> Iterator[Problem]:
    active = Pools(census.pools, active_only=True)
    blind = any(lost.key.startswith(POOLS) for lost in census.unreadable)
    for ip, count in users.counts():
        if count == 1 and ip in held:
            continue
        uses = users.of(ip)
        owners = ", ".join(use.owner for use in uses)
        if len(uses) > 1:
            why = f"has multiple owners: {owners}"
            yield Problem("used-twice", "error", str(ip), why, "delete the one that should not have it")
        if ip in held:
            continue
        if active.of(ip) is not None:
            why = f"in use by {owners} and in active IPAM pool but has no IPAM allocation"
            cure = "delete the pod, and it gets an address that nobody else can get"
            yield Problem("not-allocated", "error", str(ip), why, cure)
        elif not blind:
            why = f"in use by {owners} is not in any active IP pool"
            cure = "create or enable its pool, or delete the pod, and it gets an address of another"
            yield Problem("not-in-pool", "error", str(ip), why, cure)

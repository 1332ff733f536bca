"""A second look, right before something is given away: what has come back meanwhile stays. Pure."""

from __future__ import annotations

from tortie.controllers.leaks import Leak
from tortie.controllers.nodes import existing_nodes
from tortie.controllers.plan import Plan
from tortie.ipam.block import Attribute, Holding
from tortie.ipam.census import Census
from tortie.ipam.usage import Users


def rechecked(plan: Plan, fresh: Census) -> tuple[Plan, tuple[Leak, ...]]:
    """The plan without what is not so any more, and the leaks that are none after all. `fresh` has nodes, endpoints and
    the lock of the datastore, and nothing else.
    """
    back = existing_nodes(fresh)
    gone = tuple(node for node in plan.gone if node not in back)
    standing = fresh._replace(endpoints=tuple(each for each in fresh.endpoints if each.node not in gone))
    users = Users(standing)
    used = tuple(
        leak
        for leak in plan.leaks.confirmed
        if (leak.node_gone and leak.node in back) or not users.why_unused(_holding(leak))
    )
    handles = {leak.handle for leak in used}
    confirmed = tuple(leak for leak in plan.leaks.confirmed if leak.handle not in handles)
    present = {each.key: each.revision for each in fresh.endpoints}
    endpoints = tuple(each for each in plan.endpoints if each.node in gone and present.get(each.key) == each.revision)
    changed = {each.node for each in fresh.endpoints if each.node in gone} - {each.node for each in endpoints}
    kept = {leak.node for leak in used} | changed
    smaller = plan._replace(
        locked=fresh.cluster.is_locked,
        gone=gone,
        endpoints=endpoints,
        leaks=plan.leaks._replace(confirmed=confirmed),
        nodes=tuple(node for node in plan.nodes if node in gone and node not in kept),
    )
    return smaller, used


def _holding(leak: Leak) -> Holding:
    return Holding(leak.ip, 0, Attribute(leak.handle, leak.attributes), leak.suspect.sequence)

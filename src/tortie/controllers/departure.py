"""Taking a node away on purpose: first everything that it has, its record last. Whoever is stopped in between can do
the same again, and finds less to do.

What a node has is found in the same way as for one that is gone already. That its agent may still run is no reason to
refuse: Calico does not, and nobody could tell an agent that is down from one that is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from tortie.controllers.cleaning import Cleaner
from tortie.controllers.deeds import Deed
from tortie.controllers.leaks import Stranger
from tortie.controllers.plan import as_if_gone
from tortie.controllers.speaking import Silence
from tortie.ipam.census import take_census
from tortie.model.errors import TortieError
from tortie.store.contract import Store

_ROUNDS: Final = 5


class StillBusy(TortieError):
    """New pods came as fast as the old ones went."""

    code = "in-use"

    def __init__(self, node: str, rounds: int) -> None:
        self.node = node
        super().__init__(
            f"the node {node} cannot be deleted",
            f"something on it changed again and again, {rounds} times",
            "stop its agent, or keep pods from being scheduled to it, and repeat",
        )


class Departed(NamedTuple):
    deeds: tuple[Deed, ...]
    strangers: tuple[Stranger, ...]  # addresses that stay, because nobody knows whose they are


async def empty_node(store: Store, node: str, *, today: Callable[[], datetime]) -> Departed:
    """Deletes its endpoints, releases its addresses, and gives up its blocks. The Node itself is left to the caller."""
    deeds: list[Deed] = []
    for _ in range(_ROUNDS):
        plan = as_if_gone(await take_census(store), node, today())
        cleaner = Cleaner(store, Silence(), today=today)
        await cleaner.delete_endpoints(plan.endpoints)
        await cleaner.release(plan.leaks.confirmed)
        if plan.claimed:
            await cleaner.clean_up_nodes([node])
        outcome = cleaner.so_far()
        deeds += outcome.deeds
        if not outcome.unfinished:
            return Departed(tuple(deeds), plan.leaks.strangers)
    raise StillBusy(node, _ROUNDS)

"""Several commits at once, that have nothing to do with each other: as fast as the datastore takes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tortie.model.errors import TortieError
from tortie.model.light import Protocol
from tortie.store.contract import TIMEOUT_S, Operation, Revision, Store, check_commits


class SideBySide(Protocol):
    """A store that makes several commits faster than one after the other; see `commit_each`."""

    async def commit_each(
        self,
        commits: Sequence[Sequence[Operation]],
        *,
        timeout_s: float = TIMEOUT_S,
        meanwhile: Callable[[], bool] | None = None,
    ) -> list[Revision | TortieError]: ...


async def commit_each(
    store: Store,
    commits: Sequence[Sequence[Operation]],
    *,
    timeout_s: float = TIMEOUT_S,
    meanwhile: Callable[[], bool] | None = None,
) -> list[Revision | TortieError]:
    """Several commits, none of which writes a key of another; what became of each, in their order.

    Each happens or does not for itself, and in any order. In place of the revision stands the error that `commit` would
    have raised; what is raised here means that none of them happened. Together they end within `timeout_s`.

    `meanwhile` does a bit of other work, without the store, and says whether there may be more; it is called as long as
    there is nothing but to wait. Who has an event loop has better means, and may never call it.
    """
    check_commits(commits)
    side_by_side: SideBySide | None = store if hasattr(store, "commit_each") else None  # type: ignore[assignment]
    if side_by_side is not None:
        return await side_by_side.commit_each(commits, timeout_s=timeout_s, meanwhile=meanwhile)
    until = time.monotonic() + timeout_s
    outcomes: list[Revision | TortieError] = []
    for operations in commits:
        try:
            outcomes.append(await store.commit(operations, timeout_s=max(0.001, until - time.monotonic())))
        except TortieError as error:
            outcomes.append(error)
    return outcomes

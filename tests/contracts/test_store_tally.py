"""Keys counted and named without their values, on every back end."""

from __future__ import annotations

from typing import cast

import pytest
from tests.support.stores import CompactableStore, Play

from tortie.model.errors import UsageError
from tortie.store.contract import OPERATIONS_MAX, CountingStore, Put, Tally, delete

pytestmark = pytest.mark.parametrize("open_store", ["embedded", "etcd", "etcd-command"], indirect=True)


def test_all_are_counted_and_the_first_are_named(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        names = ["policies/b", "policies/ä", "policies/a", "policies/c", "tiers/one", "beside"]
        await store.commit([Put(prefix + name, b"x" * 1000) for name in names])
        await delete(store, prefix + "policies/c")
        counting = cast(CountingStore, store)
        found = await counting.tally([prefix + "policies/", prefix + "tiers/", prefix + "sets/"], first=2)
        assert found == {
            prefix + "policies/": Tally(3, (prefix + "policies/a", prefix + "policies/b")),
            prefix + "tiers/": Tally(1, (prefix + "tiers/one",)),
            prefix + "sets/": Tally(0, ()),
        }

    play(scenario)


def test_a_store_that_is_not_there_has_nothing(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        assert await cast(CountingStore, store).tally([prefix], first=1) == {prefix: Tally(0, ())}

    play(scenario)


def test_too_many_prefixes_are_refused(play: Play) -> None:
    async def scenario(store: CompactableStore, prefix: str) -> None:
        with pytest.raises(UsageError):
            await cast(CountingStore, store).tally([prefix] * (OPERATIONS_MAX + 1), first=1)

    play(scenario)

"""Garbage collection as people do it with `tortie ipam check` and `repair`: look, and set right what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from tortie.cli.ipam.repairing import carry_out
from tortie.ipam.allocator import Allocator
from tortie.ipam.census import take_census
from tortie.ipam.check import check
from tortie.ipam.request import Expected, Released
from tortie.store.contract import Store

_PASSES_MAX = 5


async def collected(store: Store, clock: Callable[[], datetime]) -> int:
    """Until nothing is found any more; returns how many repairs that took."""
    allocator = Allocator(store, "", clock=clock)

    async def release(wanted: Sequence[Expected]) -> Released:
        return await allocator.release_ips(wanted, timeout_s=60)

    repairs = 0
    for _ in range(_PASSES_MAX):
        census = await take_census(store)
        problems = check(census, clock()).problems
        wanted = [problem.repair for problem in problems if problem.repair is not None]
        if not wanted:
            assert not problems, f"found, but not to be repaired: {problems}"
            return repairs
        done = await carry_out(store, census, wanted, release)
        failed = [each for each in done if each.why_not]
        assert not failed, failed
        repairs += len(done)
    raise AssertionError(f"still to be repaired after {_PASSES_MAX} passes: {wanted}")

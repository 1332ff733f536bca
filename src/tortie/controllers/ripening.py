"""Things that must have been so for a while before somebody acts on them. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Thing = TypeVar("Thing", bound=Hashable)


def seen_again(before: Mapping[Thing, float], present: Iterable[Thing], now: float) -> dict[Thing, float]:
    """What is so now, and since when, by our own clock; what is not so any more begins anew if it comes back."""
    return {thing: before.get(thing, now) for thing in present}


def ripe(since: Mapping[Thing, float], now: float, after_s: float) -> list[Thing]:
    return [thing for thing, begun in since.items() if now - begun >= after_s]


def due(since: Mapping[Thing, float], now: float, after_s: float) -> float | None:
    """When the next of them gets ripe; None if none will."""
    return min((begun + after_s for begun in since.values() if begun + after_s > now), default=None)

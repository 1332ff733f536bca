"""Sets of characters as Go's regular expressions name them: `\\d`, `[:alpha:]` and what is not in them. ASCII only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

Ranges = list[tuple[int, int]]

LAST: Final = 0x10FFFF

PERL: Final[dict[str, Ranges]] = {
    "d": [(0x30, 0x39)],
    "s": [(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)],
    "w": [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)],
}
POSIX: Final[dict[str, Ranges]] = {
    "alnum": [(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
    "alpha": [(0x41, 0x5A), (0x61, 0x7A)],
    "ascii": [(0x00, 0x7F)],
    "blank": [(0x09, 0x09), (0x20, 0x20)],
    "cntrl": [(0x00, 0x1F), (0x7F, 0x7F)],
    "digit": [(0x30, 0x39)],
    "graph": [(0x21, 0x7E)],
    "lower": [(0x61, 0x7A)],
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(0x09, 0x0D), (0x20, 0x20)],
    "upper": [(0x41, 0x5A)],
    "word": PERL["w"],
    "xdigit": [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
}


def complement(ranges: Ranges, folds: bool) -> Ranges:
    """Everything else; where case does not count, neither case of a letter is left."""
    if folds:
        ranges = [*ranges, *(swapped for each in ranges for swapped in _other_case(*each))]
    gaps, after = [], 0
    for low, high in sorted(ranges):
        if low > after:
            gaps.append((after, low - 1))
        after = max(after, high + 1)
    if after <= LAST:
        gaps.append((after, LAST))
    return gaps


def spelt(ranges: Ranges) -> str:
    """As a bracket expression for Python, in which no character can be mistaken for an operator."""
    return "[" + "".join(f"{coded(low)}-{coded(high)}" for low, high in ranges) + "]"


def coded(code: int) -> str:
    return f"\\U{code:08x}"


def _other_case(low: int, high: int) -> Iterator[tuple[int, int]]:
    for first, last, distance in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
        if low <= last and high >= first:
            yield max(low, first) + distance, min(high, last) + distance

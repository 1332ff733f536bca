"""Which of many fixed runs of text a block of bytes holds: all at once with Hyperscan, one by one where it is missing.

docs/explanation/dependencies.md has the figures of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

PAYS_FROM: Final = 1 << 19  # bytes from which loading Hyperscan and compiling pays


class Sieve:
    """Needles are in lower case; the case of what is searched does not matter."""

    def __init__(self, needles: Iterable[str]) -> None:
        self.needles = tuple(dict.fromkeys(needle.encode() for needle in needles))
        self._seen = 0

    def first_places(self, block: bytes | memoryview) -> list[tuple[int, int]]:
        """(which needle, where some byte of its first occurrence is), each needle at most once."""
        self._seen += len(block)
        database = _database(self.needles) if self._seen > PAYS_FROM else None
        if database is None:
            low = bytes(block).lower()
            places = ((number, low.find(needle)) for number, needle in enumerate(self.needles))
            return [place for place in places if place[1] >= 0]
        found: list[tuple[int, int]] = []

        def matched(number: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            found.append((number, end - 1))

        database.scan(block, match_event_handler=matched)
        return found

    def prepare(self) -> None:
        """Compiles now: processes that are forked afterwards need not."""
        self._seen = PAYS_FROM + 1
        _database(self.needles)


@cache
def _database(needles: tuple[bytes, ...]) -> Any | None:
    try:
        import hyperscan
    except ImportError:
        return None
    database = hyperscan.Database()
    flags = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_SINGLEMATCH
    numbers = list(range(len(needles)))
    database.compile(
        expressions=list(needles), ids=numbers, elements=len(needles), flags=[flags] * len(needles), literal=True
    )
    return database

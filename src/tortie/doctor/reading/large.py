"""Large logs: read in blocks, and only the lines kept that a sign could match, with the numbers they have in the log.

What is searched for are the fixed runs of all signs at once, with Hyperscan (docs/explanation/dependencies.md has the
figures), or one by one where that is not installed. The first and last lines stay, too, because the beginning and the
end of a start tell whether it was killed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, BinaryIO, Final

from tortie.doctor.reading.cleaning import clean, decode
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted

BLOCK: Final = 1 << 20
LINE_MAX: Final = 1 << 22  # bytes without a line feed that still count as one line
ENDS_KEPT: Final = 40
EACH_KEPT: Final = 40  # first and last lines of one sign
_PAYS_FROM: Final = 2 << 20  # bytes from which compiling the patterns pays

# Lines that are worth keeping whatever they say.
GRAVE: Final = ("[fatal]", "[panic]", "[error]", "level=fatal", "level=error", "panic: ", "calico node failed to start")

_LOG_LINE: Final = re.compile(
    rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |time=\"|\[ *\d+\.\d+\] "
    rb"|\{\"(?:level|ts|time|log)\"|bird6?: |\[[A-Z][a-z]{2} [A-Z][a-z]{2} "
)


def is_log(head: bytes) -> bool:
    """A text too long to be a paste, most of whose lines begin like those of a log."""
    if len(head) < 1 << 16:
        return False
    lines = head.split(b"\n")[1:-1] or [head]
    return sum(1 for line in lines if _LOG_LINE.match(line)) * 10 >= len(lines) * 7


class Sieve:
    """Which lines of a block hold one of the needles."""

    def __init__(self, needles: Iterable[str]) -> None:
        self._needles = tuple(dict.fromkeys(needle.encode() for needle in (*needles, *GRAVE)))
        self._seen = 0

    def hits(self, block: bytes) -> Iterator[tuple[int, int]]:
        """(which needle, where): each needle at most once in a block, so that no log can drown the rest."""
        self._seen += len(block)
        database = _database(self._needles) if self._seen > _PAYS_FROM else None
        if database is None:
            low = block.lower()
            for number, needle in enumerate(self._needles):
                at = low.find(needle)
                if at >= 0:
                    yield number, at
            return
        found: list[tuple[int, int]] = []

        def matched(number: int, start: int, end: int, flags: int, context: Any) -> None:
            found.append((number, end - 1))

        database.scan(block, match_event_handler=matched)
        yield from found


@cache
def _database(needles: tuple[bytes, ...]) -> Any | None:
    try:
        import hyperscan
    except ImportError:
        return None
    database = hyperscan.Database()
    flags = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_SINGLEMATCH
    database.compile(
        expressions=[re.escape(needle) for needle in needles],
        ids=list(range(len(needles))),
        elements=len(needles),
        flags=[flags] * len(needles),
    )
    return database


class _Kept:
    """Lines by number, of each needle only the first and the last ones."""

    def __init__(self) -> None:
        self._first: dict[int, list[tuple[int, bytes]]] = {}
        self._last: dict[int, deque[tuple[int, bytes]]] = {}

    def add(self, needle: int, number: int, line: bytes) -> None:
        first = self._first.setdefault(needle, [])
        if len(first) < EACH_KEPT:
            first.append((number, line))
        else:
            self._last.setdefault(needle, deque(maxlen=EACH_KEPT)).append((number, line))

    def lines(self) -> dict[int, bytes]:
        kept = {number: line for rows in self._first.values() for number, line in rows}
        return kept | {number: line for rows in self._last.values() for number, line in rows}


def interesting_lines(name: str, head: bytes, rest: BinaryIO, host: str, sieve: Sieve) -> Source:
    kept = _Kept()
    ends: dict[int, bytes] = {}
    number = 1  # of the first line of the block
    tail: deque[tuple[int, bytes]] = deque(maxlen=ENDS_KEPT)
    for block in _blocks(head, rest):
        if len(ends) < ENDS_KEPT:
            for offset, line in enumerate(block.split(b"\n", ENDS_KEPT)[:ENDS_KEPT]):
                ends.setdefault(number + offset, line)
        counted, lines_before = 0, number
        for needle, at in sorted(sieve.hits(block), key=lambda hit: hit[1]):
            begin = block.rfind(b"\n", 0, at) + 1
            if begin > counted:
                lines_before += block.count(b"\n", counted, begin)
                counted = begin
            end = block.find(b"\n", at)
            kept.add(needle, lines_before, block[begin : end if end >= 0 else len(block)][: 1 << 15])
        total = block.count(b"\n")
        last = block[-(1 << 14) :].split(b"\n")
        last = last[:-1] if block.endswith(b"\n") else last
        behind = number + total - (1 if block.endswith(b"\n") else 0)
        tail.extend((behind - len(last) + 1 + index, line) for index, line in enumerate(last[1:], 1))
        number += total
    ends |= dict(tail)
    ends |= kept.lines()
    numbers = tuple(sorted(ends))
    texts = [clean(decode(ends[number])) for number in numbers]
    return Source(name, tuple(redacted(texts)), numbers, host)


def _blocks(head: bytes, rest: BinaryIO) -> Iterator[bytes]:
    """Whole lines, about a megabyte at a time; a line without end is cut into pieces."""
    carry = head
    while True:
        chunk = rest.read(BLOCK)
        data = carry + chunk
        if not chunk:
            if data:
                yield data
            return
        end = data.rfind(b"\n") + 1
        if not end and len(data) < LINE_MAX:
            carry = data
            continue
        end = end or len(data)
        yield data[:end]
        carry = data[end:]

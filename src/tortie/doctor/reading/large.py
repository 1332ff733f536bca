"""Large logs: read in blocks, and only the lines kept that a sign could match, with the numbers they have in the log.

What is searched for are the fixed runs of all signs at once. The first and last lines stay, too, because the beginning
and the end of a start tell whether it was killed. A log is read as ranges of bytes that know nothing of each other, so
that several processes can share one; their portions put together are the same however many did it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, Protocol

from tortie.doctor.reading.cleaning import clean, decode
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted
from tortie.doctor.reading.sieve import Sieve
from tortie.model.tuples import NamedTuple

HEAD: Final = 64 << 10  # what is looked at to know a log
RANGE: Final = 16 << 20  # bytes that one process reads at a time
SHARED_FROM: Final = 2 * RANGE  # bytes of a log from which it is read in ranges
BLOCK: Final = 1 << 19
PIECE: Final = 64 << 10  # each needle is looked for once in so many bytes: it is there, or it is there all the time
LINE_MAX: Final = 1 << 22  # bytes without a line feed that still count as one line
ENDS_KEPT: Final = 40
EACH_KEPT: Final = 40  # first and last lines of one needle
_LINE_KEPT: Final = 1 << 15  # bytes of a line
_END: Final = 1 << 15  # bytes in which the last lines are looked for

# Lines that are worth keeping whatever they say.
GRAVE: Final = ("[fatal]", "[panic]", "[error]", "level=fatal", "level=error", "panic: ", "calico node failed to start")

_LOG_LINE: Final = re.compile(
    rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |time=\"|\[ *\d+\.\d+\] "
    rb"|\{\"(?:level|ts|time|log)\"|bird6?: |\[[A-Z][a-z]{2} [A-Z][a-z]{2} "
)
_SAMPLE: Final = 60  # lines that are looked at

Numbered = tuple[int, bytes]


class Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class Portion(NamedTuple):
    """What a range of a log holds. Lines are counted from 0, at the range's first line."""

    feeds: int = 0  # line feeds in it
    first: tuple[Numbered, ...] = ()  # its first lines
    last: tuple[Numbered, ...] = ()
    found: tuple[tuple[int, tuple[Numbered, ...]], ...] = ()  # by needle, the first and the last lines that hold it


def is_log(head: bytes) -> bool:
    """A text too long to be a paste, most of whose lines begin like those of a log."""
    if len(head) < HEAD:
        return False
    lines = head.split(b"\n")[1:-1] or [head]
    lines = lines[:: len(lines) // _SAMPLE + 1]
    return sum(1 for line in lines if _LOG_LINE.match(line)) * 10 >= len(lines) * 7


def sieve_of(needles: Iterable[str]) -> Sieve:
    return Sieve((*needles, *GRAVE))


def ranges(size: int) -> list[tuple[int, int]]:
    """A log of this size as ranges that can be read apart from each other."""
    return [(start, min(start + RANGE, size)) for start in range(0, size, RANGE)]


def portion(stream: Readable, sieve: Sieve, head: bytes = b"") -> Portion:
    """All that a stream holds, behind a head that was read of it before."""
    kept = _Kept()
    first: list[Numbered] = []
    number, end, cut_end = 0, b"", False
    for buffer, size in _blocks(stream, head):
        if len(first) < ENDS_KEPT:
            lines = _lines_of(bytes(buffer[: min(size, _LINE_KEPT * 4)]), ENDS_KEPT - len(first))
            first.extend((number + index, line[:_LINE_KEPT]) for index, line in enumerate(lines))
        view = memoryview(buffer)
        start = 0
        while start < size:
            stop = _piece_end(buffer, start, size)
            piece = bytes(view[start:stop])
            if places := sieve.first_places(piece):
                _keep(piece, number, places, sieve, kept)
            number += _feeds(piece)
            start = stop
        cut_end = cut_end or len(end) + size > _END
        end = (end + bytes(view[max(0, size - _END) : size]))[-_END:]
        view.release()
    return Portion(number, tuple(first), tuple(_last_lines(end, number, cut_end)), kept.lines())


def _blocks(stream: Readable, head: bytes) -> Iterator[tuple[bytearray, int]]:
    """A buffer and how much of it are whole lines, again and again; a line without end is cut into pieces."""
    buffer = bytearray(BLOCK + len(head))
    buffer[: len(head)] = head
    filled = len(head)
    while True:
        if filled == len(buffer):  # one line fills it
            buffer.extend(bytes(filled))
        with memoryview(buffer) as view:
            got = stream.readinto(view[filled:]) or 0
        filled += got
        end = buffer.rfind(b"\n", 0, filled) + 1 if got else filled
        if not end and filled < LINE_MAX and got:
            continue
        end = end or filled
        if end:
            yield buffer, end
            buffer[: filled - end] = buffer[end:filled]
            filled -= end
        if not got:
            return


def _feeds(piece: bytes) -> int:
    """Line feeds. `count` looks at every byte; `replace` leaps from one to the next, three times as fast."""
    return len(piece.replace(b"\n", b"\n\n")) - len(piece)


def _piece_end(buffer: bytearray, start: int, size: int) -> int:
    """Pieces end with a line, or where the block does."""
    if start + PIECE >= size:
        return size
    end = buffer.rfind(b"\n", start, start + PIECE) + 1 or buffer.find(b"\n", start + PIECE, size) + 1
    return end or size


def _keep(piece: bytes, number: int, places: list[tuple[int, int]], sieve: Sieve, kept: _Kept) -> None:
    low = b""
    for needle, first in tuple(places):
        at, missing = first, kept.missing(needle)
        # While there is room, every line counts, and not only the first one of a piece.
        while missing > 1 and (end := piece.find(b"\n", at)) >= 0:
            low = low or piece.lower()
            at = low.find(sieve.needles[needle], end)
            if at < 0:
                break
            places.append((needle, at))
            missing -= 1
    counted = 0
    for needle, at in sorted(places, key=lambda place: place[1]):
        begin = piece.rfind(b"\n", 0, at) + 1
        if begin > counted:
            number += piece.count(b"\n", counted, begin)
            counted = begin
        end = piece.find(b"\n", at)
        shown = max(begin, at - _LINE_KEPT // 2)  # of a line without end, the part that matters
        kept.add(needle, number, piece[shown : end if end >= 0 else len(piece)][:_LINE_KEPT])


class _Kept:
    """Lines by needle, of each only the first and the last ones."""

    def __init__(self) -> None:
        self._first: dict[int, list[Numbered]] = {}
        self._last: dict[int, deque[Numbered]] = {}

    def missing(self, needle: int) -> int:
        return EACH_KEPT - len(self._first.get(needle, ()))

    def add(self, needle: int, number: int, line: bytes) -> None:
        first = self._first.setdefault(needle, [])
        if len(first) < EACH_KEPT:
            first.append((number, line))
        else:
            self._last.setdefault(needle, deque(maxlen=EACH_KEPT)).append((number, line))

    def lines(self) -> tuple[tuple[int, tuple[Numbered, ...]], ...]:
        return tuple((needle, (*first, *self._last.get(needle, ()))) for needle, first in self._first.items())


def put_together(name: str, host: str, portions: Iterable[Portion]) -> Source:
    """Portions in the order of their ranges. First and last lines of all are among the first and last of each."""
    kept = _Kept()
    first: list[Numbered] = []
    last: deque[Numbered] = deque(maxlen=ENDS_KEPT)
    before = 1
    for part in portions:
        first.extend((before + number, line) for number, line in part.first[: ENDS_KEPT - len(first)])
        last.extend((before + number, line) for number, line in part.last)
        for needle, lines in part.found:
            for number, line in lines:
                kept.add(needle, before + number, line)
        before += part.feeds
    found = kept.lines()
    if not found:  # no sign, no error, no start: whatever it tells, it is not a trouble that we know
        return Source(name, (), (), host, quiet=True)
    # What was found goes last: of a line without end it is the part that matters.
    shown = dict(first) | dict(last) | dict(line for _, lines in found for line in lines)
    numbers = tuple(sorted(shown))
    texts = [clean(decode(shown[number])) for number in numbers]
    return Source(name, tuple(redacted(texts)), numbers, host, quiet=False)


def portion_of_range(file: BinaryIO, start: int, stop: int, sieve: Sieve) -> Portion:
    """The lines that begin within a range of a file, to their ends."""
    at = start
    if start:  # a line that began before is not ours
        at = start - 1
        file.seek(at)
        while line := file.readline(BLOCK):
            at += len(line)
            if at >= stop or line.endswith(b"\n"):
                break
    if at >= stop:
        return Portion()
    file.seek(at)
    return portion(_Lines(file, stop - at), sieve)


class _Lines:
    """A file that ends with the line in which so many bytes end."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self._file, self._left = file, left
        self._open = False

    def readinto(self, buffer: memoryview) -> int:
        if self._left > 0:
            got: int = self._file.readinto(buffer[: self._left])  # type: ignore[attr-defined]
            self._left = self._left - got if got else 0
        elif self._open:
            line = self._file.readline(len(buffer))
            got = len(line)
            buffer[:got] = line
        else:
            return 0
        self._open = got > 0 and buffer[got - 1] != ord("\n")
        return got


def _lines_of(block: bytes, count: int) -> list[bytes]:
    lines = block.split(b"\n", count)
    return lines[:count] if len(lines) > count or lines[-1] else lines[:-1]


def _last_lines(end: bytes, feeds: int, cut: bool) -> list[Numbered]:
    """Of the last bytes; the first line of them has lost its beginning, if there is more before."""
    closed = end.endswith(b"\n")
    lines = (end[:-1] if closed else end).rsplit(b"\n", ENDS_KEPT) if end else []
    number = feeds - len(lines) + (0 if closed else 1)
    numbered = [(number + index, line) for index, line in enumerate(lines)]
    # The first piece may be more than a line, or less.
    whole = len(lines) <= ENDS_KEPT and not (cut and len(lines) > 1)
    return numbered if whole else numbered[1:]

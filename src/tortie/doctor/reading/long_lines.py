"""Lines that are too long to be looked at whole. Expressions see their head and their tail; documents are read whole.

This is where the work over a line is bounded: no reader and no cause ever sees a longer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.reading.exhibit import Exhibit

LONGEST: Final = 4_096  # characters
_HEAD: Final = 3_000
_GAP: Final = " … "


class Long(str):
    """Head and tail of a line; `whole` is all of it."""

    whole: str


def bounded(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    short = Long(line[:_HEAD] + _GAP + line[len(line) - (LONGEST - _HEAD - len(_GAP)) :])
    short.whole = line
    return short


def whole(line: str) -> str:
    return line.whole if isinstance(line, Long) else line


def whole_lines(exhibit: Exhibit) -> Exhibit:
    """The exhibit as a document needs it."""
    if not any(isinstance(line, Long) for line in exhibit.lines):
        return exhibit
    return exhibit._replace(lines=tuple(map(whole, exhibit.lines)))


def pieces(line: str) -> Iterator[str]:
    """All of a line in pieces of bearable length, parted at blanks where it has some."""
    text = whole(line)
    while len(text) > LONGEST:
        blank = text.rfind(" ", LONGEST // 2, LONGEST)
        at = blank if blank > 0 else LONGEST
        yield text[:at]
        text = text[at:].lstrip(" ")
    yield text

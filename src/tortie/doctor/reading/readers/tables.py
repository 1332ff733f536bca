"""Tables with a header of capital words: which cell belongs to which column, also after awk, column and grep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

# Headers of two words; joined, every header splits at blanks.
_JOINED: Final = (
    ("LAST SEEN", "LAST_SEEN"), ("FIRST SEEN", "FIRST_SEEN"), ("NOMINATED NODE", "NOMINATED_NODE"),
    ("READINESS GATES", "READINESS_GATES"), ("NODE SELECTOR", "NODE_SELECTOR"), ("CREATED AT", "CREATED_AT"),
    ("MIN AVAILABLE", "MIN_AVAILABLE"), ("MAX UNAVAILABLE", "MAX_UNAVAILABLE"),
    ("ALLOWED DISRUPTIONS", "ALLOWED_DISRUPTIONS"), ("LAST SCHEDULE", "LAST_SCHEDULE"),
)  # fmt: skip
_TITLE: Final = r"[A-Z][A-Z0-9%/_:.*-]*(?:\([A-Za-z]+\))?"
_HEADER: Final = lazily(rf"{_TITLE}(?:\s+{_TITLE})*\s*$")
_GAP: Final = lazily(r"\s{2,}|\t")
_AGO: Final = lazily(r"(\d+)\s+(\([^()]{1,40}ago\))")


class Header(NamedTuple):
    """Column names, the offsets they start at, and whether they are aligned (more than one blank apart)."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    aligned: bool

    def cells(self, line: str) -> dict[str, str]:
        """A row by column. A row that does not fit gives the columns from the left that it has."""
        cells = self._split(line)
        return {name: cell for name, cell in zip(self.names, cells, strict=False) if cell}

    def _split(self, line: str) -> list[str]:
        line = line.strip()
        count = len(self.names)
        if count == 1:
            return [line]
        wide = _GAP.split(line) if self.aligned else []
        if len(wide) == count:
            return wide
        words = _words(line)
        if len(words) == count:
            return words
        return self._by_offset(line) or (wide if len(wide) > 1 else words)

    def _by_offset(self, line: str) -> list[str]:
        """Cells cut at the header's offsets, when the row has blanks before each of them."""
        if not self.aligned:
            return []
        starts = [start - self.starts[0] for start in self.starts]
        if any(0 < start <= len(line) and not line[start - 1].isspace() for start in starts[1:]):
            return []
        return [line[a:b].strip() for a, b in zip(starts, [*starts[1:], len(line) + 1], strict=True)]


def header_of(line: str) -> Header | None:
    """The header in this line; None when it is none."""
    if not line[:1].strip() and not line.strip():
        return None
    text = line.rstrip()
    if not _HEADER.match(text.lstrip()):
        return None
    for words, joined in _JOINED:
        if words in text:
            text = text.replace(words, joined)
    found = list(re.finditer(r"\S+", text))
    gaps = [b.start() - a.end() for a, b in pairwise(found)]
    aligned = "\t" not in text and any(gap > 1 for gap in gaps)
    return Header(tuple(m[0] for m in found), tuple(m.start() for m in found), aligned or "\t" in text)


def _words(line: str) -> list[str]:
    """Blank separated cells, with `7 (62s ago)` kept as one."""
    if " ago)" in line:
        line = _AGO.sub(lambda match: f"{match[1]}\0{match[2].replace(' ', chr(0))}", line)
    return [word.replace("\0", " ") for word in line.split()]


words = _words


def has(header: Header, names: Iterable[str]) -> bool:
    return all(name in header.names for name in names)

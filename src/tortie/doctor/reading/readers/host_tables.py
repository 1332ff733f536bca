"""Tables that tools print on machines: boxes of `|`, and columns under a header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tortie.doctor.lazily import lazily

_HEADING = lazily(r"\S+(?: \S+)*")


def box_cells(line: str) -> list[str]:
    """`| a | b |` is [a, b]; a row that lost its outer bars in a paste is the same."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_rule(line: str) -> bool:
    return not line.strip("+-=| \t")


class Columns:
    """A header line; rows are cut at its columns when they keep to them, else at blanks."""

    def __init__(self, header: str) -> None:
        matches = list(_HEADING.finditer(header.replace("\t", "  ")))
        if len(matches) == 1 and " " in matches[0][0]:  # columns squeezed to one blank (awk, column)
            matches = list(re.finditer(r"\S+", header))
        self.names = [match[0] for match in matches]
        self._starts = [match.start() for match in matches]

    def cells(self, row: str) -> dict[str, str]:
        row = row.replace("\t", "  ")
        wide = re.split(r"\s{2,}", row.strip())
        if len(wide) == len(self.names):
            return dict(zip(self.names, wide, strict=True))
        cut = [*self._starts[1:], len(row)]
        if all(start <= 0 or start > len(row) or row[start - 1 : start] == " " for start in self._starts[1:]):
            pairs = zip(self._starts, cut, strict=True)
            values = [row[start:stop].strip() for start, stop in pairs]
            if not any("  " in value for value in values):
                return dict(zip(self.names, values, strict=True))
        return dict(zip(self.names, row.split(None, len(self.names) - 1) if self.names else [], strict=False))


def wrapped_rows(rows: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int, list[str]]]:
    """Rows of a box as (first index, last index, cells); a row without a first cell goes on with the row above."""
    first, last, cells = 0, 0, list[str]()
    for index, line in rows:
        if "|" not in line or is_rule(line):
            if cells and "|" not in line and not is_rule(line):
                yield first, last, cells
                cells = []
            continue
        own = box_cells(line)
        if cells and not own[0] and len(own) == len(cells):
            cells = [f"{above} {below}".strip() for above, below in zip(cells, own, strict=True)]
            last = index
            continue
        if cells:
            yield first, last, cells
        first, last, cells = index, index, own
    if cells:
        yield first, last, cells

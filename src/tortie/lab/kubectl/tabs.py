"""Text with tabs as aligned columns, the way kubectl's writer does it. Pure.

A cell ends with a tab; what stands after the last tab of a line belongs to no column. A column goes on for as long as
consecutive lines have a cell in it, and is as wide as the widest of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

TABLE: Final = (6, 3)  # least width and padding of `kubectl get`
DESCRIBE: Final = (0, 2)
_BREAK: Final = re.compile(r"[\f\n\r]")


def aligned(text: str, form: tuple[int, int] = DESCRIBE) -> str:
    lines = [line.split("\t") for line in text.split("\n")]
    out: list[str] = []
    _format(lines, 0, len(lines), [], form, out)
    return "\n".join(out)


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of `kubectl get`, one to a line."""
    text = "".join("\t".join(_one_line(cell) for cell in row) + "\n" for row in rows)
    return aligned(text, TABLE)


def _one_line(cell: str) -> str:
    """kubectl cuts a cell at the first end of a line, and says so."""
    first = _BREAK.split(cell, maxsplit=1)
    return first[0].replace("\t", " ") + ("..." if len(first) > 1 else "")


def _format(
    lines: list[list[str]], first: int, end: int, widths: list[int], form: tuple[int, int], out: list[str]
) -> None:
    column = len(widths)
    here = first
    while here < end:
        if column >= len(lines[here]) - 1:
            here += 1
            continue
        out += [_line(lines[index], widths) for index in range(first, here)]
        first = here
        width = form[0]
        while here < end and column < len(lines[here]) - 1:
            width = max(width, len(lines[here][column]) + form[1])
            here += 1
        _format(lines, first, here, [*widths, width], form, out)
        first = here
    out += [_line(lines[index], widths) for index in range(first, end)]


def _line(cells: list[str], widths: list[int]) -> str:
    padded = [cell.ljust(widths[index]) if index < len(widths) else cell for index, cell in enumerate(cells)]
    return "".join(padded)

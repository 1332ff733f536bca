"""A table in a frame, as calicoctl draws those of IPAM: headings in the middle, whole numbers to the right. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})*|\d+)(?:\.\d+)?%?")


def framed(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [rule, _line([_centred(heading, width) for heading, width in zip(headings, widths, strict=True)]), rule]
    lines += [_line([_aligned(cell, width) for cell, width in zip(row, widths, strict=True)]) for row in rows]
    return "\n".join([*lines, rule]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _centred(text: str, width: int) -> str:
    """With one blank too many, it stands at the right."""
    left = (width - len(text)) // 2
    return " " * left + text + " " * (width - len(text) - left)


def _aligned(text: str, width: int) -> str:
    return text.rjust(width) if _NUMBER.fullmatch(text) else text.ljust(width)

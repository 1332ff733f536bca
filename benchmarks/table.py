"""How every benchmark prints its figures: a Markdown table under a title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    lines = [[str(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    print(f"\n## {title}\n")
    for number, line in enumerate(lines):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")

"""The evidence as it stands in its sources: lines around what is quoted, those quoted marked."""

from __future__ import annotations

from typing import Final

from tortie.doctor.diagnosis import Quote
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple

AROUND: Final = 2
ROWS_SHOWN: Final = 400  # of one source


class Row(NamedTuple):
    number: int | None  # None: lines are left out here
    text: str = ""
    hit: bool = False
    ids: tuple[str, ...] = ()  # evidence that begins here


class Excerpt(NamedTuple):
    source: str
    rows: tuple[Row, ...]


def excerpts(picture: Picture, quotes: tuple[Quote, ...]) -> list[Excerpt]:
    lines: dict[str, dict[int, str]] = {}
    for exhibit in picture.exhibits:
        known = lines.setdefault(exhibit.source, {})
        if exhibit.command and exhibit.command_lines:
            host = f"{exhibit.host} " if exhibit.host else ""
            known[exhibit.command_lines[0]] = f"{host}$ {exhibit.command}"
        for index, text in enumerate(exhibit.lines):
            known[exhibit.number(index)] = text
    by_source: dict[str, list[Quote]] = {}
    for quote in quotes:
        by_source.setdefault(quote.place.source, []).append(quote)
    return [Excerpt(source, tuple(_rows(lines.get(source, {}), found))) for source, found in by_source.items()]


def _rows(lines: dict[int, str], quotes: list[Quote]) -> list[Row]:
    hits = {number for quote in quotes for number in range(quote.place.first, quote.place.last + 1)}
    begins: dict[int, list[str]] = {}
    for quote in quotes:
        begins.setdefault(quote.place.first, []).append(quote.id)
    wanted = sorted(
        {near for number in hits for near in range(number - AROUND, number + AROUND + 1) if near in lines}
        | {number for number in begins if number in lines}
    )
    rows: list[Row] = []
    last = 0
    for number in wanted[:ROWS_SHOWN]:
        if number > last + 1 and rows:
            rows.append(Row(None))
        rows.append(Row(number, lines[number], number in hits, tuple(begins.get(number, ()))))
        last = number
    return rows

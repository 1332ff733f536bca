"""Quotes of a diagnosis, numbered in the order they are first used, and the lines that nobody understood."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.diagnosis import Quote
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place

# Frames and heads of tables, and lines that only announce what follows: nothing to understand.
_FRAME: Final = re.compile(
    r"[-+=|_*#~<>. \t]+|[-A-Z0-9 ()%/:._#+|]+|(?:IPv[46] BGP status|total \d+|Events:|Conditions:|Volumes:|\.\.\.|…+)"
    r"|(?:Filesystem|USER|State|Netid|Proto|COMMAND|Active Internet connections)\b.*|\^C"
)
LINES_QUOTED: Final = 6
COLUMNS_QUOTED: Final = 400


class Quotes:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self._ids: dict[Place, str] = {}
        self._lines: dict[str, dict[int, str]] = {}
        for exhibit in picture.exhibits:
            lines = self._lines.setdefault(exhibit.source, {})
            for index, line in enumerate(exhibit.lines):
                lines[exhibit.number(index)] = line

    def id_of(self, place: Place) -> str:
        return self._ids.setdefault(place, f"e{len(self._ids) + 1}")

    def all(self) -> tuple[Quote, ...]:
        return tuple(Quote(id_, place, self.text(place)) for place, id_ in self._ids.items())

    def text(self, place: Place) -> str:
        lines = self._lines.get(place.source, {})
        wanted = [lines[number] for number in range(place.first, place.last + 1) if lines.get(number, "").strip()]
        shown = wanted if len(wanted) <= LINES_QUOTED else [*wanted[: LINES_QUOTED - 1], "…"]
        return "\n".join(line[:COLUMNS_QUOTED] + ("…" if len(line) > COLUMNS_QUOTED else "") for line in shown)


def not_understood(picture: Picture) -> tuple[Place, ...]:
    """Runs of lines, outside of prose, that no reader and no sign took."""
    taken = picture.lines_taken()
    runs: list[Place] = []
    for exhibit in picture.exhibits:
        if not exhibit.prose:
            runs.extend(_runs(exhibit, taken.get(exhibit.source, set())))
    return tuple(runs)


def _runs(exhibit: Exhibit, taken: set[int]) -> list[Place]:
    runs: list[Place] = []
    start = end = 0
    for index, line in enumerate(exhibit.lines):
        number = exhibit.number(index)
        if number in taken:
            if start:
                runs.append(Place(exhibit.source, start, end))
            start = 0
        elif line.strip() and not _FRAME.fullmatch(line.strip()):
            start, end = start or number, number
    if start:
        runs.append(Place(exhibit.source, start, end))
    return runs

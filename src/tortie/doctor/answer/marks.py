"""The lines of a quote as they are shown, each with what decided in it."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.judgement.quoting import Span, place_of
from tortie.model.measure import indented
from tortie.model.tuples import NamedTuple


class Shown(NamedTuple):
    blanks: str  # the indentation
    text: str  # the rest, safe to show
    span: Span | None = None  # where in the rest stands what decided


def quoted_rows(text: str, spans: tuple[Span, ...]) -> Iterator[Shown]:
    offset = 0
    for line in text.split("\n"):
        blanks, rest = indented(line)
        parts = (line[max(0, begin - offset) : max(0, end - offset)] for begin, end in spans)
        words = next((part for part in parts if part.strip()), "")
        yield Shown(blanks, rest, place_of(words, rest) if words else None)
        offset += len(line) + 1

"""The answer for a terminal of 80 columns, with colours where they are wanted."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tortie.doctor.answer.labels import label
from tortie.doctor.answer.marks import quoted_rows
from tortie.doctor.answer.outline import Line, Outline, Section, outline
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.judgement.quoting import Span, shortened
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language
from tortie.model.measure import columns, plain, wrapped

WIDTH: Final = 80
_COLOURS: Final = {"good": "32", "bad": "31", "dim": "2", "title": "1", "command": "36", "warn": "33"}
_VERDICTS: Final = {"cause-found": "bad", "healthy": "good", "undetermined": "warn"}
_WRAPS: Final = 12
_QUOTE_ROWS: Final = 3
_DEEP: Final = "   "  # as wide as the number of an item


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    return _Text(label("colon", language), colour=colour).whole(
        outline(diagnosis, language), _VERDICTS[diagnosis.verdict]
    )


class _Text:
    def __init__(self, colon: str, *, colour: bool) -> None:
        self._colon, self._colour = colon, colour

    def _in(self, text: str, tone: str) -> str:
        return f"\x1b[{_COLOURS[tone]}m{text}\x1b[0m" if self._colour and tone and text else text

    def whole(self, told: Outline, tone: str) -> str:
        mark = told.verdict.upper() if told.verdict.isascii() else told.verdict
        head = self._wrap(f"{mark}{self._colon}{told.headline}", "", "  ", "")
        rows = [self._in(row, tone) for row in head]
        for section in told.sections:
            rows += ["", *self._section(section)]
        return "\n".join(rows) + "\n"

    def _section(self, section: Section) -> list[str]:
        rows = [self._in(row, "title") for row in self._wrap(section.title, "", "  ", "")] if section.title else []
        number = 0
        for line in section.lines:
            number += line.kind == "number"
            rows += self._line(line, number)
        return rows

    def _line(self, line: Line, number: int) -> list[str]:
        if line.kind == "command":
            # A command is one to be copied: it is never broken, however long.
            first, *rest = line.text.splitlines()
            # What is copied must still be what was meant: a document begins at the left, and so does its end.
            return [
                f"     {self._in('$', 'dim')} {self._in(first, 'command')}",
                *(self._in(r, "command") for r in rest),
            ]
        if line.kind == "quote":
            return self._quote(line, _DEEP if line.deep else "")
        if line.kind == "number":
            lead = f"  {number}. "
            return self._tagged(line, lead, " " * len(lead))
        if line.kind == "item":
            return self._tagged(line, "  - ", "    ")
        lead = f"  {_DEEP}" if line.deep else "  "
        return self._tagged(line, lead, lead)

    def _quote(self, line: Line, lead: str) -> list[str]:
        rows = [self._in(f"{lead}  {plain(line.tag)}", "dim")] if line.tag else []
        for shown in quoted_rows(line.text, line.spans):
            before = f"{lead}    {shown.blanks}"
            rows += [before + part for part in _few_rows(shown.text, WIDTH - len(before), shown.span)]
        return rows

    def _tagged(self, line: Line, lead: str, rest: str) -> list[str]:
        tag = (
            f"[{plain(line.tag)}] "
            if line.kind == "number" and line.tag
            else f"{line.tag}{self._colon}"
            if line.tag
            else ""
        )
        rows = self._wrap(tag + line.text, lead, rest, line.tone if line.tone == "dim" else "")
        if line.kind == "number" and line.tone and tag:
            rows[0] = rows[0].replace(tag.rstrip(), self._in(tag.rstrip(), line.tone), 1)
        return rows

    def _wrap(self, text: str, lead: str, rest: str, tone: str) -> list[str]:
        room = WIDTH - columns(rest)
        parts = wrapped(plain(text), room, _WRAPS) or [""]
        return [self._in((lead if index == 0 else rest) + part, tone) for index, part in enumerate(parts)]


def _few_rows(text: str, room: int, span: Span | None) -> list[str]:
    """At most three rows; of a longer text the part that decided."""
    budget = _QUOTE_ROWS * room
    while True:
        rows = wrapped(shortened(text, budget, span).text, room, _QUOTE_ROWS + 1)
        if len(rows) <= _QUOTE_ROWS or budget <= room:
            return rows[:_QUOTE_ROWS]
        budget -= room // 8

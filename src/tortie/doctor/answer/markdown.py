"""The answer as Markdown, for a ticket."""

from __future__ import annotations

from datetime import datetime

from tortie.doctor.answer.labels import label
from tortie.doctor.answer.outline import Line, Section, outline
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Language
from tortie.model.measure import indented, plain

_SPECIAL = "\\`*_{}[]<>|~"


def render(
    diagnosis: Diagnosis, picture: Picture, language: Language, *, colour: bool, when: datetime | None = None
) -> str:
    told = outline(diagnosis, language)
    verdict = f"**{told.verdict}**{label('colon', language)}"
    parts = [f"# {label('report', language)}", f"{verdict}{_escaped(told.headline)}"]
    parts += [_section(section) for section in told.sections]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    parts = [f"## {_escaped(section.title)}"] if section.title else []
    number = 0
    for line in section.lines:
        number += line.kind == "number"
        text = _line(line, number)
        parts.append(_below(text) if line.deep else text)
    return "\n\n".join(parts)


def _line(line: Line, number: int) -> str:
    if line.kind == "command":
        return _fenced(line.text, "sh")
    if line.kind == "quote":
        return (f"`{plain(line.tag)}`\n\n" if line.tag else "") + _fenced(line.text, "text")
    tag = f"**{_escaped(line.tag)}** " if line.tag else ""
    lead = {"number": f"{number}. ", "item": "- "}.get(line.kind, "")
    return lead + tag + _escaped(line.text)


def _below(text: str) -> str:
    """Part of the numbered item above it."""
    return "\n".join(f"   {row}" if row else "" for row in text.split("\n"))


def _fenced(text: str, language: str) -> str:
    """A fence longer than any in the text, so that nothing quoted can leave it."""
    fence = "```"
    while fence in text:
        fence += "`"
    body = "\n".join(row if row.isprintable() else "".join(indented(row)) for row in text.splitlines())
    return f"{fence}{language}\n{body}\n{fence}"


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in plain(text))

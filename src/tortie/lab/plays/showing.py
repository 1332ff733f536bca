"""How much of a command and of its answer is shown in 80 columns. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tortie.lab.plays.play import Show
from tortie.model.measure import columns, cut_to_columns, indented, wrapped

WIDTH: Final = 80
MARGIN: Final = "  "  # what is told is set off from what commands answer
_PIECES_MAX: Final = 5  # lines that one line of an answer is broken into
_CONTINUED: Final = " \\"
_MORE: Final = "…"


def told_lines(text: str) -> list[str]:
    return [MARGIN + line for part in text.split("\n") for line in wrapped(part, WIDTH - len(MARGIN), 1_000)]


def typed_lines(words: Sequence[str], show: Show) -> list[str]:
    """The command behind a prompt. One that is too long goes on in the next line, as a shell lets it."""
    pipes = [
        f"| grep -E '{show.grep}'" if show.grep else "",
        f"| head -{show.head}" if show.head else "",
        f"| tail -{show.tail}" if show.tail else "",
    ]
    command = " ".join(("$ tortie", *(_quoted(word) for word in words)))
    lines, line = [], ""
    for part in (*_short(command), *filter(None, pipes)):
        joined = f"{line} {part}" if line else part
        if line and columns(joined) > WIDTH - len(_CONTINUED):
            lines.append(line + _CONTINUED)
            joined = f"    {part}"
        line = joined
    return [*lines, line]


def shown(output: str, show: Show) -> list[str]:
    """The lines of an answer that are shown: what the pipes let through, fitted, and not too many."""
    lines = output.rstrip("\n").split("\n") if output.strip() else []
    if show.grep:
        lines = [line for line in lines if re.search(show.grep, line)]
    if show.head:
        lines = lines[: show.head]
    if show.tail:
        lines = lines[-show.tail :]
    if show.table:
        lines = _narrowed(lines)
    fitted = [piece for line in lines for piece in _fitted(line)]
    if show.of_each_part:
        fitted = list(_of_each_part(fitted, show.of_each_part))
    if len(fitted) <= show.most:
        return fitted
    kept = fitted[: show.most]
    while kept and kept[-1].strip() in ("", _MORE):
        kept.pop()
    return [*kept, f"{_MORE} (+{len(fitted) - len(kept)})"]


def _short(command: str) -> Iterator[str]:
    """The command whole, or in pieces that fit."""
    if columns(command) <= WIDTH - len(_CONTINUED):
        yield command
        return
    piece = ""
    for word in command.split(" "):
        if piece and columns(f"{piece} {word}") > WIDTH - len(_CONTINUED) - len("    "):
            yield piece
            piece = word
        else:
            piece = f"{piece} {word}" if piece else word
    yield piece


def _narrowed(lines: list[str]) -> list[str]:
    """A table without the columns on its right that have no room."""
    if all(columns(line) <= WIDTH for line in lines):
        return lines
    starts = [found.start() for found in re.finditer(r"(?:(?<=\s\s)|^)\S", lines[0])]
    for start in reversed(starts):
        if all(columns(line[:start].rstrip()) <= WIDTH for line in lines):
            return [line[:start].rstrip() for line in lines]
    return [cut_to_columns(line, WIDTH) for line in lines]


def _fitted(line: str) -> Iterator[str]:
    indent, text = indented(line)
    if columns(indent + text) <= WIDTH:
        yield (indent + text).rstrip()
        return
    first = wrapped(text, WIDTH - len(indent), 1_000)[0]
    yield indent + first
    deeper = indent + "    "
    for piece in wrapped(text[len(first) :].strip(), WIDTH - len(deeper), _PIECES_MAX - 1):
        yield deeper + piece


def _of_each_part(lines: Sequence[str], most: int) -> Iterator[str]:
    """Paragraphs are cut to so many lines. What is left out is marked."""
    seen = 0
    for line in lines:
        seen = seen + 1 if line else 0
        if seen <= most:
            yield line
        elif seen == most + 1:
            yield f"  {_MORE}"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[-\w./=:@,]+", word) else f"'{word}'"

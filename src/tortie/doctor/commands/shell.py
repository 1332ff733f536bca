"""A command line as values: programs with their words, each word made of literals and holes. Pure.

A template is what a person would type, with holes for what only evidence knows: `kubectl drain <node>`. A hole is
`<kind>` or `<label:kind>`; kinds are those of `kinds.py`. Templates are ours and trusted; values never are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from tortie.doctor.commands.kinds import KINDS, let_in
from tortie.doctor.commands.programs import HEREDOC, Simple, UnreadableError, closing, programs
from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

HOLE: Final = lazily(r"<(?P<label>[a-z][a-z0-9-]*)(?::(?P<kind>[a-z-]+))?>")
# Where a hole may stand: among words, in quotes, or among the words of a script that stands in quotes itself.
PLAIN, DATA, IN_SINGLE, IN_DOUBLE = 0, 1, 2, 3
_HOLE_IN: Final = ("'{}'", "{}", '"{}"', "'{}'")
_BEFORE_SCRIPT: Final = lazily(
    r"(?:\bssh (?:[^|;&'\"\n]|'<[^'\n]*>'){0,200}|\b(?:sh|bash|su)(?: [^|;&'\"\n]{0,200})? -[a-z]{0,8}c) $"
)


class Hole(NamedTuple):
    label: str
    kind: str

    def __str__(self) -> str:
        return f"<{self.label}>"


class Refused(NamedTuple):
    """A value that was in the evidence and is not let into a command."""

    hole: Hole
    value: str


class Shell(NamedTuple):
    """A template with values in it. Equal commands are equal values."""

    template: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def holes(self) -> tuple[Hole, ...]:
        """All holes of the template, filled or not, each once."""
        return tuple(dict.fromkeys(_hole(match) for match in HOLE.finditer(self.template)))

    def fill(self, values: Mapping[str, str]) -> Shell:
        """With these values for holes of their labels; a value that is there already stays."""
        wanted = {hole.label for hole in self.holes}
        return Shell(self.template, tuple({**{k: v for k, v in values.items() if k in wanted and v},
                                           **dict(self.values)}.items()))  # fmt: skip

    @property
    def refused(self) -> tuple[Refused, ...]:
        given = dict(self.values)
        return tuple(
            Refused(hole, given[hole.label])
            for hole in self.holes
            if given.get(hole.label) and not let_in(hole.kind, given[hole.label])
        )

    @property
    def open(self) -> tuple[Hole, ...]:
        """Holes that somebody has to fill: nothing known, or not let in."""
        given = dict(self.values)
        return tuple(hole for hole in self.holes if not let_in(hole.kind, given.get(hole.label, "")))

    def render(self) -> str:
        """What is printed. Values are plain words everywhere; an open hole is quoted, so that no shell redirects."""
        given = dict(self.values)
        states = _quoting(self.template)

        def word(match: re.Match[str]) -> str:
            hole = _hole(match)
            value = given.get(hole.label, "")
            if let_in(hole.kind, value):
                return value
            return _HOLE_IN[states[match.start()]].format(hole)

        return HOLE.sub(word, self.template)

    def commands(self) -> Iterator[Simple]:
        """Every program that would run, those inside of ssh, sh -c and $(…), too. What cannot be read has no name."""
        return programs(self.render())

    def __str__(self) -> str:
        return self.render()


def _hole(match: re.Match[str]) -> Hole:
    kind = match["kind"] or match["label"]
    if kind not in KINDS:
        raise ValueError(f"hole {match[0]}: there is no kind {kind!r}")
    return Hole(match["label"], kind)


@cache
def _quoting(text: str) -> bytes:
    """For every letter, where it stands: PLAIN, DATA, IN_SINGLE or IN_DOUBLE."""
    states = bytearray(len(text))
    for document in HEREDOC.finditer(text):
        start, end = document.span("body")
        states[start:end] = bytes([DATA]) * (end - start)
    index = 0
    while index < len(text):
        letter = text[index]
        if letter in "'\"" and states[index] != DATA:
            end = _end(text, index)
            states[index + 1 : end] = _quoted(text, index, end)
            index = end
        index += 2 if letter == "\\" else 1
    return bytes(states)


def _quoted(text: str, start: int, end: int) -> bytes:
    """Of what stands in quotes: data; a script that another shell reads; or, in double quotes, `$(…)`."""
    inside = text[start + 1 : end]
    if _BEFORE_SCRIPT.search(text, 0, start):
        quoted = IN_SINGLE if text[start] == "'" else IN_DOUBLE
        return bytes(state or quoted for state in _quoting(inside))
    states = bytearray([DATA]) * len(inside)
    for match in re.finditer(r"\$\(", inside) if text[start] == '"' else ():
        last = _end(inside, match.end() - 1)
        states[match.end() : last] = _quoting(inside[match.end() : last])
    return bytes(states)


def _end(text: str, start: int) -> int:
    try:
        return closing(text, start)
    except UnreadableError:
        return len(text)

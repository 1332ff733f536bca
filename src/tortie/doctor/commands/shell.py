"""A command line as values: programs with their words, each word made of literals and holes. Pure.

A template is what a person would type, with holes for what only evidence knows: `kubectl drain <node>`. A hole is
`<kind>` or `<label:kind>`; kinds are those of `kinds.py`. Templates are ours and trusted; values never are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from tortie.doctor.commands.kinds import KINDS, let_in

HOLE: Final = re.compile(r"<(?P<label>[a-z][a-z0-9-]*)(?::(?P<kind>[a-z-]+))?>")
_OPERATOR: Final = re.compile(r"&&|\|\||;;?|\||&(?!>)|\n")
_REDIRECT: Final = re.compile(r"[0-9]?(?:<<<|<<-?|>>|>&|&>|<|>)(?:&?[0-9]\b)?")
_HEREDOC: Final = re.compile(r"<<-?\s*'?(?P<end>\w+)'?(?P<rest>[^\n]*)\n(?P<body>.*?)\n(?P=end)(?=\n|$)", re.DOTALL)
# Where a hole may stand: among words, in quotes, or in quotes that another shell reads as a script.
PLAIN, DATA, SCRIPT = 0, 1, 2
_HOLE_IN: Final = ("'{}'", "{}", '"{}"')
_BEFORE_SCRIPT: Final = re.compile(r"(?:\bssh (?:[^|;&'\"\n]|'<[^'\n]*>'){0,200}|\s-c) $")
_KEYWORDS: Final = frozenset(("do", "done", "then", "fi", "else", "if", "while", "for", "!", "{", "}", "time", "sudo"))
_REMOTE: Final = ("ssh",)
_SHELLS: Final = ("sh", "bash", "nsenter")


class Hole(NamedTuple):
    label: str
    kind: str

    def __str__(self) -> str:
        return f"<{self.label}>"


class Refused(NamedTuple):
    """A value that was in the evidence and is not let into a command."""

    hole: Hole
    value: str


class Simple(NamedTuple):
    """One program with its words, without the quotes around them; holes are shown as `<label>`."""

    program: str
    words: tuple[str, ...]

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if word.startswith("-"))

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if not word.startswith("-"))


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
        """Every program that would run, those inside of ssh, sh -c and $(…), too."""
        return _commands(self.render())

    def __str__(self) -> str:
        return self.render()


def _hole(match: re.Match[str]) -> Hole:
    kind = match["kind"] or match["label"]
    if kind not in KINDS:
        raise ValueError(f"hole {match[0]}: there is no kind {kind!r}")
    return Hole(match["label"], kind)


@cache
def _quoting(text: str) -> bytes:
    """For every letter, where it stands: PLAIN, DATA or SCRIPT."""
    states = bytearray(len(text))
    for document in _HEREDOC.finditer(text):
        start, end = document.span("body")
        states[start:end] = bytes([DATA]) * (end - start)
    quote, state, index = "", PLAIN, 0
    while index < len(text):
        letter = text[index]
        if states[index] == DATA and not quote:
            pass
        elif letter == "\\" and quote != "'":
            index += 1
        elif quote:
            states[index] = state
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote, state = letter, SCRIPT if letter == "'" and _BEFORE_SCRIPT.search(text, 0, index) else DATA
        index += 1
    return bytes(states)


def _commands(text: str) -> Iterator[Simple]:
    text = _HEREDOC.sub(lambda found: found["rest"], text)
    for words in _split(text):
        while words and (words[0] in _KEYWORDS or re.match(r"[A-Za-z_]\w*=", words[0])):
            if words[0] == "for":
                words = words[:0]
                break
            words = words[1:]
        for word in words:
            for inner in _substitutions(word):
                yield from _commands(inner)
        if words:
            yield from _simple(words[0], tuple(words[1:]))


def _simple(program: str, words: tuple[str, ...]) -> Iterator[Simple]:
    """The program; or, where it only runs another one, that one."""
    name = program.rpartition("/")[2]
    if name in _REMOTE:
        rest = [word for word in words if not word.startswith("-")][1:]
        yield from _commands(" ".join(rest)) if rest else iter((Simple(name, words),))
    elif name in _SHELLS and "-c" in words:
        yield from _commands(words[words.index("-c") + 1])
    elif name in ("kubectl", "docker", "nsenter", "crictl") and "--" in words:
        inner = words[words.index("--") + 1 :]
        if inner:
            yield from _simple(inner[0], inner[1:])
    elif name in ("xargs", "timeout", "sudo", "env", "nohup", "watch"):
        inner = tuple(word for word in words if not word.startswith("-") and not word[:1].isdigit())
        if inner:
            yield from _simple(inner[0], words[words.index(inner[0]) + 1 :])
    else:
        yield Simple(name, words)


def _substitutions(word: str) -> Iterator[str]:
    for match in re.finditer(r"\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)", word):
        yield match[1]


def _split(text: str) -> Iterator[list[str]]:
    """The words of each program, without their quotes; redirections are words `>file` that begin with their sign."""
    words: list[str] = []
    word, index, begun = "", 0, False
    while index <= len(text):
        letter = text[index : index + 1]
        operator = _OPERATOR.match(text, index)
        if not letter or letter in " \t" or operator:
            if begun:
                words.append(word)
            word, begun = "", False
            if not letter or operator:
                if words:
                    yield words
                words = []
            index += len(operator[0]) if operator else 1
        elif letter == "#" and not begun:
            index = text.find("\n", index) if "\n" in text[index:] else len(text)
        elif letter in "'\"":
            end = _closing(text, index)
            word, begun, index = word + text[index + 1 : end], True, end + 1
        elif text.startswith("$(", index):
            end = _balanced(text, index + 1)
            word, begun, index = word + text[index:end], True, end
        elif letter == "\\":
            word, begun, index = word + text[index + 1 : index + 2], True, index + 2
        else:
            redirect = _REDIRECT.match(text, index) if not begun else None
            step = redirect[0] if redirect else letter
            word, begun, index = word + step.strip(), True, index + len(step)
            while redirect and text[index : index + 1] == " ":
                index += 1
    return


def _closing(text: str, start: int) -> int:
    quote, index = text[start], start + 1
    while index < len(text) and text[index] != quote:
        index += 2 if text[index] == "\\" and quote == '"' else 1
    return index


def _balanced(text: str, start: int) -> int:
    depth, index = 0, start
    while index < len(text):
        depth += (text[index] == "(") - (text[index] == ")")
        index += 1
        if not depth:
            break
    return index

"""Signs: the messages that causes leave behind, written as the catalogue of failures writes them, and found fast.

`BGP not established with <peers>` is text with holes; `…` stands for anything on the line, `(a|b)` for either, `(a)?`
for perhaps. Case, runs of blanks, kinds of quotes and line wraps do not matter. A hole's name says what fits into it:
names that begin with `ip` an address, `cidr` an address with a length, `peers` a list of addresses, `port` digits,
`rest` the rest of the line, `list` anything up to what follows; `n`, `n1`, `n_left` are numbers; every other name is
one word.

Each sign is first looked for by its longest fixed run of text, which costs next to nothing when it is not there; its
expression is compiled only when that run was seen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.long_lines import Long, pieces
from tortie.model.tuples import NamedTuple

ADDRESS = r"(?:(?:\d{1,3}\.){3}\d{1,3}(?!\d)|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4})"
_HOLES = (
    ("ip", ADDRESS),
    ("cidr", ADDRESS + r"/\d{1,3}"),
    ("port", r"\d{1,5}"),
    ("peers", r"[0-9a-fx][0-9a-fx.:]*(?:,[ \n]?[0-9a-fx][0-9a-fx.:]*)*"),
    ("rest", r"[^\n]+"),
    ("list", r"[^\n]{1,400}?"),
)
# One word. What a shell would take for more than a name is none: values end up in commands that people copy.
_WORD = r"[^\s'\"`“”‘’，。；：、（）,;()\[\]\\|&<>$]{1,300}"
_WORD_BEGINS = r"(?<![^\s'\"`“”‘’，。；：、（）,;()\[\]\\|&<>$])"
_TOKEN = lazily(
    r"<(?P<hole>[a-z][a-z0-9_]*)>|(?P<gap>…)|(?P<group>[()|?])|(?P<space>\s+)|(?P<quote>[\"'`])"
    r"|(?P<text>[^<…()|?\s\"'`]+|.)"
)
_CHOICE = lazily(r"(?<!\\)\((?:[^()\\]|\\.)*+\)\??")
_NOT_FIXED = lazily(r"<[a-z][a-z0-9_]*>|[…|?\"'`]")
# What an agent of Tortie says of a trouble that is over, the trouble's own words behind it.
_OVER = "no longer so: "
HITS_KEPT = 200  # of one sign in one source; the rest is only counted


class Sign(NamedTuple):
    """A message worth finding. `key` is unique among all signs; causes share signs by importing them."""

    key: str
    template: str

    @property
    def needle(self) -> str:
        return _needle(self.template)

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.template)


class Hit(NamedTuple):
    """A sign that was found, and where."""

    sign: str
    place: Place
    text: str  # what matched
    values: dict[str, str]  # the holes
    host: str = ""
    command: str = ""  # the command that printed it
    prose: bool = False
    line: str = ""  # the whole first line

    def value(self, hole: str) -> str:
        return self.values.get(hole, "")


@cache
def _needle(template: str) -> str:
    """The longest run of fixed text outside of choices."""
    rest = template
    choices = template.count("(")
    while choices:  # they may hold others
        rest, choices = _CHOICE.subn("…", rest)
    runs = (" ".join(run.split()) for run in _NOT_FIXED.split(rest.replace("\\", "")))
    return max(runs, key=len).lower()


def _expression(template: str) -> str:
    out: list[str] = []
    depth = 0
    names: dict[str, int] = {}
    escaped = False
    for token in _TOKEN.finditer(template):
        text = token.group()
        if token["group"] and not escaped:
            depth += {"(": 1, ")": -1}.get(text, 0)
            out.append(_grouped(text, depth, behind=out[-1] if out else ""))
            continue
        escaped = text.endswith("\\")  # \( is a bracket that is meant
        if token["hole"]:
            out.append(_hole(token["hole"], names))
        elif token["gap"]:
            out.append(r"[^\n]{0,600}?")
        elif token["space"]:
            out.append("[ \n]")
        elif token["quote"]:
            out.append(r"\\*['\"`“”‘’]{1,2}")  # a quote that YAML or a person doubled
        else:
            out.append(re.escape(text.removesuffix("\\")))
    if out and out[0].endswith(f">{_WORD})"):
        out.insert(0, _WORD_BEGINS)  # or every letter of a long word would be tried
    return "".join(out)


def _grouped(text: str, depth: int, behind: str) -> str:
    if text == "(":
        return "(?:"
    means_itself = (text == "|" and not depth) or (text == "?" and behind != ")")
    return re.escape(text) if means_itself else text


def _hole(name: str, names: dict[str, int]) -> str:
    if name in names:
        return f"(?P={name})"
    names[name] = 1
    for start, pattern in _HOLES:
        if name.startswith(start):
            # The plugins write https://[10.96.0.1]:443, too.
            return rf"\[?(?P<{name}>{pattern})\]?" if start == "ip" else f"(?P<{name}>{pattern})"
    if re.fullmatch(r"n\d*|n_[a-z]+", name):
        return rf"(?P<{name}>\d+(?:\.\d+)?)"
    return f"(?P<{name}>{_WORD})"


@cache
def _compiled(template: str) -> re.Pattern[str]:
    return re.compile(_expression(template), re.IGNORECASE)


class Searchable:
    """The lines of exhibits of one source, laid out once so that every sign can be looked for."""

    def __init__(self, exhibits: Iterable[Exhibit]) -> None:
        self._rows: list[tuple[Exhibit, int]] = []
        starts: list[int] = []
        texts: list[str] = []
        offset = 0
        for exhibit in exhibits:
            for index, line in enumerate(exhibit.lines):
                # A very long line is laid out like one that a screen has wrapped.
                for piece in pieces(line) if isinstance(line, Long) else (line,):
                    text = " ".join(piece.split())
                    starts.append(offset)
                    texts.append(text)
                    self._rows.append((exhibit, index))
                    offset += len(text) + 1
        self._starts = starts
        self._text = "\n".join(texts)
        # The only letter that is two in lower case; places in both texts have to be the same.
        self.low = self._text.replace("\n", " ").replace("\u0130", "i").lower()
        self._over = self._find_over() if _OVER in self.low else ()

    def _find_over(self) -> tuple[tuple[str, int, str], ...]:
        """What was told to be over: source, row, the words."""
        found = []
        for row, (exhibit, index) in enumerate(self._rows):
            _, said, words = " ".join(exhibit.lines[index].split()).lower().partition(_OVER)
            if said and words:
                found.append((exhibit.source, row, words))
        return tuple(found)

    def _is_over(self, match: re.Match[str]) -> bool:
        """Whether the line says that it is over, or a later line of the same log does."""
        row = bisect_right(self._starts, match.start()) - 1
        exhibit, index = self._rows[row]
        line = " ".join(exhibit.lines[index].split()).lower()
        return any(source == exhibit.source and row <= at and words in line for source, at, words in self._over)

    def hits(self, signs: Iterable[Sign]) -> Iterator[Hit]:
        for sign in signs:
            yield from self._hits(sign)

    def _hits(self, sign: Sign) -> Iterator[Hit]:
        needle, low = sign.needle, self.low
        at, seen, count, before = low.find(needle), -1, 0, -1
        found: list[re.Match[str]] = []
        while at >= 0 and count < HITS_KEPT:
            row = bisect_right(self._starts, at) - 1
            if row != before:  # a line may hold the needle a thousand times, and is looked at once
                begin = self._starts[max(0, row - 1)]
                end = self._starts[row + 2] - 1 if row + 2 < len(self._starts) else len(self._text)
                found, before = list(sign.pattern.finditer(self._text, begin, end)), row
            for match in found:
                if match.start() > seen and match.start() <= at < match.end():
                    seen = match.start()
                    if self._over and self._is_over(match):
                        continue
                    count += 1
                    yield self._hit(sign, match)
            at = low.find(needle, at + 1)

    def _hit(self, sign: Sign, match: re.Match[str]) -> Hit:
        first = bisect_right(self._starts, match.start()) - 1
        last = bisect_right(self._starts, max(match.start(), match.end() - 1)) - 1
        exhibit, index = self._rows[first]
        end_exhibit, end_index = self._rows[last]
        place = Place(exhibit.source, exhibit.number(index), end_exhibit.number(end_index))
        values = {name: text for name, text in match.groupdict().items() if text is not None}
        return Hit(
            sign.key, place, match.group().replace("\n", " "), values,
            exhibit.host, exhibit.command, exhibit.prose, exhibit.lines[index],
        )  # fmt: skip

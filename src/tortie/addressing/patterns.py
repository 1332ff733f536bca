"""Interface patterns as Go reads them: RE2 syntax, translated to Python's `re`, which differs in many corners.

Calico joins a list of patterns into one expression, `(first)|(second)`, and searches for it anywhere in the name. So
does this, because some lists only mean something when joined: `eth[0,1]` is cut at its comma, and whole again then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tortie.addressing.characters import LAST, PERL, POSIX, Ranges, coded, complement, spelt

_REPEATS_MAX: Final = 1000
_TOKEN: Final = re.compile(
    r"""
      (?P<repeat> (?: [*+?] | \{ (?P<least>0|[1-9][0-9]*) (?P<upto> ,(?P<most>0|[1-9][0-9]*)? )? \} ) \?? )
    | (?P<named> \(\?P?< (?P<name>[^>]*) > )
    | (?P<options> \(\? (?P<on>[imsU]*) (?:-(?P<off>[imsU]+))? (?P<opens>[:)]) )
    | (?P<unknown> \(\? (?: P?<.* | [imsU]* (?:-[imsU]*)? .? ) )
    | (?P<open> \( )
    | (?P<close> \) )
    | (?P<bar> \| )
    | (?P<start> \^ )
    | (?P<end> \$ )
    | (?P<any> \. )
    | (?P<set> \[ )
    | (?P<quoted> \\Q (?P<literally>.*?) (?: \\E | \Z ) )
    | (?P<place> \\[AbBz] )
    | (?P<category> \\[pP] )
    | (?P<perl> \\[dDsSwW] )
    | (?P<escape> \\ )
    | (?P<plain> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"""\\ (?: x\{0*(?P<long>[0-9A-Fa-f]{1,6})\} | x(?P<hex>[0-9A-Fa-f]{2}) | (?P<octal>[1-7][0-7]{1,2} | 0[0-7]{0,2})
    | (?P<control>[afnrtv]) | (?P<itself>[^0-9A-Za-z\x80-\U0010ffff]) )""",
    re.VERBOSE,
)
_WRONG_ESCAPE: Final = re.compile(r"\\(?:x(?:\{[0-9A-Fa-f]*.?|[^{]?.?)|.)", re.DOTALL)
_PLACES: Final = {r"\A": r"\A", r"\z": r"\Z", r"\b": r"(?a:\b)", r"\B": r"(?!(?a:\b))"}
_CONTROL: Final = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}


class BadPattern(ValueError):
    """What Go refuses, in Go's words; or the one thing that Go takes and we do not."""


class Patterns:
    """A list of patterns, joined as Calico joins them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(patterns)
        self.joined = "(" + ")|(".join(self.patterns) + ")"
        self._joined = compiled(self.joined)
        self._each = list(self._alone())

    def matching(self, name: str) -> str | None:
        """The pattern that is found in the name; the whole expression where no single pattern can be made out."""
        if not self._joined.search(name):
            return None
        return next((pattern for pattern, alone in self._each if alone.search(name)), self.joined)

    def _alone(self) -> Iterator[tuple[str, re.Pattern[str]]]:
        for pattern in self.patterns:
            try:
                yield pattern, compiled(pattern)
            except BadPattern:
                continue


def compiled(pattern: str) -> re.Pattern[str]:
    """Finds what Go's regexp would find; only whether it matches is the same, not what its groups hold."""
    translated = _Translation(pattern).whole()
    try:
        return re.compile(translated)
    except RecursionError:
        raise _refused("expression nests too deeply", pattern) from None


def _refused(what: str, where: str) -> BadPattern:
    return BadPattern(f"error parsing regexp: {what}: `{where}`")


class _Piece(NamedTuple):
    text: str
    repeats: int = 1  # how often its innermost part may have to be repeated


class _Group(NamedTuple):
    pieces: list[_Piece]
    options: frozenset[str]  # that hold again when the group is closed


_BAR: Final = _Piece("|")


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.options: frozenset[str] = frozenset()
        self.groups = [_Group([], self.options)]
        self.repeat_began = -1  # where the repetition just before this token begins

    def whole(self) -> str:
        while self.position < len(self.pattern):
            token = _TOKEN.match(self.pattern, self.position)
            if token is None:
                raise AssertionError("every character is a token")
            began, self.position = self.position, token.end()
            if token.group("repeat"):
                self._repeat(token)
                self.repeat_began = began
            else:
                self._take(token)
                self.repeat_began = -1
        if len(self.groups) > 1:
            raise _refused("missing closing )", self.pattern)
        return "".join(piece.text for piece in self.groups[0].pieces)

    def _take(self, token: re.Match[str]) -> None:
        text = token.group()
        match token.lastgroup:
            case "named" | "options" | "unknown" | "open" | "close":
                self._parenthesis(token)
            case "bar":
                self.groups[-1].pieces.append(_BAR)
            case "start":
                self._add("(?m:^)" if "m" in self.options else r"\A")
            case "end":
                self._add("(?m:$)" if "m" in self.options else r"\Z")
            case "any":
                self._add("(?s:.)" if "s" in self.options else ".")
            case "set":
                self._add(self._set(token.start()))
            case "quoted":
                for character in token.group("literally"):
                    self._literal(ord(character))
            case "place":
                self._add(_PLACES[text])
            case "category":
                raise _unsupported(self.pattern[token.start() :])
            case "perl":
                ranges = PERL[text[1].lower()]
                self._add(
                    self._one_of([], complement(ranges, self._folds)) if text[1].isupper() else self._one_of(ranges, [])
                )
            case "escape":
                self._literal(self._escaped(token.start()))
            case _:
                self._literal(ord(text))

    @property
    def _folds(self) -> bool:
        return "i" in self.options

    def _add(self, text: str) -> None:
        self.groups[-1].pieces.append(_Piece(text))

    def _literal(self, code: int) -> None:
        self._add(f"(?i:{coded(code)})" if self._folds else coded(code))

    def _parenthesis(self, token: re.Match[str]) -> None:
        if token.lastgroup == "close":
            self._close()
            return
        if token.lastgroup == "unknown":
            what = "invalid named capture" if "<" in token.group()[:4] else "invalid or unsupported Perl syntax"
            raise _refused(what, token.group())
        if token.lastgroup == "named" and not re.fullmatch("[0-9A-Za-z_]+", token.group("name")):
            raise _refused("invalid named capture", token.group())
        if token.group("opens") != ")":
            self.groups.append(_Group([], self.options))
        self.options = (self.options | set(token.group("on") or "")) - set(token.group("off") or "")

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise _refused("unexpected )", self.pattern)
        group = self.groups.pop()
        self.options = group.options
        text = "".join(piece.text for piece in group.pieces)
        self.groups[-1].pieces.append(_Piece(f"(?:{text})", max((piece.repeats for piece in group.pieces), default=1)))

    def _repeat(self, token: re.Match[str]) -> None:
        operator = token.group().removesuffix("?") or "?"
        times = self._times(token, operator)
        if self.repeat_began >= 0:
            raise _refused("invalid nested repetition operator", self.pattern[self.repeat_began : token.end()])
        pieces = self.groups[-1].pieces
        if not pieces or pieces[-1] is _BAR:
            raise _refused("missing argument to repetition operator", token.group())
        piece = pieces.pop()
        repeats = piece.repeats * max(times, 1)
        if times > 1 and repeats > _REPEATS_MAX:
            raise _refused("invalid repeat count", operator)
        pieces.append(_Piece(f"(?:{piece.text}){operator}", repeats))

    def _times(self, token: re.Match[str], operator: str) -> int:
        """How often at most, where that is bounded; else how often at least."""
        least, most = token.group("least"), token.group("most")
        if least is None:
            return 1
        bounds = [int(bound) if len(bound) < 9 else _REPEATS_MAX + 1 for bound in (least, most or least)]
        if max(bounds) > _REPEATS_MAX or bounds[0] > bounds[1]:
            raise _refused("invalid repeat count", operator)
        return bounds[1]

    def _escaped(self, at: int) -> int:
        """The character that an escape stands for; the position moves behind it."""
        found = _ESCAPE.match(self.pattern, at)
        if found is None:
            if at + 1 == len(self.pattern):
                raise _refused("trailing backslash at end of expression", "")
            wrong = _WRONG_ESCAPE.match(self.pattern, at)
            raise _refused("invalid escape sequence", wrong.group() if wrong else "")
        self.position = found.end()
        kind, value = str(found.lastgroup), found.group(str(found.lastgroup))
        if kind == "control":
            return _CONTROL[value]
        code = ord(value) if kind == "itself" else int(value, 8 if kind == "octal" else 16)
        if code > LAST:
            raise _refused("invalid escape sequence", found.group()[:-1])
        return code

    def _set(self, at: int) -> str:
        """A bracket expression, read to its end."""
        inside: Ranges = []
        outside: Ranges = []  # what a negated class within it adds; no case folding may touch that again
        self.position += (negated := self.pattern.startswith("^", self.position))
        first = self.position
        while self.position == first or not self.pattern.startswith("]", self.position):
            if self._named_class(inside, outside):
                continue
            began = self.position
            low = high = self._member(at)
            if re.compile(r"-[^\]]", re.DOTALL).match(self.pattern, self.position):
                self.position += 1
                high = self._member(at)
            if high < low:
                raise _refused("invalid character class range", self.pattern[began : self.position])
            inside.append((low, high))
        self.position += 1
        members = self._one_of(inside, outside)
        return f"(?:(?!{members})(?s:.))" if negated else members

    def _named_class(self, inside: Ranges, outside: Ranges) -> bool:
        """Takes `[:alpha:]`, `\\d` and their like, if one stands here."""
        rest = self.pattern[self.position :]
        if rest.startswith("[:") and (end := rest.find(":]", 2)) >= 0:
            name = rest[2:end]
            known, negated, length = POSIX, name.startswith("^"), end + 2
            name = name.removeprefix("^")
        elif re.match(r"\\[dDsSwW]", rest):
            known, name, negated, length = PERL, rest[1].lower(), rest[1].isupper(), 2
        elif re.match(r"\\[pP]", rest):
            raise _unsupported(rest)
        else:
            return False
        if name not in known:
            raise _refused("invalid character class range", rest[:length])
        if negated:
            outside += complement(known[name], self._folds)
        else:
            inside += known[name]
        self.position += length
        return True

    def _member(self, at: int) -> int:
        if self.position >= len(self.pattern):
            raise _refused("missing closing ]", self.pattern[at:])
        if self.pattern[self.position] == "\\":
            return self._escaped(self.position)
        self.position += 1
        return ord(self.pattern[self.position - 1])

    def _one_of(self, inside: Ranges, outside: Ranges) -> str:
        ways = []
        if inside:
            ways.append(f"(?i:{spelt(inside)})" if self._folds else spelt(inside))
        if outside:
            ways.append(spelt(outside))
        return f"(?:{'|'.join(ways)})"


def exactly(name: str) -> str:
    """The pattern of this one name. Dashes are left alone, unlike by `re.escape`: a person has to copy it."""
    return "^" + re.sub(r"([^\w-])", r"\\\1", name) + "$"


def _unsupported(rest: str) -> BadPattern:
    found = re.match(r"\\[pP](?:\{[^}]*\}?|.)?", rest)
    return BadPattern(f"{found.group() if found else rest} is a Unicode class, which Calico takes but Tortie does not")

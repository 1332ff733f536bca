"""Reads a JSONPath template: text, and within braces a path, a quoted text, `range` or `end`."""

from __future__ import annotations

import re
from typing import Final

from tortie.cli.jsonpath.template import (
    Descend,
    Every,
    Filter,
    Index,
    Key,
    Literal,
    Path,
    Piece,
    Range,
    Slice,
    Step,
    Template,
    Union,
)
from tortie.model.errors import UsageError

NESTING_MAX: Final = 20  # ranges and filters within each other

_EXCERPT: Final = 60
_BLANKS: Final = re.compile(r"\s*")
_RANGE: Final = re.compile(r"range\b")
_END: Final = re.compile(r"\{\s*end\s*\}")
_NAME: Final = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}])+", re.DOTALL)
_NAME_IN_FILTER: Final = re.compile(r"(?:\\.|[^\\\s.,\[\]$@{}()=!<>&|~])+", re.DOTALL)
_QUOTED: Final = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\"""", re.DOTALL)
_PART_OF_KEY: Final = re.compile(r"(?:\\.|[^\\.])+", re.DOTALL)
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_SLICE: Final = re.compile(r"(-?[0-9]{1,18})?:(-?[0-9]{1,18})?(?::(-?[0-9]{1,18})?)?")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]+)?")
_BOOLEAN: Final = re.compile(r"(?:true|false)\b")
_RELATION: Final = re.compile(r"==|!=|<=|>=|<|>")
_WORD: Final = re.compile(r"\w+")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u((?![dD][89a-fA-F])[0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {
    **{"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"},
    **{character: character for character in "\\'\""},
}


def compile_template(text: str) -> Template:
    """Raises `UsageError`, with the column and a hint, for what is no template."""
    if not text.strip():
        raise UsageError("an empty jsonpath template", "it would print nothing", "try jsonpath='{.metadata.name}'")
    parser = _Parser(text)
    return Template(parser.whole() if "{" in text else (parser.bare_path(),))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.nesting = 0
        self.name = _NAME

    def whole(self) -> tuple[Piece, ...]:
        pieces = self.pieces()
        if self.here():
            raise self.error("not in range, nothing to end", "remove this {end}")
        return pieces

    def bare_path(self) -> Path:
        """A template without braces, where the first dot may be missing too."""
        self.match(_BLANKS)
        first = self.match(self.name)
        path = Path(False, (Key(_plain(first)), *self.steps())) if first else self.path()
        self.match(_BLANKS)
        if self.here():
            raise self.error(f"unexpected {self.here()}", "put each path into braces: {.metadata.name}")
        return path

    def pieces(self) -> tuple[Piece, ...]:
        """Up to an `{end}`, which is left to whoever opened the range, or to the end of the text."""
        pieces: list[Piece] = []
        while self.here() and not _END.match(self.text, self.position):
            if self.here() == "{":
                pieces.append(self.action())
            else:
                brace = self.text.find("{", self.position)
                end = brace if brace >= 0 else len(self.text)
                pieces.append(Literal(self.text[self.position : end]))
                self.position = end
        return tuple(pieces)

    def action(self) -> Piece:
        start = self.position
        self.take("{")
        self.match(_BLANKS)
        if self.here() in ("'", '"'):
            text = Literal(self.quoted())
            self.close_action(start)
            return text
        if self.here() in (".", "[", "$", "@"):
            path = self.path()
            self.close_action(start)
            return path
        if self.match(_RANGE):
            return self.range(start)
        raise self.action_error(start)

    def range(self, start: int) -> Range:
        self.match(_BLANKS)
        path = self.path()
        self.close_action(start)
        self.deepen(start)
        body = self.pieces()
        if not self.match(_END):
            raise self.error("range without end", "add {end} where the range ends", start)
        self.nesting -= 1
        return Range(path, body)

    def path(self) -> Path:
        """Only `$` begins at the whole document; `@`, or nothing, begins where the range or the filter stands."""
        from_root = self.take("$")
        if not from_root:
            self.take("@")
        return Path(from_root, self.steps())

    def steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while self.here() in (".", "["):
            if self.take("["):
                steps.append(self.bracket())
                continue
            if self.take(".."):
                steps.append(Descend())
            else:
                self.take(".")
            if self.take("*"):
                steps.append(Every())
            elif name := self.match(self.name):
                steps.append(Key(_plain(name)))
        return tuple(steps)

    def bracket(self) -> Step:
        start = self.position - 1
        if self.take("?("):
            return self.filter(start)
        branches = [self.subscript(start)]
        while self.take_next(","):
            branches.append(self.subscript(start))
        self.close_bracket(start)
        return branches[0] if len(branches) == 1 else Union(tuple(branches))

    def subscript(self, start: int) -> Step:
        self.match(_BLANKS)
        if self.take("*"):
            return Every()
        if self.here() in ("'", '"'):
            inside = self.between_quotes()
            parts = tuple(map(_plain, _PART_OF_KEY.findall(inside)))
            return Key(_plain(inside), parts if len(parts) > 1 else ())
        if found := _SLICE.match(self.text, self.position):
            first, stop, step = (int(part) if part else None for part in found.groups())
            if step is not None and step <= 0:
                raise self.error("step must be > 0", "leave the step out, or give a positive one")
            self.position = found.end()
            return Slice(first, stop, step)
        if number := self.match(_INTEGER):
            return Index(int(number))
        if not self.here():
            raise self.error("unterminated array", "add the missing ]", start)
        word = self.word()
        fix = f"put a key in quotes: ['{word}']" if word else "write a number, a slice, * or a key in quotes"
        raise self.error(f"invalid array index {word or self.here()}", fix)

    def filter(self, start: int) -> Filter:
        self.deepen(start)
        outer, self.name = self.name, _NAME_IN_FILTER
        left = self.operand()
        self.match(_BLANKS)
        relation = self.match(_RELATION)
        right = self.operand() if relation else None
        if not self.take_next(")"):
            raise self.filter_error(start)
        self.close_bracket(start)
        self.name = outer
        self.nesting -= 1
        return Filter(left, relation, right)

    def operand(self) -> Path | Literal:
        self.match(_BLANKS)
        if self.here() in ("'", '"'):
            return Literal(self.quoted())
        if self.here() in ("@", "$", ".", "["):
            return self.path()
        if number := self.match(_NUMBER):
            return Literal(float(number) if "." in number else int(number))
        if boolean := self.match(_BOOLEAN):
            return Literal(boolean == "true")
        if word := self.word():
            raise self.error(f"unrecognized identifier {word}", f"write @.{word} for a key, '{word}' for a text")
        raise self.error(f"unexpected {self.here() or 'end'} in filter", "compare like [?(@.kind=='Node')]")

    def quoted(self) -> str:
        start = self.position + 1
        inside = self.between_quotes()
        for escape in _ESCAPE.finditer(inside):
            if escape[3] and escape[3] not in _ESCAPES:
                raise self.error(f"unknown escape {escape[0]}", r"write \\ for a backslash", start + escape.start())
        return _ESCAPE.sub(_character, inside)

    def between_quotes(self) -> str:
        found = _QUOTED.match(self.text, self.position)
        if not found:
            raise self.error("unterminated quoted string", f"close it with another {self.here()}")
        self.position = found.end()
        return found[1] or found[2] or ""

    def close_action(self, start: int) -> None:
        if self.take_next("}"):
            return
        if not self.here():
            raise self.error("unclosed action", "add the missing }", start)
        raise self.error(
            f"unexpected {self.here()} in action", "give each path and each text its own braces: {.a}{' '}{.b}"
        )

    def close_bracket(self, start: int) -> None:
        if not self.take_next("]"):
            raise self.error("unterminated array", "add the missing ]", self.position if self.here() else start)

    def deepen(self, start: int) -> None:
        self.nesting += 1
        if self.nesting > NESTING_MAX:
            raise self.error(
                f"nested more than {NESTING_MAX} deep", "use fewer ranges and filters within each other", start
            )

    def take(self, symbol: str) -> bool:
        found = self.text.startswith(symbol, self.position)
        if found:
            self.position += len(symbol)
        return found

    def take_next(self, symbol: str) -> bool:
        self.match(_BLANKS)
        return self.take(symbol)

    def match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.position)
        if not found:
            return ""
        self.position = found.end()
        return found[0]

    def here(self) -> str:
        """The next character, nothing at the end."""
        return self.text[self.position : self.position + 1]

    def word(self) -> str:
        """The next word, which is not taken."""
        found = _WORD.match(self.text, self.position)
        return found[0] if found else ""

    def action_error(self, start: int) -> UsageError:
        if word := self.word():
            return self.error(f"unrecognized identifier {word}", f"a path begins with a dot: {{.{word}}}")
        if self.here() == "}":
            return self.error("empty action", "write {@} for the whole object")
        if not self.here():
            return self.error("unclosed action", "write a path and the closing brace: {.metadata.name}", start)
        return self.error(
            f"unexpected {self.here()} in action", "write a path like {.metadata.name} or a text like {'x'}"
        )

    def filter_error(self, start: int) -> UsageError:
        if not self.here():
            return self.error("unterminated filter", "close it with )]", start)
        if self.here() in "&|":
            return self.error("only one condition in a filter", "filter once here, or use -o json and another tool")
        if self.here() == "=":
            return self.error("unrecognized filter operator =", "write == to compare")
        return self.error(
            f"unexpected {self.here()} in filter", "compare with ==, !=, <, <=, > or >=, and close with )]"
        )

    def error(self, why: str, fix: str, at: int | None = None) -> UsageError:
        position = self.position if at is None else at
        if self.text[position : position + 1] in tuple("‘’“”"):
            fix = "use straight quotes: ' or \""
        first = max(0, position - _EXCERPT // 2)
        excerpt = f"{'…' if first else ''}{self.text[first : first + _EXCERPT]!r}"
        return UsageError(f"invalid jsonpath template {excerpt}, column {position + 1}", why, fix)


def _plain(name: str) -> str:
    """A key without the backslashes that keep its dots from ending it."""
    return re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL)


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _ESCAPES[escape[3]]

"""From a template's text to tokens: text between actions, and the words within them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tortie.cli.gotemplate.trouble import misspelt

KEYWORDS: Final = frozenset(
    ("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue", "nil", "true", "false")
)

_BLANK: Final = " \t\r\n"
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACES: Final = re.compile(r"[ \t\r\n]+")
_FIELD: Final = re.compile(r"\.[^\W\d]\w*")
_VARIABLE: Final = re.compile(r"\$\w*")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)"
)
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\\n])*"')
_RAW: Final = re.compile(r"`[^`]*`")
_CHARACTER: Final = re.compile(r"'(?:\\[^\n]{1,9}?|[^'\\\n])'")
_SIGN: Final = re.compile(r":=|[|(),=]")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_ESCAPES: Final = {**dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)), "\\": "\\", '"': '"', "'": "'"}


class Token(NamedTuple):
    kind: str  # text, open, close, field, variable, word, keyword, number, string, character, dot, sign, end
    text: str
    at: int
    glued: bool = False  # to the token before, without a blank between


def tokens_of(text: str) -> list[Token]:
    """Raises `UsageError` for what cannot be part of a template."""
    found: list[Token] = []
    position, trimmed = 0, False
    while True:
        begin = text.find("{{", position)
        piece = text[position:] if begin < 0 else text[position:begin]
        if trimmed:
            piece = piece.lstrip(_BLANK)
        if begin >= 0 and text[begin + 2 : begin + 3] == "-" and text[begin + 3 : begin + 4] in (*_BLANK,):
            piece = piece.rstrip(_BLANK)
            inside = begin + 3
        else:
            inside = begin + 2
        if piece:
            found.append(Token("text", piece, position))
        if begin < 0:
            return [*found, Token("end", "", len(text))]
        position, trimmed = _action(text, begin, inside, found)


def _action(text: str, begin: int, inside: int, found: list[Token]) -> tuple[int, bool]:
    """Where the text goes on behind the action, and whether its blanks are cut off."""
    spaces = _SPACES.match(text, inside)
    start = spaces.end() if spaces and text[inside - 1] == "-" else inside
    if text.startswith("/*", start):
        comment = _COMMENT.match(text, start)
        closing = _closing(text, comment.end()) if comment else None
        if not closing:
            raise misspelt(text, begin, "unclosed comment", "a comment fills its braces: {{/* … */}}")
        return closing
    found.append(Token("open", "{{", begin))
    position = inside
    while not (closing := _closing(text, position)):
        spaces = _SPACES.match(text, position)
        at = spaces.end() if spaces else position
        if at >= len(text):
            raise misspelt(text, begin, "unclosed action", "close it with }}")
        if spaces:
            position = at
            continue
        token = _token(text, at)._replace(glued=at > inside and text[at - 1] not in _BLANK)
        found.append(token)
        position = at + len(token.text)
    found.append(Token("close", "}}", position))
    return closing


def _closing(text: str, position: int) -> tuple[int, bool] | None:
    if text.startswith("}}", position):
        return position + 2, False
    if text[position : position + 1] in (*_BLANK,) and text.startswith("-}}", position + 1):
        return position + 4, True
    return None


def _token(text: str, at: int) -> Token:
    for kind, form in (
        ("field", _FIELD),
        ("number", _NUMBER),
        ("variable", _VARIABLE),
        ("word", _WORD),
        ("string", _QUOTED),
        ("string", _RAW),
        ("character", _CHARACTER),
        ("sign", _SIGN),
    ):
        if match := form.match(text, at):
            word = match[0]
            if kind in ("field", "variable", "word", "number") and not _ends(text, match.end()):
                raise misspelt(
                    text, match.end(), f"bad character {text[match.end()]!r}", "a blank stands between words"
                )
            return Token("keyword" if kind == "word" and word in KEYWORDS else kind, word, at)
    if text[at] == ".":
        return Token("dot", ".", at)
    if text[at] in "\"`'":
        raise misspelt(text, at, "unterminated quoted text", "close it with the same quote, on the same line")
    fixes = {**dict.fromkeys("‘’“”", 'use straight quotes: " or `'), "}": "close it with }}"}
    fix = fixes.get(text[at], "write a field like .Name, a variable, a function or a text in quotes")
    raise misspelt(text, at, f"unexpected {text[at]!r} in action", fix)


def _ends(text: str, position: int) -> bool:
    following = text[position : position + 1]
    return not following or following in " \t\r\n.,|:=()" or text.startswith("}}", position)


def unquoted(text: str, token: Token) -> str:
    """What a quoted text stands for."""
    if token.text[0] == "`":
        return token.text[1:-1].replace("\r", "")

    def character(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2] or escape[3]
        try:
            if code or escape[4]:
                return chr(int(code, 16)) if code else chr(int(escape[4], 8))
            return _ESCAPES[escape[5]]
        except (KeyError, ValueError, OverflowError):
            raise misspelt(text, token.at, f"bad escape {escape[0]}", "write \\\\ for a backslash") from None

    return _ESCAPE.sub(character, token.text[1:-1])


def number_of(text: str, token: Token) -> int | float:
    word = token.text.replace("_", "")
    try:
        if re.fullmatch(r"[+-]?0[0-7]+", word):
            return int(word, 8)
        return int(word, 0) if re.fullmatch(r"[+-]?(0[xXbBoO]\w+|[0-9]+)", word) else float(word)
    except ValueError:
        raise misspelt(text, token.at, f"bad number {token.text}", "write 12, 0x1f or 1.5") from None

"""How much room text takes, in columns of a terminal and in ems of a proportional font, and text cut to fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

ELLIPSIS: Final = "…"
INDENT_MAX: Final = 24
_LOOSE: Final = " .,:;-_/"  # what looks odd before an ellipsis
_CLOSING: Final = "，。、；：？！）】》」』”’,.;:!?)]}%"  # a line does not begin with these
_REPLACED: Final = "\ufffd"

# Ems of the widest sans-serif font that is common; a reader who has a narrower one sees a little more air.
_EMS_OF: Final = {
    "'": 0.28, **dict.fromkeys("ijlIJ", 0.3), **dict.fromkeys(" ,.", 0.32), **dict.fromkeys("/:;\\|f-", 0.36),
    **dict.fromkeys("()[]!t", 0.4), **dict.fromkeys('r"', 0.46), **dict.fromkeys("*_`sz?", 0.53),
    **dict.fromkeys("cLFkvxyP", 0.6), **dict.fromkeys("TYaoeESbdghnpqu$0123456789{}", 0.64),
    **dict.fromkeys("KAVBRXZC", 0.7), **dict.fromkeys("UHNDG&OQ", 0.79), **dict.fromkeys("w#+<=>^~M", 0.86),
    **dict.fromkeys("%mW@", 1.0),
}  # fmt: skip
_EMS_ELSE: Final = 0.8  # Greek, Cyrillic, accented letters, arrows
_EMS_EMOJI: Final = 1.35
_BOLD: Final = 1.13

# Control and format characters, halves of surrogates, private and unassigned ones: they move a terminal's cursor,
# turn text around, or may not stand in XML at all. Line and paragraph separators break lines.
_UNSAFE: Final = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def plain(text: str) -> str:
    """The text on one line, with nothing in it that is not seen."""
    if text.isascii() and text.isprintable():
        return text
    spaced = " ".join(text.split())
    return "".join(_REPLACED if unicodedata.category(char) in _UNSAFE else char for char in spaced)


def indented(text: str) -> tuple[str, str]:
    """The blanks a line begins with, at most INDENT_MAX, and the rest of it, plain."""
    spread = text.expandtabs(4)
    rest = spread.lstrip(" ")
    return " " * min(len(spread) - len(rest), INDENT_MAX), plain(rest)


def columns(text: str) -> int:
    """Columns of a terminal: Chinese characters take two, accents that join the letter before them none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if _is_wide(char) else 1 for char in text)


def ems(text: str, *, bold: bool = False) -> float:
    total = sum(_ems_of(char) for char in text)
    return total * _BOLD if bold else total


def cut_to_columns(text: str, room: int) -> str:
    return _cut(text, room, columns)


def cut_to_ems(text: str, room: float, *, bold: bool = False) -> str:
    return _cut(text, room, lambda part: ems(part, bold=bold))


def padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def wrapped(text: str, room: int, lines_max: int) -> list[str]:
    """The text in lines of at most `room` columns, broken at blanks where there are any; too long a rest is cut."""
    lines: list[str] = []
    rest = text.strip()
    while rest and len(lines) < lines_max:
        if columns(rest) <= room or len(lines) == lines_max - 1:
            lines.append(cut_to_columns(rest, room))
            break
        fits = len(cut_to_columns(rest, room + 1)) - 1  # the ellipsis is not needed
        end = _break(rest, fits)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return lines


def _break(text: str, fits: int) -> int:
    """Where to break at the latest: at a blank, or between Chinese characters, but never before what closes."""
    for end in range(min(fits, len(text) - 1), 0, -1):
        if text[end] == " " or ((_is_wide(text[end]) or _is_wide(text[end - 1])) and text[end] not in _CLOSING):
            return end
    return max(fits, 1)


def _cut(text: str, room: float, measured: Callable[[str], float]) -> str:
    """The text, or as much of its beginning as leaves room for an ellipsis; nothing where not even that fits."""
    if measured(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if measured(text[:middle].rstrip(_LOOSE) + ELLIPSIS) <= room:
            low = middle
        else:
            high = middle - 1
    short = text[:low].rstrip(_LOOSE) + ELLIPSIS
    return short if measured(short) <= room else ""


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _ems_of(char: str) -> float:
    known = _EMS_OF.get(char)
    if known is not None:
        return known
    if unicodedata.combining(char):
        return 0.0
    if 0x1F000 <= ord(char) < 0x20000:
        return _EMS_EMOJI
    return 1.0 if _is_wide(char) or char == ELLIPSIS else _EMS_ELSE

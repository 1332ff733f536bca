"""Bytes to lines that are safe to show: decoded, without terminal escapes and control characters, of bounded length."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily

LINE_MAX: Final = 16_384  # characters of a line that are read; what is beyond is left out, and said so
CUT: Final = " …(cut)"

# Sequences that colour, move the cursor, rename windows or hide text: CSI, OSC and friends, single shifts.
_ESCAPES: Final = lazily(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[ -/]{0,8}[0-~]"
    r"|\x9b[0-?]{0,64}[@-~]"
)
# Control characters except the tab; what turns text around; all that Unicode calls default ignorable, unseen.
_CONTROLS: Final = lazily(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
# The same character again and again: a frame, filled columns, or a trap. Expressions take the square of it, or worse.
_RUN: Final = lazily(r"([^ ])\1{199}\1++|( )\2{399}\2++")
_RUN_FROM: Final = 200
_BLANKS: Final = 400
_BARE: Final = lazily(r"\[(?:\d{1,3};){0,3}\d{1,3}m")  # colours whose escape character a chat has eaten


def decode(content: bytes) -> str:
    """Text whatever its encoding: UTF-8, UTF-16 with a mark, or the Chinese encodings that editors still write."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    wrong = content.decode("utf-8", "replace")
    if wrong.count("\ufffd") * 20 > len(wrong):
        try:
            return content.decode("gb18030")
        except UnicodeDecodeError:
            return wrong
    return wrong


def is_text(head: bytes) -> bool:
    """Whether a file's first bytes are those of a text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\x00" not in head


def lines_of(text: str) -> tuple[str, ...]:
    """Lines as an editor counts them: only line feeds end a line, a carriage return before them is dropped."""
    rows = text.split("\n")
    if rows and rows[-1] == "":
        rows.pop()
    return tuple(clean(row) for row in rows)


def clean(line: str) -> str:
    if len(line) > LINE_MAX:
        line = line[:LINE_MAX] + CUT
    if line.isascii() and line.isprintable():
        return _squeezed(line if "[" not in line or "m" not in line else _BARE.sub("", line))
    line = line.rstrip("\r")
    if "\r" in line:  # a progress bar wrote over itself: what was seen last stays
        line = line.rsplit("\r", 1)[1]
    if "\x1b" in line or "\x9b" in line:
        line = _ESCAPES.sub("", line)
    return _squeezed(_CONTROLS.sub("", _BARE.sub("", line)).replace("\u00a0", " "))


def _squeezed(line: str) -> str:
    return _RUN.sub(_shorter, line) if len(line) > _RUN_FROM else line


def _shorter(run: re.Match[str]) -> str:
    return run[0][: _BLANKS if run[2] else _RUN_FROM]

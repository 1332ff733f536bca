"""Which part of a long line is quoted: the part that decided, or else the part that tells most, never just its head."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.measure import ELLIPSIS, columns
from tortie.model.tuples import NamedTuple

Span = tuple[int, int]  # begin and end in a text, the end not included

# The innermost reason of a failure says one of these; what wraps it says the others.
_REASON: Final = lazily(
    r"refused|denied|forbidden|unauthori[sz]ed|expired|time-?d? ?out|deadline exceeded|no route to host|unreachable"
    r"|no such|not found|(?:does|did) ?(?:not|n't) exist|unknown authority|not valid|not yet valid|unresolv|no space"
    r"|exhausted|no more free|already in use|already exists|conflict|not (?:ready|established|supported|permitted)"
    r"|read-only|broken|too (?:old|new|many)|missing|mismatch|not match|reset by peer|out of memory|OOM|x509|loose"
    r"|拒绝|超时|不存在|未就绪|过期|失败",
    re.IGNORECASE,
)
_FAILURE: Final = lazily(r"\b(?:fail(?:ed|ure)?|error|err|fatal|panic|unable|cannot|can't|invalid)\b", re.IGNORECASE)
_CLAUSE: Final = lazily(r": |[;=] ?\"|；|：")
_FIRST_CLAUSE: Final = lazily(r"[^:\n]{1,48}: (?=\S)")
_CLAUSES_OF_A_CHAIN: Final = 3
_CLAUSE_MAX: Final = 60
# When something was said is worth a few columns, whatever else is left out.
_TIME: Final = lazily(r"\s*(?:\d{4}-\d\d-\d\d[ T]|[A-Z][a-z]{2} {1,2}\d{1,2} |[IWEF]\d{4} )?\d\d:\d\d:\d\d\S{0,16}")
_ROOM_FOR_A_TIME: Final = 120
_WORD_MAX: Final = 16  # a cut moves to the next blank if that is so near; farther where there is much room


class Part(NamedTuple):
    """Text as it is shown, and where in it stands what decided."""

    text: str
    span: Span | None = None


def place_of(words: str, text: str) -> Span | None:
    """Where these words stand; how they are spaced, or broken into lines, does not matter."""
    wanted = words.split()
    match = re.search(r"\s+".join(map(re.escape, wanted)), text) if wanted else None
    return match.span() if match else None


def place_of_name(name: str, text: str) -> Span | None:
    """Where a name stands by itself: not 10.0.0.1 in 10.0.0.12, not `token` in `tokens`."""
    at = text.find(name)
    while name and at >= 0:
        end = at + len(name)
        if not _is_part_of_name(text[max(0, at - 1) : at]) and not _is_part_of_name(text[end : end + 1]):
            return at, end
        at = text.find(name, end)
    return None


def _is_part_of_name(char: str) -> bool:
    return bool(char) and char.isascii() and (char.isalnum() or char in "_-")


def joined(spans: Iterable[Span], room: int) -> Span | None:
    """The first span, and as many others beside it as fit into the same quote."""
    whole: Span | None = None
    for begin, end in spans:
        wider = (begin, end) if whole is None else (min(begin, whole[0]), max(end, whole[1]))
        if whole is None or wider[1] - wider[0] <= room:
            whole = wider
    return whole


def telling(line: str) -> Span | None:
    """Of a line of which nothing else is known: the reason at the end of a chain of errors, or its last clause."""
    for words in (_REASON, _FAILURE):
        found = [match.span() for match in words.finditer(line)]
        if found:
            return _clause_at(line, found[-1][0]), found[-1][1]
    clauses = [match.end() for match in _CLAUSE.finditer(line)]
    return (clauses[-1], len(line)) if len(clauses) >= _CLAUSES_OF_A_CHAIN else None


def _clause_at(line: str, at: int) -> int:
    """Where the clause around it begins; a clause without end begins with the word itself."""
    begin = 0
    for match in _CLAUSE.finditer(line, 0, at):
        begin = match.end()
    return begin if at - begin <= _CLAUSE_MAX else at


def shortened(line: str, room: int, span: Span | None = None) -> Part:
    """The line in so many columns; what is left out on either side of the span is marked."""
    if columns(line) <= room:
        return Part(line, span)
    focus = span or telling(line)
    if focus is None:
        return Part(_prefix(line, room - 1) + ELLIPSIS)
    if columns(line[focus[0] : focus[1]]) > room - 2:
        focus = _within(line, focus, room)
    begin, end = _widened(line, focus, room - 2)
    head = _head(line, begin, room)
    if head:
        begin, end = _widened(line, focus, room - 3 - columns(head))
        head = head if begin > len(head) else ""
    if not head and begin <= 1 and end < len(line):
        begin, end = 0, len(_prefix(line, room - 1))
    before = f"{head} {ELLIPSIS}" if head else ELLIPSIS if begin else ""
    text = before + line[begin:end] + (ELLIPSIS if end < len(line) else "")
    if span is None:
        return Part(text)
    shift = len(before) - begin
    return Part(text, (max(span[0], begin) + shift, min(span[1], end) + shift))


def condensed(message: str, room: int) -> str:
    """A message in so many columns: what failed, and the reason at the end of the chain."""
    if columns(message) <= room:
        return message
    match = _FIRST_CLAUSE.match(message)
    head = match.group() if match else ""
    return head + shortened(message[len(head) :], room - columns(head)).text


def _within(line: str, focus: Span, room: int) -> Span:
    """Of a span that is too long itself: its telling part if that is small enough, else its beginning."""
    inner = telling(line[focus[0] : focus[1]])
    if inner and columns(line[focus[0] + inner[0] : focus[0] + inner[1]]) <= room - 2:
        return focus[0] + inner[0], focus[0] + inner[1]
    return focus[0], focus[0] + len(_prefix(line[focus[0] : focus[1]], room - 2))


def _widened(line: str, focus: Span, room: int) -> Span:
    """As much on both sides as fits; what one side does not need the other one gets."""
    left = max(0, room - columns(line[focus[0] : focus[1]]))
    after = len(_prefix(line[focus[1] :], left // 2))
    unused = left - columns(line[focus[1] : focus[1] + after])
    before = len(_prefix(line[: focus[0]][::-1], unused))
    unused = left - columns(line[focus[0] - before : focus[0]])
    after = len(_prefix(line[focus[1] :], unused))
    return _at_words(line, focus, (focus[0] - before, focus[1] + after), max(_WORD_MAX, room // 3))


def _at_words(line: str, focus: Span, shown: Span, near: int) -> Span:
    """Without the half words at both ends, where the next blank is near."""
    begin, end = shown
    if begin and not line[begin - 1].isspace():
        blank = line.find(" ", begin, min(begin + near, focus[0]))
        begin = blank + 1 if blank >= 0 else begin
    if end < len(line) and not line[end].isspace():
        blank = line.rfind(" ", max(end - near, focus[1]), end)
        end = blank if blank >= 0 else end
    return begin, end


def _head(line: str, begin: int, room: int) -> str:
    match = _TIME.match(line) if room >= _ROOM_FOR_A_TIME else None
    return match.group() if match and match.end() < begin else ""


def _prefix(text: str, room: int) -> str:
    if text.isascii():
        return text[: max(0, room)]
    used = 0
    for index, char in enumerate(text):
        used += columns(char)
        if used > room:
            return text[:index]
    return text

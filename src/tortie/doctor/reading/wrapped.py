"""Lines as they were before a paste damaged them. The number of lines never changes, so that places stay right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tortie.doctor.lazily import lazily

# `BGP not established with 10.0.0.662020-05-27 03:45`: the address ends where the year begins.
_DATE = lazily(r"20\d\d-\d\d-\d\d(?:[ T]|$)")
_ADDRESS_ENDS = lazily(r"(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f:]{4}|(?:xx?x?\.){3}xx?x?)$")
_LONGEST_ADDRESS = 40
_PERHAPS_GLUED = lazily(r"(?<=[0-9A-Za-z)\"])20\d\d-\d\d-\d\d")
_GLUED_TEXT = lazily(r"(?<=[A-Za-z)\"])(?=20\d\d-\d\d-\d\d \d\d:\d\d:\d\d)")
_BEGINS = lazily(
    r"\s*(?:\d{4}[-/]\d\d[-/]\d\d[ T]|[IWEF]\d{4} \d\d:|time=\"|\[|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|"
    r"Nov|Dec) [ \d]\d "
    r"|\d{1,2}月 |bird6?: |level=|ts=|[{}|+#$]|goroutine |panic: |Calico node |Skipping |Using |calico/node is |"
    r"Is the agent|Readiness )"
)
_EVENT = lazily(r"\s{0,4}(?:Warning|Normal)\s+\w+\s")
_WIDTHS = (80, 100, 120, 132, 140, 160, 180, 200)
_SHORTEST = 60
_LONGEST = 16_384  # no message is longer, however often a screen has cut it


def clean(lines: Iterable[str]) -> Iterator[str]:
    """Line ends, blanks at the end, odd blanks, and glued dates put right."""
    for line in lines:
        text = line.rstrip()
        if not text.isascii():
            text = text.replace("\xa0", " ").replace("\u200b", "").replace("\ufeff", "").rstrip()
        if _PERHAPS_GLUED.search(text):
            text = unglue(text)
        yield text


def unglue(text: str) -> str:
    """A blank between an address and the date that sticks to it."""
    pieces, done = [], 0
    for date in _DATE.finditer(text):
        if _ADDRESS_ENDS.search(text[max(done, date.start() - _LONGEST_ADDRESS) : date.start()]):
            pieces.append(text[done : date.start()])
            done = date.start()
    return _GLUED_TEXT.sub(" ", " ".join([*pieces, text[done:]]))


def joined(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Log lines and events cut at the terminal's width made whole; the lines their rest stood on become empty."""
    width = width_of(lines)
    if not width:
        return lines
    out = list(lines)
    index = 0
    while index < len(out):
        start = index
        piece = lines[index]
        index += 1
        if not (_BEGINS.match(piece) or _EVENT.match(piece)):
            continue
        while (
            index < len(lines)
            and width - 1 <= len(piece) <= width + 2
            and len(out[start]) < _LONGEST
            and _continues(lines[index])
        ):
            rest = lines[index]
            out[start] += rest if len(piece) >= width else " " + rest
            out[index] = ""
            piece = rest
            index += 1
    return tuple(out)


def width_of(lines: tuple[str, ...]) -> int:
    """The column at which lines were cut: none is longer, and lines that go on below reach it."""
    longest = max(map(len, lines), default=0)
    if longest < _SHORTEST:
        return 0
    for width in (longest, longest + 1):
        reached = Counter(len(line) for line, below in pairwise(lines) if len(line) >= width - 1 and _continues(below))
        if reached[width] >= 2 or (reached[width] and width in _WIDTHS):
            return width
    # Pasted by way of a chat or a ticket, lines lose or gain a character.
    near = Counter(len(line) for line, below in pairwise(lines) if len(line) >= longest - 2 and _continues(below))
    common, times = next(iter(near.most_common(1)), (0, 0))
    return common if times >= 3 else 0


def _continues(line: str) -> bool:
    return bool(line) and not line.startswith("  ") and not _BEGINS.match(line) and not _EVENT.match(line)

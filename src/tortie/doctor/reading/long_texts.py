"""Texts that are long and no log: tables of a hundred thousand events, endless prose, dumps. Reading them has bounds.

Of events that are alike the first and the last ones stay. What is still too much is read whole up to a bound; behind
it only lines count that hold a known message, as in a long log. Whoever is left out is counted, and said.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from io import BytesIO
from typing import Final

from tortie.doctor.reading import large
from tortie.doctor.reading.cleaning import clean, decode
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted
from tortie.doctor.reading.sieve import Sieve
from tortie.model.tuples import NamedTuple

LONG: Final = 1 << 20  # bytes from which a text is long
WHOLE: Final = 4 << 20  # bytes of what is left that are read line by line
ALIKE_KEPT: Final = 100  # first and last events of a kind

# A row of `kubectl get events`: its type in the middle of capitals and ages, not below a `describe`.
_EVENT: Final = re.compile(rb"[^\s|].{0,160}?\b(?:Normal|Warning)\s{1,8}(\w{1,60})\s")
_MESSAGE_TOLD_APART: Final = 40  # characters of a message, without its digits
_DIGITS: Final = b"0123456789"


class Reduced(NamedTuple):
    """Lines with their numbers; None as numbers when they are all there."""

    lines: list[bytes]
    numbers: list[int] | None
    events_left_out: int


def without_alike(lines: list[bytes]) -> Reduced:
    """The lines without events of which many others tell the same."""
    counts: dict[bytes, int] = {}
    last: dict[bytes, deque[int]] = {}
    left_out: set[int] = set()
    for index, line in enumerate(lines):
        if (b"Normal" not in line and b"Warning" not in line) or not (row := _EVENT.match(line)):
            continue
        kind = _kind(line, row)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] > ALIKE_KEPT:
            ends = last.setdefault(kind, deque())
            ends.append(index)
            if len(ends) > ALIKE_KEPT:
                left_out.add(ends.popleft())
    if not left_out:
        return Reduced(lines, None, 0)
    kept = [index for index in range(len(lines)) if index not in left_out]
    return Reduced([lines[index] for index in kept], [index + 1 for index in kept], len(left_out))


def _kind(line: bytes, row: re.Match[bytes]) -> bytes:
    """What an event tells. The objects of users are alike; those that Calico's troubles show at are not."""
    thing, _, message = line[row.end() :].lstrip().partition(b" ")
    told = message.lstrip()[:_MESSAGE_TOLD_APART].translate(None, _DIGITS)
    low = line.lower()  # names are compared one by one: an expression takes twenty times as long
    if b"calico" in low or b"tigera" in low or b"kube-" in low or b"/coredns" in low or b"node/" in low:
        told += line[: row.start(1)].split(b" ", 1)[0] + thing.translate(None, _DIGITS)
    return row[1] + b" " + told


class Text(NamedTuple):
    """A long text as a source, and what of it was not read line by line."""

    source: Source
    events_left_out: int
    whole: bool


def read_long(name: str, host: str, content: bytes, rest: large.Readable | None, sieve: Sieve) -> Text:
    """`rest` is what has not been read of it yet."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = decode(content).encode("utf-8", "replace")
    lines = content.split(b"\n")
    del content
    open_end = lines.pop()  # without its line feed, or empty
    if open_end:
        lines.append(open_end)
    count = len(lines)
    reduced = without_alike(lines)
    numbers = reduced.numbers
    stop, size = 0, 0
    while stop < len(reduced.lines) and size <= WHOLE:
        size += len(reduced.lines[stop]) + 1
        stop += 1
    kept = reduced.lines[:stop]
    shown = list(numbers[:stop]) if numbers is not None else list(range(1, stop + 1))
    behind = _behind(reduced.lines[stop:], numbers[stop:] if numbers is not None else range(stop + 1, count + 1), sieve)
    if rest is not None:
        portion = large.portion(rest, sieve)
        behind.update((count + 1 + at, line) for _, found in portion.found for at, line in found)
    for number in sorted(behind):
        shown.append(number)
        kept.append(behind[number])
    complete = rest is None and stop == count
    text = decode(b"\n".join(kept))
    source = Source(
        name, tuple(redacted([clean(line) for line in text.split("\n")])), () if complete else tuple(shown), host
    )
    return Text(source, reduced.events_left_out, rest is None and stop == len(reduced.lines))


def _behind(lines: list[bytes], numbers: Iterable[int], sieve: Sieve) -> dict[int, bytes]:
    """Of lines that are too many, those that hold a known message."""
    if not lines:
        return {}
    portion = large.portion(BytesIO(b"\n".join(lines)), sieve)
    known = tuple(numbers)
    return {known[at]: line for _, found in portion.found for at, line in found if at < len(known)}

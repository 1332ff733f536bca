"""Commands that answer with a number (`wc -l`, `grep -c`, `jq length`), and several of them joined by `;`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Number
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.bounds import bounded

_COUNTS: Final = lazily(
    r"\bwc\s+-[lwc]+|\bwc\b|grep\s{1,8}(?:-\w{1,12}\s{1,8}){0,8}-\w{0,8}c\w*\b|--count\b|\blength\b|\bnproc\b|uniq\s+-c|/proc/sys/|conntrack\s+(?:-C|--count)"
)
_NUMBER: Final = lazily(r"\s*(?:[\w./:-]{0,200}[A-Za-z/:][\w./:-]{0,200}[:=]\s*)?(\d{1,15})(?:\s+(?:/\S+|total))?\s*$")
_SPLIT: Final = lazily(r"\s{0,8}(?:;|&&)\s{0,80}")
_LOUD: Final = 40  # an answer of numbers is short: what is longer is something else


def read(exhibit: Exhibit) -> Iterator[Fact]:
    exhibit = bounded(exhibit)
    command = exhibit.command
    if not command or len(exhibit.lines) > _LOUD or not _COUNTS.search(command):
        return
    parts = [part for part in _SPLIT.split(command) if part]
    counting = [part for part in parts if _COUNTS.search(part)]
    found = [(i, int(m[1])) for i, line in enumerate(exhibit.lines) if (m := _NUMBER.match(line)) and line.strip()]
    if len(counting) > 1 and len(counting) == len(found):
        for part, (index, value) in zip(counting, found, strict=True):
            yield Number(exhibit.place(index), part, value, exhibit.host)
        return
    for index, value in found:
        label = exhibit.lines[index].rpartition(":")[0].strip()  # `file:3` of a grep over files
        yield Number(exhibit.place(index), f"{command} {label}" if label else command, value, exhibit.host)

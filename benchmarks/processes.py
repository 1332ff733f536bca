"""What processes use: processor time and memory, as the kernel counts them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_TICKS_S = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    processes: int
    cpu_s: float
    pss_mb: float  # memory that is shared counts for each of those who share it with its part
    rss_mb: float  # of the largest


def usage_of(pids: Iterable[int]) -> Usage:
    """All of them together. In MB of a million bytes; who has ended meanwhile counts for nothing."""
    found, cpu_s, pss_mb, rss_mb = 0, 0.0, 0.0, 0.0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            memory = _fields(Path(f"/proc/{pid}/smaps_rollup").read_text())
            found += 1
            cpu_s += sum(map(int, fields[11:15])) / _TICKS_S  # with that of its children that have ended
            pss_mb += memory["Pss"]
            rss_mb = max(rss_mb, memory["Rss"])
    return Usage(found, cpu_s, pss_mb, rss_mb)


def _fields(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines()[1:])
    return {words[0].rstrip(":"): int(words[1]) * 1024 / 1e6 for words in lines}


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def descendants(pid: int) -> list[int]:
    """Of all generations."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found: list[int] = []
    ahead = [pid]
    while ahead:
        new = children.get(ahead.pop(), [])
        found += new
        ahead += new
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                yield int(name), int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])

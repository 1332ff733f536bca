"""Other programs on this machine, as far as /proc tells."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple


class Stat(NamedTuple):
    """What /proc/PID/stat says, as far as anybody here asks."""

    name: str
    state: str  # R, S, D, T (stopped), t (somebody debugs it), Z, X
    parent: int
    started: int  # in ticks since the machine started: no two processes with the same number have the same
    arguments: tuple[int, int]  # where they lie in its memory, and where they end; 0 if that is none of our business


def parsed_stat(text: bytes) -> Stat:
    """Pure. The name stands in parentheses and may itself hold blanks and parentheses; what follows it does not."""
    head, sign, tail = text.rpartition(b")")
    fields = tail.split()
    if not sign or len(fields) < 20:
        raise ValueError(f"not of the form of /proc/PID/stat: {text!r}")
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    begin, end = (int(each) for each in fields[45:47]) if len(fields) > 46 else (0, 0)
    return Stat(name, fields[0].decode("ascii", "replace"), int(fields[1]), int(fields[19]), (begin, end))


def stat_of(pid: int | str, task: int | str | None = None) -> Stat | None:
    """Of a process, or of one thread of it; None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat" if task is None else f"/proc/{pid}/task/{task}/stat", "rb") as file:
            return parsed_stat(file.read())
    except (OSError, ValueError):  # half of it is read of one that ends just then
        return None


def running_here(*words: str) -> tuple[str, ...]:
    """Processes of this network namespace, other than ourselves, whose command line holds these words in this order."""
    found = []
    ours = os.readlink("/proc/self/ns/net")
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with suppress(OSError):  # it has ended, or it is not ours to look at
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().decode(errors="replace").rstrip("\0").split("\0")
            if _in_order(words, line) and os.readlink(f"/proc/{name}/ns/net") == ours:
                found.append(f"pid {name}, {' '.join(line)}")
    return tuple(found)


def is_running(pid: int, word: str) -> bool:
    """Whether the process still lives, and is what we think: numbers are used again."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return word.encode() in file.read()
    except OSError:
        return False


def _in_order(words: tuple[str, ...], line: list[str]) -> bool:
    rest = iter(line)
    return all(any(part == word or part.endswith(f"/{word}") for part in rest) for word in words)

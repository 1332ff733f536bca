"""Other programs on this machine, as far as /proc tells."""

from __future__ import annotations

import os
from contextlib import suppress


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

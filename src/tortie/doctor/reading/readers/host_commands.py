"""What a command line tells about the output below it: which programs ran, with which words, how often in a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.exhibit import Exhibit

IPV4 = r"(?:\d{1,3}|[xX*]{1,3})(?:\.(?:\d{1,3}|[xX*]{1,3})){3}"
IPV6 = r"[0-9a-fA-F]{0,4}:(?=[0-9a-fA-F:]{0,40}:)[0-9a-fA-F:.]{1,60}"
IP = f"(?:{IPV4}|{IPV6})"
LONG = 2_000  # characters
LOOPS = 64  # turns of a loop that are followed

_SEPARATOR = lazily(r"\s*(?:;|&&|\|\||\n)\s*")
_LOOP = lazily(r"\bfor\s++(\w++)\s++in\s++([^;]{1,2000}+);\s*+do\b")
_RANGE = lazily(r"\{(\d{1,5})\.\.(\d{1,5})\}")


@lru_cache(maxsize=256)
def _program(names: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(re.escape(name) for name in names)
    return re.compile(rf"(?:^|[\s/|;&(\"'`])(?:{words})(?=$|[\s|;&)\"'`])")


def ran(exhibit: Exhibit, *names: str) -> bool:
    """One of these programs is named in the command, whatever wraps it (sudo, ssh, kubectl exec, a path, a loop)."""
    command = exhibit.command
    return bool(command) and any(n in command for n in names) and _program(names).search(command) is not None


def rows(exhibit: Exhibit) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their index, without what stands around them.

    No tool read here prints lines of thousands of characters; they are left out, so that expressions stay cheap.
    """
    for index, line in enumerate(exhibit.lines):
        if len(line) > LONG:
            continue
        stripped = line.strip()
        if stripped:
            yield index, stripped


@lru_cache(maxsize=512)
def segments(command: str) -> tuple[str, ...]:
    """The single commands of a line in the order they run; a simple `for` loop is unrolled."""
    loop = _LOOP.search(command)
    if not loop:
        return tuple(part for part in _SEPARATOR.split(command) if part)
    before, name, after = command[: loop.start()], loop[1], command[loop.end() :]
    body, _, rest = after.partition("done")
    unrolled = [part for part in _SEPARATOR.split(before) if part]
    for value in _values(loop[2])[:LOOPS]:
        turn = body.replace("${" + name + "}", value)
        turn = re.sub(rf"\${name}\b", lambda _, value=value: value, turn)  # type: ignore[misc]
        unrolled += [part for part in _SEPARATOR.split(turn) if part]
    return (*unrolled, *(part for part in _SEPARATOR.split(rest) if part))


def _values(text: str) -> list[str]:
    found: list[str] = []
    for word in text.split():
        span = _RANGE.fullmatch(word)
        if span:
            found += [str(number) for number in range(int(span[1]), min(int(span[2]), int(span[1]) + LOOPS) + 1)]
        else:
            found.append(word.strip("'\""))
    return found


def option(words: list[str], *names: str) -> str:
    """The value of an option, `-w 3`, `-w3` or `--wait=3`; empty without."""
    for index, word in enumerate(words):
        for name in names:
            if word == name and index + 1 < len(words):
                return words[index + 1]
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if not name.startswith("--") and word.startswith(name) and word != name and not word.startswith("--"):
                return word[len(name) :]
    return ""


def words_after(segment: str, *names: str) -> list[str]:
    """The words behind a program's name in one command, up to a pipe or redirection; empty when it is not there."""
    match = _program(names).search(segment)
    if not match:
        return []
    found = []
    for word in segment[match.end() :].replace('"', " ").replace("'", " ").split():
        if word.startswith(("|", ">", "<", "2>", "&")) or word == ")":
            break
        found.append(word)
    return found

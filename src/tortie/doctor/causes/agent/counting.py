"""How many there are: answers of counting commands, and counts that people give of everything they have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_LONG: Final = 400  # lines; longer exhibits are logs, no answers of a counting command
_ALL_BEFORE: Final = r"\b(?:only|about|around|roughly|total(?: of)?|just|have|has|run|runs)\b|有|共|只|约|不到|才"
_ALL_AFTER: Final = r"\s*(?:running|in total|in the cluster|in use|altogether|都?在跑|在?运行|总)"
_SICK: Final = r"stuck|fail|pending|creating|crash|new |卡|失败|起不来|异常|新"


class Count(NamedTuple):
    """A number and where it stands."""

    value: int
    place: Place


# Counting commands. Several on one line, separated by `;`, answer with one number a line.


@remembered
def answers(picture: Picture) -> list[tuple[str, Count]]:
    """Commands with the number they answered."""
    return list(_all_answers(picture))


def _all_answers(picture: Picture) -> Iterator[tuple[str, Count]]:
    for exhibit in picture.exhibits:
        if exhibit.command and not exhibit.prose and len(exhibit.lines) <= _LONG:
            yield from _answered(exhibit)
    known = {exhibit.command for exhibit in picture.exhibits}
    for number in picture.numbers():
        if number.command not in known or ";" not in number.command:
            yield number.command, Count(number.value, number.place)


def _answered(exhibit: Exhibit) -> Iterator[tuple[str, Count]]:
    if not all(not line or line.isspace() or line.strip().isdecimal() for line in exhibit.lines):
        return
    rows = [(index, line.strip()) for index, line in enumerate(exhibit.lines) if line.strip()]
    values = [(index, text) for index, text in rows if text.isdecimal()]
    if not values or len(values) != len(rows):
        return
    commands = [part.strip() for part in exhibit.command.split(";") if part.strip()]
    counting = [part for part in commands if _compiled(r"wc -l|grep -\w*c|\blength\b|count").search(part)]
    if len(counting) != len(values):
        counting = commands if len(commands) == len(values) else [exhibit.command] if len(values) == 1 else []
    for command, (index, text) in zip(counting, values, strict=False):
        yield command, Count(int(text[:12]), exhibit.place(index))


def counted(picture: Picture, *words: str) -> Count | None:
    found = [count for command, count in answers(picture) if all(word in command for word in words)]
    return found[-1] if found else None


def narrow(command: str) -> bool:
    """The command shows a part only: one namespace, one label, some states, some names."""
    if _compiled(
        r" -n | -l |--namespace[ =]|--(?:field-)?selector|\bhead\b|\btail\b|\bget (?:nodes?|no) [a-z0-9]"
    ).search(command):
        return True
    for flags, pattern in _compiled(r"grep ((?:-\w+ )*)['\"]?([^'\"|;]*)").findall(command):
        kept = "v" in flags or "." in pattern or _compiled(r"running|^ ?ready").search(pattern)
        if not kept or ("v" in flags and "running" in pattern.lower()):
            return True
    return False


def said(picture: Picture, pattern: str) -> Count | None:
    """A count of all that a person gives; "3 pods are stuck" is none."""
    for exhibit in picture.exhibits:
        if not exhibit.prose:
            continue
        for index, line in enumerate(exhibit.lines):
            for match in _compiled(pattern).finditer(line[:2000]):
                before = _clause(line[max(0, match.start() - 25) : match.start()], -1)
                after = _clause(line[match.end() : match.end() + 30], 0)
                everything = _compiled(_ALL_BEFORE).search(before) or _compiled(_ALL_AFTER).match(after)
                if everything and not _compiled(_SICK).search(before + after):
                    return Count(int(match[1].replace(",", "")), exhibit.place(index))
    return None


def _clause(text: str, which: int) -> str:
    return _compiled(r"[,.;:，。；：]").split(text)[which]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)

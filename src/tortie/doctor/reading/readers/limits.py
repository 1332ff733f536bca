"""Limits and requests of a container without their document: lines of YAML below `resources:`, and the one line that
jsonpath answers, as JSON or as Go prints a map."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import Container
from tortie.doctor.reading.exhibit import Exhibit

_BLOCK: Final = r"(\s*)(?:\d+[:-]\s*)?(limits|requests):\s*$"
_PAIR: Final = r"\s+[\"']?(cpu|memory|ephemeral-storage|hugepages-\w+)[\"']?:\s*[\"']?(\d[\w.]*)[\"']?,?\s*$"
_FLOW: Final = r"[\"']?\b(limits|requests)[\"']?\s*:\s*(?:map\[|\{)([^\]}]{0,400})[\]}]"
_INSIDE: Final = r"[\"']?(cpu|memory|ephemeral-storage)[\"']?\s*:\s*[\"']?(\d[\w.]*)"
_LONG: Final = 20_000  # characters of a line


def limited(exhibit: Exhibit, owner: str) -> Iterator[Container]:
    """A container for each set of limits, with the requests that stand beside them."""
    for index, line in enumerate(exhibit.lines):
        if len(line) > _LONG or "limits" not in line:
            continue
        if _compiled(_BLOCK).match(line):
            yield from _block(exhibit, index, owner)
            continue
        flows = _compiled(_FLOW).findall(line)
        for number, (kind, inside) in enumerate(flows):
            limits = tuple(_compiled(_INSIDE).findall(inside))
            if kind == "limits" and limits:
                beside = flows[number + 1][1] if flows[number + 1 : number + 2] and flows[number + 1][0] != kind else ""
                requests = tuple(_compiled(_INSIDE).findall(beside))
                yield Container(exhibit.place(index), "", owner, limits=limits, requests=requests)


def _block(exhibit: Exhibit, index: int, owner: str) -> Iterator[Container]:
    held: dict[str, list[tuple[str, str]]] = {}
    depth = len(exhibit.lines[index]) - len(exhibit.lines[index].lstrip())
    first, last, current = index, index, ""
    if index >= 2 and (before := _requests_above(exhibit, index, depth)):
        held["requests"] = before
    for at in range(index, min(index + 12, len(exhibit.lines))):
        line = exhibit.lines[at]
        if (head := _compiled(_BLOCK).match(line)) and len(head[1]) == depth and head[2] not in held:
            current = head[2]
            held[current] = []
        elif current and (pair := _compiled(_PAIR).match(line)) and len(line) - len(line.lstrip()) > depth:
            held[current].append((pair[1], pair[2]))
        else:
            break
        last = at
    if held.get("limits"):
        place = exhibit.place(first, last + 1)
        yield Container(
            place, "", owner, limits=tuple(held["limits"]), requests=tuple(held.get("requests", ()))
        )  # fmt: skip


def _requests_above(exhibit: Exhibit, index: int, depth: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for at in range(index - 1, max(-1, index - 6), -1):
        line = exhibit.lines[at]
        if pair := _compiled(_PAIR).match(line):
            found.append((pair[1], pair[2]))
        else:
            head = _compiled(_BLOCK).match(line)
            return found[::-1] if head and head[2] == "requests" and len(head[1]) == depth else []
    return []


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

"""Rules that several kinds share. Each yields the problems it finds; field paths are relative to the part checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tortie.model.errors import Problem

PORTS = (1, 65535)
PRIORITIES = (1, 2147483646)


def under(prefix: str, problems: Iterator[Problem]) -> Iterator[Problem]:
    """The problems of something nested, with the path to it in front."""
    for problem in problems:
        yield problem._replace(field=f"{prefix}.{problem.field}")


def outside(part: Any, ranges: Mapping[str, tuple[int, int]]) -> Iterator[Problem]:
    """Numbers out of their range; both ends belong to it, and a field that is not set is fine."""
    for name, (low, high) in ranges.items():
        value = getattr(part, name)
        if value is not None and not low <= value <= high:
            yield Problem(name, value, f"is not from {low} to {high}", f"a number from {low} to {high}")


def repeated(name: str, values: Sequence[str]) -> Iterator[Problem]:
    for value in sorted({value for value in values if values.count(value) > 1}):
        yield Problem(name, ", ".join(values), f"{value} stands there more than once", "name each once")


def too_many(part: Any, limits: Mapping[str, int]) -> Iterator[Problem]:
    for name, limit in limits.items():
        count = len(getattr(part, name))
        if count > limit:
            yield Problem(name, f"{count} entries", f"at most {limit} are possible", "split it into several")


def misplaced_global(part: Any, *names: str) -> Iterator[Problem]:
    """`global()` says "not in any namespace", which only a rule's namespaceSelector can ask."""
    for name in names:
        if "global(" in (getattr(part, name) or ""):
            why = "global() can only be used in the namespaceSelector of a rule's source or destination"
            yield Problem(name, getattr(part, name), why, "all()")


def too_long(part: Any, *selectors: str) -> Iterator[Problem]:
    for name in selectors:
        length = len(getattr(part, name) or "")
        if length > 1024:
            text = f"{getattr(part, name)[:57]}..."
            yield Problem(name, text, f"a selector of {length} characters is too long", "at most 1024")

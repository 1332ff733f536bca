"""Many broken sessions in few lines: those of one node together, and `node-2…node-9` for names that count up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from tortie.lab.graph.picture import Link, SessionState
from tortie.model.measure import columns, cut_to_columns

_BUNDLE_MIN: Final = 4  # sessions
_RUN_MIN: Final = 3  # names

# How a bundle's node takes part: the sessions are down, or only it sees them, or only it misses them.
Part = Literal["down", "sees", "misses"]


class Bundle(NamedTuple):
    """Broken sessions of one node, all of one sort."""

    hub: str
    part: Part
    others: tuple[str, ...]
    detail: str

    @property
    def state(self) -> SessionState:
        return "down" if self.part == "down" else "one-sided"


def bundles(links: Iterable[Link]) -> tuple[tuple[Link, ...], tuple[Bundle, ...]]:
    """The links that stand for themselves, and bundles of the others: largest first, each link in exactly one place."""
    left = dict.fromkeys(links)
    by_hub: dict[tuple[str, Part], dict[Link, None]] = {}
    for link in left:
        for hub in _hubs(link):
            by_hub.setdefault(hub, {})[link] = None
    found = []
    while by_hub:
        hub = max(by_hub, key=lambda each: len(by_hub[each]))  # the first of equals
        together = by_hub.pop(hub)
        if len(together) < _BUNDLE_MIN:
            break
        found.append(_bundle(*hub, tuple(together)))
        for link in together:
            del left[link]
            for other in _hubs(link):
                by_hub.get(other, {}).pop(link, None)
    return tuple(left), tuple(found)


def _hubs(link: Link) -> tuple[tuple[str, Part], tuple[str, Part]]:
    return ((link.a, "down"), (link.b, "down")) if link.state == "down" else ((link.a, "sees"), (link.b, "misses"))


def _bundle(hub: str, part: Part, together: Sequence[Link]) -> Bundle:
    others = ranges(link.b if link.a == hub else link.a for link in together)
    detail = "; ".join(dict.fromkeys(link.detail for link in together if link.detail))
    return Bundle(hub, part, others, detail)


def ranges(names: Iterable[str]) -> tuple[str, ...]:
    """The names in order; three or more that count up become one range."""
    runs: list[list[str]] = []
    last: tuple[str, int] | None = None
    for name in sorted(names, key=_counted):
        counted = _counted(name)
        if runs and last == (counted[0], counted[1] - 1):
            runs[-1].append(name)
        else:
            runs.append([name])
        last = counted
    return tuple(part for run in runs for part in ([f"{run[0]}…{run[-1]}"] if len(run) >= _RUN_MIN else run))


def _counted(name: str) -> tuple[str, int]:
    """`node-12` as ("node-", 12). A number that is written with leading zeros belongs to the name."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    if not digits.isascii() or not digits or (digits[0] == "0" and len(digits) > 1) or len(digits) > 9:
        return name, -1
    return stem, int(digits)


def folded(start: str, items: Sequence[str], width: int) -> Iterator[str]:
    """Items after one another with commas, continued under the first of them."""
    margin = " " * columns(start)
    line, room = start, width - columns(start)
    for index, item in enumerate(items):
        text = cut_to_columns(item, room - 1) + ("," if index + 1 < len(items) else "")
        if line not in (start, margin) and columns(line) + 1 + columns(text) > width:
            yield line
            line = margin
        line += text if line in (start, margin) else f" {text}"
    yield line

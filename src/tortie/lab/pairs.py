"""Who reaches whom: the outcome of a ping between all pods, as rows for people. Pure.

A matrix of more than a dozen pods is read by nobody, so it is folded: nodes instead of pods, and how many of the pairs
between two nodes are fine. Whatever fails is then named pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import mean
from typing import Any, Final, NamedTuple

MATRIX_MAX: Final = 12  # pods, up to which each has a row and a column of its own


class End(NamedTuple):
    """A pod as one that asks and is asked."""

    name: str
    node: str
    address: str

    @property
    def family(self) -> int:
        return 6 if ":" in self.address else 4


class Reached(NamedTuple):
    source: End
    target: End
    sent: int = 0
    times_ms: tuple[float, ...] = ()  # of the answers
    ok: bool = False  # an answer came in every round
    why: str = ""  # what the kernel says about why it could not even be sent

    @property
    def ms(self) -> float | None:
        return round(mean(self.times_ms), 3) if self.times_ms else None

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "from": self.source.name,
            "to": self.target.name,
            "ok": self.ok,
            "ms": self.ms,
            "family": self.target.family,
            "address": self.target.address,
            "from_node": self.source.node,
            "to_node": self.target.node,
            "sent": self.sent,
            "received": len(self.times_ms),
        }
        return told | ({"why": self.why} if self.why else {})


def wanted_pairs(ends: Sequence[End], chosen: Sequence[str]) -> list[tuple[End, End]]:
    """All with all of the same family; of those chosen, and one that is chosen alone with all others."""
    if len(chosen) == 1:
        pairs = [(a, b) for a in ends for b in ends if chosen[0] in (a.name, b.name)]
    else:
        among = [end for end in ends if not chosen or end.name in chosen]
        pairs = [(a, b) for a in among for b in among]
    return [(a, b) for a, b in pairs if a.name != b.name and a.family == b.family]


def families(reached: Iterable[Reached]) -> list[int]:
    return sorted({each.target.family for each in reached})


def rows(
    reached: Sequence[Reached], corner: str, good: Callable[[str], str], bad: Callable[[str], str]
) -> list[list[str]]:
    """Of one family, headings first. `good` and `bad` write a cell with its mark."""
    names = list(dict.fromkeys(end.name for each in reached for end in (each.source, each.target)))
    if len(names) <= MATRIX_MAX:
        return _matrix(reached, names, corner, good, bad)
    return _folded(reached, corner, good, bad)


def _matrix(
    reached: Sequence[Reached], names: list[str], corner: str, good: Callable[[str], str], bad: Callable[[str], str]
) -> list[list[str]]:
    cells = {(each.source.name, each.target.name): good(f"{each.ms:.2f}") if each.ok else bad("") for each in reached}
    table = [[corner, *names]]
    asking = [source for source in names if any((source, target) in cells for target in names)]
    table += [[source, *(cells.get((source, target), "-") for target in names)] for source in asking]
    return table


def _folded(
    reached: Sequence[Reached], corner: str, good: Callable[[str], str], bad: Callable[[str], str]
) -> list[list[str]]:
    between: dict[tuple[str, str], list[Reached]] = {}
    for each in reached:
        between.setdefault((each.source.node, each.target.node), []).append(each)
    nodes = list(dict.fromkeys(node for pair in between for node in pair))

    def cell(found: list[Reached] | None) -> str:
        if not found:
            return "-"
        fine = sum(each.ok for each in found)
        text = f"{fine}/{len(found)}"
        times = [time_ms for each in found for time_ms in each.times_ms]
        return good(f"{text} {mean(times):.2f}") if fine == len(found) else bad(text)

    table = [[corner, *nodes]]
    table += [[source, *(cell(between.get((source, target))) for target in nodes)] for source in nodes]
    return table


def failing(reached: Iterable[Reached]) -> Iterator[Reached]:
    return (each for each in reached if not each.ok)

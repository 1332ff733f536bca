"""The layout of a large lab: all nodes as small cards, and below them the mesh as a matrix of who sees whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from tortie.lab.graph.cards import COMPACT, GAP, TILE, rows
from tortie.lab.graph.folding import bundles
from tortie.lab.graph.geometry import MARGIN, WIDTH, Body, Box, Card, Cell, Group, Point, Text, around, fitted
from tortie.lab.graph.picture import Link, NodeView, Rack
from tortie.lab.graph.words import Words, link_told

_COMPACT_MAX: Final = 60  # nodes
_MATRIX: Final = 540.0
_CELL_MAX: Final = 14.0
_GRID_MIN: Final = 7.0  # a cell must be larger than the lines around it
_NAMES: Final = 120.0
_NAME_SIZE_MIN: Final = 8.0
_TOLD_MAX: Final = 500  # broken links that say their names; more of them would only make the file large


def heatmap(
    racks: Sequence[Rack],
    more: Sequence[NodeView],
    beside: Sequence[NodeView],
    links: Sequence[Link],
    top: float,
    words: Words,
) -> Body:
    """`more` are machines without a rack that speak BGP, too; those `beside` do not."""
    cards: list[Card] = []
    groups: list[Group] = []
    number = sum(len(rack.nodes) for rack in racks)
    size = COMPACT if number <= _COMPACT_MAX else TILE
    for rack in racks:
        named = bool(rack.name)
        room = WIDTH - 2 * MARGIN - (24.0 if named else 0.0)
        placed = rows(rack.nodes, top + (30.0 if named else 0.0), size, words, room=room, last_in_the_middle=False)
        cards += placed
        top = max(each.box.bottom for each in placed) + GAP
        if named:
            groups.append(_group(rack.name, placed))
            top = groups[-1].box.bottom + 14.0
    if more or beside:
        cards += rows((*more, *beside), top + GAP, COMPACT, words)
        top = max(each.box.bottom for each in cards) + GAP
    names = [node.name for node in (*(node for rack in racks for node in rack.nodes), *more)]
    if not links:
        return Body(top, tuple(cards), tuple(groups))
    cells, texts, bottom = _matrix(names, links, top + 40.0, words)
    return Body(bottom, tuple(cards), tuple(groups), cells=cells, texts=texts)


def _group(name: str, cards: Sequence[Card]) -> Group:
    box = around((each.box for each in cards), sides=12.0, above=30.0, below=12.0)
    box = Box(MARGIN, box.y, WIDTH - 2 * MARGIN, box.height)
    return Group(name, box, fitted(Point(box.x + 14, box.y + 20), name, 12.5, "rack", box.width - 28, bold=True))


def _matrix(
    names: Sequence[str], links: Sequence[Link], top: float, words: Words
) -> tuple[tuple[Cell, ...], tuple[Text, ...], float]:
    side = min(_CELL_MAX, _MATRIX / len(names))
    side = float(int(side)) if side > 2 else side  # whole pixels have sharp edges
    left = float(round((WIDTH - len(names) * side + _NAMES) / 2))
    styles = _styles(names, links)
    told = _told(links, words)
    cells = []
    for row, name in enumerate(names):
        column = 0
        for style, same in _runs(name, names, styles, told):
            box = Box(left + column * side, top + row * side, same * side, side)
            other = names[column]
            cells.append(Cell(box, style, told.get((name, other), "") if style.startswith("cell bad") else ""))
            column += same
    cells += _grid(len(names), left, top, side) if side >= _GRID_MIN else ()
    caption = Text(Point(left, top - 12), words.row_sees_column, 11.5, "muted")
    row_names = _row_names(names, _odd(links), left - 6, top, side)
    return tuple(cells), (caption, *row_names), top + len(names) * side


def _grid(number: int, left: float, top: float, side: float) -> Iterator[Cell]:
    for index in range(1, number):
        yield Cell(Box(left + index * side - 0.5, top, 1.0, number * side), "grid")
        yield Cell(Box(left, top + index * side - 0.5, number * side, 1.0), "grid")


def _odd(links: Sequence[Link]) -> set[str]:
    """Whose name a reader looks for: the one that misses many sessions, not all those that miss one with it."""
    single, bundled = bundles(link for link in links if link.state != "up")
    return {bundle.hub for bundle in bundled} | {end for link in single for end in (link.a, link.b)}


def _styles(names: Sequence[str], links: Sequence[Link]) -> dict[tuple[str, str], str]:
    """What stands where the row of one meets the column of another. The side that sees a one-sided session is up."""
    found = {(name, name): "cell self" for name in names}
    for link in links:
        bad = "cell bad down" if link.state == "down" else "cell bad one-sided"
        found[link.a, link.b] = bad if link.state == "down" else "cell up"
        found[link.b, link.a] = "cell up" if link.state == "up" else bad
    return found


def _told(links: Sequence[Link], words: Words) -> dict[tuple[str, str], str]:
    bad = [link for link in links if link.state != "up"]
    if len(bad) > _TOLD_MAX:
        return {}
    return {pair: link_told(words, link) for link in bad for pair in ((link.a, link.b), (link.b, link.a))}


def _runs(
    name: str, names: Sequence[str], styles: dict[tuple[str, str], str], told: dict[tuple[str, str], str]
) -> Iterator[tuple[str, int]]:
    """Styles along a row with how often they stand side by side; cells that say their names stay single."""
    row = [(styles.get((name, other), "cell none"), other) for other in names]
    for (style, _), same in groupby(row, key=lambda each: (each[0], each[1] if (name, each[1]) in told else "")):
        yield style, len(list(same))


def _row_names(names: Sequence[str], odd: set[str], right: float, top: float, side: float) -> Iterator[Text]:
    """As many names as fit under each other; one that is odd goes before its neighbours."""
    size = min(10.0, max(_NAME_SIZE_MIN, side * 0.84))
    apart = max(1, int(-(-size * 1.18 // side)))
    taken: list[int] = []
    wanted = [row for row, name in enumerate(names) if name in odd]
    for row in (*wanted, *range(0, len(names), apart), *range(len(names))):
        if all(abs(row - other) >= apart for other in taken):
            taken.append(row)
    for row in sorted(taken):
        name = names[row]
        at = Point(right, top + (row + 0.5) * side + size * 0.34)
        style = "row bad" if name in odd else "row"
        yield fitted(at, name, size, style, _NAMES - 10, anchor="end", bold=name in odd)

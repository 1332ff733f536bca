"""The layout of a lab with racks: boxes at the left and at the right, and between them room for every session.

No session has to pass behind a card: those to the other side are straight, those on the same side are bent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tortie.lab.graph.cards import MEDIUM, SMALL, CardSize, card, rows
from tortie.lab.graph.geometry import MARGIN, WIDTH, Body, Box, Card, Group, Line, Point, around, fitted
from tortie.lab.graph.picture import Link, NodeView, Rack
from tortie.lab.graph.words import Words

_SIDES: Final = 14.0
_TITLE: Final = 30.0
_CARD_GAP: Final = 12.0
_RACK_GAP: Final = 24.0
_ROOMY_MAX: Final = 8  # cards on a side; more of them are drawn smaller
_INDENT: Final = 36.0


def clusters(
    racks: Sequence[Rack], routers: Sequence[NodeView], links: Sequence[Link], top: float, words: Words
) -> Body:
    """`routers` stand above, where their sessions reach both sides."""
    above = rows(routers, top, MEDIUM, words)
    if above:
        top = max(each.box.bottom for each in above) + 30.0
    sides = racks[0::2], racks[1::2]
    most = max(sum(len(rack.nodes) for rack in side) for side in sides)
    size = MEDIUM if most <= _ROOMY_MAX else SMALL
    tallest = max(_height(side, size) for side in sides)
    cards, groups = list(above), []
    for side, x in zip(sides, (MARGIN + _INDENT, WIDTH - MARGIN - _INDENT - size.width - 2 * _SIDES), strict=True):
        y = top + (tallest - _height(side, size)) / 2
        for rack in side:
            placed = _stacked(rack, Point(x, y), size, words)
            cards += placed
            groups.append(_group(rack.name, placed))
            y = groups[-1].box.bottom + _RACK_GAP
    boxes = {each.node.name: each.box for each in cards}
    lines = tuple(_line(link, boxes[link.a], boxes[link.b]) for link in links)
    return Body(top + tallest, tuple(cards), tuple(groups), lines)


def _height(racks: Sequence[Rack], size: CardSize) -> float:
    heights = [_TITLE + len(rack.nodes) * (size.height + _CARD_GAP) - _CARD_GAP + _SIDES for rack in racks]
    return sum(heights) + _RACK_GAP * (len(heights) - 1)


def _stacked(rack: Rack, corner: Point, size: CardSize, words: Words) -> list[Card]:
    x = corner.x + _SIDES + size.width / 2
    y = corner.y + _TITLE + size.height / 2
    return [
        card(node, Point(x, y + index * (size.height + _CARD_GAP)), size, words)
        for index, node in enumerate(rack.nodes)
    ]


def _group(name: str, cards: Sequence[Card]) -> Group:
    box = around((each.box for each in cards), sides=_SIDES, above=_TITLE, below=_SIDES)
    title = fitted(Point(box.x + _SIDES, box.y + 20), name, 12.5, "rack", box.width - 2 * _SIDES, bold=True)
    return Group(name, box, title)


def _line(link: Link, one: Box, other: Box) -> Line:
    if one.x != other.x:
        return Line(link, _side(one, other.centre.x), _side(other, one.centre.x))
    start, end = _side(one, WIDTH / 2), _side(other, WIDTH / 2)
    cards_apart = abs(one.y - other.y) / (one.height + _CARD_GAP)
    out = min(190.0, 12.0 + 15.0 * cards_apart) * (1 if one.centre.x < WIDTH / 2 else -1)
    return Line(link, start, end, Point(start.x + out, (start.y + end.y) / 2))


def _side(box: Box, towards: float) -> Point:
    return Point(box.right if towards > box.centre.x else box.x, box.centre.y)

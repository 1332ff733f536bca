"""The layout of a small lab: the nodes on a ring, so that every session is a line across it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import cos, pi, sin
from typing import Final

from tortie.lab.graph.cards import LARGE, MEDIUM, SMALL, CardSize, card
from tortie.lab.graph.geometry import MARGIN, WIDTH, Body, Card, Point, straight
from tortie.lab.graph.picture import Link, NodeView
from tortie.lab.graph.words import Words

RING_MAX: Final = 24  # machines

_SIZES: Final = ((6, LARGE), (12, MEDIUM), (RING_MAX, SMALL))
_RADII: Final = {1: (0.0, 0.0), 2: (210.0, 0.0), 3: (230.0, 96.0), 4: (260.0, 120.0), 5: (270.0, 140.0)}
_STEPS: Final = 360


def ring(machines: Sequence[NodeView], links: Sequence[Link], top: float, words: Words) -> Body:
    size = next(size for most, size in _SIZES if len(machines) <= most)
    cards = _placed(machines, size, top, words)
    boxes = {each.node.name: each.box for each in cards}
    lines = tuple(straight(link, boxes[link.a], boxes[link.b]) for link in links)
    return Body(max((each.box.bottom for each in cards), default=top), cards, lines=lines)


def _placed(machines: Sequence[NodeView], size: CardSize, top: float, words: Words) -> tuple[Card, ...]:
    if not machines:
        return ()
    widest = WIDTH / 2 - MARGIN - size.width / 2
    across, down = _RADII.get(len(machines), (min(widest, 300.0), 150.0))
    spots = _spots(len(machines), across, down, size)
    # Cards at the top and at the bottom stand closest; a taller ring gives them room.
    while len(spots) > 2 and not _apart(spots, size):
        across, down = min(widest, across + 8), down + 8
        spots = _spots(len(machines), across, down, size)
    highest = min(spot.y for spot in spots)
    middle = Point(WIDTH / 2, top + size.height / 2 - highest)
    return tuple(
        card(node, Point(round(middle.x + spot.x, 1), round(middle.y + spot.y, 1)), size, words)
        for node, spot in zip(machines, spots, strict=True)
    )


def _spots(number: int, across: float, down: float, size: CardSize) -> list[Point]:
    """Places on an ellipse around the origin, the first at the top (of two: at the left).

    They are equally far apart when distance is counted in cards: in widths along the top, in heights along the sides.
    """
    if number <= 2:
        return [Point(-across, 0.0), Point(across, 0.0)][:number]
    outline = [
        Point(across * sin(2 * pi * step / _STEPS), -down * cos(2 * pi * step / _STEPS)) for step in range(_STEPS)
    ]
    lengths = [0.0]
    for step in range(_STEPS):
        here, there = outline[step], outline[(step + 1) % _STEPS]
        dx, dy = abs(here.x - there.x) / (size.width + 12), abs(here.y - there.y) / (size.height + 12)
        lengths.append(lengths[-1] + (dx * dx + dy * dy) ** 0.5)
    spots, step = [], 0
    for index in range(number):
        wanted = lengths[-1] * index / number
        while lengths[step + 1] < wanted:
            step += 1
        part = (wanted - lengths[step]) / (lengths[step + 1] - lengths[step])
        here, there = outline[step], outline[(step + 1) % _STEPS]
        spots.append(Point(here.x + part * (there.x - here.x), here.y + part * (there.y - here.y)))
    return spots


def _apart(spots: Sequence[Point], size: CardSize) -> bool:
    return all(
        abs(one.x - other.x) >= size.width + 12 or abs(one.y - other.y) >= size.height + 12
        for one, other in combinations(spots, 2)
    )

"""Machines as cards: name, address, phase and a dot that says how it stands, in sizes from one node to hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tortie.lab.graph.geometry import MARGIN, WIDTH, Box, Card, Dot, Point, fitted
from tortie.lab.graph.picture import NodeView
from tortie.lab.graph.words import Words, phase_told


class CardSize(NamedTuple):
    """Of the lines of a card, those of size 0 are left out."""

    width: float
    height: float
    name: float
    address: float
    phase: float


LARGE: Final = CardSize(172, 70, 15, 12.5, 11.5)
MEDIUM: Final = CardSize(140, 60, 13, 11.5, 10.5)
SMALL: Final = CardSize(116, 54, 12, 10.5, 10)
COMPACT: Final = CardSize(97, 36, 11, 9.5, 0)
TILE: Final = CardSize(84, 22, 10.5, 0, 0)

GAP: Final = 8.0
_LEADING: Final = 1.32
_PADDING: Final = 10.0
_SMALLEST: Final = 0.8  # of its size, that a long name may be written in
_ICON: Final = 14.0
_RUNNING: Final = "running"  # the phase that says nothing which the dot does not say


def card(node: NodeView, centre: Point, size: CardSize, words: Words) -> Card:
    box = Box(centre.x - size.width / 2, centre.y - size.height / 2, size.width, size.height)
    padding = _PADDING if size.phase else 7.0
    radius = round(size.name * 0.3, 1)
    lines = [
        (node.name, size.name, "name", True),
        (node.address or (_last_line(node, words) if not size.phase else ""), size.address, "address", False),
        (_last_line(node, words), size.phase, f"phase {node.standing}", False),
    ]
    is_node = node.role == "node"
    known = node.standing != "unknown"
    icon = None if is_node else Box(box.right - padding - _ICON, box.y + padding - 2, _ICON, _ICON)
    shown = [line for line in lines if line[1] and line[0]]
    baseline = centre.y - sum(line[1] for line in shown) * _LEADING / 2
    texts = []
    for text, height, style, bold in shown:
        indent = 2 * radius + 5 if bold and known else 0.0
        room = size.width - 2 * padding - indent - (0 if is_node else _ICON + 4)
        at = Point(box.x + padding + indent, baseline + height * 1.02)
        texts.append(fitted(at, text, height, style, room, bold=bold, smallest=_SMALLEST if bold else 1.0))
        baseline += height * _LEADING
    dot_at = Point(box.x + padding + radius, centre.y if not texts else texts[0].at.y - size.name * 0.36)
    return Card(node, box, tuple(texts), Dot(dot_at, radius, f"dot {node.standing}") if known else None, icon)


def rows(
    nodes: Sequence[NodeView],
    top: float,
    size: CardSize,
    words: Words,
    *,
    room: float = WIDTH - 2 * MARGIN,
    last_in_the_middle: bool = True,
) -> tuple[Card, ...]:
    """Cards side by side in the middle of the picture, in as many rows as they need."""
    step = size.width + GAP
    across = min(len(nodes), max(1, int((room + GAP) // step)))
    found = []
    for start in range(0, len(nodes), across or 1):
        row = nodes[start : start + across]
        left = (WIDTH - (len(row) if last_in_the_middle else across) * step + GAP) / 2
        y = top + size.height / 2 + start // across * (size.height + GAP)
        centres = (Point(left + size.width / 2 + index * step, y) for index in range(len(row)))
        found += [card(node, centre, size, words) for node, centre in zip(row, centres, strict=True)]
    return tuple(found)


def _last_line(node: NodeView, words: Words) -> str:
    if node.role != "node":
        return words.role[node.role]
    return words.standing[node.standing] if node.phase in ("", _RUNNING) else phase_told(words, node.phase)

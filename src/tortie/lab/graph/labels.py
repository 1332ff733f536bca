"""Words on broken lines, wherever they stand free: never on a card, never on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tortie.lab.graph.geometry import WIDTH, Box, Card, Label, Line, Point, fitted
from tortie.lab.graph.words import Words

_BROKEN_MAX: Final = 8  # more of them would hide the picture; they are told below it
_ALONG: Final = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)
_SIZE: Final = 10.5
_ROOM: Final = 130.0
_PICTURE: Final = Box(0.0, 0.0, WIDTH, float("inf"))


def labels(lines: Sequence[Line], cards: Sequence[Card], words: Words) -> tuple[Label, ...]:
    bad = [line for line in lines if line.link.state != "up"]
    if len(bad) > _BROKEN_MAX:
        return ()
    taken = [each.box for each in cards]
    found = []
    for line in bad:
        for label in (_label(line, part, words) for part in _ALONG):
            if _PICTURE.holds(label.box) and not any(label.box.overlaps(box, 3.0) for box in taken):
                taken.append(label.box)
                found.append(label)
                break
    return tuple(found)


def _label(line: Line, part: float, words: Words) -> Label:
    spot = line.at(part)
    text = line.link.detail if line.link.state == "down" and line.link.detail else words.state[line.link.state]
    shown = fitted(
        Point(spot.x, spot.y + _SIZE * 0.36), text, _SIZE, f"label {line.link.state}", _ROOM, anchor="middle"
    )
    if line.bend:  # beside the cards that the line goes around
        out = shown.box.width / 2 + 16
        shown = shown._replace(at=Point(line.start.x + (out if line.bend.x > line.start.x else -out), shown.at.y))
    tight = shown.box
    return Label(Box(tight.x - 6, spot.y - 9, tight.width + 12, 18), shown, line.link.state)

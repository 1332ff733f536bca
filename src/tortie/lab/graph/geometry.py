"""The parts of a picture with their places: what layouts produce and the SVG draws. One unit is a pixel at 800 wide."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from tortie.lab.graph.picture import Link, NodeView, SessionState
from tortie.model.measure import cut_to_ems, ems

WIDTH: Final = 800.0
MARGIN: Final = 24.0

_ASCENT: Final = 0.93  # of the tallest letters of common fonts, in ems above and below the baseline
_DESCENT: Final = 0.25

Anchor = Literal["start", "middle", "end"]


class Point(NamedTuple):
    x: float
    y: float


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def centre(self) -> Point:
        return Point(self.x + self.width / 2, self.y + self.height / 2)

    def edge(self, towards: Point) -> Point:
        """Where a line from the middle to a point outside leaves the box."""
        middle = self.centre
        dx, dy = towards.x - middle.x, towards.y - middle.y
        parts = [half / abs(along) for half, along in ((self.width / 2, dx), (self.height / 2, dy)) if along]
        part = min([1.0, *parts])
        return Point(middle.x + part * dx, middle.y + part * dy)

    def overlaps(self, other: Box, gap: float = 0.0) -> bool:
        return (
            self.x < other.right + gap
            and other.x < self.right + gap
            and self.y < other.bottom + gap
            and other.y < self.bottom + gap
        )

    def holds(self, other: Box) -> bool:
        return self.x <= other.x and other.right <= self.right and self.y <= other.y and other.bottom <= self.bottom


class Text(NamedTuple):
    """A line of text on its baseline. `full` is what was there before it was cut to fit."""

    at: Point
    text: str
    size: float
    style: str
    anchor: Anchor = "start"
    bold: bool = False
    full: str = ""

    @property
    def box(self) -> Box:
        width = ems(self.text, bold=self.bold) * self.size
        x = self.at.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Box(x, self.at.y - _ASCENT * self.size, width, (_ASCENT + _DESCENT) * self.size)


class Dot(NamedTuple):
    at: Point
    radius: float
    style: str


class Card(NamedTuple):
    node: NodeView
    box: Box
    texts: tuple[Text, ...]
    dot: Dot | None  # nobody knows how the others stand
    icon: Box | None  # of a machine that is no node


class Group(NamedTuple):
    """A box around cards."""

    name: str
    box: Box
    title: Text


class Line(NamedTuple):
    """A link as it is drawn, from `link.a` to `link.b`: straight, or bent towards a point."""

    link: Link
    start: Point
    end: Point
    bend: Point | None = None

    def at(self, part: float) -> Point:
        """A point of the line, from 0 at its start to 1 at its end."""
        rest = 1 - part
        bend = self.bend or Point((self.start.x + self.end.x) / 2, (self.start.y + self.end.y) / 2)
        return Point(
            rest * rest * self.start.x + 2 * rest * part * bend.x + part * part * self.end.x,
            rest * rest * self.start.y + 2 * rest * part * bend.y + part * part * self.end.y,
        )


class Label(NamedTuple):
    """A word on a line, on a ground of its own."""

    box: Box
    text: Text
    state: SessionState


class Cell(NamedTuple):
    """Neighbouring cells of a row of the matrix that say the same."""

    box: Box
    style: str
    full: str = ""


class Sample(NamedTuple):
    """A piece of line in the legend."""

    start: Point
    end: Point
    state: SessionState


class Layout(NamedTuple):
    """The whole picture, back to front."""

    width: float
    height: float
    groups: tuple[Group, ...]
    cells: tuple[Cell, ...]
    lines: tuple[Line, ...]
    labels: tuple[Label, ...]
    cards: tuple[Card, ...]
    pills: tuple[Cell, ...]
    samples: tuple[Sample, ...]
    dots: tuple[Dot, ...]
    texts: tuple[Text, ...]


class Body(NamedTuple):
    """The machines with their links, which is what the layouts differ in; header and legend are common to them."""

    bottom: float
    cards: tuple[Card, ...] = ()
    groups: tuple[Group, ...] = ()
    lines: tuple[Line, ...] = ()
    cells: tuple[Cell, ...] = ()
    texts: tuple[Text, ...] = ()


def fitted(
    at: Point,
    text: str,
    size: float,
    style: str,
    room: float,
    *,
    anchor: Anchor = "start",
    bold: bool = False,
    smallest: float = 1.0,
) -> Text:
    """The text in at most `room`: a little smaller (down to a part of its size) if that helps, else cut."""
    needed = ems(text, bold=bold) * size
    if needed > room:
        size = int(size * max(smallest, room / needed) * 10) / 10
    shown = cut_to_ems(text, room / size, bold=bold)
    return Text(at, shown, size, style, anchor, bold, text if shown != text else "")


def straight(link: Link, one: Box, other: Box) -> Line:
    return Line(link, one.edge(other.centre), other.edge(one.centre))


def around(boxes: Iterable[Box], *, sides: float, above: float, below: float) -> Box:
    every = list(boxes)
    x, y = min(box.x for box in every) - sides, min(box.y for box in every) - above
    right, bottom = max(box.right for box in every) + sides, max(box.bottom for box in every) + below
    return Box(x, y, right - x, bottom - y)

"""A lab as a picture for a README or a browser: one SVG file, without scripts, fonts or anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.lab.graph.geometry import Box, Card, Cell, Dot, Label, Layout, Line, Point, Text
from tortie.lab.graph.layout import arrange
from tortie.lab.graph.picture import LabView, NodeView, count, overall, printable
from tortie.lab.graph.style import sheet
from tortie.lab.graph.words import Words, link_told, nodes_told, phase_told, sessions_told, words_of

# The more sessions are up, the fainter each is drawn; together they are a tint, and what is broken stands out.
_FAINTNESS: Final = ((10, 0.8), (28, 0.6), (70, 0.42), (150, 0.3))
_FAINTEST: Final = 0.22
_HEAD: Final = 9.0


def svg(view: LabView, *, language: str = "en") -> str:
    view, words = printable(view), words_of(language)
    return "".join(f"{line}\n" for line in _document(view, arrange(view, words), words))


def _document(view: LabView, layout: Layout, words: Words) -> Iterator[str]:
    size = f"{_n(layout.width)} {_n(layout.height)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{_n(layout.width)}" '
        f'height="{_n(layout.height)}" role="img" aria-labelledby="title desc" xml:lang="{words.lang}">'
    )
    yield f'<title id="title">{_escaped(words.lab.format(name=view.name))}</title>'
    yield f'<desc id="desc">{_escaped(_described(view, words))}</desc>'
    yield f"<style>\n{_escaped(sheet())}</style>"
    yield f'<rect class="canvas" width="{_n(layout.width)}" height="{_n(layout.height)}" rx="10"/>'
    for group in layout.groups:
        yield _rect(group.box, "group", 12)
        yield _text(group.title)
    yield from (_cell(cell) for cell in layout.cells)
    yield from _links(layout.lines, words)
    yield from (_label(label) for label in layout.labels)
    yield from (_card(card, words) for card in layout.cards)
    yield from (_rect(pill.box, pill.style, pill.box.height / 2) for pill in layout.pills)
    for sample in layout.samples:
        yield f'<path class="sample {sample.state}" d="{_path(sample.start, sample.end)}"/>'
    yield from (_dot(dot) for dot in layout.dots)
    yield from (_text(text) for text in layout.texts)
    yield "</svg>"


def _described(view: LabView, words: Words) -> str:
    told = (words.overall[overall(view)], nodes_told(words, count(view)), *sessions_told(words, view))
    return " · ".join(told)


def _links(lines: tuple[Line, ...], words: Words) -> Iterator[str]:
    up = [line for line in lines if line.link.state == "up"]
    if up:
        strength = next((strength for most, strength in _FAINTNESS if len(up) <= most), _FAINTEST)
        yield f'<g stroke-opacity="{strength}">'
        yield from (_link(line, words) for line in up)
        yield "</g>"
    for line in lines:
        if line.link.state != "up":
            yield _link(line, words)
        if line.link.state == "one-sided":
            yield _head(line)


def _link(line: Line, words: Words) -> str:
    path = _path(line.start, line.end, line.bend)
    return f'<path class="link {line.link.state}" d="{path}">{_title(link_told(words, line.link))}</path>'


def _head(line: Line) -> str:
    """An arrow's head at the end, in the direction of the line's last piece."""
    tip, before = line.end, line.at(0.96)
    dx, dy = tip.x - before.x, tip.y - before.y
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    dx, dy = dx / length * _HEAD, dy / length * _HEAD
    left = Point(tip.x - dx - dy / 2, tip.y - dy + dx / 2)
    right = Point(tip.x - dx + dy / 2, tip.y - dy - dx / 2)
    return f'<path class="head" d="M{_at(tip)}L{_at(left)}L{_at(right)}Z"/>'


def _label(label: Label) -> str:
    return f"<g>{_rect(label.box, f'ground {label.state}', label.box.height / 2)}{_text(label.text)}</g>"


def _card(card: Card, words: Words) -> str:
    """The shadow is a second box; filters are not known everywhere."""
    box, radius = card.box, 9 if card.box.height > 40 else 6
    style = f"card {card.node.standing}" if card.node.role == "node" else f"card other {card.node.standing}"
    parts = [_rect(Box(box.x, box.y + 2, box.width, box.height), "shadow", radius), _rect(box, style, radius)]
    parts += [_dot(card.dot)] if card.dot else []
    parts += [_icon(card.node, card.icon)] if card.icon else []
    parts += [_text(text) for text in card.texts]
    return f"<g>{_title(_machine_told(card.node, words))}{''.join(parts)}</g>"


def _machine_told(node: NodeView, words: Words) -> str:
    told = (node.name, node.address, node.rack, words.standing[node.standing], phase_told(words, node.phase), node.note)
    return " · ".join(each for each in told if each)


def _icon(node: NodeView, box: Box) -> str:
    """A drum for a store, a crossing for a router, a globe for whoever is outside."""
    x, y, side = box.x, box.y, box.width
    if node.role == "store":
        drop, rim = side * 0.3, y + side * 0.2
        lid = f"M{_n(x)} {_n(rim)}c0 {_n(-drop)} {_n(side)} {_n(-drop)} {_n(side)} 0"
        front = f"c0 {_n(drop)} {_n(-side)} {_n(drop)} {_n(-side)} 0"
        body = f"v{_n(side * 0.6)}c0 {_n(drop)} {_n(side)} {_n(drop)} {_n(side)} 0v{_n(-side * 0.6)}"
        return f'<path class="icon" d="{lid}{front}{body}"/>'
    middle = box.centre
    ring = f'<circle class="icon" cx="{_n(middle.x)}" cy="{_n(middle.y)}" r="{_n(side / 2)}"/>'
    if node.role == "peer":
        across = f"M{_n(x)} {_n(middle.y)}h{_n(side)}M{_n(middle.x)} {_n(y)}v{_n(side)}"
    else:
        arm = side * 0.3
        across = (
            f"M{_n(middle.x - arm)} {_n(middle.y - arm)}l{_n(2 * arm)} {_n(2 * arm)}"
            f"M{_n(middle.x - arm)} {_n(middle.y + arm)}l{_n(2 * arm)} {_n(-2 * arm)}"
        )
    return f'{ring}<path class="icon" d="{across}"/>'


def _cell(cell: Cell) -> str:
    box = cell.box
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    if not cell.full:
        return f'<rect class="{cell.style}" {place}/>'
    return f'<rect class="{cell.style}" {place}>{_title(cell.full)}</rect>'


def _dot(dot: Dot) -> str:
    return f'<circle class="{dot.style}" cx="{_n(dot.at.x)}" cy="{_n(dot.at.y)}" r="{_n(dot.radius)}"/>'


def _rect(box: Box, style: str, radius: float) -> str:
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    return f'<rect class="{style}" {place} rx="{_n(radius)}"/>'


def _text(text: Text) -> str:
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    style = f"{text.style} bold" if text.bold else text.style
    return (
        f'<text class="{style}" x="{_n(text.at.x)}" y="{_n(text.at.y)}" font-size="{_n(text.size)}"{anchor}>'
        f"{_escaped(text.text)}{_title(text.full)}</text>"
    )


def _title(text: str) -> str:
    return f"<title>{_escaped(text)}</title>" if text else ""


def _path(start: Point, end: Point, bend: Point | None = None) -> str:
    return f"M{_at(start)}Q{_at(bend)} {_at(end)}" if bend else f"M{_at(start)}L{_at(end)}"


def _at(point: Point) -> str:
    return f"{_n(point.x)} {_n(point.y)}"


def _n(value: float) -> str:
    """A number as short as a tenth of a pixel allows."""
    return f"{round(value, 1) + 0.0:g}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

"""Where everything of a picture stands. A value, so that tests can measure it; `tortie.lab.graph.svg` only draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tortie.lab.graph.cards import SMALL, rows
from tortie.lab.graph.clusters import clusters
from tortie.lab.graph.folding import Bundle, bundles
from tortie.lab.graph.geometry import (
    MARGIN,
    WIDTH,
    Body,
    Box,
    Cell,
    Dot,
    Group,
    Layout,
    Point,
    Sample,
    Text,
    around,
    fitted,
)
from tortie.lab.graph.heatmap import heatmap
from tortie.lab.graph.labels import labels
from tortie.lab.graph.picture import (
    LabView,
    Link,
    NodeView,
    SessionState,
    Standing,
    broken,
    count,
    links,
    others,
    overall,
    racks,
)
from tortie.lab.graph.ring import RING_MAX, ring
from tortie.lab.graph.words import Words, link_told, listed, nodes_told, phase_told, sessions_told
from tortie.model.measure import ems

_TOP: Final = 104.0
_TROUBLES_MAX: Final = 8
_ABOVE_STRIP: Final = 36.0
_ROOM: Final = WIDTH - 2 * MARGIN


def arrange(view: LabView, words: Words) -> Layout:
    """The picture of a view whose texts are printable already."""
    linked = links(view)
    speakers = {end for link in linked for end in (link.a, link.b)}
    with_sessions = tuple(node for node in others(view) if node.name in speakers)
    without = tuple(node for node in others(view) if node.name not in speakers)
    beside = without if any(node.role == "store" for node in others(view)) else (*_embedded(view), *without)
    body = _body(view, with_sessions, beside, words)
    bottom = body.bottom
    troubles = tuple(_troubles(view, words, bottom + 44.0))
    bottom = max([bottom, *(text.at.y for text in troubles)])
    samples, dots, legend = _legend(view, words, bottom + 44.0)
    pill, header = _header(view, words)
    order: dict[SessionState, int] = {"up": 0, "one-sided": 1, "down": 2}
    return Layout(
        width=WIDTH,
        height=bottom + 68.0,
        groups=body.groups,
        cells=body.cells,
        lines=tuple(sorted(body.lines, key=lambda line: order[line.link.state])),
        labels=labels(body.lines, body.cards, words),
        cards=body.cards,
        pills=(pill,),
        samples=samples,
        dots=dots,
        texts=(*header, *body.texts, *troubles, *legend),
    )


def _body(view: LabView, speaking: Sequence[NodeView], beside: Sequence[NodeView], words: Words) -> Body:
    """`speaking` are machines with sessions that are no nodes, `beside` those without sessions."""
    grouped, linked = racks(view), links(view)
    machines = (*(node for rack in grouped for node in rack.nodes), *speaking)
    if len(machines) > RING_MAX:
        return heatmap(grouped, speaking, beside, linked, _TOP, words)
    if len(grouped) > 1:
        body = clusters(grouped, speaking, linked, _TOP, words)
    else:
        body = _ringed(grouped[0].name if grouped else "", machines, linked, words)
    strip = rows(beside, body.bottom + _ABOVE_STRIP, SMALL, words)
    bottom = max([body.bottom, *(each.box.bottom for each in strip)])
    return body._replace(cards=body.cards + strip, bottom=bottom)


def _ringed(name: str, machines: Sequence[NodeView], linked: Sequence[Link], words: Words) -> Body:
    """All nodes on one ring, in a box if their only rack has a name."""
    body = ring(machines, linked, _TOP + (30.0 if name else 0.0), words)
    if not name:
        return body
    box = around((each.box for each in body.cards), sides=10.0, above=30.0, below=14.0)
    title = fitted(Point(box.x + 14, box.y + 20), name, 12.5, "rack", box.width - 28, bold=True)
    return body._replace(groups=(Group(name, box, title),), bottom=box.bottom)


def _embedded(view: LabView) -> tuple[NodeView, ...]:
    """A store that is no machine of the lab, but a file that all nodes share."""
    return (NodeView(view.store, "", "", None, "", role="store"),) if view.store else ()


def _header(view: LabView, words: Words) -> tuple[Cell, tuple[Text, ...]]:
    state = overall(view)
    size, verdict = 12.5, words.overall[state]
    width = ems(verdict, bold=True) * size + 28
    box = Box(WIDTH - MARGIN - width, 24, width, 26)
    name = fitted(Point(MARGIN, 44), words.lab.format(name=view.name), 21, "title", _ROOM - width - 20, bold=True)
    sentence = " · ".join((nodes_told(words, count(view)), *sessions_told(words, view)))
    return Cell(box, f"pill {state}"), (
        name,
        Text(Point(box.centre.x, 41.5), verdict, size, f"verdict {state}", "middle", bold=True),
        fitted(Point(MARGIN, 68), sentence, 13, "muted", _ROOM),
    )


def _troubles(view: LabView, words: Words, top: float) -> Iterator[Text]:
    """What a reader should know before anything else: reasons of nodes, then sessions, as many as are read."""
    single, bundled = bundles(broken(view))
    reasons = [
        words.in_words.format(what=node.name, why=node.note or phase_told(words, node.phase))
        for node in view.nodes
        if node.standing == "not-ready"
    ]
    sentences = [
        *reasons,
        *(_bundle_told(each, words) for each in bundled),
        *(link_told(words, link) for link in single),
    ]
    if not sentences:
        return
    shown = sentences if len(sentences) <= _TROUBLES_MAX else sentences[: _TROUBLES_MAX - 1]
    if len(sentences) > len(shown):
        shown = [*shown, words.and_more.format(more=len(sentences) - len(shown))]
    yield Text(Point(MARGIN, top), words.troubles, 13, "heading", bold=True)
    for row, sentence in enumerate(shown, 1):
        yield fitted(Point(MARGIN, top + 4 + 19 * row), sentence, 12, "trouble", _ROOM)


def _bundle_told(bundle: Bundle, words: Words) -> str:
    between = words.between.format(a=bundle.hub, b=", ".join(bundle.others))
    return words.in_words.format(what=between, why=listed(words, words.state[bundle.state], bundle.detail))


def _legend(view: LabView, words: Words, top: float) -> tuple[tuple[Sample, ...], tuple[Dot, ...], tuple[Text, ...]]:
    """Every sign with how often it stands in the picture, in one row."""
    counts = count(view)
    nodes: list[tuple[Standing, int]] = [
        ("ready", counts.ready),
        ("not-ready", counts.not_ready),
        ("starting", counts.starting),
    ]
    sessions: list[tuple[SessionState, int]] = [
        ("up", counts.up),
        ("down", counts.down),
        ("one-sided", counts.one_sided),
    ]
    size, x = 12.0, MARGIN
    samples, dots, texts = [], [], []
    for standing, number in nodes:
        dots.append(Dot(Point(x + 5, top - 4), 4.5, f"dot {standing}"))
        texts.append(Text(Point(x + 15, top), f"{number} {words.standing[standing]}", size, "muted"))
        x = texts[-1].box.right + 20
    x += 12
    for state, number in sessions:
        samples.append(Sample(Point(x, top - 4), Point(x + 26, top - 4), state))
        texts.append(Text(Point(x + 33, top), f"{number} {words.state[state]}", size, "muted"))
        x = texts[-1].box.right + 20
    return tuple(samples), tuple(dots), tuple(texts)

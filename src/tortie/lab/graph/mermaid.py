"""A lab as a Mermaid flowchart, which GitHub and GitLab draw where they find it in a Markdown file.

Names never stand where Mermaid reads its own words: machines and racks have ids of ours, and labels are quoted with
every unusual character written as an entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tortie.lab.graph.picture import (
    LabView,
    Link,
    NodeView,
    Role,
    SessionState,
    Standing,
    everyone,
    others,
    printable,
    racks,
)
from tortie.lab.graph.selection import Drawn, note_told, title_told, to_draw
from tortie.lab.graph.style import LIGHT
from tortie.model.measure import cut_to_columns

_BRACKETS: Final[dict[Role, tuple[str, str]]] = {
    "node": ("(", ")"),
    "store": ("[(", ")]"),
    "router": ("{{", "}}"),
    "peer": ("([", "])"),
}
_STROKE: Final[dict[SessionState, str]] = {
    "up": f"stroke:{LIGHT.up},stroke-width:1.5px",
    "one-sided": f"stroke:{LIGHT.warn},stroke-width:2px",
    "down": f"stroke:{LIGHT.down},stroke-width:2px",
}
_CLASSES: Final = (
    f"classDef ready fill:{LIGHT.up_fill},stroke:{LIGHT.up},color:{LIGHT.text}",
    f"classDef notReady fill:{LIGHT.down_fill},stroke:{LIGHT.down},color:{LIGHT.text}",
    f"classDef starting fill:{LIGHT.warn_fill},stroke:{LIGHT.warn},color:{LIGHT.text}",
    f"classDef unknown fill:{LIGHT.rack},stroke:{LIGHT.muted},color:{LIGHT.text}",
)
_CLASS: Final[dict[Standing, str]] = {
    "ready": "ready",
    "not-ready": "notReady",
    "starting": "starting",
    "unknown": "unknown",
}
_LABEL_COLUMNS: Final = 60
_UNESCAPED: Final = frozenset(" .,/-_:…")


def mermaid(view: LabView) -> str:
    view = printable(view)
    drawn = to_draw(view)
    ids = {node.name: f"n{index}" for index, node in enumerate(everyone(view))}
    lines = ["---", f"title: {_yaml(title_told(view))}", "---", "flowchart TB"]
    for index, rack in enumerate(racks(view)):
        lines += _group(f"r{index}", rack.name, (_box(ids[node.name], node) for node in rack.nodes))
    stores = [_box(ids[node.name], node) for node in others(view) if node.role == "store"]
    lines += _group("stores", f"store {view.store}", stores) if stores else []
    lines += [f"  {_box(ids[node.name], node)}" for node in others(view) if node.role != "store"]
    if drawn.condensed:
        lines.append(f'  mesh["{_lines(note_told(view, drawn))}"]:::unknown')
    lines += [f"  {_edge(ids, link)}" for link in drawn.links]
    lines += [f"  {line}" for line in (*_link_styles(drawn), *_CLASSES)]
    return "".join(f"{line}\n" for line in lines)


def _group(identity: str, title: str, boxes: Iterable[str]) -> Iterator[str]:
    if not title:
        yield from (f"  {box}" for box in boxes)
        return
    yield f'  subgraph {identity}["{_lines([title])}"]'
    yield from (f"    {box}" for box in boxes)
    yield "  end"


def _box(identity: str, node: NodeView) -> str:
    why = node.reason if node.standing in ("not-ready", "starting") else ""
    left, right = _BRACKETS[node.role]
    return f'{identity}{left}"{_lines([node.name, node.address, why])}"{right}:::{_CLASS[node.standing]}'


def _edge(ids: dict[str, str], link: Link) -> str:
    if link.state == "up":
        return f"{ids[link.a]} --- {ids[link.b]}"
    told = f"{link.state}: {link.detail}" if link.detail else link.state
    arrow = "-.->" if link.state == "one-sided" else "-.-"
    return f'{ids[link.a]} {arrow}|"{_lines([told])}"| {ids[link.b]}'


def _link_styles(drawn: Drawn) -> Iterator[str]:
    for state, stroke in _STROKE.items():
        numbers = ",".join(str(number) for number, link in enumerate(drawn.links) if link.state == state)
        if numbers:
            yield f"linkStyle {numbers} {stroke}"


def _lines(texts: Iterable[str]) -> str:
    return "<br/>".join(_escaped(cut_to_columns(text, _LABEL_COLUMNS)) for text in texts if text)


def _escaped(text: str) -> str:
    """Letters and digits of any script stay; what Mermaid, Markdown or HTML might read as theirs becomes a number."""
    return "".join(char if char.isalnum() or char in _UNESCAPED else f"#{ord(char)};" for char in text)


def _yaml(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'

"""A lab for Graphviz: `tortie lab graph -o dot | dot -Tpng`. Racks are clusters, sessions are undirected edges."""

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
from tortie.lab.graph.selection import note_told, title_told, to_draw
from tortie.lab.graph.style import LIGHT
from tortie.model.measure import wrapped

_FILL: Final[dict[Standing, tuple[str, str]]] = {
    "ready": (LIGHT.up_fill, LIGHT.up),
    "not-ready": (LIGHT.down_fill, LIGHT.down),
    "starting": (LIGHT.warn_fill, LIGHT.warn),
    "unknown": (LIGHT.rack, LIGHT.muted),
}
_SHAPE: Final[dict[Role, str]] = {"node": "box", "store": "cylinder", "router": "hexagon", "peer": "ellipse"}
_EDGE: Final[dict[SessionState, str]] = {
    "up": f'color="{LIGHT.up}"',
    "one-sided": f'color="{LIGHT.warn}", style="dashed", penwidth="2", dir="forward"',
    "down": f'color="{LIGHT.down}", style="dashed", penwidth="2"',
}
_LABEL_COLUMNS: Final = 32
_LABEL_LINES_MAX: Final = 3
_TITLE_COLUMNS: Final = 100
_DEFAULTS: Final = (
    'node [fontname="sans-serif", fontsize="11", style="filled,rounded"]',
    'edge [fontname="sans-serif", fontsize="9"]',
)


def dot(view: LabView) -> str:
    view = printable(view)
    drawn = to_draw(view)
    groups, ids = racks(view), {node.name: f"n{index}" for index, node in enumerate(everyone(view))}
    # A ring shows a small mesh best; racks need a layout that knows clusters, many nodes one that spreads them.
    layout = "fdp" if drawn.condensed or any(rack.name for rack in groups) else "circo"
    lines = [f"graph {_quoted(view.name)} {{", f'  layout="{layout}"', '  overlap="false"', '  splines="true"']
    lines += [f'  fontname="sans-serif"\n  labelloc="t"\n  label={_label([title_told(view)], columns=_TITLE_COLUMNS)}']
    lines += [f"  {line}" for line in _DEFAULTS]
    for index, rack in enumerate(groups):
        lines += _group(f"cluster_rack{index}", rack.name, (_machine(ids[node.name], node) for node in rack.nodes))
    stores = [_machine(ids[node.name], node) for node in others(view) if node.role == "store"]
    lines += _group("cluster_store", f"store {view.store}", stores) if stores else []
    lines += [f"  {_machine(ids[node.name], node)}" for node in others(view) if node.role != "store"]
    if drawn.condensed:
        note = _label(note_told(view, drawn), columns=_TITLE_COLUMNS)
        lines.append(f'  mesh [shape="note", style="filled", fillcolor="{LIGHT.rack}", label={note}]')
    lines += [f"  {_edge(ids, link)}" for link in drawn.links]
    return "".join(f"{line}\n" for line in (*lines, "}"))


def _group(identity: str, title: str, machines: Iterable[str]) -> Iterator[str]:
    if not title:
        yield from (f"  {machine}" for machine in machines)
        return
    yield f"  subgraph {identity} {{"
    yield f'    style="rounded,filled"; color="{LIGHT.rack_edge}"; fillcolor="{LIGHT.rack}"; label={_label([title])}'
    yield from (f"    {machine}" for machine in machines)
    yield "  }"


def _machine(identity: str, node: NodeView) -> str:
    fill, edge = _FILL[node.standing]
    why = node.reason if node.standing in ("not-ready", "starting") else ""
    label = _label([node.name, node.address, why])
    return f'{identity} [shape="{_SHAPE[node.role]}", fillcolor="{fill}", color="{edge}", label={label}]'


def _edge(ids: dict[str, str], link: Link) -> str:
    label = f", label={_label([link.detail or link.state])}" if link.state != "up" else ""
    return f"{ids[link.a]} -- {ids[link.b]} [{_EDGE[link.state]}{label}]"


def _label(texts: Iterable[str], *, columns: int = _LABEL_COLUMNS) -> str:
    """Lines of text as Graphviz reads them in a label, where entities and backslashes have a meaning of their own."""
    lines = (line for text in texts for line in wrapped(text, columns, _LABEL_LINES_MAX))
    return '"' + "\\n".join(_escaped(line.replace("&", "&amp;")) for line in lines) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')

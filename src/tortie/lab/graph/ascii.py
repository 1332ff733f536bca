"""A lab in a terminal: racks as boxes, nodes with their state, the mesh in one sentence, and what of it is missing.

Only the marks and the lines of the boxes are not ASCII; every terminal of these days has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from tortie.lab.graph.folding import Part, bundles, folded
from tortie.lab.graph.picture import (
    LabView,
    Link,
    NodeView,
    Role,
    Standing,
    agents,
    broken,
    count,
    links,
    others,
    printable,
    racks,
)
from tortie.lab.graph.words import Words, nodes_told, phase_told, sessions_told, words_of
from tortie.model.measure import columns, cut_to_columns, padded, wrapped

_MARK: Final[dict[Standing, str]] = {"ready": "✓", "not-ready": "✗", "starting": "…", "unknown": "·"}
_SIGN: Final = {"up": "✓", "down": "✗", "one-sided": "!", "": "·"}
_SURROUNDINGS: Final[tuple[Role, ...]] = ("store", "router", "peer")
_BETWEEN: Final[dict[Part, str]] = {"down": "──✗──", "sees": "──!─→", "misses": "←─!──"}
_NARROWEST: Final = 40
_MATRIX_MAX: Final = 6  # nodes; a larger mesh is told by its sentence and by what is missing
_REASON_LINES_MAX: Final = 3
_LINE_EACH_MAX: Final = 8  # nodes of a box; more of them share lines


def ascii(view: LabView, *, language: str = "en", width: int = 80) -> str:
    """The picture, no line of it wider than `width` columns (but at least 40)."""
    view, words, width = printable(view), words_of(language), max(width, _NARROWEST)
    boxes = [_boxed(rack.name, _nodes(rack.nodes, words, width - 4), width) for rack in racks(view)]
    for role in _SURROUNDINGS:
        found = tuple(node for node in others(view) if node.role == role)
        if found:
            title = f"{words.role[role]} {view.store}".strip() if role == "store" else words.role[role]
            boxes.append(_boxed(title, _nodes(found, words, width - 4), width))
    lines = [_header(view, words, width), *_beside_each_other(boxes, width)]
    lines += ["", *(cut_to_columns(sentence, width) for sentence in sessions_told(words, view))]
    if 1 < len(agents(view)) <= _MATRIX_MAX and view.sessions:
        lines += ["", *_matrix(view, width)]
    missing = list(_missing(view, words, width))
    lines += ["", *missing] if missing else []
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _header(view: LabView, words: Words, width: int) -> str:
    rest = [nodes_told(words, count(view))]
    if view.store and not any(node.role == "store" for node in view.nodes):
        rest.insert(0, f"{words.role['store']} {view.store}")
    told = "".join(f" · {each}" for each in rest)
    lab = cut_to_columns(words.lab.format(name=view.name), max(width - columns(told), width // 3))
    return cut_to_columns(lab + told, width)


def _boxed(title: str, lines: Sequence[str], width: int) -> list[str]:
    """A box as wide as it has to be; a group without a name needs none."""
    if not title:
        return [f"  {line}" for line in lines]
    title = cut_to_columns(title, width - 6)
    inner = max([columns(title) + 2, *(columns(line) for line in lines)])
    top = f"┌─ {title} {'─' * (inner - columns(title) - 1)}┐"
    return [top, *(f"│ {padded(line, inner)} │" for line in lines), f"└{'─' * (inner + 2)}┘"]


def _beside_each_other(boxes: Sequence[list[str]], width: int) -> Iterator[str]:
    """As many boxes in a row as fit, the shorter ones filled up from below."""
    row: list[list[str]] = []
    for box in [*boxes, None]:
        if row and (box is None or sum(map(_breadth, row)) + 2 * len(row) + _breadth(box) > width):
            yield ""
            for parts in zip_longest(*row, fillvalue=""):
                yield "  ".join(padded(part, _breadth(each)) for part, each in zip(parts, row, strict=True))
            row = []
        row += [box] if box else []


def _breadth(box: Sequence[str]) -> int:
    return max(map(columns, box), default=0)


def _nodes(nodes: Sequence[NodeView], words: Words, width: int) -> list[str]:
    """A line for each node; with many of them several share a line, and reasons are told below."""
    cells = _cells(nodes, width)
    if len(nodes) <= _LINE_EACH_MAX:
        told = (_told(node, words) for node in nodes)
        return [line for cell, why in zip(cells, told, strict=True) for line in _explained(f"{cell}  ", why, width)]
    across = max(1, (width + 3) // (columns(cells[0]) + 3))
    rows = ["   ".join(cells[start : start + across]) for start in range(0, len(cells), across)]
    for node in nodes:
        if node.standing in ("not-ready", "starting"):
            what = cut_to_columns(f"{_MARK[node.standing]} {node.name}", width // 2)
            rows += _explained(words.in_words.format(what=what, why=""), _told(node, words), width)
    return rows


def _cells(nodes: Sequence[NodeView], width: int) -> list[str]:
    names = [cut_to_columns(node.name, width // 3) for node in nodes]
    addresses = [cut_to_columns(node.address, width // 3) for node in nodes]
    name_room, address_room = max(map(columns, names)), max(map(columns, addresses))
    return [
        f"{_MARK[node.standing]} {padded(name, name_room)}  {padded(address, address_room)}"
        for node, name, address in zip(nodes, names, addresses, strict=True)
    ]


def _told(node: NodeView, words: Words) -> str:
    if node.standing == "not-ready":
        return node.note or phase_told(words, node.phase) or words.standing["not-ready"]
    if node.standing == "starting" and node.reason not in ("", "starting"):
        return words.in_words.format(what=words.standing["starting"], why=node.note or phase_told(words, node.phase))
    return words.standing[node.standing] if node.role == "node" else phase_told(words, node.phase)


def _explained(start: str, why: str, width: int) -> Iterator[str]:
    """A reason after what it belongs to, continued below its beginning."""
    margin = columns(start)
    for index, line in enumerate(wrapped(why, width - margin, _REASON_LINES_MAX) or [""]):
        yield ((" " * margin if index else start) + line).rstrip()


def _matrix(view: LabView, width: int) -> Iterator[str]:
    """A staircase: every node has a row and, under the beginning of its name, a column."""
    names = [node.name for node in agents(view)]
    state = {frozenset((link.a, link.b)): link.state for link in links(view)}
    for row, name in enumerate(names):
        signs = (_SIGN[state.get(frozenset((name, other)), "")] for other in names[:row])
        steps = "".join(f" {sign}  " for sign in signs)
        yield "  " + steps + cut_to_columns(name, width - 2 - len(steps))


def _missing(view: LabView, words: Words, width: int) -> Iterator[str]:
    """Every session that is not up, between its two ends; those that one node misses with many others on one line."""
    single, bundled = bundles(broken(view))
    for bundle in bundled:
        hub = cut_to_columns(bundle.hub, width // 4)
        *lines, last = folded(f"{hub} {_BETWEEN[bundle.part]} ", bundle.others, width)
        yield from lines
        why = bundle.detail or words.state[bundle.state]
        if columns(last) + 2 + columns(why) <= width:
            yield f"{last}  {why}"
        else:
            yield last
            yield cut_to_columns(f"  {why}", width)
    left = [cut_to_columns(link.a, width // 4) for link in single]
    right = [cut_to_columns(link.b, width // 4) for link in single]
    left_room, right_room = (max(map(columns, ends), default=0) for ends in (left, right))
    for link, a, b in zip(single, left, right, strict=True):
        between = _BETWEEN["down" if link.state == "down" else "sees"]
        line = f"{padded(a, left_room)} {between} {padded(b, right_room)}  {_why(link, words)}"
        yield cut_to_columns(line, width)


def _why(link: Link, words: Words) -> str:
    if link.state == "one-sided":
        only = words.only_sees.format(a=link.a)
        return words.in_words.format(what=only, why=link.detail) if link.detail else only
    return link.detail or words.state["down"]

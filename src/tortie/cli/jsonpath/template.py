"""A compiled template: paths as chains of steps, each of which turns the nodes found so far into the next ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

Node = Any  # decoded JSON
Nodes = list[Node]

_ORDERS: Final[dict[str, Callable[[Node, Node], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Key(NamedTuple):
    """`.name` or `['name']`. kubectl reads `['a.b']` as the path a, b: `parts` has that, for want of such a key."""

    name: str
    parts: tuple[str, ...] = ()

    def select(self, nodes: Nodes, _root: Node) -> Nodes:
        return [found for node in nodes for found in self._below(node)]

    def _below(self, node: Node) -> Nodes:
        if isinstance(node, dict) and self.name in node:
            return [node[self.name]]
        for part in self.parts:
            if not isinstance(node, dict) or part not in node:
                return []
            node = node[part]
        return [node] if self.parts else []


class Every(NamedTuple):
    """`[*]` and `.*`: all elements of a list, all values of an object."""

    def select(self, nodes: Nodes, _root: Node) -> Nodes:
        return [child for node in nodes for child in _children(node)]


class Index(NamedTuple):
    """`[0]`, `[-1]`."""

    at: int

    def select(self, nodes: Nodes, _root: Node) -> Nodes:
        return [node[self.at] for node in nodes if isinstance(node, list) and -len(node) <= self.at < len(node)]


class Slice(NamedTuple):
    """`[1:3]`, `[::2]`."""

    start: int | None
    stop: int | None
    step: int | None

    def select(self, nodes: Nodes, _root: Node) -> Nodes:
        part = slice(self.start, self.stop, self.step)
        return [child for node in nodes if isinstance(node, list) for child in node[part]]


class Descend(NamedTuple):
    """`..`: the node and every object and list below it, for the next step to look into."""

    def select(self, nodes: Nodes, _root: Node) -> Nodes:
        return [below for node in nodes for below in _containers(node)]


class Union(NamedTuple):
    """`[0,2]`, `['a','b']`: all that the first finds, then all that the second finds."""

    branches: tuple[Step, ...]

    def select(self, nodes: Nodes, root: Node) -> Nodes:
        return [found for branch in self.branches for found in branch.select(nodes, root)]


class Filter(NamedTuple):
    """`[?(@.a=="b")]`: the elements for which it holds; without a relation, those where the path finds something."""

    left: Path | Literal
    relation: str = ""
    right: Path | Literal | None = None

    def select(self, nodes: Nodes, root: Node) -> Nodes:
        return [child for node in nodes if isinstance(node, list) for child in node if self._holds(child, root)]

    def _holds(self, node: Node, root: Node) -> bool:
        left = self.left.find(node, root)
        if self.right is None:
            return bool(left)
        right = self.right.find(node, root)
        return len(left) == len(right) == 1 and _compare(left[0], self.relation, right[0])


Step = Key | Every | Index | Slice | Descend | Union | Filter


class Path(NamedTuple):
    from_root: bool
    steps: tuple[Step, ...]

    def find(self, current: Node, root: Node) -> Nodes:
        nodes = [root if self.from_root else current]
        for step in self.steps:
            nodes = step.select(nodes, root)
        return nodes


class Literal(NamedTuple):
    """Text to copy, or the value that a filter compares with."""

    value: str | float | bool

    def find(self, _current: Node, _root: Node) -> Nodes:
        return [self.value]


class Range(NamedTuple):
    """`{range path}…{end}`: the body once for each node the path finds."""

    path: Path
    body: tuple[Piece, ...]


Piece = Literal | Path | Range


class Template(NamedTuple):
    pieces: tuple[Piece, ...]

    def render(self, document: Node) -> str:
        return "".join(_render(self.pieces, document, document))


def _render(pieces: tuple[Piece, ...], current: Node, root: Node) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, Range):
            for node in piece.path.find(current, root):
                yield from _render(piece.body, node, root)
        else:
            yield " ".join(map(_text, piece.find(current, root)))


def _text(node: Node) -> str:
    import json

    return node if isinstance(node, str) else json.dumps(node, separators=(",", ":"), ensure_ascii=False)


def _children(node: Node) -> Nodes:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _containers(node: Node) -> Iterator[Node]:
    """In the order of the document; by a list of its own, as documents may nest deeper than Python recurses."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, (dict, list)):
            yield node
            pending.extend(reversed(_children(node)))


def _compare(left: Node, relation: str, right: Node) -> bool:
    """Values of different types are unequal, and neither is the smaller one."""
    kind = _type(left)
    if kind is not _type(right):
        return relation == "!="
    if relation in _ORDERS:
        return kind in (str, float) and _ORDERS[relation](left, right)
    return (left == right) is (relation == "==")


def _type(node: Node) -> type:
    return float if type(node) is int else type(node)

"""`kubectl describe` of resources that kubectl knows nothing of (TigeraStatus, Installation, IPPool ...).

It prints them field by field, names written as words (`Ip Pools`), items of a list one below the other. Turned back
into a document they are read as those are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.yaml_tree import Tree
from tortie.model.tuples import NamedTuple

_FIELD: Final = lazily(r"( {0,40})([A-Za-z][\w./ -]{0,80}?):(?: +(\S.*?))?\s*$")
_TOP: Final = ("API Version", "Kind")
# Lists that often have one item only, which then looks like a mapping.
_LISTS: Final = ("conditions", "ipPools", "subsets", "endpoints", "nodeAddressAutodetection")
_MOST: Final = 4_000  # lines
_DEEPEST: Final = 20


class _Line(NamedTuple):
    at: int
    indent: int
    key: str
    value: str


def described_resources(exhibit: Exhibit) -> Iterator[Fact]:
    starts = [i for i, line in enumerate(exhibit.lines) if line.startswith("Name:") and line[5:].strip()]
    for start, stop in pairwise([*starts, len(exhibit.lines)]):
        yield from _one(exhibit, start, min(stop, start + _MOST))


def _one(exhibit: Exhibit, start: int, stop: int) -> Iterator[Fact]:
    from tortie.doctor.reading.readers.resources import Where, facts

    lines = list(_lines(exhibit, start, stop))
    top = {line.key: line.value for line in lines if not line.indent}
    if not all(key in top for key in _TOP):
        return
    tree = Tree({}, {}, {})
    body, _ = _mapping(lines, 0, 0, tree, start, 0)
    whole: dict[str, object] = {
        "apiVersion": top["API Version"], "kind": top["Kind"],
        "metadata": {"name": top.get("Name", ""), "namespace": top.get("Namespace", "")},
        **{key: body[key] for key in ("spec", "status", "data") if key in body},
    }  # fmt: skip
    yield from facts(whole, Where(exhibit, tree, start, stop))


def _lines(exhibit: Exhibit, start: int, stop: int) -> Iterator[_Line]:
    for index in range(start, stop):
        line = exhibit.lines[index]
        if line.startswith("Events:"):
            return
        match = _FIELD.match(line)
        if match:
            yield _Line(index, len(match[1]), match[2], match[3] or "")
        elif line.strip():
            yield _Line(index, len(line) - len(line.lstrip()), "", line.strip())


def _mapping(
    lines: list[_Line], at: int, indent: int, tree: Tree, start: int, depth: int
) -> tuple[dict[str, object], int]:
    """Fields of one indentation; a name that comes again begins the next item of a list (see _items)."""
    body: dict[str, object] = {}
    first = last = lines[at].at - start if at < len(lines) else 0
    while at < len(lines) and lines[at].indent >= indent:
        line = lines[at]
        key = _camel(line.key) if line.key else ""
        if line.indent > indent or not key:
            at += 1  # the rest of a long value
            continue
        if key in body and depth:
            break
        at += 1
        value: object = line.value
        deeper = at < len(lines) and lines[at].indent > indent
        if not line.value and deeper and depth < _DEEPEST:
            value, at = _nested(lines, at, key, tree, start, depth + 1)
        last = lines[at - 1].at - start
        body[key] = value
        tree.keys[(id(body), key)] = (line.at - start, last)
    tree.lines[id(body)] = (first, last)
    return body, at


def _nested(lines: list[_Line], at: int, key: str, tree: Tree, start: int, depth: int) -> tuple[object, int]:
    indent = lines[at].indent
    if not lines[at].key:  # plain values, one in each line
        values: list[object] = []
        while at < len(lines) and lines[at].indent >= indent:
            values.append(lines[at].value)
            at += 1
        return values, at
    items: list[object] = []
    while at < len(lines) and lines[at].indent == indent:
        before = at
        item, at = _mapping(lines, at, indent, tree, start, depth)
        items.append(item)
        if at == before:
            break
    return (items if len(items) > 1 or key in _LISTS else items[0]), at


def _camel(words: str) -> str:
    """`Node Address Autodetection V 4` is nodeAddressAutodetectionV4."""
    first, *rest = words.split()
    return first[:1].lower() + first[1:] + "".join(rest) if rest or first[1:].islower() else first

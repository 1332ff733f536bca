"""What a template sees of a resource: structs with Go's field names, pointers, and what prints itself.

Texts, numbers, truth values, lists and maps are Python's own; None is Go's nil.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from tortie.model.kinds import API_VERSION, Kind
from tortie.model.wire import Document

_ZERO: Final[dict[str, Any]] = {"string": "", "bool": False, "float64": 0.0}


class Pointer(NamedTuple):
    """True unless it points to nothing, whatever it points to."""

    value: Any  # None: it points to nothing
    target: str


class Shown(str):
    """A struct that prints itself as a text: a time, a duration, a port, a protocol. Always true."""


class Place(NamedTuple):
    """Where a field is."""

    path: tuple[str, ...]
    type: str


class Struct:
    __slots__ = ("document", "name")

    def __init__(self, name: str, document: Document) -> None:
        self.name = name
        self.document = document

    def field(self, name: str) -> Any:
        """Raises KeyError for a name that neither Calico's struct nor the document has."""
        places = _places(self.name)
        place = places.get(name) or (places.get(name.removeprefix("Get")) if name.startswith("Get") else None)
        if place is None:
            return self.document[name]
        found: Any = self.document
        for part in place.path:
            found = found.get(part) if isinstance(found, dict) else None
        return typed(place.type, found)

    def names(self) -> list[str]:
        return list(_places(self.name))

    def own(self) -> Iterator[tuple[str, Any]]:
        """Its fields in Go's order, an embedded struct as one field."""
        for name, inside, kind in _rows(self.name):
            embedded = kind.lstrip("^")
            found = self.document if inside == "-" else self.document.get(inside)
            yield name, typed(embedded, found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and (self.name, self.document) == (other.name, other.document)

    __hash__ = None  # type: ignore[assignment]


def objects(kind: Kind | None, documents: list[Document], revision: str | None) -> list[Struct]:
    """What calicoctl gives a template: `revision` is that of a whole kind, which is one list object."""
    if revision is None or kind is None:
        return [Struct(str(document["kind"]), document) for document in documents]
    listed = {
        "kind": f"{kind.name}List",
        "apiVersion": API_VERSION,
        "metadata": {"resourceVersion": revision},
        "items": documents,
    }
    return [Struct(f"{kind.name}List", listed)]


def typed(kind: str, raw: Any) -> Any:
    """A value of a document as Go would hold it. What does not have its type is left as it is."""
    if kind[0] == "*":
        return Pointer(None if raw is None else typed(kind[1:], raw), kind[1:])
    if kind.startswith("[]"):
        return [typed(kind[2:], item) for item in raw] if isinstance(raw, list) else [] if raw is None else raw
    if kind.startswith("map["):
        return {} if raw is None else raw
    if kind[0] == "!":
        return _shown(kind[1:], raw)
    if kind in _table() or kind.endswith("List"):
        return Struct(kind, {} if raw is None else raw) if raw is None or isinstance(raw, dict) else raw
    if raw is None:
        return _ZERO.get(kind, 0)
    return float(raw) if kind == "float64" and isinstance(raw, int | float) else raw


def _shown(kind: str, raw: Any) -> Any:
    if kind == "Time":
        from tortie.cli.gotemplate.times import moment

        return Shown(moment(raw))
    if kind == "Duration":
        from tortie.cli.gotemplate.times import span

        return Shown(span(raw))
    return Shown("0" if raw is None else raw) if raw is None or isinstance(raw, str | int) else raw


@cache
def _table() -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    rows: list[tuple[str, str, str]] = []
    with open(__file__.removesuffix("values.py") + "fields.txt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("  "):
            name, inside, kind = line.split()
            rows.append((name, inside, kind))
        elif line and line[0] != "#":
            rows = found[line] = []
    return found


def _rows(struct: str) -> list[tuple[str, str, str]]:
    """The lists of all kinds look alike."""
    return _table().get(struct) or [
        ("TypeMeta", "-", "^TypeMeta"),
        ("ListMeta", "metadata", "^ListMeta"),
        ("Items", "items", f"[]{struct.removesuffix('List')}"),
    ]


@cache
def _places(struct: str) -> dict[str, Place]:
    """By Go's name and by YAML's; fields of embedded structs where no other field has the name."""
    found: dict[str, Place] = {}
    promoted: dict[str, Place] = {}
    for name, inside, kind in _rows(struct):
        path = () if inside == "-" else (inside,)
        place = Place(path, kind.lstrip("^"))
        found[name] = place
        if inside != "-":
            found[inside] = place
        if kind[0] == "^":
            for below, deeper, below_kind in _table()[place.type]:
                promoted[below] = Place((*path, deeper), below_kind)
                if inside == "-":
                    promoted[deeper] = promoted[below]
    return {**promoted, **found}

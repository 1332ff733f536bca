"""What a record may become under somebody's hands: no JSON, JSON of another shape, a field of another type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_DEPTHS = (300, 900, 5_000)  # what some readers take, what few take, and what none takes


def nested(depth: int, name: str = "a") -> str:
    return f'{{"{name}":' * depth + "1" + "}" * depth


_SHAPES: tuple[Any, ...] = (None, 5, "x", True, [], [1], [[1]], {})
WHOLE: tuple[bytes, ...] = (
    b"",
    b"no JSON",
    b"\xff\xfe",
    *(json.dumps(each).encode() for each in _SHAPES),
    *(json.dumps({part: each}).encode() for part in ("spec", "metadata") for each in _SHAPES),
    b'{"metadata":5,"spec":{}}',
    b'{"kind":5,"metadata":{"name":5},"spec":{}}',
    *(nested(depth).encode() for depth in _DEPTHS),
    *(b'{"spec":%b}' % nested(depth).encode() for depth in _DEPTHS),
    b"[" * 5_000,
)
FIELDS: tuple[Any, ...] = (None, 5, -1, 10**30, 0.5, True, "x", "", [], [1], [None], {}, {"a": [1]})


def damages(document: dict[str, Any]) -> Iterator[bytes]:
    """The whole of it first, then each of its parts, and a stranger in it."""
    yield from WHOLE
    for path in _paths(document):
        for wrong in FIELDS:
            yield json.dumps(_with(document, path, wrong)).encode()
    marked = json.dumps(_with(document, ("stranger",), "@"))
    for depth in _DEPTHS[:2]:
        yield marked.replace('"@"', nested(depth)).encode()


def _paths(part: Any, deepest: int = 4) -> Iterator[tuple[Any, ...]]:
    if deepest == 0 or not isinstance(part, dict | list):
        return
    # All entries of a list are of one kind, and so it is enough to spoil the first.
    for name in part if isinstance(part, dict) else range(min(len(part), 1)):
        yield (name,)
        yield from ((name, *rest) for rest in _paths(part[name], deepest - 1))


def _with(part: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = dict(part) if isinstance(part, dict) else list(part)
    inner = part[path[0]] if len(path) > 1 else None
    copied[path[0]] = _with(inner, path[1:], value)
    return copied

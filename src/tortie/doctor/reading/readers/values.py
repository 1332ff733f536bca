"""Small questions to parsed YAML and JSON, whose shape is never certain."""

from __future__ import annotations

from collections.abc import Iterator


def get(body: object, *path: str) -> object:
    for key in path:
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


def dicts(items: object) -> Iterator[dict[str, object]]:
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))


def text(value: object) -> str:
    """As a person writes it in YAML."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def number(value: str) -> int | None:
    return int(value) if value.isdecimal() and len(value) < 19 else None


def name_of(body: object) -> str:
    return text(get(body, "metadata", "name"))


def flat(body: object, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object, dict[str, object], str]]:
    """Leaves of a mapping: dotted name, value, and where it stands. Lists of plain values count as one value."""
    if not isinstance(body, dict) or depth > 12:
        return
    for key, value in body.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flat(value, f"{name}.", depth + 1)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for index, item in enumerate(value):
                yield from flat(item, f"{name}[{index}].", depth + 1)
        else:
            plain = ",".join(text(item) for item in value) if isinstance(value, list) else value
            yield name, plain, body, str(key)

"""What the table says of a field."""

from __future__ import annotations

from typing import Any

from tortie.model.effects.reasons import Reason
from tortie.model.tuples import NamedTuple


class Read(NamedTuple):
    """It does something."""

    by: str  # the module that reads it


class Data(NamedTuple):
    """It states something, and asks for nothing."""


class Nothing(NamedTuple):
    """It is stored, and nothing comes of it."""

    reason: Reason
    quiet: tuple[Any, ...] = ()  # values that ask for nothing, as documents have them


Entry = Read | Data | Nothing


def read_by(module: str, fields: str) -> dict[str, Entry]:
    return dict.fromkeys(fields.split(), Read(module))


def data(fields: str) -> dict[str, Entry]:
    return dict.fromkeys(fields.split(), Data())


def nothing(reason: Reason, *quiet: Any) -> Nothing:
    return Nothing(reason, quiet)


def all_nothing(reason: Reason, fields: str) -> dict[str, Entry]:
    """`fields` are words `field` or `field=value,value`: quiet values, as JSON where they are no plain words."""
    found: dict[str, Entry] = {}
    for word in fields.split():
        field, _, values = word.partition("=")
        found[field] = Nothing(reason, tuple(map(_value, values.split(","))) if values else ())
    return found


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text

"""Scalars of a file, each taken for what Calico's reader makes of it in the field where it stands.

A field of text takes `y` for "true" and 12 for "12", as calicoctl stores them; otherwise one file would mean two
things. A number that would come out as another text than was written (`1.10` as 1.1, `010` as 8) stays a number, and
is refused there: quotes say what is meant. Fields of choices take their words as they are, `Off` too, which calicoctl
refuses without quotes.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tortie.model.fields import DSCP, Choice, Duration, Port, Protocol
from tortie.model.kinds import BY_NAME
from tortie.model.resource import type_of
from tortie.model.scalars import Ambiguous
from tortie.model.shape import Field, Part, element_kind, fields_of
from tortie.model.wire import Document

# At most six digits that count: Calico's reader keeps no more of them exactly.
_AS_WRITTEN: Final = re.compile(r"-?(?=[0-9.]{3,7}$)(0|[1-9][0-9]*)\.[0-9]*[1-9]")
_SMALLEST_AS_WRITTEN: Final = 1e-4

_IN_64_BITS: Final = (-(1 << 63), (1 << 64) - 1)  # signed or not; anything else is a float to Calico's reader

# Types of text that take numbers too, or words that look like booleans.
_OWN_RULES: Final = (Port, Protocol, DSCP, Choice)


def settled(document: Document) -> Document:
    """Without any Ambiguous, if it is of a kind that we know; anything else will be refused."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in BY_NAME:
        return document
    return _settled(document, type_of(BY_NAME[kind]))


def _settled(raw: Document, part: type[Part]) -> Document:
    expected = fields_of(part)
    return {
        name: _field(value, expected[name]) if name in expected else unsettled(value) for name, value in raw.items()
    }


def _field(value: Any, field: Field) -> Any:
    kind = element_kind(field.kind)
    if field.many == "list" and isinstance(value, list):
        return [_one(item, field, kind) for item in value]
    if field.many == "map" and isinstance(value, dict):
        found = {key: _one(item, field, kind) for key, item in value.items()}
        return {key: "" if item is None else item for key, item in found.items()} if kind is str else found
    return _one(value, field, kind)


def _one(value: Any, field: Field, kind: Any) -> Any:
    if type(value) is str or value is None:
        return value
    if isinstance(value, dict):
        return _settled(value, field.part) if field.part else unsettled(value)
    if isinstance(value, list):
        return unsettled(value)
    if kind is str or (isinstance(kind, type) and issubclass(kind, str)):
        return _text(value, kind)
    if isinstance(value, Ambiguous) and kind in (bool, int, float):
        return value.meaning
    return unsettled(value)


def _text(value: Any, kind: type[str]) -> Any:
    if issubclass(kind, _OWN_RULES):
        return unsettled(value)
    meaning = value.meaning if isinstance(value, Ambiguous) else value
    if isinstance(meaning, bool):
        return "true" if meaning else "false"
    if not isinstance(value, Ambiguous):
        return value if issubclass(kind, Duration) or not _IN_64_BITS[0] <= value <= _IN_64_BITS[1] else str(value)
    return str(value) if _AS_WRITTEN.fullmatch(value) and abs(meaning) >= _SMALLEST_AS_WRITTEN else meaning


def unsettled(value: Any) -> Any:
    """Where nobody knows the field: numbers with a point are numbers, everything else is its text."""
    if isinstance(value, Ambiguous):
        return value.meaning if isinstance(value.meaning, float) else str(value)
    if isinstance(value, dict):
        return {key: unsettled(item) for key, item in value.items()}
    return [unsettled(item) for item in value] if isinstance(value, list) else value

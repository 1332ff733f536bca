"""The table of what has an effect: no field of any kind is forgotten, and none is made up."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tortie.model.effects.notes import TIERS_OF_ALL
from tortie.model.effects.reasons import REASONS, VARIABLES
from tortie.model.effects.rows import Nothing, Read
from tortie.model.effects.table import FIELDS, KINDS_WITHOUT
from tortie.model.kinds import BY_NAME, KINDS
from tortie.model.resource import type_of
from tortie.model.resources.policies import BUILT_IN_TIERS
from tortie.model.shape import Part, fields_of

WITH_FIELDS = [kind.name for kind in KINDS if kind.name not in KINDS_WITHOUT]


def test_every_kind_is_in_the_table_once() -> None:
    assert FIELDS.keys() | KINDS_WITHOUT.keys() == BY_NAME.keys()
    assert not FIELDS.keys() & KINDS_WITHOUT.keys()


@pytest.mark.parametrize("kind", WITH_FIELDS)
def test_every_field_is_in_the_table(kind: str) -> None:
    """A new field of a resource comes here: say what reads it, that it only states something, or why nothing does."""
    assert sorted(set(_uncovered(_spec(kind), FIELDS[kind]))) == []


@pytest.mark.parametrize("kind", WITH_FIELDS)
def test_every_row_is_a_field(kind: str) -> None:
    assert sorted(path for path in FIELDS[kind] if not _exists(_spec(kind), path)) == []


@pytest.mark.parametrize("kind", WITH_FIELDS)
def test_what_is_said_to_read_a_field_names_it(kind: str) -> None:
    for path, entry in FIELDS[kind].items():
        if isinstance(entry, Read):
            name = path.rpartition(".")[2]
            assert name in _names(entry.by), f"{entry.by} does not name {name}"


def test_reasons_are_told_apart_and_used() -> None:
    assert len({reason.key for reason in REASONS}) == len({reason.here for reason in REASONS}) == len(REASONS)
    used = {entry.reason for table in FIELDS.values() for entry in table.values() if isinstance(entry, Nothing)}
    assert used | {*KINDS_WITHOUT.values(), VARIABLES} == set(REASONS)


def test_tiers_of_every_cluster() -> None:
    assert set(TIERS_OF_ALL) == BUILT_IN_TIERS.keys()


def _spec(kind: str) -> type[Part]:
    spec = fields_of(type_of(BY_NAME[kind]))["spec"].part
    assert spec is not None
    return spec


def _uncovered(part: type[Part], table: object, path: str = "") -> Iterator[str]:
    assert isinstance(table, dict)
    for name, field in fields_of(part).items():
        where = f"{path}{name}"
        if where in table:
            continue
        deeper = any(row.startswith(f"{where}.") for row in table)
        if field.part is None or field.many or not deeper:
            yield where
        else:
            yield from _uncovered(field.part, table, f"{where}.")


def _exists(part: type[Part], path: str) -> bool:
    first, _, rest = path.partition(".")
    field = fields_of(part).get(first)
    if field is None or not rest:
        return field is not None
    return field.part is not None and not field.many and _exists(field.part, rest)


def _names(module: str) -> str:
    """The text of the module without its comments."""
    found = importlib.util.find_spec(module)
    assert found is not None, module
    assert found.origin, module
    return ast.unparse(ast.parse(Path(found.origin).read_text()))

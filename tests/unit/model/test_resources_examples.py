"""What holds for every kind, shown on a document of each."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.documents import EXAMPLES, example

from tortie.model.kinds import KINDS
from tortie.model.resource import stored_form, typed, validate, with_changes
from tortie.model.wire import decode, encode

kinds = pytest.mark.parametrize("kind", sorted(EXAMPLES))


def test_there_is_an_example_of_every_kind() -> None:
    assert sorted(EXAMPLES) == sorted(kind.name for kind in KINDS)


@kinds
def test_what_calico_stores_is_valid(kind: str) -> None:
    assert validate(example(kind)) == []
    assert validate(example(kind), stored=example(kind)) == []


@kinds
def test_what_calico_stores_is_stored_byte_for_byte_the_same(kind: str) -> None:
    assert encode(stored_form(example(kind))) == encode(example(kind))


@kinds
def test_a_typed_value_that_did_not_change_leaves_its_document_untouched(kind: str) -> None:
    stored = decode(encode(example(kind)), "key")
    assert encode(with_changes(stored, typed(stored))) == encode(stored)


@kinds
def test_fields_in_any_order_are_stored_in_calicos_order(kind: str) -> None:
    def backwards(value: object) -> object:
        if isinstance(value, dict):
            return {key: backwards(value[key]) for key in reversed(value)}
        return [backwards(item) for item in value] if isinstance(value, list) else value

    shuffled = backwards(example(kind))
    assert isinstance(shuffled, dict)
    assert encode(stored_form(shuffled)) == encode(example(kind))


@kinds
def test_a_change_through_the_typed_value_keeps_fields_of_a_newer_calico(kind: str) -> None:
    stored = example(kind)
    stored["spec"]["fromTheFuture"] = {"b": [1, {"a": None}], "a": 1.5}
    stored["metadata"]["fromTheFuture"] = "kept"
    value = typed(stored)
    metadata = msgspec.structs.replace(value.metadata, labels={"new": "label"})
    changed = with_changes(stored, msgspec.structs.replace(value, metadata=metadata))
    assert changed["metadata"]["labels"] == {"new": "label"}
    assert changed["metadata"]["fromTheFuture"] == "kept"
    assert changed["spec"] == stored["spec"]


@kinds
def test_a_field_that_is_null_counts_as_left_out(kind: str) -> None:
    stored = example(kind)
    stored["metadata"]["labels"] = None
    stored["metadata"]["generation"] = None
    assert validate(stored) == []
    assert typed(stored).metadata.labels == {}
    assert typed(stored).metadata.generation == 0


@kinds
def test_a_slip_of_the_pen_is_found_but_not_in_what_is_stored_already(kind: str) -> None:
    slipped = example(kind)
    slipped["spec"]["fromTheFuture"] = True
    (problem,) = validate(slipped)
    assert problem.field == "spec.fromTheFuture"
    assert "not recognized" in problem.why
    assert validate(slipped, stored=slipped) == []

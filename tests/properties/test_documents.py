"""Whatever a newer Calico adds to a document stays in it, wherever it stands."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.documents import EXAMPLES, example

from tortie.model.fields import parse_field
from tortie.model.kinds import BY_NAME
from tortie.model.resource import Resource, stored_form, type_of, typed, validate, with_changes
from tortie.model.shape import Part, builtins, fields_of, spelled
from tortie.model.wire import Document, decode, encode

Path = tuple[str | int, ...]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


class Spot(NamedTuple):
    """A mapping within a document, and the type that reads it."""

    path: Path
    raw: Document
    part: type[Part]


def spots(raw: Document, part: type[Part], path: Path = ()) -> Iterator[Spot]:
    yield Spot(path, raw, part)
    for name, field in fields_of(part).items():
        if field.part is None or name not in raw:
            continue
        if field.many == "list":
            for index, item in enumerate(raw[name]):
                yield from spots(item, field.part, (*path, name, index))
        else:
            yield from spots(raw[name], field.part, (*path, name))


def at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def replaced(value: Any, path: Path, changes: dict[str, Any]) -> Any:
    """The typed value with the changes made to what stands at the path."""
    if not path:
        return msgspec.structs.replace(value, **changes)
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*value[:step], replaced(value[step], rest, changes), *value[step + 1 :])
    part: type[Part] = type(value)
    attribute = fields_of(part)[step].attribute
    return msgspec.structs.replace(value, **{attribute: replaced(getattr(value, attribute), rest, changes)})


documents = st.sampled_from(sorted(EXAMPLES)).map(example)


@st.composite
def documents_with_news(draw: st.DrawFn) -> tuple[Document, dict[Path, Any]]:
    """A document with fields that we have never heard of, and where they stand."""
    document = draw(documents)
    places = list(spots(document, type_of(BY_NAME[document["kind"]])))
    news: dict[Path, Any] = {}
    for place in draw(st.lists(st.sampled_from(places), min_size=1, max_size=6)):
        name = "news" + draw(st.text(max_size=6))
        if name not in fields_of(place.part):
            place.raw[name] = news[(*place.path, name)] = draw(json_values)
    return document, copy.deepcopy(news)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents_with_news(), st.data())
def test_a_change_through_the_typed_value_leaves_unknown_fields_alone(
    document_and_news: tuple[Document, dict[Path, Any]], data: st.DataObject
) -> None:
    document, news = document_and_news
    stored = decode(encode(document), "key")
    resource_type = type_of(BY_NAME[document["kind"]])
    changeable = [
        (spot.path, field)
        for spot in spots(stored, resource_type)
        for field in fields_of(spot.part).values()
        if field.kind in (bool, int, str) and field.name not in ("kind", "apiVersion")
    ]
    path, field = data.draw(st.sampled_from(changeable))
    new = data.draw({bool: st.booleans(), int: st.integers(0, 100), str: st.text(max_size=5)}[field.kind])

    value = typed(stored)
    changed_value = replaced(value, path, {field.attribute: new})
    changed = decode(encode(with_changes(stored, changed_value)), "key")

    for where, unknown in news.items():
        assert at(changed, where) == unknown
    assert at(changed, path).get(field.name, field.zero) == new
    assert typed(changed) == changed_value
    at(changed, path).pop(field.name, None)
    at(stored, path).pop(field.name, None)
    assert changed == stored


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents_with_news())
def test_spelling_a_document_once_is_enough(document_and_news: tuple[Document, dict[Path, Any]]) -> None:
    document, news = document_and_news
    resource_type = type_of(BY_NAME[document["kind"]])
    once = spelled(document, resource_type)
    assert encode(spelled(once, resource_type)) == encode(once)
    assert encode(stored_form(stored_form(document))) == encode(stored_form(document))
    for where, unknown in news.items():
        assert at(once, where) == unknown


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents_with_news())
def test_unknown_fields_are_found_when_they_are_new_and_pass_when_they_are_stored(
    document_and_news: tuple[Document, dict[Path, Any]],
) -> None:
    document, news = document_and_news
    assert {problem.why for problem in validate(document)} == {
        "field in document is not recognized or is in the wrong location"
    }
    assert len(validate(document)) == len(news)
    assert validate(document, stored=document) == []


@st.composite
def damaged_documents(draw: st.DrawFn) -> Document:
    """A document in which some things are not what they should be."""
    document = draw(documents)
    for _ in range(draw(st.integers(1, 3))):
        places: list[tuple[Any, Any]] = []
        queue: list[Any] = [document["metadata"], document["spec"]]
        while queue:
            holder = queue.pop()
            inside = holder.items() if isinstance(holder, dict) else enumerate(holder)
            for key, item in inside:
                places.append((holder, key))
                if isinstance(item, dict | list):
                    queue.append(item)
        if places:
            holder, key = draw(st.sampled_from(places))
            holder[key] = draw(json_values | st.floats(allow_nan=True))
    return document


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged_documents())
def test_whatever_is_written_gets_an_answer_and_what_is_valid_can_be_stored_and_read(document: Document) -> None:
    problems = validate(document)
    if problems:
        assert all(problem.field and problem.why and problem.right for problem in problems)
        assert all(str(problem) for problem in problems)
    else:
        stored = stored_form(document)
        assert validate(stored) == []
        assert isinstance(typed(decode(encode(stored), "key")), Resource)


@settings(max_examples=200, deadline=None)
@given(documents)
def test_a_typed_value_and_its_document_say_the_same(document: Document) -> None:
    value = typed(document)
    assert msgspec.convert(builtins(value), type(value), dec_hook=parse_field) == value
    assert typed(with_changes({}, value)) == value

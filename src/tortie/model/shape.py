"""What a document looks like, read off the resource types: problems, spelling for the store, careful rewriting.

A document is the untyped form of a resource (JSON or YAML as a dict). Typed values are for reasoning; documents are
what is stored, because a document keeps the fields of a Calico version that is newer than ours.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import msgspec

from tortie.model.errors import Problem
from tortie.model.fields import BadField, is_text, parse_field, print_field
from tortie.model.kinds import nearest
from tortie.model.spelling import Spelling, spelling_of
from tortie.model.wire import Document


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of everything inside a resource.

    Fields carry the API's own names, so that what people know from YAML is what the code says. They stand in the
    order in which Calico writes them. A field without a default is always written; one that may be None is written
    when it is set, even to zero; any other is left out when it is zero, as Go's omitempty does, unless it is `Always`.
    """

    # A subclass's own fields stand behind the inherited ones; these are written in front.
    written_first: ClassVar[tuple[str, ...]] = ()


T = TypeVar("T")
_ALWAYS = object()

# People may leave the field out, and Calico writes its zero value all the same: `hostPort: Always[int] = 0`.
Always = Annotated[T, _ALWAYS]


def convert(raw: object, kind: type[T]) -> T:
    return msgspec.convert(raw, kind, dec_hook=parse_field)


def builtins(value: object) -> Any:
    return msgspec.to_builtins(value, enc_hook=print_field)


class Field(NamedTuple):
    name: str
    attribute: str  # the name in Python, where the API's is a word of the language
    kind: Any  # without the None of an optional
    optional: bool
    required: bool
    always: bool
    text: bool  # written as text, so that "" means: not set
    part: type[Part] | None  # the nested type, when the field is one or a list or map of them
    many: str  # "", "list" or "map"
    zero: Any
    spelling: Spelling | None  # of the value, or of each of many

    def unset(self, value: object) -> bool:
        return value is None or (self.text and value == "")


@functools.cache
def fields_of(part: type[Part]) -> dict[str, Field]:
    found = {}
    for info in msgspec.structs.fields(part):
        always = _ALWAYS in getattr(info.type, "__metadata__", ())
        declared = typing.get_args(info.type)[0] if always else info.type
        options = [option for option in _options(declared) if option is not types.NoneType]
        kind = options[0] if len(options) == 1 else declared
        many, inner = _element(kind)
        found[info.encode_name] = Field(
            info.encode_name,
            info.name,
            kind,
            optional=types.NoneType in _options(declared),
            required=info.required,
            always=always,
            text=typing.get_origin(kind) is typing.Literal or is_text(kind),
            part=inner if isinstance(inner, type) and issubclass(inner, Part) else None,
            many=many,
            zero=None if info.default is msgspec.NODEFAULT else builtins(info.default),
            spelling=spelling_of(inner),
        )
    first = [name for name in part.written_first if name in found]
    return {name: found[name] for name in [*first, *(name for name in found if name not in first)]}


def _options(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _element(kind: Any) -> tuple[str, Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (tuple, list):
        return "list", args[0]
    return ("map", args[1]) if origin is dict else ("", kind)


def element_kind(kind: Any) -> Any:
    """Of a list or a map what it holds; of anything else the kind itself."""
    return _element(kind)[1]


def _is_plainly_right(raw: object, part: type[Part]) -> bool:
    """The quick look that nearly all documents pass: every field known and set, and the whole of the right types."""
    if not _has_known_fields_only(raw, part):
        return False
    try:
        convert(raw, part)
    except msgspec.ValidationError:
        return False
    return True


def _has_known_fields_only(raw: object, part: type[Part]) -> bool:
    if not isinstance(raw, dict):
        return False
    expected = fields_of(part)
    for name, value in raw.items():
        field = expected.get(name)
        if field is None or value is None or value == "":
            return False
        if field.part is None:
            continue
        inner = [value] if not field.many else value.values() if isinstance(value, dict) else value
        if not isinstance(inner, Iterable) or not all(_has_known_fields_only(item, field.part) for item in inner):
            return False
    return True


def problems_in(raw: object, part: type[Part], path: str = "", known: Sequence[object] = ()) -> Iterator[Problem]:
    """Everything about the structure that is wrong, not only the first thing.

    A field we do not know is a slip of the pen, unless one of `known`, stored forms that this may have been made
    from, has it too. For an element of a list these are all stored elements, because elements move.
    """
    if not path and _is_plainly_right(raw, part):
        return
    if not isinstance(raw, dict):
        yield Problem(
            path or "document", _short(raw), "a mapping of fields is needed here", "name: value, line by line"
        )
        return
    stored = [twin for twin in known if isinstance(twin, dict)]
    expected = fields_of(part)
    for name, value in raw.items():
        where = f"{path}.{name}" if path else str(name)
        field = expected.get(name)
        if field is None:
            if not any(name in twin for twin in stored):
                near = nearest(str(name), expected)
                why = "field in document is not recognized or is in the wrong location"
                yield Problem(where, _short(value), why, f"did you mean {near}?" if near else "leave it out")
        elif not field.unset(value):
            yield from _problems_in_field(value, field, where, [twin.get(name) for twin in stored])
    for name, field in expected.items():
        if field.required and field.unset(raw.get(name)):
            yield Problem(f"{path}.{name}" if path else name, "", "is required", _choices(field.kind) or "set it")


def _problems_in_field(value: object, field: Field, where: str, known: Sequence[object]) -> Iterator[Problem]:
    if not field.many:
        yield from _problems_in_one(value, field, field.kind, where, known)
    elif field.many == "list" and isinstance(value, list):
        elements = [element for twin in known if isinstance(twin, list) for element in twin]
        for index, item in enumerate(value):
            yield from _problems_in_one(item, field, _element(field.kind)[1], f"{where}[{index}]", elements)
    elif field.many == "map" and isinstance(value, dict):
        for key, item in value.items():
            twins = [twin.get(key) for twin in known if isinstance(twin, dict)]
            yield from _problems_in_one(item, field, _element(field.kind)[1], f"{where}.{key}", twins)
    else:
        right = "- value, one on each line" if field.many == "list" else "name: value, line by line"
        yield Problem(where, _short(value), f"a {field.many} is needed here", right)


def _problems_in_one(value: object, field: Field, kind: Any, where: str, known: Sequence[object]) -> Iterator[Problem]:
    if field.part is not None:
        yield from problems_in(value, field.part, where, known)
    elif problem := leaf_problem(value, kind, where):
        yield problem


_PLAIN = {
    bool: "true or false, without quotes",
    int: "a whole number, without quotes",
    float: "a number, without quotes",
    str: "text, in quotes where YAML would take it for something else",
}


def leaf_problem(value: object, kind: Any, where: str) -> Problem | None:
    try:
        convert(value, kind)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        if typing.get_origin(kind) is typing.Literal:
            choices = _choices(kind)
            near = nearest(str(value), choices.split(", "))
            right = f"did you mean {near}?" if near else f"one of {choices}"
            return Problem(where, _short(value), f"must be one of {choices}", right)
        if isinstance(cause, BadField):
            return Problem(where, _short(value), str(cause), cause.right)
        message = str(error).partition(" - at `$")[0].replace("`", "")
        return Problem(where, _short(value), message[0].lower() + message[1:], _PLAIN.get(kind, "another value"))
    return None


def _choices(kind: Any) -> str:
    words = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()
    return ", ".join(str(word) for word in words if word != "")


def _short(value: object) -> object:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def spelled(raw: Document, part: type[Part]) -> Document:
    """The document as Calico would store it: fields in its order, zero values left out, maps sorted.

    Fields that we do not know follow behind the others, unchanged.
    """
    expected = fields_of(part)
    result: Document = {}
    for name, field in expected.items():
        value = raw.get(name)
        if field.part is not None and not field.many and not field.optional:
            result[name] = spelled(value or {}, field.part)
        elif value is None or _is_left_out(value, field):
            if field.always:
                result[name] = field.zero
        else:
            result[name] = _spelled_value(value, field)
    if not raw.keys() <= expected.keys():
        result.update({name: value for name, value in raw.items() if name not in expected})
    return result


def _is_left_out(value: object, field: Field) -> bool:
    return field.unset(value) or (not field.optional and not field.required and value in (field.zero, [], {}))


def _spelled_value(value: Any, field: Field) -> Any:
    if field.many == "map" and isinstance(value, dict):
        part = field.part
        return {key: spelled(value[key], part) if part else value[key] for key in sorted(value)}
    if field.part is None:
        if field.spelling is None:
            return value
        return [field.spelling(item) for item in value] if field.many else field.spelling(value)
    return [spelled(item, field.part) for item in value] if field.many else spelled(value, field.part)


P = TypeVar("P", bound=Part)


def value_of(raw: Document, part: type[P]) -> P:
    """The typed value of a document without problems; a field that is null counts as left out."""
    return convert(spelled(raw, part), part)


def rewritten(raw: Document, value: Part) -> Document:
    """The document with what `value` knows taken from it and everything else kept as it is."""
    part = type(value)
    expected = fields_of(part)
    result = {name: item for name, item in raw.items() if name not in expected}
    for name, field in expected.items():
        new, old = getattr(value, field.attribute), raw.get(name)
        if new is None or (not field.required and builtins(new) == field.zero and not isinstance(new, Part)):
            continue
        result[name] = _rewritten_field(old, new, field)
    return spelled(result, part)


def _rewritten_field(old: Any, new: Any, field: Field) -> Any:
    if isinstance(new, Part):
        return rewritten(old if isinstance(old, dict) else {}, new)
    if field.part is not None and field.many == "list":
        before = [(item, value_of(item, field.part)) for item in old] if isinstance(old, list) else []
        return [rewritten(raw, item) for raw, item in zip(_twins(new, before), new, strict=True)]
    # Text that means the same keeps its spelling: FD00::1 stays FD00::1.
    if old is not None and leaf_problem(old, field.kind, "") is None and convert(old, field.kind) == new:
        return old
    return builtins(new)


def _twins(new: Sequence[Part], before: list[tuple[Document, Part]]) -> list[Document]:
    """For each element of a list its stored form: the equal one, best in the same place, else the one in its place."""
    twins: dict[int, int] = {}
    free = dict.fromkeys(range(len(before)))

    def pair(index: int, candidates: Iterable[int]) -> None:
        for candidate in candidates:
            if index not in twins and candidate in free:
                twins[index] = candidate
                del free[candidate]

    for index, item in enumerate(new):
        pair(index, [index] if index < len(before) and before[index][1] == item else [])
    for index, item in enumerate(new):
        pair(index, [candidate for candidate in free if before[candidate][1] == item])
    for index in range(len(new)):
        pair(index, [index])
    return [before[twins[index]][0] if index in twins else {} for index in range(len(new))]

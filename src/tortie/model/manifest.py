"""What people write in files: YAML or JSON, one or many resources, read with the line of every field.

Scalars follow JSON's idea of types, not YAML 1.1's: `20:30` is a port range and `yes` is text, never a number or a
boolean by surprise. In resources they then mean what Calico's own reader takes them for (see scalars).
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import yaml

from tortie.model.errors import Invalid, Place, Problem, TortieError
from tortie.model.kinds import API_VERSION, BY_NAME, find_kind, nearest
from tortie.model.scalars import ambiguous, key_text, needs_quotes
from tortie.model.yaml_lines import (
    COST_MAX,
    COST_MAX_PER_CHARACTER,
    COST_OF_A_FIELD,
    DEPTH_MAX,
    LinesOfText,
    Loader,
)

_DIGITS_MAX = 1000

_DEEP_BLOCK = re.compile(rf"^[-?: \t]{{{DEPTH_MAX}}}", re.MULTILINE)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for name, value in (("true", True), ("false", False)) for word in (name, name.title(), name.upper())
}


# From dotted paths of fields to lines; asked for only once something is wrong.
Lines = Callable[[], dict[str, int]]


Scalar = Callable[[yaml.ScalarNode, str], Any]


class Manifest(NamedTuple):
    """One resource of a file; `path` says where in its YAML or JSON document it stands, such as `items[3]`."""

    document: Any
    source: str
    lines: Lines
    path: str = ""

    def place(self, field: str = "") -> Place:
        """Where the field stands, or the nearest enclosing thing whose place is known."""
        lines = self.lines()
        where = f"{self.path}.{field}" if self.path and field else self.path or field
        while len(where) > len(self.path) and where not in lines:
            where = where.rpartition("[")[0] if where.endswith("]") else where.rpartition(".")[0]
        return Place(self.source, lines.get(where if len(where) > len(self.path) else self.path, 0))

    def located(self, problems: list[Problem]) -> list[Problem]:
        return [problem._replace(place=self.place(problem.field)) for problem in problems]


def read_manifests(text: str, source: str) -> list[Manifest]:
    """All resources in a file's text; lists (`kind: List`, `kind: IPPoolList`, plain sequences) are opened."""
    opened = (manifest for whole in _read(text, source, resources=True) for manifest in _opened(whole))
    manifests = [_named(_settled(manifest)) for manifest in opened]
    headers = [list(_header_problems(manifest)) for manifest in manifests]
    if any(headers):
        pairs = zip(manifests, headers, strict=True)
        raise Invalid(source, [problem for pair in pairs for problem in pair[1] or _other_problems(pair[0])])
    return manifests


def _settled(manifest: Manifest) -> Manifest:
    from tortie.model.settling import settled

    return manifest._replace(document=settled(manifest.document)) if isinstance(manifest.document, dict) else manifest


def _other_problems(manifest: Manifest) -> list[Problem]:
    """Of a resource in a file that is refused anyway, so that the next attempt does not fail on something else.

    Whether a field is unknown cannot be said here: that depends on what is stored.
    """
    from tortie.model.resource import validate

    return manifest.located(validate(manifest.document, stored=manifest.document))


def read_plain(text: str, source: str) -> Manifest:
    """The first document of any YAML or JSON text; nothing is expected of it, and lists stay lists."""
    return next(_read(text, source), Manifest(None, source, dict))


def _read(text: str, source: str, *, resources: bool = False) -> Iterator[Manifest]:
    if (manifest := _read_json(text, source, _number if resources else float)) is not None:
        yield manifest
    else:
        yield from _read_yaml(text, source, _resource_scalar if resources else _scalar)


def _read_json(text: str, source: str, number: Callable[[str], Any]) -> Manifest | None:
    """None when this is not JSON; it may still be YAML that begins with a bracket."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_without_twins, parse_float=number)
    except _Twice as twice:
        raise _unreadable(source, 0, f"the field {twice} stands there twice in one object") from None
    except ValueError:
        return None
    except RecursionError:
        raise _unreadable(source, 0, "it is nested too deeply") from None
    return Manifest(value, source, functools.cache(lambda: _lines_of_json(text, source)))


def _lines_of_json(text: str, source: str) -> dict[str, int]:
    """Read once more as YAML, which nearly all JSON is: ten times slower, but it knows the lines."""
    try:
        return next(_read_yaml(text, source, _scalar)).lines()
    except (Unreadable, StopIteration):
        return {}


class _Twice(Exception):
    """A field's name that an object has more than once; one of the two would be lost in silence."""


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return result


def _read_yaml(text: str, source: str, scalar: Scalar) -> Iterator[Manifest]:
    loader = Loader(text)
    lines = LinesOfText(text, resources=scalar is _resource_scalar)
    number = 0
    try:
        if text.count("[") + text.count("{") > DEPTH_MAX or _DEEP_BLOCK.search(text):
            _refuse_deep_nesting(text, source)
        while loader.check_node():
            node = loader.get_node()
            if node is not None and (value := _Reading(source, len(text), scalar).value(node, 0)) is not None:
                yield Manifest(value, source, partial(lines.of, number))
            number += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(source, mark.line + 1 if mark else 0, str(error.problem or error.context)) from None
    except yaml.YAMLError as error:
        raise _unreadable(source, 0, str(error)) from None
    finally:
        loader.dispose()


def _refuse_deep_nesting(text: str, source: str) -> None:
    """Before nodes are made of it: libyaml does that by recursion in C, and would end the whole process."""
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            raise _unreadable(source, event.start_mark.line + 1, "it is nested too deeply")


class _Reading:
    """From YAML's nodes to plain values."""

    def __init__(self, source: str, size: int, scalar: Scalar) -> None:
        self.source = source
        self._scalar = scalar
        self._key = key_text if scalar is _resource_scalar else None
        self._left = min(COST_MAX, COST_MAX_PER_CHARACTER * (size + 1000))

    def value(self, node: yaml.Node, depth: int) -> Any:
        self._left -= COST_OF_A_FIELD
        if self._left < 0 or depth > DEPTH_MAX:
            why = "it is nested too deeply, or its aliases unfold without end"
            raise _unreadable(self.source, node.start_mark.line + 1, why)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, self.source)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                line = key_node.start_mark.line + 1
                raise _unreadable(self.source, line, "a field's name has to be plain text")
            key = key_node.value
            if key == "<<" and not key_node.style:
                merged |= self._merged(value_node, depth)
                continue
            if self._key and not key_node.style:
                key = self._key(key)
            if key in result:
                raise _unreadable(self.source, key_node.start_mark.line + 1, f"the field {key} stands here twice")
            result[key] = self.value(value_node, depth + 1)
        return merged | result

    def _merged(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        """YAML's `<<: *defaults`: fields of another mapping, or of several, the first of which wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Any] = {}
        for source in sources:
            fields = self.value(source, depth + 1)
            if not isinstance(fields, dict):
                raise _unreadable(self.source, node.start_mark.line + 1, "<< needs a mapping to take fields from")
            found = fields | found
        return found


def _scalar(node: yaml.ScalarNode, source: str) -> Any:
    text: str = node.value
    if node.style:  # quoted or a block: text, whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > _DIGITS_MAX:
            raise _unreadable(source, node.start_mark.line + 1, f"a number of {len(text):,} digits")
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and not text.isdigit() else text


def _resource_scalar(node: yaml.ScalarNode, source: str) -> Any:
    value = _scalar(node, source)
    if node.style or not isinstance(value, (str, float)):
        return value
    return ambiguous(node.value) or (node.value if value == math.inf or value == -math.inf else value)


def _number(text: str) -> Any:
    return ambiguous(text) or float(text)


def _opened(whole: Manifest) -> Iterator[Manifest]:
    value, path = whole.document, whole.path
    is_list = isinstance(value, dict) and isinstance(value.get("items"), list)
    if is_list and str(value.get("kind", "List")).endswith("List"):
        value, path = value["items"], f"{path}.items" if path else "items"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _opened(whole._replace(document=item, path=f"{path}[{index}]"))
    else:
        yield whole


def _named(manifest: Manifest) -> Manifest:
    """A WorkloadEndpoint may leave out its name, which follows from its fields."""
    document = manifest.document
    if not isinstance(document, dict) or document.get("kind") != "WorkloadEndpoint":
        return manifest
    metadata, spec = document.get("metadata"), document.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict) or metadata.get("name"):
        return manifest
    from tortie.model.resources.endpoints import composed_name

    name = composed_name(spec)
    return manifest._replace(document={**document, "metadata": {**metadata, "name": name}}) if name else manifest


def _header_problems(manifest: Manifest) -> Iterator[Problem]:
    document = manifest.document
    if not isinstance(document, dict):
        yield Problem(
            "document", str(document)[:60], "is not a resource", "apiVersion, kind, metadata and spec", manifest.place()
        )
        return
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or kind not in BY_NAME:
        near = _nearest_kind(str(kind)) if kind else None
        why = f"unknown resource type ({kind}) and/or version ({version})" if kind else "is required"
        yield Problem("kind", kind or "", why, f"did you mean {near}?" if near else "", manifest.place("kind"))
    elif version != API_VERSION:
        why = f"unknown resource type ({kind}) and/or version ({version})"
        yield Problem("apiVersion", version or "", why, API_VERSION, manifest.place("apiVersion"))
    elif not isinstance(document.get("metadata"), dict) or not document["metadata"].get("name"):
        yield Problem("metadata.name", "", "is required", "give the resource a name", manifest.place("metadata"))


def _nearest_kind(word: str) -> str | None:
    try:
        return find_kind(word).name
    except Exception:
        return nearest(word, BY_NAME)


class Unreadable(TortieError):
    """A file that is neither YAML nor JSON."""

    exit_code = 2
    code = "invalid"

    def __init__(self, place: Place, why: str) -> None:
        self.place = place
        fix = "check indentation, quotes and colons there" if place.line else "check what kind of file it is"
        super().__init__(f"{place}: not valid YAML or JSON", why, fix)


def _unreadable(source: str, line: int, why: str) -> Unreadable:
    return Unreadable(Place(source, line), why)


def to_yaml(value: object) -> str:
    """Keys sorted and lists flush with their field, as calicoctl prints them."""
    fast, slow = _dumpers()
    options: dict[str, Any] = {"default_flow_style": False, "allow_unicode": True, "width": 4096}
    try:
        text: str = yaml.dump(value, Dumper=fast, **options)
    except UnicodeEncodeError:  # half of a surrogate pair: only the slower dumper knows how to escape it
        text = yaml.dump(value, Dumper=slow, **options)
    return text


@functools.cache
def _dumpers() -> tuple[Any, Any]:
    """They quote what any reader of YAML, of 1.1 or 1.2, would take for something else, in Go's choice of quotes."""

    def represented(dumper: Any, text: str) -> yaml.Node:
        node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", text, quotes(text))
        return node

    @functools.lru_cache(4096)
    def quotes(text: str) -> str | None:
        if text in _WORDS or needs_quotes(text):
            return '"'
        if "\n" in text:
            return "|"
        tag = resolver.resolve(yaml.ScalarNode, text, (True, False)).removeprefix("tag:yaml.org,2002:")
        return None if tag in ("str", "yaml") else '"'  # what stands for YAML's own signs, such as *, has single quotes

    resolver: Any = yaml.resolver.Resolver()
    found = []
    for base in (getattr(yaml, "CSafeDumper", yaml.SafeDumper), yaml.SafeDumper):
        dumper: Any = type("Dumper", (base,), {})
        dumper.add_representer(str, represented)
        found.append(dumper)
    return found[0], found[1]

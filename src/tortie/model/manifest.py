"""What people write in files: YAML or JSON, one or many resources, read with the line of every field.

Scalars follow JSON's idea of types, not YAML 1.1's: `20:30` is a port range and `yes` is text, never a number or a
boolean by surprise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from tortie.model.errors import Invalid, Place, Problem, TortieError
from tortie.model.kinds import API_VERSION, BY_NAME, find_kind, nearest
from tortie.model.wire import Document

# Far above any real file; an alias bomb or endless nesting ends here instead of in memory.
_NODES_MAX = 2_000_000
_DEPTH_MAX = 100

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value for name, value in (("true", True), ("false", False)) for word in (name, name.title(), name.upper())
}


class Manifest(NamedTuple):
    """One resource of a file. `lines` maps dotted field paths to lines; JSON files have only the first one."""

    document: Document
    source: str
    lines: dict[str, int]

    def place(self, field: str = "") -> Place:
        """Where the field stands, or the nearest enclosing thing whose place is known."""
        while field and field not in self.lines:
            field = field.rpartition("[")[0] if field.endswith("]") else field.rpartition(".")[0]
        return Place(self.source, self.lines.get(field, 0))

    def located(self, problems: list[Problem]) -> list[Problem]:
        return [problem._replace(place=self.place(problem.field)) for problem in problems]


def read_manifests(text: str, source: str) -> list[Manifest]:
    """All resources in a file's text; lists (`kind: List`, `kind: IPPoolList`, plain sequences) are opened."""
    manifests = list(_read_json(text, source) or _read_yaml(text, source))
    problems = [problem for manifest in manifests for problem in _header_problems(manifest)]
    if problems:
        raise Invalid(source, problems)
    return manifests


def read_plain(text: str, source: str) -> tuple[Any, dict[str, int]]:
    """The first document of any YAML or JSON text, with the lines of its fields; nothing is expected of it."""
    for manifest in _read_json(text, source) or _read_yaml(text, source):
        return manifest.document, manifest.lines
    return None, {}


def _read_json(text: str, source: str) -> list[Manifest] | None:
    """None when this is not JSON; it may still be YAML that begins with a bracket."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        raise _unreadable(source, 0, "it is nested too deeply") from None
    return list(_opened(value, source, {"": 1}))


def _read_yaml(text: str, source: str) -> Iterator[Manifest]:
    loader = yaml.CBaseLoader(text) if hasattr(yaml, "CBaseLoader") else yaml.BaseLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            reading = _Reading(source)
            if node is not None and (value := reading.value(node, "", 0)) is not None:
                yield from _opened(value, source, reading.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _unreadable(source, mark.line + 1 if mark else 0, str(error.problem or error.context)) from None
    except yaml.YAMLError as error:
        raise _unreadable(source, 0, str(error)) from None
    finally:
        loader.dispose()


class _Reading:
    """From YAML's nodes to plain values, remembering where each field stands."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[str, int] = {}
        self._nodes = 0

    def value(self, node: yaml.Node, path: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        self._nodes += 1
        if self._nodes > _NODES_MAX or depth > _DEPTH_MAX:
            raise _unreadable(self.source, line, "it is nested too deeply, or its aliases unfold without end")
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _mapping(self, node: yaml.Node, path: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise _unreadable(self.source, line, "a field's name has to be plain text")
            key = key_node.value
            if key in result:
                raise _unreadable(self.source, line, f"the field {key} stands here twice")
            inner = f"{path}.{key}" if path else key
            self.lines[inner] = line
            result[key] = self.value(value_node, inner, depth + 1)
        return result


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if node.style:  # quoted or a block: text, whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and not text.isdigit() else text


def _opened(value: Any, source: str, lines: dict[str, int], path: str = "") -> Iterator[Manifest]:
    is_list = isinstance(value, dict) and isinstance(value.get("items"), list)
    if is_list and str(value.get("kind", "List")).endswith("List"):
        value, path = value["items"], f"{path}.items" if path else "items"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _opened(item, source, lines, f"{path}[{index}]")
    else:
        yield Manifest(value, source, _below(lines, path))


def _below(lines: dict[str, int], path: str) -> dict[str, int]:
    """The lines of one element, with paths that begin at that element."""
    if not path:
        return lines
    cut = len(path)
    return {
        key[cut:].removeprefix("."): line for key, line in lines.items() if key == path or key.startswith(f"{path}.")
    }


def _header_problems(manifest: Manifest) -> Iterator[Problem]:
    document = manifest.document
    if not isinstance(document, dict):
        yield Problem("document", str(document)[:60], "is not a resource", "", manifest.place())
        return
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind not in BY_NAME:
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
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=4096)
    return text


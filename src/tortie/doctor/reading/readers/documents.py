"""YAML and JSON: resources, lists of them, several documents in one text, CNI configurations.

What cannot be understood as a document is read line by line (fragments).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.long_lines import whole_lines
from tortie.doctor.reading.readers import fragments
from tortie.doctor.reading.readers.fragment_conditions import conditions_alone
from tortie.doctor.reading.readers.fragment_statuses import statuses_alone
from tortie.doctor.reading.readers.yaml_tree import Tree, closed, failed_line, load, load_json

_HEAD: Final = lazily(r"^[ \t]*(?:- )?(?:apiVersion|kind|items):[ \t]*(?:\S{1,200}[ \t]*)?$", re.MULTILINE)
_JSON_MARKS: Final = (
    '"apiVersion"',
    '"apiGroup"',
    '"cniVersion"',
    '"ipam"',
    '"etcd_endpoints"',
    '"plugins"',
    '"items"',
)
_PROMPTED: Final = lazily(r"```|\S{0,60}[$#] \S|[A-Z]{2,}(?: [A-Z]+)*\s{2,}[A-Z]")  # at a line's very beginning
_OMITTED: Final = ("...", "…", "[...]", "<snip>", "[snip]", "....", "......", "# ...")
_LARGE: Final = 300_000
_MANY: Final = 2_000


def is_document(text: str) -> bool:
    """Whether the text has a whole resource or CNI configuration, cut or not."""
    return bool(_HEAD.search(text)) or _is_json(text)


def _is_json(text: str) -> bool:
    return ("{" in text) and any(mark in text for mark in _JSON_MARKS)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    exhibit = whole_lines(exhibit)
    text = exhibit.text
    if _is_json(text):
        yield from _json(exhibit)
    if ("kind:" in text or "apiVersion:" in text or "items:" in text) and _HEAD.search(text):
        yield from _yaml(exhibit)
    elif not _is_json(text):
        yield from conditions_alone(exhibit)
        yield from statuses_alone(exhibit)


def _json(exhibit: Exhibit) -> Iterator[Fact]:
    lines = exhibit.lines
    yaml = _HEAD.search(exhibit.text) is not None  # an indented bracket is then a value of the document
    index = read_so_far = 0
    while index < len(lines):
        line = lines[index] if yaml else lines[index].lstrip()
        if not line.startswith(("{", "[{")):
            index += 1
            continue
        stop = _json_end(lines, index)
        part = "\n".join(lines[index:stop])
        if not any(mark in part for mark in _JSON_MARKS) or "audit.k8s.io/" in part:
            index = stop
            continue
        read_so_far += 1
        if read_so_far > _MANY:
            return  # one document for each line: a log
        tree = None if len(part) > _LARGE else load(part.replace("\t", "  "))
        if tree is None or not isinstance(tree.body, dict | list):
            body = load_json(part)
            tree = Tree(body, {}, {}) if isinstance(body, dict | list) else None
        if tree is None and len(part) <= _LARGE:
            tree = load(closed(part))
        if tree is None or not isinstance(tree.body, dict | list):
            yield from fragments.read_lines(exhibit, index, stop)
        else:
            yield from _facts(exhibit, tree, index, stop)
        index = stop


def _json_end(lines: tuple[str, ...], start: int) -> int:
    """The line after the one that closes the bracket opened at `start`; text in quotes does not count."""
    depth = 0
    quoted = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)')
    for index in range(start, len(lines)):
        line = quoted.sub("", lines[index])
        depth += line.count("{") + line.count("[") - line.count("}") - line.count("]")
        if depth <= 0:
            return index + 1
    return len(lines)


def _yaml(exhibit: Exhibit) -> Iterator[Fact]:
    for start, stop in _regions(exhibit.lines):
        lines = ["" if line.strip() in _OMITTED else line for line in exhibit.lines[start:stop]]
        text = "\n".join(lines)
        if not _HEAD.search(text):
            yield from fragments.read_lines(exhibit, start, stop)
            continue
        tree = _load_cut(lines)
        if tree is None or not _is_whole(tree.body):
            yield from fragments.read_lines(exhibit, start, stop)
        else:
            yield from _facts(exhibit, tree, start, stop)


def _regions(lines: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Stretches between `---`, grep's `--`, fences and prompts; text before the first field is left out."""
    start: int | None = None
    for index, line in enumerate(lines):
        bare = line.rstrip()
        if bare in ("---", "--", "```") or (start is not None and _PROMPTED.match(line)):
            if start is not None and index > start:
                yield start, index
            start = None
        elif start is None and re.match(r"\s*(?:- )?[A-Za-z\"'][\w./\"'-]*:(?:\s|$)", line):
            start = index
    if start is not None and start < len(lines):
        yield start, len(lines)


def _load_cut(lines: list[str]) -> Tree | None:
    """The document, or as much of it as stands before the first line that breaks it."""
    cleaned = [line.replace("\t", "  ") if "\t" in line else line for line in lines]
    for _ in range(3):
        text = "\n".join(cleaned)
        tree = load(text)
        if tree is not None:
            return tree if isinstance(tree.body, dict | list) else None
        broken = failed_line(text)
        if not broken or broken < 2:
            return None
        cleaned = cleaned[:broken]
    return None


def _is_whole(body: object) -> bool:
    """Whether it says what it is; an `apiVersion` alone may belong to a reference inside of a fragment."""
    if isinstance(body, list):
        return any(isinstance(item, dict) and "kind" in item for item in body)
    return isinstance(body, dict) and ("kind" in body or isinstance(body.get("items"), list))


def _facts(exhibit: Exhibit, tree: Tree, start: int, stop: int) -> Iterator[Fact]:
    from tortie.doctor.reading.readers.resources import Where, facts

    yield from facts(tree.body, Where(exhibit, tree, start, stop))

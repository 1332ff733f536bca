"""YAML and JSON text as plain values that remember their lines, within bounds that hostile text cannot break."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

MAX_CHARS: Final = 1_500_000
MAX_NODES: Final = 120_000
MAX_DEPTH: Final = 60
_BRACKETS: Final = lazily(r"[\[\]{}]")
_TOKENS: Final = lazily(r"\"(?:[^\"\\]|\\.)*+(?:\"|$)|[\[\]{},]")
_INT: Final = lazily(r"[-+]?\d{1,18}$")
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}


class Tree(NamedTuple):
    """A document. `lines` has first and last line (from 0) of each mapping and list, by identity."""

    body: object
    lines: dict[int, tuple[int, int]]
    keys: dict[tuple[int, str], tuple[int, int]]


class TooMuch(ValueError):
    """Too deep, too many values, or an alias that multiplies them."""


def load(text: str) -> Tree | None:
    """The first document of the text; None when it is not understood."""
    if len(text) > MAX_CHARS or _too_deep(text):
        return None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, loader)
        if node is None:
            return None
        tree = Tree(None, {}, {})
        body = _value(node, tree, [0], 0)
    except (yaml.YAMLError, TooMuch, RecursionError, ValueError):
        return None
    return tree._replace(body=body)


def failed_line(text: str) -> int | None:
    """The line (from 0) at which the text stops to be YAML; None when it does not, or is not to be tried."""
    if len(text) > MAX_CHARS or _too_deep(text):
        return None
    import yaml

    try:
        for _ in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except yaml.MarkedYAMLError as error:
        return error.problem_mark.line if error.problem_mark else 0
    except (yaml.YAMLError, RecursionError, ValueError):
        return 0
    return None


def load_json(text: str) -> object:
    """JSON without lines, for large texts; None when it is not JSON."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def closed(text: str) -> str:
    """JSON whose end was cut off, up to its last whole value, with the brackets that are open there."""
    open_now: list[str] = []
    kept, closing = 0, ""
    for match in _TOKENS.finditer(text.replace("\t", "  ")):
        token = match[0]
        if token in "{[":
            open_now.append("}" if token == "{" else "]")
        elif token in "}]" and open_now:
            open_now.pop()
        if token in "{[}]," and len(open_now) <= MAX_DEPTH:
            kept, closing = match.end() - (token == ","), "".join(reversed(open_now))
    return text.replace("\t", "  ")[:kept] + closing


def _too_deep(text: str) -> bool:
    depth = 0
    for match in _BRACKETS.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return bool(re.search(r"(?:[-?] ){30}|^ {400}", text, re.MULTILINE))


def _value(node: object, tree: Tree, count: list[int], depth: int) -> object:
    """Plain values; dates stay text. An alias is expanded, and counted each time."""
    import yaml

    count[0] += 1
    if count[0] > MAX_NODES or depth > MAX_DEPTH:
        raise TooMuch
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node.value) if not node.style else node.value
    first, last = node.start_mark.line, _last(node)  # type: ignore[attr-defined]
    if isinstance(node, yaml.SequenceNode):
        items = [_value(item, tree, count, depth + 1) for item in node.value]
        tree.lines[id(items)] = (first, last)
        return items
    body: dict[str, object] = {}
    assert isinstance(node, yaml.MappingNode)
    for key, value in node.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        body[name] = _value(value, tree, count, depth + 1)
        tree.keys[(id(body), name)] = (key.start_mark.line, max(_last(value), key.start_mark.line))
    tree.lines[id(body)] = (first, last)
    return body


def _last(node: object) -> int:
    """The last line with text of a node: the parser's end of a block is the beginning of what follows."""
    mark = node.end_mark  # type: ignore[attr-defined]
    start = node.start_mark.line  # type: ignore[attr-defined]
    return int(
        max(start, mark.line - 1 if mark.column == 0 or getattr(node, "flow_style", True) is False else mark.line)
    )


def _scalar(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _INT.match(text) else text

"""The functions of templates: Go's, and calicoctl's join, joinAndTruncate and config.

They raise `Refused` for arguments that do not fit; who calls them knows where in the template that was.
`and` and `or` are in `run.py`, because they may leave arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tortie.cli.gotemplate.printf import sprintf
from tortie.cli.gotemplate.printing import text_of, type_name
from tortie.cli.gotemplate.values import Pointer, Struct

LONGEST_RESULT: Final = 1 << 26


class Refused(Exception):
    """Why a function does not take its arguments, and what it would take."""

    def __init__(self, why: str, right: str) -> None:
        super().__init__(why)
        self.why = why
        self.right = right


def pointed(value: Any) -> Any:
    """What a pointer points to; other values as they are."""
    while isinstance(value, Pointer):
        value = value.value
    return value


def is_true(value: Any) -> bool:
    """Go's truth: empty and zero values are false, a struct never is, a pointer when it points to nothing."""
    if isinstance(value, Pointer):
        return value.value is not None
    if isinstance(value, Struct) or (isinstance(value, str) and type(value) is not str):
        return True
    return bool(value)


def _length(value: Any) -> int:
    value = pointed(value)
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, list | dict):
        return len(value)
    raise Refused(f"len of type {type_name(value)}", "a text, a list or a map has a length")


def _index(value: Any, *steps: Any) -> Any:
    for step in steps:
        value, step = pointed(value), pointed(step)
        if isinstance(value, dict):
            value = value.get(step, "" if all(isinstance(item, str) for item in value.values()) else None)
            continue
        if not isinstance(value, list | str):
            raise Refused(f"can't index item of type {type_name(value)}", "a list, a map or a text can be indexed")
        items: Any = value.encode() if isinstance(value, str) else value
        if not isinstance(step, int) or isinstance(step, bool):
            raise Refused(f"cannot index a list with type {type_name(step)}", "a number from 0 on is wanted")
        if not 0 <= step < len(items):
            raise Refused(f"index out of range: {step}", f"it has {len(items)} elements, from 0 on")
        value = items[step]
    return value


def _slice(value: Any, *bounds: Any) -> Any:
    value = pointed(value)
    if not isinstance(value, list | str):
        raise Refused(f"can't slice item of type {type_name(value)}", "a list or a text can be sliced")
    items: Any = value.encode() if isinstance(value, str) else value
    if len(bounds) > (2 if isinstance(value, str) else 3):
        raise Refused(f"too many slice indexes: {len(bounds)}", "slice VALUE FIRST END")
    checked = []
    for bound in map(pointed, bounds):
        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound <= len(items):
            raise Refused(f"index out of range: {text_of(bound)}", f"it has {len(items)} elements")
        checked.append(bound)
    if checked != sorted(checked):
        raise Refused(f"invalid slice index: {checked[0]} > {checked[1]}", "the first is not above the end")
    first, end = (*checked, *(0, len(items))[len(checked) :])[:2]
    part = items[first:end]
    return part.decode(errors="replace") if isinstance(value, str) else part


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise Refused("missing argument for comparison", "eq FIRST SECOND ...")
    return any(_same(first, other) for other in others)


def _same(left: Any, right: Any) -> bool:
    left, right = _comparable(left), _comparable(right)
    if left is None or right is None:
        return left is right
    _refuse_mixed(left, right)
    return bool(left == right)


def _less(left: Any, right: Any) -> bool:
    left, right = _comparable(left), _comparable(right)
    _refuse_mixed(left, right)
    if left is None or isinstance(left, bool):
        raise Refused("invalid type for comparison", "numbers and texts have an order")
    return bool(left < right)


def _comparable(value: Any) -> Any:
    value = pointed(value)
    if isinstance(value, list | dict | Struct):
        raise Refused(f"non-comparable type: {type_name(value)}", "compare a field or an element of it")
    return value


def _refuse_mixed(left: Any, right: Any) -> None:
    def sort(value: Any) -> type:
        return bool if isinstance(value, bool) else str if isinstance(value, str) else float

    if left is None or right is None or sort(left) is not sort(right):
        why = f"incompatible types for comparison: {type_name(left)} and {type_name(right)}"
        raise Refused(why, "a text is compared with a text, a number with a number")


def _print(*values: Any) -> str:
    """Blanks between two that are no texts."""
    parts: list[str] = []
    texts = [isinstance(pointed(value), str) for value in values]
    for place, value in enumerate(values):
        if place and not texts[place] and not texts[place - 1]:
            parts.append(" ")
        parts.append(text_of(value))
    return "".join(parts)


def _println(*values: Any) -> str:
    return " ".join(text_of(value) for value in values) + "\n"


def _printf(form: Any, *values: Any) -> str:
    if not isinstance(form, str):
        raise Refused(f"wrong type for value; expected string; got {type_name(form)}", 'printf "FORMAT" VALUE ...')
    return sprintf(form, [pointed(value) for value in values])


_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "\0": "\ufffd"})
_JS: Final = str.maketrans(
    {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}
)


def _html(*values: Any) -> str:
    return _print(*values).translate(_HTML)


def _js(*values: Any) -> str:
    text = _print(*values).translate(_JS)
    return "".join(character if character.isprintable() else f"\\u{ord(character):04X}" for character in text)


def _urlquery(*values: Any) -> str:
    from urllib.parse import quote_plus

    return quote_plus(_print(*values))


def _join(items: Any, separator: Any = None, *rest: Any) -> str:
    if rest or not isinstance(separator, str):
        raise Refused("wrong arguments for join", 'join LIST "SEPARATOR"')
    return _join_and_truncate(items, separator, 0)


def _join_and_truncate(items: Any, separator: Any = None, longest: Any = None) -> str:
    if not isinstance(separator, str) or not isinstance(longest, int):
        raise Refused("wrong arguments for joinAndTruncate", 'joinAndTruncate LIST "SEPARATOR" LENGTH')
    items = pointed(items)
    if items is None:
        return ""
    if isinstance(items, dict):
        items = sorted(f"{key}={text_of(value)}" for key, value in items.items())
    text = separator.join(text_of(item) for item in (items if isinstance(items, list) else [items]))
    return text if longest <= 0 or len(text) <= longest else text[: max(0, longest - 3)] + "..."


def _call(*_values: Any) -> Any:
    raise Refused("call of a value that is no function", "no field of a resource is one")


def _not(value: Any) -> bool:
    return not is_true(value)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "call": _call,
    "eq": _equal,
    "ge": lambda left, right: not _less(left, right),
    "gt": lambda left, right: _less(right, left),
    "html": _html,
    "index": _index,
    "join": _join,
    "joinAndTruncate": _join_and_truncate,
    "js": _js,
    "le": lambda left, right: not _less(right, left),
    "len": _length,
    "lt": _less,
    "ne": lambda left, right: not _same(left, right),
    "not": _not,
    "print": _print,
    "printf": _printf,
    "println": _println,
    "slice": _slice,
    "urlquery": _urlquery,
}
NAMES: Final = (*FUNCTIONS, "and", "or", "config")

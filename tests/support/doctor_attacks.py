"""Texts that keep a regular expression busy: made of its own parts, repeated, without the end that it wants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

PIECES: Final = (
    " ", "\t", "\n", "a", "A", "0", "1.", "a.", "-", "- ", ":", ": ", "a:", "=", "a=", '"', '\\"', "'", "`", "(", "[",
    "{", "<", ",", "a, ", "|", "/", "a/", "a ", "a b: ", "1 2 ", "::", "0:", "的", "，", "@", "a@", "#", "+---", "://",
    "10.0.0.1,", "2020-05-27 ", "* ", "not ", "$", "{}", "[]", "\\",
)  # fmt: skip
_MANY: Final = 30  # repetitions from which a part of an expression is worth an attack
_LOOKED_AT: Final = 8  # parts of one expression
_CLASSES: Final = {
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_NOT_WORD: "-",
}


def attacks(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """About so many characters each."""
    seen: set[str] = set()
    for text in _all(pattern, size):
        if text not in seen:
            seen.add(text)
            yield text


def _all(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    for piece in PIECES:
        yield piece * (size // len(piece))
    tree = parser.parse(pattern.pattern, pattern.flags)
    whole = _sample(tree)
    if whole:
        yield whole * (size // len(whole))
        yield whole[:-1] * (size // max(1, len(whole) - 1))
    for before, pumps in list(_repeats(tree, ""))[:_LOOKED_AT]:
        for pump in pumps:
            if pump:
                body = pump * (size // len(pump))
                yield before + body + "\ufffd"  # an end that cleaning keeps, and that nothing wants
                yield (before + pump * 3) * (size // (len(before) + 3 * len(pump)))


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, list[str]]]:
    """Parts that repeat, with a text that leads to each, and what may be repeated there."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            low, high, body = value
            if high >= _MANY:
                yield before, _pumps(body)
            yield from _repeats(body, before)
            before += _sample(body) * low
            continue
        for inner in _inner(code, value):
            yield from _repeats(inner, before)
        before += _sample([(code, value)])


def _inner(code: Any, value: Any) -> list[Any]:
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return []


def _pumps(body: Any) -> list[str]:
    """One round of a repeated part; of a set of characters, each kind of them."""
    found = [_sample(body)]
    if len(body) == 1 and body[0][0] in (codes.IN, codes.NOT_LITERAL, codes.ANY, codes.CATEGORY):
        try:
            fits = re.compile(".", re.DOTALL) if body[0][0] is codes.ANY else None
            found += [each for each in " a0.-:/,=\"'\\([{|的\t" if fits is not None or _in(body[0], each)]
        except (ValueError, IndexError):
            pass
    return found


def _sample(tree: Any) -> str:
    """Some text that the parts match, as short as they allow; assertions are taken to hold."""
    return "".join(_one(code, value) for code, value in tree)


def _one(code: Any, value: Any) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        return next((each for each in 'a0 -:."/,=x(的\t' if _in((code, value), each)), _first(value))
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return str(_sample(value[2]) * max(value[0], 1 if value[1] else 0))
    if code is codes.BRANCH:
        return _sample(value[1][0])
    return "".join(_sample(inner) for inner in _inner(code, value) if code not in (codes.ASSERT, codes.ASSERT_NOT))


def _first(value: Any) -> str:
    if isinstance(value, list):
        for code, inner in value:
            if code is codes.LITERAL:
                return chr(inner)
            if code is codes.RANGE:
                return chr(inner[0])
    return ""


def _in(node: Any, character: str) -> bool:
    """Whether a set of characters has this one."""
    code, value = node
    if code is codes.ANY:
        return True
    if code is codes.NOT_LITERAL:
        return bool(ord(character) != value)
    if code is not codes.IN:
        return False
    negated = bool(value) and value[0][0] is codes.NEGATE
    held = False
    for kind, what in value:
        if kind is codes.LITERAL:
            held = held or ord(character) == what
        elif kind is codes.RANGE:
            held = held or what[0] <= ord(character) <= what[1]
        elif kind is codes.CATEGORY:
            held = held or _is_of(what, character)
    return held != negated


def _is_of(category: Any, character: str) -> bool:
    digit, space, word = character.isdigit(), character.isspace(), character.isalnum() or character == "_"
    kinds = {
        codes.CATEGORY_DIGIT: digit, codes.CATEGORY_NOT_DIGIT: not digit,
        codes.CATEGORY_SPACE: space, codes.CATEGORY_NOT_SPACE: not space,
        codes.CATEGORY_WORD: word, codes.CATEGORY_NOT_WORD: not word,
    }  # fmt: skip
    return kinds.get(category, False)

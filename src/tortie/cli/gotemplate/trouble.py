"""What is wrong with a template, and where in it."""

from __future__ import annotations

from tortie.model.errors import TortieError, UsageError

_EXCERPT = 60


def misspelt(text: str, at: int, why: str, fix: str) -> UsageError:
    """It is no template."""
    return UsageError(f"invalid go-template {_place(text, at)}", why, fix)


def stuck(text: str, at: int, why: str, fix: str) -> TortieError:
    """It is one, but does not fit what it was given."""
    return TortieError(f"the go-template failed at {_place(text, at)}", why, fix)


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    first = text.rfind("\n", 0, at) + 1
    column = at - first + 1
    end = text.find("\n", at)
    shown = text[max(first, at - _EXCERPT // 2) : len(text) if end < 0 else end][:_EXCERPT]
    return f"{'…' if at - first > _EXCERPT // 2 else ''}{shown!r}, line {line}, column {column}"

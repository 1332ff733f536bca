"""What is wrong with a selector, and where."""

from __future__ import annotations

from typing import Final

from tortie.model.errors import TortieError

_EXCERPT: Final = 60


class SelectorError(TortieError):
    """`why` has Calico's words; `column` counts from 1, and one past the last character is the end of the text."""

    exit_code = 2
    code = "selector"

    def __init__(self, text: str, position: int, why: str, fix: str) -> None:
        self.text = text
        self.column = position + 1
        super().__init__(f"invalid selector {_excerpt(text, position)}, column {self.column}", why, fix)


def _excerpt(text: str, position: int) -> str:
    """The text around the position, as one line however long it is or whatever it holds."""
    start = max(0, min(position - _EXCERPT // 2, len(text) - _EXCERPT))
    end = start + _EXCERPT
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"

"""Expressions that are compiled when they are first tried: most evidence needs few of them, and start-up is short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class Pattern:
    """The part of re.Pattern that the readers use."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.search(text, start)

    def sub(self, by: str, text: str) -> str:
        return self._compiled.sub(by, text)

    def replaced(self, by: Callable[[re.Match[str]], str], text: str) -> str:
        return self._compiled.sub(by, text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def groups(self, text: str) -> list[str]:
        """The first group of every match."""
        return [match[1] for match in self._compiled.finditer(text)]

    def split(self, text: str) -> list[str]:
        return self._compiled.split(text)

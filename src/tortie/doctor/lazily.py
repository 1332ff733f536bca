"""Expressions that are compiled when they are first used: most evidence needs few of them, and start-up is short."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class Lazy:
    """Stands for a re.Pattern. What was asked for once is then its own attribute: nothing is in between any more."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copy and pickle
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(self.compiled, name)
        return value

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)


def lazily(source: str, flags: int = 0) -> re.Pattern[str]:
    return cast(re.Pattern[str], Lazy(source, flags))

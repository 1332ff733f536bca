"""What a person reads, in both languages at once: a decision keeps its reasons without knowing who will read them."""

from __future__ import annotations

from typing import Literal

from tortie.model.tuples import NamedTuple

Language = Literal["en", "zh"]


class Words(NamedTuple):
    """One text twice. Quotes, commands, codes and names are the same in both."""

    en: str
    zh: str

    def to(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en

    def fill(self, **values: object) -> Words:
        """Both texts with `{name}` replaced; other braces must be doubled, as with str.format."""
        return Words(self.en.format(**values), self.zh.format(**values))


def same(text: str) -> Words:
    """A text that is not translated: a command, a quote, a name."""
    return Words(text, text)

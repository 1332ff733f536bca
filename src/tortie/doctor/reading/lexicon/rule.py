"""One wording of an observation, found by a key word first.

In a pattern `~` stands for a short stretch of the same sentence. A rule that is `plain` is void when a negation stands
inside of its words or right before them ("the firewall is not off"); the others carry their negation themselves.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

_STRETCH: Final = r"[^.;。；!?！？]{0,40}?"
_TWO_STRETCHES: Final = r"[^.;。；!?！？]{0,80}?"
# A word that may be there between two stretches says nothing, and takes the square of the work.
_NOTHING_BETWEEN: Final = re.compile(r"~\(\?:[^()]{1,200}\)\?~")
_ENDING: Final = re.compile(
    r"(\\w|\[\\w[.-]{1,3}\])([*+])(?![+?])"
)  # what is behind a word's end never begins inside of it


class Rule(NamedTuple):
    """The kind of statement that these words make."""

    kind: str
    keys: str  # one of these, divided by |, must be in the sentence (lower case) before its words are tried
    words: str
    plain: bool = True

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.words)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    words = _ENDING.sub(r"\1\2+", _NOTHING_BETWEEN.sub(lambda _: _TWO_STRETCHES, words))
    return re.compile(words.replace("~", _STRETCH), re.IGNORECASE)

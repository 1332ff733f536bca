"""One wording of an observation, found by a key word first.

In a pattern `~` stands for a short stretch of the same sentence. A rule that is `plain` is void when a negation stands
inside of its words or right before them ("the firewall is not off"); the others carry their negation themselves.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


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
    return re.compile(words.replace("~", r"[^.;。；!?！？]{0,40}?"), re.IGNORECASE)

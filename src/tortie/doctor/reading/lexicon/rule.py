"""One wording of an observation, found by a key word first.

In a pattern `~` stands for a short stretch of the same clause, `≈` for one that may go on behind a comma, for rules
whose two halves are clauses of their own ("ping works, but TCP does not"). Neither ends inside of a word, and no match
begins inside of one: "two" is not in "network", and "ok" is not in "token". What is said behind a comma is as a rule
said of something else: "etcd has a new CA, calico is down" says nothing of etcd.

A rule that is `plain` is void when a negation stands inside of its words or right before them ("the firewall is not
off"); the others carry their negation themselves.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

_NOT_IN_A_WORD: Final = r"(?!(?<=[a-z0-9_])[a-z0-9_])"  # not between two letters of one word
_CLAUSE: Final = rf"[^.;。；!?！？,，]{{0,40}}?{_NOT_IN_A_WORD}"
_TWO_CLAUSES: Final = rf"[^.;。；!?！？,，]{{0,80}}?{_NOT_IN_A_WORD}"
_SENTENCE: Final = rf"[^.;。；!?！？]{{0,40}}?{_NOT_IN_A_WORD}"
# A word that may be there between two stretches says nothing, and takes the square of the work.
_NOTHING_BETWEEN: Final = re.compile(r"~\(\?:[^()]{1,200}\)\?~")
# What is behind a word's end never begins inside of it.
_ENDING: Final = re.compile(r"(\\w|\[\\w[.-]{1,3}\])([*+])(?![+?])")


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
    words = _ENDING.sub(r"\1\2+", _NOTHING_BETWEEN.sub(lambda _: _TWO_CLAUSES, words))
    stretched = words.replace("~", _CLAUSE).replace("≈", _SENTENCE)
    return re.compile(f"{_NOT_IN_A_WORD}(?:{stretched})", re.IGNORECASE)

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
from collections.abc import Iterator
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

_NOT_IN_A_WORD: Final = r"(?a:(?!(?<=\w)\w))"  # not between two letters of one word
_CLAUSE: Final = rf"[^.;!?,]{{0,40}}?{_NOT_IN_A_WORD}"
_TWO_CLAUSES: Final = rf"[^.;!?,]{{0,80}}?{_NOT_IN_A_WORD}"
_SENTENCE: Final = rf"[^.;!?]{{0,40}}?{_NOT_IN_A_WORD}"
# A full stop that is in no number and in no address.
_PUNCTUATION: Final = str.maketrans("，。；！？", ",!;!?")
# A word that may be there between two stretches says nothing, and takes the square of the work.
_NOTHING_BETWEEN: Final = lazily(r"~\(\?:[^()]{1,200}\)\?~")
# What is behind a word's end never begins inside of it; a word's own ending does.
_ENDING: Final = lazily(r"(\\w|\[\\w[.-]{1,3}\])([*+])(?![+?a-z])")
# A letter that stands for itself, not for a class like \S.
_UPPER: Final = lazily(r"(?<!\\)([A-Z])")


_TOKEN: Final = lazily(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|P<\w+>))?|(?P<run>[^\\\[\]()|?*+{}~≈.^$]+)"
    r"|(?P<times>[?*+]|\{[\d,]+\})[?+]?|.",
    re.DOTALL,
)
ANY_CHINESE: Final = "中文"  # as a key: any letter of that language


class Rule(NamedTuple):
    """The kind of statement that these words make."""

    kind: str
    keys: str  # one of these, divided by |, must be in the sentence (lower case) before its words are tried
    words: str
    plain: bool = True

    def matches(self, low: str) -> Iterator[re.Match[str]]:
        """In a sentence that is `lowered` and `simple`; of the ways to say it, those whose letters are there."""
        for way, fixed in _ways(self.words):
            if fixed in low:
                yield from _compiled(way).finditer(low)

    @property
    def pattern(self) -> re.Pattern[str]:
        """For sentences that are `lowered` and `simple`: for all others it would take four times as long to compile."""
        return _compiled(self.words)


def lowered(sentence: str) -> str:
    """In lower case, and as long as it was."""
    return sentence.replace("\u0130", "i").lower()  # the only letter that is two in lower case


def simple(low: str) -> str:
    """With the punctuation of English."""
    return low.translate(_PUNCTUATION)


@cache
def _ways(words: str) -> tuple[tuple[str, str], ...]:
    """The alternatives, each with the longest run of letters that it cannot do without; empty where there is none."""
    found: list[tuple[str, str]] = []
    start, depth = 0, 0
    runs: list[str] = []
    for token in _TOKEN.finditer(words):
        text = token.group()
        depth += (text[0] == "(") - (text == ")")
        if depth:
            continue
        if text == "|":
            found.append((words[start : token.start()], max(runs, key=len, default="")))
            start, runs = token.end(), []
        elif token["run"]:
            runs.append(simple(text.lower()))
        elif token["times"] and runs and simple(words[token.start() - 1].lower()) == runs[-1][-1:]:
            runs[-1] = runs[-1][:-1]  # its last letter may be missing
    return (*found, (words[start:], max(runs, key=len, default="")))


@cache
def _compiled(words: str) -> re.Pattern[str]:
    words = _ENDING.sub(r"\1\2+", _NOTHING_BETWEEN.sub(lambda _: _TWO_CLAUSES, words))
    words = _UPPER.sub(lambda letter: letter[1].lower(), words).translate(_PUNCTUATION)
    stretched = words.replace("~", _CLAUSE).replace("≈", _SENTENCE)
    return re.compile(f"{_NOT_IN_A_WORD}(?:{stretched})")

"""TRT8010: policies that are stored and that no node of Tortie enforces; nothing is broken, and nothing is blocked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Finding, found
from tortie.doctor.causes.culprits import Culprit, culprits
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

# What Tortie prints where something is written, in the status of a node and on its health page.
STORED: Final = Sign("stored-without-effect", "stored, but Tortie <rest>")
_POLICY: Final = "enforces no policy"
_SHOWN: Final = 3
_HEADS: Final = ("warning: ", "without effect: ", '"what": "')


class Seen:
    """What Tortie says to be without effect, and people who miss the effect of a policy."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        told: dict[str, Hit] = {}
        for hit in picture.hits(STORED):
            told.setdefault(_subject(hit), hit)
        self.told = told
        self.missed = picture.said("policy-without-effect")

    @cached_property
    def policies(self) -> dict[str, Hit]:
        return {subject: hit for subject, hit in self.told.items() if _POLICY in hit.text}

    @cached_property
    def nodes(self) -> list[Exhibit]:
        """What only a node of Tortie answers."""
        picture = self._picture
        asked = ("node explain", "node timeline", "node run", "lab exec", "lab status")
        return [exhibit for words in asked for exhibit in picture.commands("tortie", words)]

    @cached_property
    def commands(self) -> list[Exhibit]:
        """Tortie's command is in use, perhaps beside nodes of Calico."""
        return [each for each in self._picture.commands("tortie") if each.command.split()[0].endswith("tortie")]


def missed_and_told(seen: Seen) -> Finding | None:
    if not seen.missed or not seen.policies:
        return None
    return _found(PROVEN, seen.policies, seen.missed[:1])


def missed(seen: Seen) -> Finding | None:
    """Nodes are Tortie's, or seem to be; this version enforces no policy."""
    if not seen.missed or not (seen.nodes or seen.commands):
        return None
    shown = (seen.nodes or seen.commands)[0].place(0)
    who = culprits(Culprit("resource", "NetworkPolicy"))
    return found(STRONG if seen.nodes else LIKELY, who, (shown, *seen.missed[:1]))


def stored(seen: Seen) -> Finding | None:
    """True, and no trouble by itself."""
    return _found(PROVEN, seen.told, (), aside=True) if seen.told else None


def _found(strength: float, told: dict[str, Hit], missed: Sequence[object], *, aside: bool = False) -> Finding:
    shown = list(told.items())[:_SHOWN]
    more = len(told) - len(shown)
    who = culprits(*(Culprit("resource", name) for subject, _ in shown for name in _names(subject)))
    evidence = (*(hit for _, hit in shown), *missed)
    sentences = [_sentence(subject, hit) for subject, hit in shown]
    what = Words("; ".join(one.en for one in sentences), "；".join(one.zh for one in sentences))
    return found(strength, who, evidence, aside=aside, what=what, more=str(more) if more > 0 else "")


def _names(subject: str) -> list[str]:
    """Of one resource its kind and its name, of many their kinds."""
    words = subject.rpartition(" of ")[2].split()
    kinds = [word for word in words if word[:1].isupper()]
    return [*kinds, *words[1:]] if len(words) == 2 and words[:1] == kinds else kinds


def _sentence(subject: str, hit: Hit) -> Words:
    """What happens instead; in Chinese, too, where it is a sentence of this version."""
    from tortie.model.effects.reasons import REASONS  # most pictures have no such line

    said = " ".join(hit.line.split()).partition(" stored, but ")[2].partition('"')[0]
    known = next((reason for reason in REASONS if said.startswith(reason.here)), None)
    english, chinese = (known.here, known.here_zh) if known else (said, said)
    fields, _, of = subject.rpartition(" of ")
    who = f"{of} 的 {fields}" if fields else subject
    return Words(f"{subject}: {english}", f"{who.replace(' and ', '、')}：{chinese}")


def _subject(hit: Hit) -> str:
    line = " ".join(hit.line.split())
    line = line.partition(" stored, but ")[0].removesuffix(" is").removesuffix(" are")
    for head in _HEADS:
        line = line.rpartition(head)[2]
    return line


CAUSE = Cause(
    module=__name__,
    id="policy-not-enforced",
    code="TRT8010",
    severity="medium",
    explains=("policy-without-effect",),
    signs=(STORED,),
    look=Seen,
    rules=(missed_and_told, missed, stored),
)

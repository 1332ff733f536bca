"""What a cause is: a judgement over the picture, and what to tell people, in two languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

SHELL: Final = frozenset(";&|$<>()`'\"\\!{}\n")  # with these a name would be more than a name to a shell
NAME_MAX: Final = 120  # a longer object is a sentence, not a name
State = Literal["found", "ruled-out", "cannot-tell"]
Severity = Literal["critical", "high", "medium", "low"]
Risk = Literal["safe", "disruptive"]

# How sure a judgement is. Claims begin at LIKELY; what is below stays a candidate. docs/explanation/judgement.md says
# how these are held against cases.
PROVEN: Final = 0.97  # the decisive observation is there, and what looks alike is excluded by evidence
STRONG: Final = 0.92  # the cause's own message, nothing speaks against it
LIKELY: Final = 0.8  # fits better than everything that looks alike, though the decisive observation is missing
POSSIBLE: Final = 0.45  # fits, and so do others
HINT: Final = 0.2  # a reason to ask


class Finding(NamedTuple):
    """What a cause says about a picture."""

    state: State
    why: Words  # one or two sentences: the reason, with the names and values that carry it
    strength: float = 0.0
    objects: tuple[str, ...] = ()  # the culprit first: addresses, interfaces, files, ports, resources, nodes
    evidence: tuple[Place, ...] = ()  # in the order of the chain, from cause to symptom
    aside: bool = False  # true, worth fixing, but not what makes the symptoms
    values: tuple[tuple[str, str], ...] = ()  # for the texts of the fix: address, interface, node ...

    def value(self, name: str, otherwise: str = "") -> str:
        return dict(self.values).get(name) or otherwise


class Step(NamedTuple):
    """One thing to do. The command is empty where there is none."""

    text: Words
    command: str = ""
    risk: Risk = "safe"


class Ask(NamedTuple):
    """The one command that decides, and what it decides."""

    command: str
    why: Words


class Cause(NamedTuple):
    id: str
    code: str
    severity: Severity
    name: Words
    what: Words  # what is wrong, in general
    explains: tuple[str, ...]  # kinds of symptoms, see judgement/symptoms.py
    look_alikes: tuple[tuple[str, Words], ...]  # (id, what separates the two)
    signs: tuple[Sign, ...]
    judge: Callable[[Picture], Finding]
    ask: Ask
    fix: Callable[[Picture, Finding], tuple[Step, ...]]  # right for the version in the picture; most important first
    verify: tuple[Step, ...]
    prevent: tuple[Words, ...]
    yields_to: tuple[str, ...] = ()  # when one of these is found too, this one is its consequence


def found(
    strength: float,
    why: Words,
    objects: Iterable[str] = (),
    evidence: Iterable[Place | Hit | object] = (),
    *,
    aside: bool = False,
    **values: str,
) -> Finding:
    """Evidence may be places, hits or facts; empty and repeated objects, and sentences among them, are dropped."""
    named = tuple(dict.fromkeys(text for text in objects if text and len(text) <= NAME_MAX and "。" not in text))
    usable = tuple((name, value) for name, value in values.items() if is_plain(value))
    return Finding("found", why, strength, named, places(evidence), aside, usable)


def is_plain(value: str) -> bool:
    """Whether a value can stand in a command: no shell would take anything in it for more than a word."""
    return not SHELL.intersection(value)


def ruled_out(why: Words, evidence: Iterable[Place | Hit | object] = ()) -> Finding:
    return Finding("ruled-out", why, evidence=places(evidence))


def cannot_tell(missing: Words) -> Finding:
    """Nothing for it and nothing against it; `missing` says what would show it."""
    return Finding("cannot-tell", missing)


def places(evidence: Iterable[Place | Hit | object]) -> tuple[Place, ...]:
    got = (item if isinstance(item, Place) else getattr(item, "place", None) for item in evidence)
    return tuple(dict.fromkeys(place for place in got if place is not None))

"""Causes that still have their texts in Python. Goes away with the last of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Finding, Severity, places
from tortie.doctor.commands.risk import Risk
from tortie.doctor.commands.shell import Refused
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

__all__ = ["HINT", "LIKELY", "POSSIBLE", "PROVEN", "STRONG", "Ask", "Cause", "Finding", "Step", "cannot_tell", "found",
           "is_plain", "places", "ruled_out"]  # fmt: skip
SHELL: Final = frozenset(";&|$<>()`'\"\\!{}\n")  # with these a name would be more than a name to a shell
NAME_MAX: Final = 120  # a longer object is a sentence, not a name


class Step(NamedTuple):
    """One thing to do. The command is empty where there is none."""

    text: Words
    command: str = ""
    risk: Risk = "safe"

    @property
    def refused(self) -> tuple[Refused, ...]:
        return ()

    def fill(self, values: Mapping[str, str]) -> Step:
        command = self.command
        for name, value in values.items():
            command = command.replace(f"<{name}>", value)
        return self._replace(command=command)


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

    def prevent_for(self, picture: Picture, finding: Finding) -> tuple[Words, ...]:
        del picture, finding
        return self.prevent


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

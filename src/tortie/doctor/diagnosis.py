"""The doctor's answer as values: what is wrong, why, what was excluded, what to do. Forms are made of it in answer/."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tortie.doctor.causes.cause import Cause, Finding, Step
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words

Verdict = Literal["cause-found", "healthy", "undetermined"]


class Symptom(NamedTuple):
    """Something abnormal that wants an explanation."""

    kind: str
    text: Words
    evidence: tuple[Place, ...]
    objects: tuple[str, ...] = ()
    current: bool = True  # false: it was so, and is over
    since: str = ""  # as the evidence tells it


class Quote(NamedTuple):
    """Evidence with its words; long lines are shortened around what decided."""

    id: str
    place: Place
    text: str
    decisive: tuple[tuple[int, int], ...] = ()  # where in the text stands what decided, as far as it is known


class Answer(NamedTuple):
    """One cause, found or a candidate, with everything to say about it here."""

    cause: Cause
    finding: Finding
    confidence: float
    because: tuple[str, ...]  # ids of evidence, from cause to symptom
    explains: tuple[str, ...]  # ids of symptoms
    fix: tuple[Step, ...]
    verify: tuple[Step, ...] = ()


class Excluded(NamedTuple):
    cause: Cause
    why: Words
    evidence: tuple[Place, ...] = ()


class Question(NamedTuple):
    """What to run next, and what it decides."""

    command: str
    why: Words
    cause: str


class Checked(NamedTuple):
    """Something that was looked at and found in order."""

    text: Words
    evidence: tuple[Place, ...] = ()


class Diagnosis(NamedTuple):
    verdict: Verdict
    causes: tuple[Answer, ...]  # with `undetermined`: the candidates, most probable first
    ruled_out: tuple[Excluded, ...]
    unrelated: tuple[Answer, ...]
    symptoms: tuple[Symptom, ...]  # s1, s2 ... in this order
    evidence: tuple[Quote, ...]
    next: tuple[Question, ...]
    checked: tuple[Checked, ...]
    not_understood: tuple[Place, ...]
    skipped: tuple[Skipped, ...] = ()  # files that were not read, and why

    @property
    def exit_code(self) -> int:
        """0 healthy, 3 a cause was found, 4 only things worth fixing, 5 undetermined."""
        if self.verdict == "healthy":
            return 4 if self.unrelated else 0
        return 3 if self.verdict == "cause-found" else 5

"""The doctor's answer as values: what is wrong, why, what was excluded, what to do. Forms are made of it in answer/."""

from __future__ import annotations

from typing import Literal

from tortie.doctor.causes.cause import Cause, Finding
from tortie.doctor.causes.steps import Step
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.texts import Told
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

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
    prevent: tuple[Words, ...] = ()  # only what fits here


class Excluded(NamedTuple):
    cause: Cause
    why: Told
    evidence: tuple[Place, ...] = ()


class Question(NamedTuple):
    """What to run next, and what it decides."""

    command: str
    why: Told
    cause: str


class Checked(NamedTuple):
    """Something that was looked at and found in order."""

    text: Words
    evidence: tuple[Place, ...] = ()


class Area(NamedTuple):
    """A part of a cluster that can be looked at: what a verdict of `healthy` covers, or does not."""

    key: str  # agents, nodes, sessions, addresses, api, events, pods, traffic, start
    text: Words


class Unexplained(NamedTuple):
    """A line that says that something is wrong, and that no cause accounts for."""

    kind: str  # fatal, degraded, error, trial, event, restarts, address, complaint
    text: str  # the line itself
    place: Place
    component: str  # who printed it; empty where nothing says
    phase: Words  # where to look: that component's part, and when in a start it runs
    count: int = 1  # type: ignore[assignment] # a tuple has a method of that name, and nobody needs it here


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
    covers: tuple[Area, ...] = ()  # what was seen in order; empty when a cause was found
    not_shown: tuple[Area, ...] = ()  # what nobody looked at
    unexplained: tuple[Unexplained, ...] = ()  # the worst first
    remark: Words | None = None  # why nothing is claimed: none of the known causes, or too little was shown
    normal: tuple[Checked, ...] = ()  # what looks wrong and is not
    of_cluster: bool = True  # whether anything in it comes from a cluster

    @property
    def exit_code(self) -> int:
        """0 healthy, 3 a cause was found, 4 only things worth fixing, 5 undetermined."""
        if self.verdict == "healthy":
            return 4 if self.unrelated else 0
        return 3 if self.verdict == "cause-found" else 5

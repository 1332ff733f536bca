"""Labelled cases: what a person pasted, and what the answer is. Our own, and those beside the checkout, if any."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.evaluation import Labelled, read_label
from tortie.doctor.examine import picture_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.cleaning import decode, lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.redaction import redacted

_ROOT = Path(__file__).resolve().parents[2]
OWN = _ROOT / "tests" / "cases"
SHARED = _ROOT.parent / "shared" / "cases"
FOLDERS = (OWN, SHARED / "seeds", SHARED / "known")


class Case(NamedTuple):
    name: str  # of the folder
    text: str
    label: Labelled
    shared: bool

    def __str__(self) -> str:
        return self.name


class Told(NamedTuple):
    """What must not depend on how evidence is laid out."""

    verdict: str
    cause: str  # the first one; empty unless one is claimed
    objects: frozenset[str]

    @property
    def claim(self) -> tuple[str, str]:
        return self.verdict, self.cause


@cache
def cases() -> tuple[Case, ...]:
    """All cases in a fixed order; a folder without a label is not one (yet)."""
    found = []
    for folder in FOLDERS:
        for label in sorted(folder.glob("*/expected.json")):
            evidence = label.with_name("evidence.txt")
            if evidence.exists():
                name = label.parent.name
                text = decode(evidence.read_bytes())
                found.append(Case(name, text, read_label(label.read_bytes(), name), folder != OWN))
    return tuple(found)


def source_of(content: str | bytes, name: str = "evidence.txt") -> Source:
    """As a file of this content would be read."""
    text = decode(content) if isinstance(content, bytes) else content
    return Source(name, tuple(redacted(lines_of(text))))


def diagnosis_of(content: str | bytes) -> Diagnosis:
    return judge(picture_of([source_of(content)]))


def told(content: str | bytes) -> Told:
    diagnosis = diagnosis_of(content)
    if diagnosis.verdict != "cause-found":
        return Told(diagnosis.verdict, "", frozenset())
    first = diagnosis.causes[0]
    return Told(diagnosis.verdict, first.cause.id, frozenset(first.finding.objects))


@cache
def told_as_pasted(case: Case) -> Told:
    return told(case.text)

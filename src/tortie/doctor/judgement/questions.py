"""The one command to run next where no cause is in sight: each kind of symptom has a question that splits it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tortie.doctor.causes.cause import HINT, Cause
from tortie.doctor.commands.shell import Shell
from tortie.doctor.diagnosis import Area, Question, Symptom, Unexplained
from tortie.doctor.judgement.answered import left_of
from tortie.doctor.judgement.filling import NOTHING_FOUND, asked, common_values
from tortie.doctor.judgement.seconds import Found
from tortie.doctor.picture.host_pods import AGENTS
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Text, sections
from tortie.doctor.words import Words

_ENOUGH: Final = 5  # areas seen, from which a bundle would bring little that is new


def next_question(
    candidates: Sequence[Found],
    seen: list[Symptom],
    picture: Picture,
    covers: Sequence[Area],
    left: Sequence[Unexplained],
) -> Question:
    """The one that separates most candidates and was not answered; else about a symptom; else where to look."""
    findings = {cause.id: finding for cause, finding in candidates}
    for cause in _separating([cause for cause, finding in candidates if finding.strength > HINT]):
        command = left_of(asked(cause, findings[cause.id], picture), picture)
        if command:
            others = [other.id for other, _ in candidates if other.id != cause.id][:2]
            separates = f" ({cause.id} / {' / '.join(others)})" if others else ""
            why = Words(cause.ask.why.en + separates, cause.ask.why.zh + separates)
            return Question(command, why, cause.id)
    for question in _about(seen, picture):
        command = left_of(question.command, picture)
        if command:
            return question._replace(command=command)
    if left and len(covers) >= _ENOUGH:
        return Question("", Text(__name__, "no-more", (("where", left[0].phase),)), "")
    return _question("nothing", {})


def _separating(causes: list[Cause]) -> list[Cause]:
    """In the order of how many of the others each one's question tells it from; the more probable first."""
    ids = {cause.id for cause in causes}
    alike = {cause.id: ids & {id_ for id_, _ in cause.look_alikes} for cause in causes}
    split = {
        cause.id: len((alike[cause.id] | {id_ for id_ in ids if cause.id in alike[id_]}) - {cause.id})
        for cause in causes
    }
    return sorted(causes, key=lambda cause: -split[cause.id])


def _about(seen: list[Symptom], picture: Picture) -> Iterator[Question]:
    """Questions about the symptoms that are still there, the most telling first."""
    now = {symptom.kind: symptom for symptom in reversed(seen) if symptom.current}
    for key in sections(__name__):
        kind = key.removeprefix("ask ")
        if kind in now:
            pod = next((name for name in now[kind].objects if name.startswith(AGENTS)), "")
            yield _question(key, common_values(picture, NOTHING_FOUND) | ({"agent-pod": pod} if pod else {}))


def _question(key: str, values: dict[str, str]) -> Question:
    shell = Shell(sections(__name__)[key].sh).fill(values)
    return Question(shell.render(), Text(__name__, key), "")

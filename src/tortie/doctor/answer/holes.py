"""What is left to fill in a command, and why: the evidence does not name it, or names what no such thing is called."""

from __future__ import annotations

from typing import Final

from tortie.doctor.answer.labels import label
from tortie.doctor.causes.steps import Step
from tortie.doctor.commands.kinds import KINDS
from tortie.doctor.words import Language
from tortie.model.tuples import NamedTuple

SHOWN: Final = 60  # letters of a value that was not let in


class OpenHole(NamedTuple):
    name: str  # as it stands in the command: <node>
    why: str
    refused: bool  # a value was there and is not let into commands


def holes_of(step: Step, language: Language) -> tuple[OpenHole, ...]:
    if step.shell is None:
        return ()
    refused = {item.hole: item.value for item in step.refused}
    return tuple(
        OpenHole(str(hole), _why(hole.kind, refused.get(hole, ""), language), hole in refused)
        for hole in step.shell.open
    )


def _why(kind: str, value: str, language: Language) -> str:
    name = KINDS[kind].name.to(language)
    shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
    return label("refused", language, value=shown, kind=name) if value else label("not-named", language, kind=name)

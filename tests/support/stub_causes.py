"""Causes without texts of their own: what tests of the judgement weigh against each other."""

from __future__ import annotations

from tortie.doctor.causes.cause import Cause, Finding
from tortie.doctor.causes.culprits import named, objects
from tortie.doctor.causes.steps import Ask, Step
from tortie.doctor.commands.shell import Shell
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words, same


class StubCause(Cause):
    """Finds what it is told to find; every text is its id."""

    def __init__(
        self,
        id_: str,
        finding: Finding,
        *,
        explains: tuple[str, ...] = ("crash-loop",),
        look_alikes: tuple[tuple[str, Words], ...] = (),
        yields_to: tuple[str, ...] = (),
        severity: str = "high",
        ask: str = "",
        fix: tuple[Step, ...] = (Step(same("do it")),),
        verify: tuple[Step, ...] = (),
    ) -> None:
        super().__init__(
            module=__name__, id=id_, code=f"TRT{9000 + sum(map(ord, id_)) % 1000:04}", severity=severity,  # type: ignore[arg-type]
            explains=explains, signs=(), rules=(), yields_to=yields_to,
        )  # fmt: skip
        self._finding, self._steps, self._checks = finding, fix, verify
        self._alike, self._command = look_alikes, ask or f"ask about {id_}"

    def judge(self, picture: Picture) -> Finding:
        del picture
        return self._finding

    @property
    def name(self) -> Words:
        return same(self.id)

    @property
    def what(self) -> Words:
        return same(self.id)

    @property
    def look_alikes(self) -> tuple[tuple[str, Words], ...]:
        return self._alike

    @property
    def ask(self) -> Ask:
        return Ask(Shell(self._command), same("why"))

    def fix(self, picture: Picture, finding: Finding) -> tuple[Step, ...]:
        del picture, finding
        return self._steps

    @property
    def verify(self) -> tuple[Step, ...]:
        return self._checks

    def prevent_for(self, picture: Picture, finding: Finding) -> tuple[Words, ...]:
        del picture, finding
        return ()


def claim(strength: float, *names: str, aside: bool = False) -> Finding:
    who = named("node", *names)
    return Finding("found", same("because"), strength, objects(who), aside=aside, culprits=who)


def excluded(why: str = "because not") -> Finding:
    return Finding("ruled-out", same(why))

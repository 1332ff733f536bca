"""Errors that a person can act on: what happened, why, and what to do about it.

Leaves raise them; only the command line turns them into text and an exit code.
"""

from __future__ import annotations

from tortie.model.light import NamedTuple


class TortieError(Exception):
    """The root of every error we raise on purpose. Subclasses keep their fields; the texts derive from them."""

    exit_code = 1
    code = "failed"

    def __init__(self, what: str, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return ": ".join(part for part in (self.what, self.why) if part)


class UsageError(TortieError):
    """The caller asked for something that cannot be meant."""

    exit_code = 2
    code = "usage"


class Place(NamedTuple):
    """Where in a person's file something stands; `line` counts from 1, 0 when it is not known."""

    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}" if self.line else self.source


class Problem(NamedTuple):
    """One thing that is wrong with a resource."""

    field: str  # dotted, as the person wrote it: spec.ingress[0].protocol
    value: object
    why: str
    right: str = ""  # what would be right
    place: Place | None = None

    def __str__(self) -> str:
        return f"error with field {self.field} = '{self.value}' ({self.why})"


class Invalid(TortieError):
    """Input that breaks the rules of its format; holds all problems found, not only the first."""

    exit_code = 2
    code = "invalid"

    def __init__(self, subject: str, problems: list[Problem]) -> None:
        self.subject = subject
        self.problems = problems
        first = problems[0]
        if len(problems) == 1:
            what = f"{first.place}: {subject} is not valid" if first.place else f"{subject} is not valid"
            super().__init__(what, str(first), first.right or f"correct {first.field}")
        else:
            super().__init__(
                f"not valid: {subject}, {len(problems)} problems", "\n".join(map(_listed, problems)), "see each line"
            )


def _listed(problem: Problem) -> str:
    where = f"{problem.place}: " if problem.place else ""
    return f"-  {where}{problem}" + (f"; right would be: {problem.right}" if problem.right else "")

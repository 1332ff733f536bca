"""What a person writes to break a lab in several steps: a small YAML file, read and checked as a whole. Pure.

`scenario.schema.json` says the same to editors. A scenario is played by the clock: each step begins some time after the
one before it, and may be healed by itself.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import msgspec

from tortie.lab.faults.catalogue import decoy_names, names
from tortie.lab.faults.refusals import Order
from tortie.lab.forms import API_VERSION, LabName, MachineName
from tortie.model.errors import Invalid, Problem
from tortie.model.fields import Duration
from tortie.model.kinds import nearest
from tortie.model.manifest import read_plain
from tortie.model.shape import Part, problems_in, value_of

KIND: Final = "Scenario"
SEED: Final = 1
STEPS_MAX: Final = 100
_LONGEST_S: Final = 3600.0
_ALL: Final = "all"


class ScenarioStep(Part, frozen=True, kw_only=True):
    """One of `break`, `decoy` and `heal`."""

    break_: str = msgspec.field(name="break", default="")
    decoy: str = ""
    heal: str = ""
    node: MachineName = MachineName("")
    after: Duration = Duration("0s")  # from the beginning of the step before
    for_: Duration = msgspec.field(name="for", default=Duration("0s"))  # then it is healed; 0: it stays

    @property
    def what(self) -> str:
        return self.break_ or self.decoy or self.heal


class Scenario(Part, frozen=True, kw_only=True):
    apiVersion: Literal["tortie/v1"]
    kind: Literal["Scenario"]
    name: LabName = LabName("")
    seed: int = SEED
    steps: tuple[ScenarioStep, ...]


class Act(NamedTuple):
    """Something to do at a moment. What begins at the same moment is done together."""

    at_s: float
    orders: tuple[Order, ...] = ()
    healed: tuple[str, ...] = ()  # names; `all` for everything
    steps: tuple[int, ...] = ()  # whose time is over


def read_scenario(text: str, source: str) -> Scenario:
    """Raises Invalid with every problem of the file, each with its line."""
    manifest = read_plain(text, source)
    document = manifest.document
    problems = list(_problems(document))
    if problems:
        located = manifest.located(problems)
        raise Invalid(source, sorted(located, key=lambda problem: problem.place.line if problem.place else 0))
    return value_of(document, Scenario)


def _problems(document: Any) -> list[Problem]:
    if not isinstance(document, dict):
        right = f"apiVersion: {API_VERSION}, kind: {KIND}, and steps"
        return [Problem("document", str(document)[:60], "does not describe a scenario", right)]
    problems = list(problems_in(document, Scenario))
    if problems:
        return problems
    scenario = value_of(document, Scenario)
    if not 1 <= len(scenario.steps) <= STEPS_MAX:
        problems.append(
            Problem("steps", len(scenario.steps), f"a scenario has 1 to {STEPS_MAX} steps", "- break: NAME")
        )
    for number, step in enumerate(scenario.steps):
        problems += _step_problems(step, f"steps[{number}]")
    return problems


def _step_problems(step: ScenarioStep, where: str) -> list[Problem]:
    given = [name for name, value in (("break", step.break_), ("decoy", step.decoy), ("heal", step.heal)) if value]
    if len(given) != 1:
        right = "break: NAME, decoy: NAME or heal: NAME"
        return [Problem(where, ", ".join(given), "a step does one thing", right)]
    problems = []
    kind = given[0]
    known = {"break": names(), "decoy": decoy_names(), "heal": [_ALL, *names(), *decoy_names()]}[kind]
    if step.what not in known:
        near = nearest(step.what, known)
        right = f"did you mean {near}?" if near else "a name that `tortie lab faults` lists"
        problems.append(Problem(f"{where}.{kind}", step.what, f"there is no such {_NOUNS[kind]}", right))
    if kind == "heal" and (step.node or step.for_.seconds):
        field = "node" if step.node else "for"
        problems.append(Problem(f"{where}.{field}", step.node or step.for_, "means nothing to heal", "leave it out"))
    for field, value in (("after", step.after), ("for", step.for_)):
        if not 0 <= value.seconds <= _LONGEST_S:
            problems.append(Problem(f"{where}.{field}", value, "a time of a scenario is 0s to 1h", "for example 20s"))
    return problems


_NOUNS: Final = {"break": "fault", "decoy": "decoy", "heal": "fault"}


def acts(scenario: Scenario) -> list[Act]:
    """In the order of time; what ends at a moment ends before something else begins."""
    begins: dict[float, list[int]] = {}
    ends: dict[float, list[int]] = {}
    clock = 0.0
    for number, step in enumerate(scenario.steps):
        clock += step.after.seconds
        begins.setdefault(clock, []).append(number)
        if step.for_.seconds:
            ends.setdefault(clock + step.for_.seconds, []).append(number)
    return [
        act
        for at_s in sorted({*begins, *ends})
        for act in _acts_at(scenario, at_s, begins.get(at_s, []), ends.get(at_s, []))
    ]


def _acts_at(scenario: Scenario, at_s: float, begins: list[int], ends: list[int]) -> list[Act]:
    found = [Act(at_s, steps=tuple(ends))] if ends else []
    steps = [(number, scenario.steps[number]) for number in begins]
    healed = tuple(step.heal for _, step in steps if step.heal)
    if healed:
        found.append(Act(at_s, healed=healed))
    broken = [(number, step) for number, step in steps if not step.heal]
    if broken:
        orders = tuple(Order(step.what, step.node, bool(step.decoy)) for _, step in broken)
        found.append(Act(at_s, orders, steps=tuple(number for number, _ in broken)))
    return found

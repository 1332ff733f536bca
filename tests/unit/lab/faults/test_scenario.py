"""Scenario files: every problem with its line, and who does what when."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import pytest

from tortie.lab.faults.catalogue import anything_named
from tortie.lab.faults.refusals import Order
from tortie.lab.faults.scenario import Act, Scenario, ScenarioStep, acts, read_scenario
from tortie.lab.problem_words import told_in_chinese
from tortie.model.errors import Invalid
from tortie.model.shape import fields_of

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "lab" / "scenarios").glob("*.yaml"))
SCHEMA = json.loads(importlib.resources.files("tortie.lab").joinpath("scenario.schema.json").read_text("utf-8"))
HEAD = "apiVersion: tortie/v1\nkind: Scenario\n"


def read(text: str) -> Scenario:
    return read_scenario(HEAD + text, "play.yaml")


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(Invalid) as caught:
        read_scenario(text, "play.yaml")
    return [(problem.place.line if problem.place else 0, problem.field) for problem in caught.value.problems]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples(path: Path) -> None:
    scenario = read_scenario(path.read_text(), str(path))
    assert scenario.name == path.stem
    assert acts(scenario)
    assert all(step.heal or anything_named(step.what) for step in scenario.steps)


def test_examples_are_there() -> None:
    assert len(EXAMPLES) >= 3


def test_every_problem_has_its_line() -> None:
    text = HEAD + (
        "steps:\n"
        "- break: bgp-port-droped\n"
        "  for: 99h\n"
        "- heal: all\n"
        "  node: node-1\n"
        "- decoy: nois\n"
        "- break: swap-on\n"
        "  decoy: noise\n"
    )
    assert problems(text) == [
        (4, "steps[0].break"),
        (5, "steps[0].for"),
        (7, "steps[1].node"),
        (8, "steps[2].decoy"),
        (9, "steps[3]"),
    ]
    assert problems("apiVersion: tortie/v1\nkind: Lab\nsteps: []\n") == [(2, "kind")]
    assert problems(HEAD + "steps: []\n") == [(3, "steps")]
    assert problems(HEAD + "steps:\n- break: swap-on\n  nods: x\n") == [(5, "steps[0].nods")]
    assert problems("just text") == [(1, "document")]


def test_problems_in_chinese() -> None:
    with pytest.raises(Invalid) as caught:
        read("steps:\n- break: bgp-port-droped\n- {}\n- heal: all\n  for: 3s\n- break: swap-on\n  for: 5h\n")
    told = told_in_chinese(caught.value)
    for text in ("没有这个故障", "一个步骤只做一件事", "对 heal 没有意义", "场景中的时间"):
        assert text in told.why


def test_a_time_that_is_none_and_standard_input_in_chinese() -> None:
    with pytest.raises(Invalid) as caught:
        read_scenario(HEAD + "steps:\n- break: swap-on\n  for: soon\n", "standard input")
    assert told_in_chinese(caught.value) == (
        "标准输入 第 5 行：标准输入 无效",
        "字段 steps[0].for = “soon”有误（不是时间长度）",
        "数字加单位，例如 30s、1m30s 或 500ms",
    )


def test_the_clock() -> None:
    scenario = read(
        "seed: 7\n"
        "steps:\n"
        "- {break: swap-on, node: node-2, for: 20s}\n"
        "- {decoy: noise}\n"
        "- {break: bgp-port-dropped, after: 2s, for: 500ms}\n"
        "- {heal: all, after: 1m}\n"
    )
    assert scenario.seed == 7
    assert acts(scenario) == [
        Act(0.0, (Order("swap-on", "node-2"), Order("noise", decoy=True)), steps=(0, 1)),
        Act(2.0, (Order("bgp-port-dropped"),), steps=(2,)),
        Act(2.5, steps=(2,)),
        Act(20.0, steps=(0,)),
        Act(62.0, healed=("all",)),
    ]


def test_what_ends_at_a_moment_ends_first() -> None:
    scenario = read("steps:\n- {break: swap-on, for: 2s}\n- {break: swap-on, after: 2s}\n")
    assert [(act.at_s, bool(act.orders)) for act in acts(scenario)] == [(0.0, True), (2.0, False), (2.0, True)]


def test_the_schema_says_the_same() -> None:
    for part in (Scenario, ScenarioStep):
        described = SCHEMA["$defs"][part.__name__]
        assert set(described["properties"]) == set(fields_of(part))
        required = {name for name, field in fields_of(part).items() if field.required}
        assert set(described.get("required", ())) == required
        assert described["additionalProperties"] is False

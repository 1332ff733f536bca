"""The page about faults lists what `tortie lab faults` lists: names, causes, needs, who is spared; deeds as well."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.cli import Tortie

from tortie.lab.faults.deeds import Deed

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "faults.md").read_text()
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \|(.*)\|$", re.MULTILINE)
_CAUSE = re.compile(r"\[([a-z0-9-]+)\]\(\.\./causes/en/(TRT\d{4})\.md\)")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    told: dict[str, Any] = Tortie(tmp_path_factory.mktemp("page"))("lab", "faults", "-o", "json").json
    return told


def rows(part: str) -> dict[str, list[str]]:
    return {name: [cell.strip() for cell in cells.split(" | ")] for name, cells in _ROW.findall(part)}


def test_every_fault_has_its_row(told: dict[str, Any]) -> None:
    shown = rows(PAGE[PAGE.index("## The eight incidents") : PAGE.index("## Decoys")])
    assert sorted(shown) == sorted(fault["name"] for fault in told["faults"])
    for fault in told["faults"]:
        cause, _, _, own, needs = shown[fault["name"]]
        assert _CAUSE.findall(cause) == [(fault["cause"], fault["code"])]
        assert own.startswith("**spared**") == fault["spared"], fault["name"]
        assert needs == (", ".join(fault["needs"]) or "-"), fault["name"]


def test_the_incidents_stand_in_their_order(told: dict[str, Any]) -> None:
    part = PAGE[PAGE.index("## The eight incidents") :]
    numbers = {fault["name"]: fault["incident"] for fault in told["faults"]}
    first = rows(part[: part.index("\n## ")])
    assert [numbers[name] for name in first] == list(range(1, 9))
    assert sorted(number for number in numbers.values() if number) == list(range(1, 9))


def test_every_decoy_has_its_row(told: dict[str, Any]) -> None:
    shown = rows(PAGE[PAGE.index("## Decoys") :])
    assert list(shown) == [decoy["name"] for decoy in told["decoys"]]
    for decoy in told["decoys"]:
        assert shown[decoy["name"]][1] == (", ".join(decoy["needs"]) or "-")


def test_every_need_is_explained(told: dict[str, Any]) -> None:
    explained = set(re.findall(r"`([a-z-]+)`", PAGE[PAGE.index("| needs |") : PAGE.index("A lab that lacks")]))
    assert {need for fault in told["faults"] for need in fault["needs"]} <= explained


def test_every_deed_is_named() -> None:
    table = re.findall(r"^\| [a-z]+ \| ([A-Z]\w+(?:, [A-Z]\w+)*) \|$", PAGE[PAGE.index("## Deeds") :], re.MULTILINE)
    named = [deed for cell in table for deed in cell.split(", ")]
    assert sorted(named) == sorted(deed.__name__ for deed in get_args(Deed))

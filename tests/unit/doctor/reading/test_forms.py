"""Outputs without their command line: each that the doctor asks for is understood, or known by its form."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.forms import form_of

SAMPLES = [
    (head.partition(" => ")[0], head.partition(" => ")[2].split(", "), text)
    for head, _, text in (
        block.partition("\n")
        for block in (Path(__file__).parent / "asked_outputs.txt").read_text("utf-8").split("\n#### ")[1:]
    )
]


def understood(seen: Picture) -> set[str]:
    kinds = {f"Setting:{fact.scope}" if isinstance(fact, Setting) else type(fact).__name__ for fact in seen.facts()}
    forms = {f"form:{exhibit.form}" for exhibit in seen.exhibits if exhibit.form}
    return kinds | forms | {f"hit:{hit.sign}" for hit in seen.all_hits()}


@pytest.mark.parametrize(("command", "due", "text"), SAMPLES, ids=[command for command, _, _ in SAMPLES])
def test_an_output_is_understood_without_its_command(command: str, due: list[str], text: str) -> None:
    seen = picture(text)
    assert set(due) <= understood(seen)
    assert not any(exhibit.prose for exhibit in seen.exhibits), f"{command}: taken for a person's words"


def test_what_was_pasted_counts_as_asked() -> None:
    table = next(text for command, _, text in SAMPLES if command == "etcdctl endpoint status -w table")
    seen = picture(f"We looked at etcd, too, and found nothing.\n\n{table}")
    assert seen.commands("etcdctl", "endpoint status")


@pytest.mark.parametrize(
    "text",
    [
        "w1\nw2",  # names of anything
        "17",
        "active",
        "2024-03-05 10:00:00.123 [INFO][9] startup.go 12: nr_throttled 5",
        "apiVersion: v1\nkind: List",
    ],
)
def test_a_form_that_many_commands_share_tells_nothing(text: str) -> None:
    assert form_of(Exhibit("e", 1, tuple(text.split("\n")))) == ""


def test_a_command_that_is_shown_needs_no_form() -> None:
    (exhibit,) = picture("$ cat saved.txt\nModule   Size  Used by\nipip   20480  0\n").exhibits
    assert (exhibit.command, exhibit.form) == ("cat saved.txt", "")

"""What is typed on the stage is really run, and judged by what it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.cli.lab.cast import Cast
from tortie.cli.lab.stage import Stage
from tortie.cli.lab.talk import Talk
from tortie.lab.plays.play import Show
from tortie.lab.plays.recording import read_cast


@pytest.fixture(autouse=True)
def own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORTIE_LAB_DIR", str(tmp_path / "labs"))


def stage(lab: str, cast: Cast | None = None) -> Stage:
    return Stage(Talk(None, "en", "text", "never", ("text",)), lab, "node-2", cast)


def test_a_command_says_what_it_is_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    typed = stage("lab").type(Show("lab play", grep="docker", until="docker-bridge", code=0))
    assert typed.as_told
    assert (typed.command, typed.code) == ("tortie lab play", 0)
    assert capsys.readouterr().out.splitlines() == [
        "$ tortie lab play | grep -E 'docker'",
        "docker-bridge    Incident 2: a docker bridge becomes the node's address",
    ]


def test_a_symptom_that_does_not_come_is_not_as_told() -> None:
    assert not stage("lab").type(Show("lab play", until="never said", within_s=0.1)).as_told


def test_a_command_that_ends_otherwise_is_not_as_told() -> None:
    assert not stage("lab").type(Show("lab play", code=3)).as_told


def test_a_lab_with_another_name_is_named_and_its_folder_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = stage("mine").type(Show("lab status"))
    assert typed.command == "tortie lab status --name mine"
    assert typed.code
    assert str(tmp_path) not in capsys.readouterr().out
    assert str(tmp_path) not in typed.output


def test_whatever_is_told_and_typed_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cast = Cast("title")
    performed = stage("lab", cast)
    performed.headline("title")
    performed.tell("A story.")
    performed.heading(1, "First")
    performed.tell("It begins.")
    performed.type(Show("lab play", head=1))
    performed.tell("Look at it.")
    cast.write(str(tmp_path / "x.cast"))
    text = capsys.readouterr().out
    assert read_cast((tmp_path / "x.cast").read_text()).text.strip() == text.strip()
    assert "\n\n\n" not in text

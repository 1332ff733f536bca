"""A place where no recording can be written is refused before the play has begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.cli.lab import play as playing
from tortie.lab.failures import LabFailure


@pytest.fixture(autouse=True)
def own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> object:
        raise AssertionError("the play has begun")

    monkeypatch.setenv("TORTIE_LAB_DIR", str(tmp_path / "labs"))
    monkeypatch.setattr(playing, "Stage", never)


def played(record: str, lang: str = "en") -> int:
    return playing.play(
        name=None, lang=lang, output="text", color="never", play="docker-bridge", keep=False, record=record
    )


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("missing/x.cast", "no such file or directory"),
        ("file/x.cast", "not a directory"),
        ("folder", "Is a directory"),
    ],
)
def test_what_why_and_how_to_mend_it(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / place)
    with pytest.raises(LabFailure) as caught:
        played(path)
    failure = caught.value
    assert (failure.what, failure.why) == (f"the recording {path} cannot be written", reason)
    assert failure.fix == "give a file in a folder that exists with --record"
    assert failure.exit_code == 2


def test_in_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert played(str(tmp_path), "zh") == 2
    assert f"无法写入录像文件 {tmp_path}" in capsys.readouterr().err


def test_an_empty_place_is_none() -> None:
    with pytest.raises(LabFailure, match="the recording '' cannot be written"):
        played("")


def test_a_good_place_is_let_through_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="has begun"):
        played(str(tmp_path / "x.cast"))
    assert list(tmp_path.iterdir()) == []

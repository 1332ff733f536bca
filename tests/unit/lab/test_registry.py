"""Where labs are, and who works on one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tortie.lab.failures import LabFailure
from tortie.lab.registry import LabFolder, all_labs, lab_folder, labs_folder, locked, make, remove


def test_the_usual_places(tmp_path: Path) -> None:
    assert labs_folder({}, 0) == "/run/tortie/labs"
    assert labs_folder({"XDG_RUNTIME_DIR": str(tmp_path)}, 1000) == f"{tmp_path}/tortie/labs"
    assert labs_folder({"XDG_RUNTIME_DIR": str(tmp_path / "gone")}, 1000) == "/tmp/tortie-1000/labs"
    assert labs_folder({}, 1000) == "/tmp/tortie-1000/labs"
    assert labs_folder({"TORTIE_LAB_DIR": "/somewhere/"}, 0) == "/somewhere"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "Lab", "-a", "a-", "a" * 64, "a\n", "ä"])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(LabFailure, match="cannot be the name of a lab"):
        lab_folder("/labs", name)


def test_a_folder_is_made_once_and_found(tmp_path: Path) -> None:
    labs = str(tmp_path / "tortie" / "labs")
    folder = lab_folder(labs, "demo")
    assert all_labs(labs) == []
    assert make(folder, os.geteuid()) is True
    assert make(folder, os.geteuid()) is False
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    (tmp_path / "tortie" / "labs" / "Not a lab").mkdir()
    assert all_labs(labs) == [folder]


def test_the_last_lab_takes_its_empty_parents_along(tmp_path: Path) -> None:
    labs = tmp_path / "tortie" / "labs"
    first, second = (lab_folder(str(labs), name) for name in ("one", "two"))
    make(first, os.geteuid())
    make(second, os.geteuid())
    Path(first.path, "file").write_text("")
    remove(first)
    assert labs.exists()
    remove(second)
    assert list(tmp_path.iterdir()) == []
    given = lab_folder(str(tmp_path / "mine"), "one")
    make(given, os.geteuid())
    remove(given)
    assert (tmp_path / "mine").exists()


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    with pytest.raises(LabFailure, match="is not a folder of yours"):
        make(LabFolder(str(tmp_path / "demo")), os.geteuid())
    with pytest.raises(LabFailure, match="cannot be made"):
        make(LabFolder(str(tmp_path / "demo" / "below")), os.geteuid())


def test_one_at_a_time(tmp_path: Path) -> None:
    folder = LabFolder(str(tmp_path / "demo"))
    make(folder, os.geteuid())
    waits: list[bool] = []
    with locked(folder, time.monotonic(), lambda: None):
        with (
            pytest.raises(LabFailure, match="somebody else works on the lab"),
            locked(folder, time.monotonic(), lambda: waits.append(True)),
        ):
            pass
        remove(folder)
    assert waits == [True]
    with pytest.raises(FileNotFoundError), locked(folder, time.monotonic(), lambda: None):
        pass


def test_a_record_that_is_damaged_is_no_record(tmp_path: Path) -> None:
    folder = LabFolder(str(tmp_path))
    assert folder.read() is None
    for text in ("", "{", "[]"):
        Path(folder.record).write_text(text)
        assert folder.read() is None
    Path(folder.record).write_text('{"name": "demo"}')
    assert folder.read() == {"name": "demo"}

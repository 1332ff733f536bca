"""A tool that edits somebody's file, as a fault's helper: it goes on until it is ended, and then the file is right."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tortie.lab.faults import helping

pytestmark = pytest.mark.timeout(60)

PROGRAM = "no-such-program"  # nobody is restarted here


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


def editing(root: Path, path: str, text: str) -> int:
    pid = os.fork()
    if pid == 0:
        os.environ["TORTIE_ROOT"] = str(root)
        helping.listen_for_end()
        code = helping.until_ended(lambda: helping.edit_again(path, PROGRAM, text))
        os._exit(code)
    return pid


def test_an_edited_file_is_edited_again_and_right_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helping, "_SETTLED_S", 0.01)
    file = tmp_path / "etc" / "bird.cfg"
    file.parent.mkdir()
    file.write_text("as it was")
    pid = editing(tmp_path, "/etc/bird.cfg", "wrong")
    try:
        until(lambda: file.read_text() == "wrong")
        (tmp_path / "new").write_text("put right by its owner")
        (tmp_path / "new").replace(file)
        until(lambda: file.read_text() == "wrong")
    finally:
        os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert file.read_text() == "put right by its owner"
    assert sorted(each.name for each in file.parent.iterdir()) == ["bird.cfg"]

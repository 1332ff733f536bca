"""Processes of a lab: what they find around them, how their end is known, and that they end with their parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DEADLINE_S = 30.0

# A parent of its own: the crew takes note of the end of every child of its process, also of those of the tests.
PARENT = """
import json, os, signal, sys, time
from functools import partial
from tortie.lab.crew import Crew
from tortie.lab.launch import Life, Place, become_command, become_program

folder = sys.argv[1]
crew = Crew()

def life(name, become):
    return Life(Place({}, f"{folder}/{name}.log", {"PATH": os.environ["PATH"], "NAME": name}), become)

def command(words):
    print("I am", *words, os.environ["NAME"], sorted(os.environ), flush=True)
    time.sleep(1000)
    return 0

def fails():
    raise ValueError("a defect")

crew.start({
    "ends": life("ends", lambda: 7),
    "program": life("program", partial(become_program, ("sh", "-c", "echo here; exit 3"))),
    "missing": life("missing", partial(become_program, ("no-such-program",))),
    "fails": life("fails", fails),
    "stays": life("stays", partial(become_command, command, ("node", "run"))),
    "killed": life("killed", partial(become_command, command, ("node", "run"))),
})
crew.signal("killed", signal.SIGKILL)
until = time.monotonic() + 60
while sum(crew.runs(name) for name in ("ends", "program", "missing", "fails", "killed")) and time.monotonic() < until:
    crew.reap()
    time.sleep(0.01)
now = time.monotonic()
names = ("ends", "program", "missing", "fails", "killed", "stays")
print(json.dumps({name: crew.get(name).as_json(now) for name in names}), flush=True)
sys.stdin.read()
"""


def started(folder: Path) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), " " * 300], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    return parent, json.loads(parent.stdout.readline())


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while os.path.exists(f"/proc/{pid}/exe"):
        assert time.monotonic() < deadline, f"process {pid} goes on"
        time.sleep(0.01)


def test_everybody_has_a_place_and_an_end(tmp_path: Path) -> None:
    parent, told = started(tmp_path)
    try:
        ends = {name: (each.get("exit_code"), each.get("signal")) for name, each in told.items()}
        assert ends == {
            "ends": (7, None),
            "program": (3, None),
            "missing": (127, None),
            "fails": (1, None),
            "killed": (None, signal.SIGKILL),
            "stays": (None, None),
        }
        assert [name for name, each in told.items() if each["running"]] == ["stays"]
        assert (tmp_path / "program.log").read_text() == "here\n"
        assert "no-such-program: No such file" in (tmp_path / "missing.log").read_text()
        assert "ValueError: a defect" in (tmp_path / "fails.log").read_text()
        log = tmp_path / "stays.log"
        deadline = time.monotonic() + DEADLINE_S
        while not log.exists() or "\n" not in log.read_text():  # it opens its log itself, whenever it gets to that
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert log.read_text() == "I am node run stays ['NAME', 'PATH']\n"
        pid = told["stays"]["pid"]
        assert Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0") == b"tortie\0node\0run"
        assert Path(f"/proc/{pid}/comm").read_text() == "tortie\n"
        assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
        assert os.getsid(pid) == pid
    finally:
        parent.communicate()


def test_they_end_with_their_parent(tmp_path: Path) -> None:
    parent, told = started(tmp_path)
    pid = told["stays"]["pid"]
    assert os.path.exists(f"/proc/{pid}/exe")
    parent.kill()
    parent.communicate()
    wait_gone(pid)

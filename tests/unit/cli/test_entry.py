"""Ctrl-C before a command has begun, while Python still imports it, and after it is over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_DEADLINE_S = 60.0

# Presses Ctrl-C at the moment when a module begins to be imported, as an impatient user may.
INTERRUPTED_IMPORT = """
import _signal, os, sys
from tortie.cli.entry import entry

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), _signal.SIGINT)

sys.meta_path.insert(0, Impatient())
{before}
sys.argv = ["tortie", *{words!r}]
entry()
"""


def run(script: str, *, closed_stderr: bool = False) -> tuple[int, str, str]:
    command = [sys.executable, "-c", script]
    if closed_stderr:
        command = ["bash", "-c", 'exec "$@" 2>&-', "bash", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def interrupted_import(module: str, *words: str, before: str = "") -> str:
    return INTERRUPTED_IMPORT.format(module=module, words=words, before=before)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("tortie.cli.main", ("get", "nodes")),
        ("tortie.cli.grammar", ("get", "nodes")),
        ("tortie.cli.commands.get", ("get", "nodes")),
        ("tortie.cli.main", ("node", "check", "-o", "json")),
        ("tortie.cli.node.check", ("node", "check")),
        ("tortie.health.probe", ("node", "check", "--port", "1")),
        ("tortie.model.errors", ("node", "check", "--port", "no-number")),
    ],
)
def test_ctrl_c_during_the_imports_ends_every_command_quietly(module: str, words: tuple[str, ...]) -> None:
    assert run(interrupted_import(module, *words)) == (130, "", "interrupted\n")


def test_ctrl_c_with_nobody_to_tell_is_only_an_exit_code() -> None:
    assert run(interrupted_import("tortie.cli.main", "get", "nodes"), closed_stderr=True) == (130, "", "")


def test_who_started_us_without_ctrl_c_gets_what_was_asked_for() -> None:
    ignoring = "_signal.signal(_signal.SIGINT, _signal.SIG_IGN)"
    code, stdout, stderr = run(interrupted_import("tortie.cli.main", "--version", before=ignoring))
    assert (code, stdout.split()[0], stderr) == (0, "tortie", "")


def test_ctrl_c_after_the_end_shows_no_traceback() -> None:
    at_exit = "import atexit; atexit.register(lambda: os.kill(os.getpid(), _signal.SIGINT))"
    code, stdout, stderr = run(interrupted_import("", "--version", before=at_exit))
    assert (code, stdout.split()[0], stderr) == (130, "tortie", "interrupted\n")


def test_a_probe_reaches_its_page_without_anything_that_is_not_needed(tmp_path: Path) -> None:
    script = tmp_path / "probe.py"
    script.write_text(
        "import sys; before = set(sys.modules)\n"
        "from tortie.cli.entry import entry\n"
        "sys.argv = ['tortie', 'node', 'check', '--port', '1']\n"
        "try:\n    entry()\n"
        "except SystemExit as end:\n    assert end.code == 3, end.code\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('tortie')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", str(script)], capture_output=True, text=True, timeout=_DEADLINE_S, check=True
    )
    assert set(done.stderr.split()) <= {"__future__", "_socket"}

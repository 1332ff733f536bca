"""Pages that show the doctor show what is really printed; the tutorial for a new cause is followed to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.transcripts import Desk, agrees, settled, steps

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "README.zh.md", "docs/how-to/ask-the-doctor.md")
TUTORIAL = ROOT / "docs" / "how-to" / "add-a-cause.md"
# A file's name alone on a line, and what is in it.
_FILE = re.compile(r"^\*\*([\w/.-]+)\*\*\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DEADLINE_S = 120.0


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_the_doctor_prints(tmp_path: Path, page: str) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    desk = Desk(tmp_path)
    # Labs have a folder of their own in the tests of the other transcripts.
    shown = list(steps((ROOT / page).read_text(), "tortie doctor", without="tortie lab"))
    assert shown, "the page does not show the doctor"
    for step in shown:
        printed = desk.type(step.command)
        if not agrees(step.printed, printed):
            assert settled(printed) == settled(step.printed), f"$ {step.command}\n{printed}"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the sources into which the files of the tutorial were typed."""
    for folder in ("src/tortie", "tests/support"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    files = _FILE.findall(TUTORIAL.read_text())
    assert [Path(name).suffix for name, _ in files] == [".py", ".py", ".txt", ".txt", ".json"]
    for name, content in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def _run(checkout: Path, *words: str) -> str:
    """With the copy instead of what is installed."""
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_cause_of_the_tutorial_passes_its_test_and_is_right_about_its_case(checkout: Path) -> None:
    passed = _run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "tests/unit")
    assert "4 passed" in passed
    assert "right 1" in _run(checkout, "-m", "tortie", "doctor", "eval", "tests/cases")
    page = _run(checkout, "-m", "tortie", "doctor", "explain", "inotify-exhausted", "-o", "md")
    assert page.startswith("# TRT7099 `inotify-exhausted`")


def test_the_module_of_the_tutorial_keeps_the_rules_of_the_house(checkout: Path) -> None:
    module = "src/tortie/doctor/causes/kernel/trt7099_inotify_exhausted.py"
    test = "tests/unit/doctor/causes/test_trt7099_inotify_exhausted.py"
    shutil.copy(ROOT / "pyproject.toml", checkout)
    _run(checkout, "-m", "ruff", "check", "--no-cache", module, test)
    _run(checkout, "-m", "ruff", "format", "--no-cache", "--check", module, test)

"""What a script reads on standard output, beside what calicoctl v3.32.1 prints for the same words over the same data.

`tests/golden/cli/sentences` holds both, run one beside the other over one etcd: `stored.json` is what calicoctl and the
CNI plugins had written, and each case has calicoctl's output and exit code, and Tortie's where they differ, with the
reason. Moments, UIDs and revisions are blotted out.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Tortie

from tortie import __version__

FOLDER = Path(__file__).parent.parent / "golden" / "cli" / "sentences"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())
_BLOTS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"""resourceVersion("?): ["']\d+["']"""), r"resourceVersion\1: N"),
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shell = Tortie(tmp_path_factory.mktemp("stored"))
    for key, value in json.loads((FOLDER / "stored.json").read_text()).items():
        shell.put(key, value.encode())
    return shell.store


@pytest.fixture
def tortie(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tortie:
    shell = Tortie(tmp_path)
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "nothing").mkdir()
    for file in stored.parent.glob(f"{stored.name}*"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return shell


@pytest.mark.parametrize("case", CASES, ids=[case["words"] for case in CASES])
def test_a_script_reads_what_it_is_used_to(tortie: Tortie, case: dict[str, Any]) -> None:
    ran = tortie(*shlex.split(case["words"]))
    stdout = ran.stdout.replace(f"v{__version__}", "v0.1.0")
    for form, blot in _BLOTS:
        stdout = form.sub(blot, stdout)
    expected = {"stdout": case["stdout"], "code": case["code"], **case.get("tortie", {})}
    assert (stdout, ran.code) == (expected["stdout"], expected["code"]), ran.stderr


def test_what_is_different_has_its_reason_and_an_exit_code_that_says_the_same() -> None:
    for case in CASES:
        ours = case.get("tortie", {})
        if "stdout" in ours:
            assert ours["why"], case["words"]
        elif "code" in ours:  # ours are finer, never the opposite
            assert (ours["code"] == 0) is (case["code"] == 0), case["words"]


def test_the_data_is_calicoctls() -> None:
    assert os.path.getsize(FOLDER / "stored.json") > 10_000
    assert sum(not case.get("tortie") for case in CASES) > 120

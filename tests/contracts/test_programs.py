"""A short program's outcome: what it said, how it ended, and no trace of one whose time was up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tortie.host.programs import outcome_of

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def run(work: Coroutine[Any, Any, tuple[int, str]]) -> tuple[int, str]:
    return asyncio.run(work)


def test_both_outputs_and_the_status_are_told() -> None:
    assert run(outcome_of(["sh", "-c", "echo one; echo two >&2; exit 3"], ENVIRONMENT, 10)) == (3, "one\ntwo\n")


def test_a_signal_is_a_negative_status() -> None:
    assert run(outcome_of(["sh", "-c", "kill -9 $$"], ENVIRONMENT, 10)) == (-9, "")


def test_much_output_is_read_to_its_end() -> None:
    status, said = run(outcome_of(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"], ENVIRONMENT, 10))
    assert (status, len(said)) == (0, 300000)


def test_what_is_not_there_is_said_before_anything_is_started() -> None:
    with pytest.raises(FileNotFoundError):
        run(outcome_of(["no-such-program"], ENVIRONMENT, 10))


def test_who_takes_too_long_is_killed_and_collected(tmp_path: Path) -> None:
    number = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        run(outcome_of(["sh", "-c", f"echo $$ > {number}; exec sleep 3600"], ENVIRONMENT, 3.0))  # enough to write it
    with pytest.raises(ChildProcessError):
        os.waitpid(int(number.read_text()), os.WNOHANG)

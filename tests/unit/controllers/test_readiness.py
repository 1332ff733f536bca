"""The status file: Calico's form, and a reader that notices when its writer is dead."""

from __future__ import annotations

import json

import pytest

from tortie.controllers.readiness import Standing, Verdict, Writer, judge_status, status_text, writer_of

WRITER = Writer(7, "123")


def test_calico_s_form() -> None:
    text = status_text({"CalicoDatastore": Standing(False, "no answer"), "Startup": Standing(True)}, WRITER, "leader")
    assert json.loads(text)["Readiness"] == {
        "CalicoDatastore": {"Ready": False, "Reason": "no answer"},
        "Startup": {"Ready": True, "Reason": ""},
    }
    assert writer_of(text) == WRITER
    assert judge_status(text, True, WRITER) == Verdict(False, ("CalicoDatastore: no answer",), "leader")


def test_ready_only_while_the_writer_lives() -> None:
    text = status_text({"Startup": Standing(True)}, WRITER, "standby")
    assert judge_status(text, True, WRITER).ready
    dead = judge_status(text, False, WRITER)
    assert not dead.ready
    assert "process 7, which wrote this, is gone" in dead.reasons[0]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"Readiness": []}', '{"Readiness": {"x": 1}}'])
def test_a_file_that_makes_no_sense_is_not_ready(text: str) -> None:
    assert not judge_status(text, None, writer_of(text)).ready

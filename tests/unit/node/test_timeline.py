"""The record of starts: written while they go on, and honest about those that never ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.health.window import ProbeWindow, parse_window
from tortie.model.errors import TortieError, UsageError
from tortie.node.timeline import KEPT, PhaseRecord, StartRecord, Timeline, read_records

RECORD = StartRecord(
    "n1",
    123,
    "2026-11-16T00:00:00.000+00:00",
    "running",
    1.25,
    (PhaseRecord("name", 0.25, 0), PhaseRecord("datastore", 1.0, 2, "datastore unreachable")),
    "0.1.0",
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "starts.json")
    assert read_records(path) == ()
    Timeline(path).write(RECORD)
    assert read_records(path) == (RECORD,)


def test_a_start_that_never_ended_is_found_by_the_next(tmp_path: Path) -> None:
    path = str(tmp_path / "starts.json")
    Timeline(path).write(RECORD)
    timeline = Timeline(path)
    unfinished = timeline.open()
    assert unfinished is not None
    assert (unfinished.outcome, unfinished.phases[-1].name) == ("killed", "datastore")
    timeline.write(RECORD._replace(pid=124, outcome="ready"))
    assert [(record.pid, record.outcome) for record in read_records(path)] == [(123, "killed"), (124, "ready")]
    assert Timeline(path).open() is None


def test_only_the_last_starts_are_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "starts.json")
    for pid in range(KEPT + 5):
        timeline = Timeline(path)
        timeline.open()
        timeline.write(RECORD._replace(pid=pid))
        timeline.write(RECORD._replace(pid=pid, outcome="ready"))
    assert [record.pid for record in read_records(path)] == list(range(5, KEPT + 5))


def test_a_damaged_record_is_told_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "starts.json"
    for damaged in ("{", "[]", '{"starts": [{"node": 1}]}', ""):
        path.write_text(damaged)
        with pytest.raises(TortieError, match="cannot be read"):
            read_records(str(path))
        timeline = Timeline(str(path))
        assert timeline.open() is None
        timeline.write(RECORD)
        assert read_records(str(path)) == (RECORD,)


def test_the_probe_window_is_kubelets_arithmetic() -> None:
    assert ProbeWindow().kill_after_s == 60
    assert parse_window("5,10,6").kill_after_s == 55
    assert parse_window("60,10,10").kill_after_s == 150
    assert ProbeWindow().share_of(90) == 1.5


@pytest.mark.parametrize("text", ["", "10", "10,10", "a,b,c", "10,0,6", "10,10,0", "-1,10,6", "10,10,6,7", "1,1,1.5"])
def test_what_is_no_probe_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a probe"):
        parse_window(text)

"""Start-up logs: their ends, whatever order the exhibits come in, and whether they advance."""

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.causes.agent.start_evidence import probe_failures, window
from tortie.doctor.causes.agent.start_log import start_logs

FIRST = "2020-01-01 10:00:00.000 [INFO][9] startup.go 252: Early log level set to info"
MIDDLE = "2020-01-01 10:00:20.000 [INFO][9] startup.go 300: Building new node resource"
LAST = "2020-01-01 10:00:55.000 [INFO][9] startup.go 400: Checking for conflicts"


def test_order_of_lines_does_not_matter() -> None:
    for lines in ((FIRST, MIDDLE, LAST), (LAST, FIRST, MIDDLE)):
        (log,) = start_logs(picture("\n".join(lines)))
        assert log.seconds == 55.0
        assert not log.failed
        assert not log.finished


def test_felix_after_it_means_that_it_finished() -> None:
    felix = "2020-01-01 10:00:57.000 [INFO][40] int_dataplane.go 250: Creating internal dataplane driver."
    (log,) = start_logs(picture(f"{FIRST}\n{LAST}\nCalico node started successfully\n{felix}"))
    assert log.finished


def test_waiting_in_vain_is_no_progress() -> None:
    waiting = (
        "2020-01-01 10:00:31.000 [INFO][9] startup.go 479: Hit error connecting to datastore - retry error=i/o timeout"
    )
    (log,) = start_logs(picture(f"{FIRST}\n{waiting}"))
    assert log.failed


def test_an_empty_reason_inside_json() -> None:
    event = '{"reason":"Unhealthy","message":"Liveness probe failed: ","type":"Warning","count":40}'
    (failure,) = probe_failures(picture(event), "liveness")
    assert failure.text == ""


def test_the_usual_window_without_a_probe() -> None:
    probe, budget = window(picture(FIRST))
    assert probe is None
    assert budget.kill_after_s == 60.0

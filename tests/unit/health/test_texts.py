"""How a report reads: Felix's table, the reasons, JSON."""

from __future__ import annotations

import json

import pytest

from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.health.texts import as_json, as_text, go_duration, has_news
from tortie.health.verdict import span

REFUSED = Trouble("the datastore does not answer", "connection\nrefused", "start etcd", "the datastore")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock)


def test_the_table_is_felixs(health: Health, clock: Clock) -> None:
    health.started()
    health.component("CalculationGraph", timeout_s=30)
    health.component("BPFHostIP", live=None, ready=False, detail="not\nknown")
    health.component("InternalDataplaneMainLoop", timeout_s=90)
    health.component("Silent", timeout_s=0.5)
    health.component("Dead", live=False)
    clock.now = 1.0
    # The widths are those of the longest cells; the lines of a detail are joined.
    assert as_text(health.report(), "liveness", verbose=False).split("not live:")[0] == (
        "+---------------------------+---------+--------------------+---------------------+-----------+\n"
        "|         COMPONENT         | TIMEOUT |      LIVENESS      |      READINESS      |  DETAIL   |\n"
        "+---------------------------+---------+--------------------+---------------------+-----------+\n"
        "| BPFHostIP                 | -       | -                  | reporting non-ready | not known |\n"
        "| CalculationGraph          | 30s     | reporting live     | reporting ready     |           |\n"
        "| Dead                      | -       | reporting non-live | reporting ready     |           |\n"
        "| InternalDataplaneMainLoop | 1m30s   | reporting live     | reporting ready     |           |\n"
        "| Silent                    | 500ms   | timed out          | timed out           |           |\n"
        "| start-up                  | -       | reporting live     | reporting ready     |           |\n"
        "+---------------------------+---------+--------------------+---------------------+-----------+\n"
    )


def test_a_bad_answer_gives_its_reasons_first_then_the_rest(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60, "connecting to 10.0.0.1:2379")
    health.count("get")
    health.trouble(REFUSED)
    clock.now = 3.2
    health.trouble(REFUSED)
    clock.now = 4.2
    text = as_text(health.report(), "readiness", verbose=False)
    lines = [line for line in text.splitlines() if not line.startswith(("+", "|"))]
    assert lines == [
        "not ready: start-up is in phase datastore for 4.2 s: connecting to 10.0.0.1:2379",
        "  why: the datastore does not answer: connection refused",
        "  fix: start etcd",
        "  whose fault: the datastore; for 4.2 s (start-up)",
        "",
        "live: yes, ready: no",
        "phase: datastore for 4.2 s, 1 round trip; moved 1 s ago, stuck after 60 s without movement; "
        "doing: connecting to 10.0.0.1:2379",
        "phases: launch 0.000 s",
        "last error: the datastore does not answer (1 s ago in phase datastore, 2 times)",
        "  why: connection refused",
        "  fix: start etcd",
    ]


def test_liveness_tells_only_who_asks_for_more_why_the_node_is_not_ready(health: Health) -> None:
    health.started()
    health.need("bgp", REFUSED)
    assert "not ready:" not in as_text(health.report(), "liveness", verbose=False)
    assert "not ready: the datastore does not answer" in as_text(health.report(), "liveness", verbose=True)


def test_a_node_that_is_well_and_has_nothing_to_report_has_no_news(health: Health) -> None:
    assert has_news(health.report()), "a start is news"
    health.started()
    health.component("graph")
    assert not has_news(health.report())
    health.component("graph", detail="12 nodes")
    assert has_news(health.report())
    health.drop("graph")
    health.trouble(REFUSED)
    assert has_news(health.report())


def test_json_has_everything(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60, "connecting")
    health.count("get")
    health.trouble(REFUSED)
    health.component("graph", live=None, ready=True, timeout_s=30, detail="in sync")
    clock.now = 1.23456
    found = json.loads(json.dumps(as_json(health.report())))
    assert found == {
        "live": True,
        "ready": False,
        "phase": {
            "name": "datastore",
            "ageSeconds": 1.235,
            "boundSeconds": 60,
            "progressAgeSeconds": 1.235,
            "doing": "connecting",
            "roundTrips": 1,
        },
        "startAgeSeconds": 1.235,
        "startTookSeconds": None,
        "notLive": "",
        "notReady": [
            {
                "name": "start-up",
                "what": "start-up is in phase datastore for 1.2 s: connecting",
                "why": "the datastore does not answer: connection\nrefused",
                "fix": "start etcd",
                "fault": "the datastore",
                "sinceSeconds": 1.235,
            }
        ],
        "lastError": {**REFUSED._asdict(), "phase": "datastore", "ageSeconds": 1.235, "count": 1},
        "phases": [{"name": "launch", "seconds": 0.0, "roundTrips": 0}],
        "components": [
            {"name": "graph", "timeoutSeconds": 30, "liveness": None, "readiness": "ready", "detail": "in sync"},
            {
                "name": "start-up",
                "timeoutSeconds": 60,
                "liveness": "live",
                "readiness": "non-ready",
                "detail": "phase datastore: connecting",
            },
        ],
    }


def test_json_says_why_it_is_not_live(health: Health) -> None:
    health.started()
    health.child_ended("bird", "exited with status 1", 7)
    found = as_json(health.report())
    assert (found["live"], found["notLive"]) == (False, "bird (pid 7) exited with status 1")
    assert (found["lastError"], found["startTookSeconds"]) == (None, 0.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.44, "0.4 s"),
        (31, "31 s"),
        (119.9, "119.9 s"),
        (310, "5 min 10 s"),
        (120, "2 min"),
        (12000, "3 h 20 min"),
    ],
)
def test_spans_of_time(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "500ms"), (30, "30s"), (60, "1m0s"), (90, "1m30s"), (2.5, "2.5s"), (3600, "1h0m0s")]
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text

"""How a report reads: Felix's table, the reasons, JSON."""

from __future__ import annotations

import json

import pytest

from tortie.health.health import Health
from tortie.health.state import Trouble
from tortie.health.texts import Question, as_json, as_text, go_duration, has_news
from tortie.model.spans import span

REFUSED = Trouble("the datastore does not answer", "connection\nrefused", "start etcd", "the datastore")
UNREACHABLE = Trouble(
    "etcd at http://10.0.0.1:2379, http://10.0.0.2:2379, http://10.0.0.3:2379 cannot be reached to read the cluster",
    "connect to 10.0.0.1:2379: connection refused; connect to 10.0.0.2:2379: connection refused",
    "start etcd, or name it right in ETCD_ENDPOINTS",
    "the datastore",
)
DOING = "reading the cluster's state from http://10.0.0.1:2379, http://10.0.0.2:2379, http://10.0.0.3:2379"


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
        "phase: datastore for 4.2 s (starting for 4.2 s), 1 round trip; moved 1 s ago, "
        "stuck after 60 s without movement; doing: connecting to 10.0.0.1:2379",
        "phases: launch 0.000 s",
        "last error: see start-up (1 s ago in phase datastore, 2 times)",
    ]


def blocked(health: Health, clock: Clock) -> None:
    """Four attempts, as the agent makes them while etcd is away."""
    for _ in range(4):
        health.begin("datastore", 60, DOING)
        health.trouble(UNREACHABLE)
        health.need("datastore", UNREACHABLE)
        clock.now += 15.0


def test_a_trouble_that_blocks_the_start_is_told_once(health: Health, clock: Clock) -> None:
    blocked(health, clock)
    text = as_text(health.report(), "readiness", verbose=True)
    for part in (UNREACHABLE.what, UNREACHABLE.why, UNREACHABLE.fix):
        assert text.count(part) == 1
    lines = [line for line in text.splitlines() if not line.startswith(("+", "|"))]
    assert lines == [
        f"not ready: start-up is in phase datastore (attempt 4, starting for 60 s): {DOING}",
        "  why: see datastore",
        "  whose fault: the datastore; for 60 s (start-up)",
        f"not ready: {UNREACHABLE.what}",
        f"  why: {UNREACHABLE.why}",
        f"  fix: {UNREACHABLE.fix}",
        "  whose fault: the datastore; for 60 s (datastore)",
        "",
        "live: yes, ready: no",
        "phase: datastore (attempt 4, this one for 15 s; starting for 60 s); moved 15 s ago, "
        f"stuck after 60 s without movement; doing: {DOING}",
        "phases: launch 0.000 s",
        "last error: see datastore (15 s ago in phase datastore, 4 times)",
    ]


def test_the_last_error_is_told_in_full_where_nobody_else_tells_it(health: Health, clock: Clock) -> None:
    health.started()
    health.trouble(REFUSED)
    running = as_text(health.report(), "readiness", verbose=True)
    assert (
        "last error: the datastore does not answer (0 s ago in phase running)\n  why: connection refused\n" in running
    )
    blocked(health, clock)
    clock.now += 60.0
    stuck = as_text(health.report(), "liveness", verbose=True)
    assert f"  why: {UNREACHABLE.why}\n  fix: {UNREACHABLE.fix}\n" in stuck
    assert "see datastore" not in stuck


@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("question", ["liveness", "readiness"])
def test_a_table_fits_a_terminal_and_what_was_cut_is_below(
    health: Health, clock: Clock, question: Question, verbose: bool
) -> None:
    blocked(health, clock)
    health.component("graph", detail="in sync with " + "a very long list of things " * 10)
    health.component("with-a-name-that-is-far-too-long-to-be-the-name-of-anything", detail="word " * 50)
    text = as_text(health.report(), question, verbose=verbose)
    rows = [line for line in text.splitlines() if line.startswith(("+", "|"))]
    assert {len(row) for row in rows} <= set(range(100, 121))
    assert len({len(row) for row in rows}) == 1
    below = text.replace("\n".join(rows), "")
    for part in (UNREACHABLE.what, DOING, ("in sync with " + "a very long list of things " * 10).strip()):
        assert part in below
    assert "with-a-name-that-is-far-too-long-to-be-the-name-of-anything: word word" in below


def test_a_table_without_long_words_stands_alone(health: Health) -> None:
    health.component("graph", detail="in sync")
    assert as_text(health.report(), "liveness", verbose=False).splitlines()[-1].startswith("+-")


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
            "attempt": 1,
            "attemptAgeSeconds": 1.235,
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
        "remarks": {},
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
    health.component("bird", live=False, ready=False, detail="bird (pid 7) exited with status 1")
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

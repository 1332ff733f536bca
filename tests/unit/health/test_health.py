"""When a node is live and ready, and why not: every rule, with a clock that is moved by hand."""

from __future__ import annotations

import pytest

from tortie.health.health import Health
from tortie.health.state import LAUNCH_BOUND_S, Phase, Trouble

REFUSED = Trouble("the datastore does not answer", "connection refused", "start etcd", "the datastore")
NO_ADDRESS = Trouble(
    "no address is chosen", "eth0 and eth1 are alike", "set IP_AUTODETECTION_METHOD", "the configuration"
)
PEER_DOWN = Trouble("BGP not established with 10.0.0.2", "no route", "start node n2", "a peer")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(clock)


@pytest.fixture
def running(health: Health) -> Health:
    health.started()
    return health


def names_of_not_ready(health: Health) -> list[str]:
    return [cause.name for cause in health.report().not_ready]


def test_from_the_first_moment_it_is_live_and_not_ready(health: Health) -> None:
    report = health.report()
    assert (report.live, report.ready, report.phase) == (True, False, "launch")


def test_a_launch_that_never_reaches_its_first_phase_is_stuck(health: Health, clock: Clock) -> None:
    clock.forward(LAUNCH_BOUND_S + 0.1)
    assert not health.report().live


def test_while_a_phase_runs_the_reason_names_it_and_what_it_does(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60, "connecting to 10.0.0.1:2379")
    clock.forward(3.2)
    report = health.report()
    (cause,) = report.not_ready
    assert report.live
    assert cause.trouble.what == "start-up is in phase datastore for 3.2 s: connecting to 10.0.0.1:2379"
    assert cause.trouble.fault == "this node"
    assert cause.since_s == pytest.approx(3.2)


def test_the_fault_of_a_phase_is_that_of_its_last_trouble(health: Health) -> None:
    health.begin("datastore", 60)
    health.trouble(REFUSED)
    (cause,) = health.report().not_ready
    assert cause.trouble.why == "the datastore does not answer: connection refused"
    assert (cause.trouble.fix, cause.trouble.fault) == ("start etcd", "the datastore")
    health.resolved()
    (cause,) = health.report().not_ready
    assert (cause.trouble.why, cause.trouble.fault) == ("", "this node")


def test_the_trouble_of_an_earlier_phase_is_no_reason_any_more(health: Health) -> None:
    health.begin("datastore", 60)
    health.trouble(REFUSED)
    health.begin("address", 60)
    report = health.report()
    assert report.not_ready[0].trouble.fault == "this node"
    assert report.last is not None
    assert (report.last.trouble, report.last.phase) == (REFUSED, "datastore")


def test_a_phase_is_stuck_only_after_its_bound(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60, "connecting")
    clock.forward(60)
    assert health.report().live
    clock.forward(0.5)
    report = health.report()
    assert not report.live
    assert report.why_not_live == (
        "start-up is stuck: phase datastore has not moved for 60.5 s (bound 60 s), last doing: connecting"
    )
    assert not report.ready


@pytest.mark.parametrize("movement", ["progress", "trouble", "begin again", "next phase"])
def test_movement_keeps_a_slow_start_alive(health: Health, clock: Clock, movement: str) -> None:
    health.begin("datastore", 60)
    for attempt in range(100):
        clock.forward(59)
        match movement:
            case "progress":
                health.progress("still connecting")
            case "trouble":
                health.trouble(REFUSED)
            case "begin again":
                health.begin("datastore", 60)
            case "next phase":
                health.begin(f"step {attempt}", 60)
        clock.forward(59)
        assert health.report().live


def test_a_round_trip_is_counted_and_is_no_movement(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60)
    clock.forward(61)
    health.count("get")
    assert not health.report().live


def test_progress_without_words_keeps_the_last_ones(health: Health) -> None:
    health.begin("datastore", 60, "connecting")
    health.progress()
    assert health.report().doing == "connecting"
    health.progress("reading 53 nodes")
    assert health.report().doing == "reading 53 nodes"
    health.begin("address", 60)
    assert health.report().doing == ""


def test_phases_are_recorded_with_their_time_and_round_trips(health: Health, clock: Clock) -> None:
    clock.forward(0.25)
    health.begin("datastore", 60)
    health.count("get")
    health.count("snapshot")
    clock.forward(2)
    health.begin("register", 60)
    health.count("commit")
    clock.forward(1)
    assert health.report().phases == (Phase("launch", 0.25, 0), Phase("datastore", 2.0, 2))
    assert health.report().round_trips == 1
    health.started()
    report = health.report()
    assert report.phases[-1] == Phase("register", 1.0, 1)
    assert report.start_took_s == sum(phase.seconds for phase in report.phases) == 3.25
    assert report.requests == {("get", "datastore"): 1, ("snapshot", "datastore"): 1, ("commit", "register"): 1}


def test_a_phase_entered_again_is_added_up_however_often(health: Health, clock: Clock) -> None:
    for _ in range(500):
        health.begin("datastore", 60)
        health.count("get")
        clock.forward(1)
        health.begin("address", 60)
        clock.forward(1)
    phases = {phase.name: phase for phase in health.report().phases}
    assert phases["datastore"] == Phase("datastore", 500.0, 500)
    assert len(phases) == 3


def test_after_the_start_no_phase_can_be_stuck(health: Health, clock: Clock) -> None:
    health.begin("register", 60)
    health.started()
    clock.forward(1_000_000)
    report = health.report()
    assert (report.live, report.ready, report.phase, report.bound_s) == (True, True, "running", None)
    assert not report.not_ready


def test_started_twice_is_started_once(health: Health, clock: Clock) -> None:
    clock.forward(2)
    health.started()
    clock.forward(5)
    health.started()
    report = health.report()
    assert (report.start_took_s, report.phase_age_s, report.start_age_s) == (2.0, 5.0, 7.0)
    assert report.phases == (Phase("launch", 2.0, 0),)


def test_a_phase_after_the_start_begins_another_start(health: Health, clock: Clock) -> None:
    health.begin("register", 60)
    health.count("commit")
    health.started()
    clock.forward(3600)
    health.begin("settings", 10)
    clock.forward(1)
    report = health.report()
    assert not report.ready
    assert (report.start_age_s, report.start_took_s, report.phases) == (1.0, None, ())
    assert report.requests == {("commit", "register"): 1}
    health.started()
    assert health.report().ready


def test_repetitions_of_a_trouble_are_counted(running: Health, clock: Clock) -> None:
    for why in ("connection refused", "no route to host", "connection refused"):
        running.trouble(REFUSED._replace(why=why))
        clock.forward(2)
    last = running.report().last
    assert last is not None
    assert (last.times, last.age_s, last.trouble.why) == (3, 2.0, "connection refused")
    running.trouble(PEER_DOWN)
    last = running.report().last
    assert last is not None
    assert (last.times, last.trouble) == (1, PEER_DOWN)
    assert running.report().ready, "an error alone does not make a running node unready"
    running.resolved()
    assert running.report().last is None


def test_all_needs_are_told_each_with_its_fault_and_age(running: Health, clock: Clock) -> None:
    running.need("address", NO_ADDRESS)
    clock.forward(5)
    running.need("bgp", PEER_DOWN)
    clock.forward(1)
    report = running.report()
    assert report.live
    assert not report.ready
    assert [(cause.name, cause.trouble.fault, cause.since_s) for cause in report.not_ready] == [
        ("address", "the configuration", 6.0),
        ("bgp", "a peer", 1.0),
    ]
    running.met("address")
    assert names_of_not_ready(running) == ["bgp"]
    running.met("bgp")
    running.met("never needed")
    assert running.report().ready


def test_a_need_that_is_told_again_keeps_its_age_and_takes_the_newer_words(running: Health, clock: Clock) -> None:
    running.need("address", NO_ADDRESS)
    clock.forward(5)
    running.need("address", NO_ADDRESS._replace(why="eth0 has no carrier"))
    (cause,) = running.report().not_ready
    assert (cause.trouble.why, cause.since_s) == ("eth0 has no carrier", 5.0)


def test_an_event_loop_that_does_not_turn_is_not_live(running: Health, clock: Clock) -> None:
    running.loop_bound(30)
    running.beat()
    running.progress("writing routes")
    clock.forward(30)
    assert running.report().live
    clock.forward(1)
    report = running.report()
    assert not report.live
    assert report.why_not_live == "the event loop has not turned for 31 s (bound 30 s), last doing: writing routes"
    assert names_of_not_ready(running) == ["event-loop"]
    running.beat()
    assert running.report().live


def test_before_the_first_beat_the_bound_of_the_phase_decides(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60)
    health.loop_bound(30)
    clock.forward(59)
    assert health.report().live
    clock.forward(2)
    assert "phase datastore" in health.report().why_not_live


def test_a_loop_that_is_no_longer_expected_to_turn_cannot_hang(running: Health, clock: Clock) -> None:
    running.loop_bound(30)
    running.beat()
    running.loop_bound(None)
    clock.forward(31)
    assert running.report().live


def test_all_reasons_are_told_at_the_same_time(health: Health, clock: Clock) -> None:
    health.loop_bound(30)
    health.beat()
    health.begin("datastore", 60)
    health.need("address", NO_ADDRESS)
    health.component("bird", live=False, ready=False, detail="bird (pid 123) was killed by signal 9")
    clock.forward(61)
    report = health.report()
    for part in ("event loop", "phase datastore", "bird (pid 123) was killed by signal 9"):
        assert part in report.why_not_live
    assert names_of_not_ready(health) == ["event-loop", "start-up", "address", "bird"]


def test_a_component_reports_for_itself(running: Health) -> None:
    running.component("dataplane", detail="12 rules")
    assert running.report().ready
    running.component("dataplane", ready=False, detail="first apply not done")
    report = running.report()
    assert report.live
    (cause,) = report.not_ready
    assert (cause.name, cause.trouble.what, cause.trouble.why) == (
        "dataplane",
        "dataplane is not ready",
        "first apply not done",
    )
    running.component("dataplane", live=False, ready=True)
    report = running.report()
    assert not report.live
    assert not report.ready, "what is not live is not ready"
    assert report.why_not_live == "dataplane says that it is not live"


def test_a_component_that_speaks_of_one_thing_decides_only_that(running: Health) -> None:
    running.component("bgp", live=None, ready=False)
    assert running.report().live
    running.component("bgp", live=None, ready=True)
    running.component("watchdog", live=True, ready=None)
    assert running.report().ready


def test_a_component_that_falls_silent_fails_both(running: Health, clock: Clock) -> None:
    running.component("graph", timeout_s=30, detail="in sync")
    clock.forward(30)
    assert running.report().ready
    clock.forward(1)
    report = running.report()
    assert (report.live, report.ready) == (False, False)
    assert report.why_not_live == "graph has not reported for 31 s (bound 30 s)"
    assert report.not_ready[0].since_s == 1.0
    running.component("graph", timeout_s=30)
    assert running.report().ready


def test_a_component_is_unready_since_its_report_changed(running: Health, clock: Clock) -> None:
    running.component("graph", ready=False)
    clock.forward(5)
    running.component("graph", ready=False, detail="still")
    clock.forward(5)
    assert running.report().not_ready[0].since_s == 10.0


def test_a_dropped_component_decides_nothing(running: Health) -> None:
    running.component("graph", live=False)
    running.drop("graph")
    running.drop("never there")
    assert running.report().ready


def test_a_dead_child_is_named_until_it_is_back(running: Health) -> None:
    running.component("bird", live=False, ready=False, detail="bird (pid 123) was killed by signal 9")
    report = running.report()
    assert not report.live
    assert report.why_not_live == "bird (pid 123) was killed by signal 9"
    running.component("bird", ready=None, detail="pid 124")
    assert running.report().live


def test_the_table_has_our_own_parts_beside_the_others_by_name(health: Health) -> None:
    health.loop_bound(30)
    health.beat()
    health.need("address", NO_ADDRESS)
    health.component("Dataplane", timeout_s=90)
    rows = {row.name: row for row in health.report().components}
    assert list(rows) == ["Dataplane", "address", "event-loop", "start-up"]
    assert (rows["event-loop"].liveness, rows["event-loop"].readiness) == ("live", "")
    assert (rows["start-up"].liveness, rows["start-up"].readiness) == ("live", "non-ready")
    assert (rows["address"].liveness, rows["address"].readiness) == ("", "non-ready")
    assert (rows["Dataplane"].liveness, rows["Dataplane"].timeout_s) == ("live", 90)


def test_a_clock_that_goes_back_makes_no_negative_ages(health: Health, clock: Clock) -> None:
    health.begin("datastore", 60)
    clock.forward(-100)
    report = health.report()
    assert (report.live, report.phase_age_s, report.progress_age_s) == (True, 0.0, 0.0)


def test_a_report_does_not_change_afterwards(health: Health) -> None:
    health.begin("datastore", 60)
    report = health.report()
    health.count("get")
    health.need("address", NO_ADDRESS)
    assert dict(report.requests) == {}
    assert len(report.not_ready) == 1

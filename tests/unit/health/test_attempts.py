"""A start that is blocked and tries again and again: what is told, how often, and since when."""

from __future__ import annotations

import pytest

from tortie.health.health import Health
from tortie.health.state import Trouble

REFUSED = Trouble("the datastore does not answer", "connection refused", "start etcd", "the datastore")
NO_ADDRESS = Trouble(
    "no address is chosen", "eth0 and eth1 are alike", "set IP_AUTODETECTION_METHOD", "the configuration"
)


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


def blocked_attempts(health: Health, clock: Clock, count: int) -> None:
    """As the agent does it: each attempt goes through the phases again, and ends at the same need."""
    for _ in range(count):
        health.begin("datastore", 60, "reading")
        clock.forward(0.5)
        health.begin("address", 60, "choosing this node's address")
        health.trouble(NO_ADDRESS)
        health.need("address", NO_ADDRESS)
        clock.forward(14.5)


def test_what_blocks_the_start_is_told_by_the_need_alone(health: Health, clock: Clock) -> None:
    blocked_attempts(health, clock, 1)
    report = health.report()
    start_up, need = report.not_ready
    assert (start_up.trouble.why, start_up.trouble.fix) == ("see address", "")
    assert start_up.trouble.fault == "the configuration"
    assert need.trouble == NO_ADDRESS
    assert report.last is not None
    assert report.last.told_by == "address"


def test_the_next_attempt_still_waits_for_the_need_in_whatever_phase_it_is(health: Health, clock: Clock) -> None:
    blocked_attempts(health, clock, 1)
    health.begin("datastore", 60, "reading")
    assert health.report().not_ready[0].trouble.why == "see address"
    health.met("address")
    assert health.report().not_ready[0].trouble.why == ""


def test_a_need_with_another_trouble_does_not_hide_what_failed(health: Health) -> None:
    health.begin("datastore", 60)
    health.need("address", NO_ADDRESS)
    health.trouble(REFUSED)
    report = health.report()
    assert report.not_ready[0].trouble.why == "the datastore does not answer: connection refused"
    assert report.last is not None
    assert report.last.told_by == "start-up"


def test_a_start_that_hangs_after_it_was_blocked_is_not_explained_by_the_need(health: Health, clock: Clock) -> None:
    blocked_attempts(health, clock, 1)
    clock.forward(60)
    (stuck,) = health.report().not_live
    assert "phase address has not moved for 74.5 s" in stuck.trouble.what
    assert (stuck.trouble.why, stuck.trouble.fault) == ("", "this node")


def test_ages_do_not_begin_again_with_every_attempt(health: Health, clock: Clock) -> None:
    blocked_attempts(health, clock, 4)
    report = health.report()
    start_up, need = report.not_ready
    assert (start_up.since_s, need.since_s) == (60.0, 59.5)
    assert start_up.trouble.what == (
        "start-up is in phase address (attempt 4, starting for 60 s): choosing this node's address"
    )
    assert (report.attempt, report.attempt_age_s, report.start_age_s) == (4, 14.5, 60.0)


def test_a_phase_begun_again_while_it_runs_is_another_attempt(health: Health, clock: Clock) -> None:
    for _ in range(3):
        health.begin("datastore", 60)
        clock.forward(2)
    report = health.report()
    assert (report.attempt, report.attempt_age_s, report.phase_age_s) == (3, 2.0, 6.0)


def test_another_start_counts_its_attempts_anew(health: Health, clock: Clock) -> None:
    blocked_attempts(health, clock, 3)
    health.started()
    assert health.report().attempt == 1
    health.begin("address", 60)
    assert health.report().attempt == 1

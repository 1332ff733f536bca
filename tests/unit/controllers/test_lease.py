"""The lease, step by step, with a clock that the test turns."""

from __future__ import annotations

import pytest

from tortie.controllers.lease import KEY, Candidate, Record, read_record
from tortie.store.contract import ABSENT, Entry

DAY = "2026-03-01T12:00:00Z"


def held(by: str, revision: int, duration_s: float = 15.0) -> Entry:
    return Entry(KEY, Record(by, duration_s).encoded(), revision)


def leader(me: str = "a", sent: float = 100.0, revision: int = 7) -> Candidate:
    candidate = Candidate(me).observed(sent, None)
    attempt = candidate.attempt(sent, DAY)
    assert attempt is not None
    return candidate.wrote(sent, attempt, revision)


def test_who_has_not_looked_writes_nothing() -> None:
    assert Candidate("a").attempt(0.0, DAY) is None
    assert not Candidate("a").leads(0.0)


def test_a_free_lease_is_taken_at_once() -> None:
    attempt = Candidate("a").observed(100.0, None).attempt(100.0, DAY)
    assert attempt is not None
    assert (attempt.record.holder, attempt.expecting, attempt.record.since) == ("a", ABSENT, DAY)


def test_a_term_counts_from_before_the_write_and_ends_before_others_may_begin() -> None:
    candidate = leader(sent=100.0)
    assert candidate.leads(100.0)
    assert candidate.leads(109.9)
    assert not candidate.leads(110.0)


def test_a_leader_renews_in_time_and_keeps_its_beginning() -> None:
    candidate = leader(sent=100.0, revision=7)
    assert candidate.attempt(102.9, "later") is None
    attempt = candidate.attempt(103.0, "later")
    assert attempt is not None
    assert (attempt.expecting, attempt.renews) == (7, True)
    assert (attempt.record.since, attempt.record.renewed) == (DAY, "later")
    assert candidate.wrote(103.0, attempt, 8).valid_until == pytest.approx(113.0)


def test_a_follower_waits_from_when_it_first_saw_the_revision() -> None:
    follower = Candidate("b").observed(100.0, held("a", 7))
    assert follower.attempt(114.9, DAY) is None
    assert follower.observed(114.0, held("a", 7)).attempt(115.0, DAY) is not None
    renewed = follower.observed(114.0, held("a", 8))
    assert renewed.attempt(128.9, DAY) is None
    attempt = renewed.attempt(129.0, DAY)
    assert attempt is not None
    assert attempt.expecting == 8


def test_a_follower_waits_as_long_as_the_holder_promised_but_not_for_ever() -> None:
    assert Candidate("b", 15.0).observed(0.0, held("a", 7, 60.0)).attempt(59.0, DAY) is None
    assert Candidate("b", 15.0).observed(0.0, held("a", 7, 60.0)).attempt(60.0, DAY) is not None
    assert Candidate("b", 15.0).observed(0.0, held("a", 7, 1e9)).attempt(300.0, DAY) is not None


@pytest.mark.parametrize("value", [b"?", b"[]", b'{"holder":"x","leaseDurationSeconds":"soon"}', b"{}"])
def test_a_lease_that_makes_no_sense_is_waited_for_like_any_other(value: bytes) -> None:
    follower = Candidate("b").observed(0.0, Entry(KEY, value, 3))
    assert follower.attempt(14.9, DAY) is None
    assert follower.attempt(15.0, DAY) is not None


def test_whoever_sees_another_holder_steps_down_at_once() -> None:
    candidate = leader(sent=100.0).observed(101.0, held("b", 9))
    assert not candidate.leads(101.0)
    assert candidate.observed(102.0, None).attempt(102.0, DAY) is not None


def test_a_write_whose_answer_was_lost_makes_no_leader_until_it_is_renewed() -> None:
    candidate = Candidate("a").observed(100.0, None).observed(105.0, held("a", 7))
    assert not candidate.leads(105.0)
    attempt = candidate.attempt(105.0, DAY)
    assert attempt is not None
    assert (attempt.expecting, attempt.renews) == (7, False)
    assert candidate.wrote(105.0, attempt, 8).leads(106.0)


def test_what_a_leader_does_is_told_beside_its_name() -> None:
    candidate = leader()._replace(doing={"lastScan": DAY})
    attempt = candidate.attempt(110.0, DAY)
    assert attempt is not None
    record = read_record(Entry(KEY, attempt.record.encoded(), 9))
    assert record is not None
    assert (record.holder, record.doing) == ("a", {"lastScan": DAY})

"""The checker of histories finds what is wrong, and nothing where nothing is: with histories made up for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ipam_history import Deed, Event, Journal, Stage, judge, read_history

A, B = "10.0.0.1", "10.0.0.2"


def at(time: int, stage: Stage, deed: Deed, handle: str, *addresses: str) -> Event:
    return Event(time, stage, deed, handle, addresses)


def assigned(begin: int, end: int, handle: str, *addresses: str) -> list[Event]:
    return [at(begin, "begins", "assign", handle), at(end, "done", "assign", handle, *addresses)]


def released(begin: int, end: int, handle: str) -> list[Event]:
    return [at(begin, "begins", "release", handle), at(end, "done", "release", handle)]


def test_one_after_the_other_is_fine() -> None:
    account = judge([*assigned(1, 2, "x", A), *released(3, 6, "x"), *assigned(4, 5, "y", A)])
    assert account.faults == ()
    assert account.live == {A: "y"}
    assert account.doubtful == frozenset()
    assert account.assigned == 2


def test_an_address_given_before_its_release_began_was_held_twice() -> None:
    account = judge([*assigned(1, 2, "x", A), *assigned(3, 4, "y", A), *released(5, 6, "x")])
    assert account.faults == (f"{A} was held twice: by x from 2 to 5, and by y from 4",)


def test_two_that_still_hold_it_held_it_twice() -> None:
    assert len(judge([*assigned(1, 2, "x", A), *assigned(3, 4, "y", A)]).faults) == 1


def test_an_overlap_with_a_long_hold_is_found_behind_a_short_one() -> None:
    history = [
        *assigned(1, 2, "long", A),
        *assigned(3, 4, "short", A),
        *released(5, 6, "short"),
        *assigned(7, 8, "third", A),
        *released(20, 21, "long"),
    ]
    assert [fault.split(" from ")[0] for fault in judge(history).faults] == [
        f"{A} was held twice: by long",
        f"{A} was held twice: by long",
    ]


def test_what_may_have_been_is_no_proof() -> None:
    """An assignment without an answer, and a release without one, prove nothing against anybody."""
    history = [
        at(1, "begins", "assign", "killed"),
        *assigned(2, 3, "x", A),
        at(4, "begins", "release", "x"),
        at(5, "unknown", "release", "x"),
        *assigned(6, 7, "y", A),
    ]
    account = judge(history)
    assert account.faults == ()
    assert account.doubtful == {"killed", "x"}
    assert account.live == {A: "y"}


def test_after_a_refusal_nothing_may_be_left_unless_something_was_doubtful_before() -> None:
    refused = [at(1, "begins", "assign", "x"), at(2, "refused", "assign", "x")]
    assert judge(refused).doubtful == frozenset()
    assert judge([at(0, "begins", "assign", "x"), *refused]).doubtful == {"x"}


def test_an_assignment_in_doubt_that_is_repeated_is_not_doubtful_any_more() -> None:
    history = [at(1, "begins", "assign", "x"), at(2, "unknown", "assign", "x"), *assigned(3, 4, "x", A)]
    assert judge(history).doubtful == frozenset()
    assert judge([*history, *released(5, 6, "x")]).live == {}


def test_who_asks_again_must_be_given_the_same() -> None:
    account = judge([*assigned(1, 2, "x", A), *assigned(3, 4, "x", B)])
    assert account.faults == (f"x had {A} and was given {B} instead",)
    assert judge([*assigned(1, 2, "x", A), *assigned(3, 4, "x", A)]).faults == ()


def test_nothing_given_is_not_done() -> None:
    assert judge(assigned(1, 2, "x")).faults == ("x was given nothing, and that was called done",)


def test_a_journal_is_read_as_it_was_written_up_to_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "one"
    journal = Journal(path)
    journal.note("begins", "assign", "x")
    journal.note("done", "assign", "x", [A, "fd00::1"])
    journal.close()
    with path.open("a") as file:
        file.write("123 beg")
    events = read_history(path)
    assert [event[1:] for event in events] == [("begins", "assign", "x", ()), ("done", "assign", "x", (A, "fd00::1"))]
    assert read_history(tmp_path / "none") == []


def test_a_line_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1 begins dance x\n")
    with pytest.raises(ValueError, match="no line of a history"):
        read_history(tmp_path / "one")


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 20), st.sampled_from([A, B])),
        max_size=12,
    )
)
def test_exactly_the_overlapping_holds_are_found(wanted: list[tuple[int, int, str]]) -> None:
    """Against every pair, compared one by one."""
    history: list[Event] = []
    for number, (begin, length, address) in enumerate(wanted):
        since = 100 * begin + number  # no two at the same time
        until = 100 * (begin + length) + 50 + number
        history += assigned(since, since, f"h{number:02}", address)
        history += released(until, until, f"h{number:02}")
    holds = judge(history).holds
    overlapping = {
        later
        for one in holds
        for later in holds
        if one.address == later.address
        and one.since_ns < later.since_ns
        and one.until_ns is not None
        and later.since_ns < one.until_ns
    }
    assert len(judge(history).faults) == len(overlapping)

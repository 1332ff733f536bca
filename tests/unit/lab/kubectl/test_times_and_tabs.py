"""Ages and columns, as kubectl writes them."""

from __future__ import annotations

import pytest

from tortie.lab.kubectl.tabs import aligned, table
from tortie.lab.kubectl.times import human, long_date, seconds_of, since, stamp

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (179 * MINUTE, "179m"),
        (180 * MINUTE, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (50 * HOUR, "2d2h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (729 * DAY, "729d"),
        (731 * DAY, "2y1d"),
        (3 * 365 * DAY, "3y"),
        (9 * 365 * DAY, "9y"),
    ],
)
def test_an_age_has_two_or_three_figures(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_times_go_both_ways() -> None:
    when = seconds_of("2026-11-16T15:04:05Z")
    assert when is not None
    assert stamp(when) == "2026-11-16T15:04:05Z"
    assert long_date("2026-11-16T15:04:05Z") == "Mon, 16 Nov 2026 15:04:05 +0000"
    assert since("2026-11-16T15:04:02Z", when) == "3s"
    assert since(None, when) == "<unknown>"
    assert seconds_of("yesterday") is None


def test_a_column_ends_where_a_line_has_no_cell_in_it() -> None:
    text = "Name:\tx\nLong name:\ty\nConditions:\n  a\tb\tc\n  aaaa\tbbbb\tc\n"
    assert aligned(text) == "Name:       x\nLong name:  y\nConditions:\n  a     b     c\n  aaaa  bbbb  c\n"


def test_a_table_has_columns_of_six_at_least_and_three_blanks_between_them() -> None:
    assert table([["A", "B", "C"], ["a", "bbbbbb", "c"]]) == "A     B        C\na     bbbbbb   c\n"


def test_a_cell_of_a_table_is_cut_at_the_end_of_its_first_line() -> None:
    assert table([["one", "first\nsecond"]]) == "one   first...\n"

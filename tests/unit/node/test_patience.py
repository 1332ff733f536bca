"""The pause between two tries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.node.patience import pause_s

CHANCE = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("attempt", "chance", "pause"), [(0, 0.5, 0.2), (0, 0.0, 0.1), (1, 0.5, 0.4), (4, 0.5, 3.2), (100, 0.0, 10 / 3)]
)
def test_pauses_double_until_the_longest(attempt: int, chance: float, pause: float) -> None:
    assert pause_s(attempt, chance) == pytest.approx(pause)


@given(st.integers(-1, 10**6), CHANCE, st.floats(0.001, 1), st.floats(2, 600))
def test_no_pause_is_longer_than_the_longest_nor_nothing(
    attempt: int, chance: float, first_s: float, longest_s: float
) -> None:
    pause = pause_s(attempt, chance, first_s, longest_s)
    assert 0 < pause <= longest_s
    assert pause >= first_s / 2


@given(st.integers(0, 1000), CHANCE)
def test_the_next_pause_is_not_shorter_by_the_same_chance(attempt: int, chance: float) -> None:
    assert pause_s(attempt + 1, chance) >= pause_s(attempt, chance)


@given(st.integers(0, 10**6))
def test_nodes_that_lost_the_datastore_together_come_back_apart(attempt: int) -> None:
    assert pause_s(attempt, 0.999) > 2.9 * pause_s(attempt, 0.0)

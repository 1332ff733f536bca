"""The pause between two tries, and news that are acted upon together."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.node.patience import Gathering, pause_s

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


def test_news_are_acted_upon_once_it_is_quiet() -> None:
    gathering = Gathering()
    assert gathering.due == math.inf
    for now in (10.0, 10.1, 10.2):
        gathering.hear(now, nodes=50, urgent=False)
        assert gathering.due == pytest.approx(now + 0.3)
    gathering.acted()
    assert gathering.due == math.inf


def test_news_without_end_do_not_put_it_off_for_ever() -> None:
    gathering = Gathering()
    for step in range(100):
        gathering.hear(10.0 + step * 0.1, nodes=50, urgent=False)
    assert gathering.due == pytest.approx(10.0 + 5 * 0.3)


def test_what_somebody_waits_for_is_not_put_off_by_other_news() -> None:
    gathering = Gathering()
    gathering.hear(10.0, nodes=1000, urgent=False)
    gathering.hear(10.1, nodes=1000, urgent=True)
    assert gathering.due == pytest.approx(10.15)
    for step in range(1, 10):
        gathering.hear(10.1 + step * 0.04, nodes=1000, urgent=False)
    assert gathering.due <= 10.1 + 5 * 0.05


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 10_000), st.booleans()), min_size=1))
def test_one_never_waits_longer_than_ten_seconds(heard: list[tuple[float, int, bool]]) -> None:
    gathering = Gathering()
    now = 100.0
    for pause, nodes, urgent in heard:
        now += pause
        if now >= gathering.due:
            break
        gathering.hear(now, nodes=nodes, urgent=urgent)
        assert now <= gathering.due <= 100.0 + heard[0][0] + 10.0

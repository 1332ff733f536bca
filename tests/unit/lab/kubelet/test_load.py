"""Load averages as the kernel computes them."""

from __future__ import annotations

import os
from math import exp
from pathlib import Path

import pytest

from tortie.lab.kubelet.load import Count, Load, count, members, prepare_load, states


def test_nothing_runs() -> None:
    assert Load().after(0).text(0, 7, 99) == "0.00 0.00 0.00 0/7 99\n"


@pytest.mark.parametrize("active", [1, 4, 60])
def test_a_minute_of_work_counts_for_two_thirds(active: int) -> None:
    load = Load()
    for _ in range(12):
        load = load.after(active)
    one, five, fifteen = (float(word) for word in load.text(0, 1, 1).split()[:3])
    assert one == pytest.approx(active * (1 - exp(-1)), rel=0.02)
    assert five == pytest.approx(active * (1 - exp(-1 / 5)), rel=0.05)
    assert fifteen == pytest.approx(active * (1 - exp(-1 / 15)), rel=0.1)


def test_it_settles_where_it_belongs() -> None:
    load = Load()
    for _ in range(2000):
        load = load.after(3)
    assert load.text(3, 9, 1).startswith("3.00 3.00 3.00 ")


def test_what_counts() -> None:
    assert count(["R", "S", "D", "R", "Z"], [4, 17, 9]) == Count(3, 2, 5, 17)
    assert count([], []) == Count(0, 0, 0, 0)


def test_this_process_is_found() -> None:
    assert os.getpid() in members("")
    assert "R" in list(states([os.getpid()]))
    assert list(states([0])) == []


def test_the_file_is_there_before_it_is_mounted(tmp_path: Path) -> None:
    path = Path(prepare_load(str(tmp_path)))
    assert path.read_text() == "0.00 0.00 0.00 0/1 1\n"
    path.write_text("1.00 1.00 1.00 1/1 1\n")
    prepare_load(str(tmp_path))
    assert path.read_text() == "1.00 1.00 1.00 1/1 1\n"

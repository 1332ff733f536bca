"""Work that processes share: in order, whoever dies or fails, and nobody stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tortie.doctor.crew import shared_work

JOBS = 60


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def where(job: int) -> tuple[int, int]:
    time.sleep(0.001 * (job % 5))
    return job, os.getpid()


@pytest.fixture(autouse=True)
def _nobody_stays() -> object:
    before = children()
    yield
    assert children() == before


def test_results_come_in_the_order_of_the_jobs_from_several_processes() -> None:
    results = list(shared_work(where, range(JOBS), 3))
    assert [job for job, _ in results] == list(range(JOBS))
    assert len({pid for _, pid in results}) == 3
    assert os.getpid() not in {pid for _, pid in results}


def test_one_worker_is_none() -> None:
    assert {pid for _, pid in shared_work(where, range(3), 1)} == {os.getpid()}


@pytest.mark.parametrize("workers", [2, 3])
def test_nothing_to_do(workers: int) -> None:
    assert list(shared_work(where, [], workers)) == []


def test_large_results_and_few_jobs() -> None:
    assert [len(text) for text in shared_work(lambda size: b"x" * size, [5_000_000, 0, 3_000_000], 2)] == [
        5_000_000, 0, 3_000_000,
    ]  # fmt: skip


def test_what_a_killed_worker_had_to_do_is_done_here() -> None:
    us = os.getpid()

    def work(job: int) -> int:
        if job == 7 and os.getpid() != us:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    assert list(shared_work(work, range(JOBS), 2)) == list(range(JOBS))


def test_all_workers_may_die() -> None:
    us = os.getpid()

    def work(job: int) -> int:
        if os.getpid() != us:
            os._exit(1)
        return job

    assert list(shared_work(work, range(JOBS), 3)) == list(range(JOBS))


def test_workers_killed_from_outside_while_they_work() -> None:
    before = set(children())
    results = []
    for number, (job, _) in enumerate(shared_work(where, range(JOBS), 2)):
        results.append(job)
        if number == 10:
            for pid in set(children()) - before:  # workers only: other tests may have servers running
                os.kill(int(pid), signal.SIGKILL)
    assert results == list(range(JOBS))


def test_an_error_shows_itself_here() -> None:
    def work(job: int) -> int:
        return 10 // (5 - job)

    results = shared_work(work, range(JOBS), 2)
    assert [next(results) for _ in range(5)] == [2, 2, 3, 5, 10]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_who_stops_listening_ends_the_work() -> None:
    before = children()
    results = shared_work(where, range(10_000_000), 2)
    assert next(results)[0] == 0
    results.close()  # type: ignore[attr-defined]
    assert children() == before


_ENDLESS = """
import sys, time
from tortie.doctor.crew import shared_work
def work(job):
    time.sleep(0.05)
    return job
try:
    for job in shared_work(work, range(100000), 2):
        print(job, flush=True)
except KeyboardInterrupt:
    sys.exit(77)
"""


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGINT, 77), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_us(sent: signal.Signals, expected: int) -> None:
    """An interrupt typed at a terminal reaches the whole group."""
    process = subprocess.Popen([sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(workers) == 2
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)
    else:
        process.kill()
    assert process.wait(10) == expected
    process.stdout.close()
    limit = time.monotonic() + 10
    while any(_alive(pid) for pid in workers):
        assert time.monotonic() < limit
        time.sleep(0.02)


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

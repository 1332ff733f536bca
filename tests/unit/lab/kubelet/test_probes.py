"""The probe worker: when it asks, what counts, and what it says, with a clock of our own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.lab.kubelet.answers import (
    OUTPUT_MAX,
    TIMED_OUT,
    enforces_exec_timeout,
    exec_answer,
    exec_timed_out,
    http_answer,
    http_failed,
    refused,
    unreachable,
)
from tortie.lab.kubelet.probes import (
    Answer,
    Exec,
    HttpGet,
    Kind,
    Probe,
    Target,
    Worker,
    answered,
    new_worker,
    probes_of,
    turn,
)

GOOD, BAD = Answer("success"), Answer("failure", "no")
PAGE = HttpGet("127.0.0.1", 9099, "/liveness")


def probe(kind: Kind = "liveness", **numbers: Any) -> Probe:
    return Probe(kind, "calico-node", PAGE, **numbers)


def running(at: float = 0.0, *, name: str = "one", started: bool = True) -> Target:
    return Target(name, True, at, started)


def asked_at(worker: Worker, target: Target, until: float, answer: Answer = BAD) -> tuple[list[float], Worker]:
    """All moments in which it asks, if it is always answered in the same way at once."""
    moments = []
    while worker.tick_at <= until:
        now = worker.tick_at
        worker, ask = turn(worker, target, now)
        if ask:
            moments.append(now)
            worker = answered(worker, answer).worker
    return moments, worker


def test_numbers_come_from_the_pod_and_else_from_kubernetes() -> None:
    container = {
        "name": "calico-node",
        "livenessProbe": {
            "httpGet": {"host": "127.0.0.1", "port": 9099, "path": "/liveness", "scheme": "HTTP"},
            "initialDelaySeconds": 10,
            "failureThreshold": 6,
            "terminationGracePeriodSeconds": 5,
        },
        "readinessProbe": {"exec": {"command": ["tortie", "node", "check"]}, "timeoutSeconds": 10},
        "startupProbe": {"tcpSocket": {"port": 1}},
    }
    live, ready = probes_of(container)
    assert live == Probe("liveness", "calico-node", PAGE, 10, 10, 1, 1, 6, 5)
    assert ready == Probe("readiness", "calico-node", Exec(("tortie", "node", "check")), 0, 10, 10, 1, 3, None)


@pytest.mark.parametrize(
    ("first", "delay", "period", "until", "moments"),
    [
        (0.0, 0, 10, 30, [0, 10, 20, 30]),
        (0.0, 10, 10, 30, [10, 20, 30]),
        (0.0, 5, 10, 30, [10, 20, 30]),  # looks at its ticks only: the delay is over at 5
        (3.0, 5, 10, 30, [13, 23]),  # first tick by chance
        (0.0, 25, 10, 40, [30, 40]),
    ],
)
def test_asks_at_its_ticks_after_the_delay(
    first: float, delay: int, period: int, until: float, moments: list[float]
) -> None:
    worker = new_worker(probe(initial_delay_s=delay, period_s=period, failure_threshold=99), 0.0, first)
    assert asked_at(worker, running(), until)[0] == moments


def test_the_delay_counts_from_the_start_of_the_container_and_not_of_the_pod() -> None:
    worker = new_worker(probe(initial_delay_s=10, failure_threshold=99), 0.0)
    assert asked_at(worker, running(17.0), 50.0)[0] == [30, 40, 50]


def test_parts_of_a_second_do_not_count() -> None:
    worker = new_worker(probe(initial_delay_s=1, period_s=1, failure_threshold=99), 0.0)
    assert asked_at(worker, running(2.01), 6.0)[0] == [4, 5, 6]


def test_ticks_that_were_missed_are_not_made_up_for() -> None:
    worker = new_worker(probe(), 0.0)
    assert turn(worker, running(), 0.0).worker.tick_at == 10
    assert turn(worker._replace(tick_at=10.0), running(), 37.0).worker.tick_at == 40


def test_a_look_out_of_turn_does_not_shift_the_ticks() -> None:
    worker = new_worker(probe("readiness"), 0.0)._replace(tick_at=10.0)
    after = turn(worker, running(3.0), 3.5)
    assert after.ask
    assert after.worker.tick_at == 10


@pytest.mark.parametrize(
    ("kind", "answers", "results"),
    [
        ("liveness", "xxx", ["success", "success", "failure"]),
        ("liveness", "xx.xxx", ["success", "success", "success", "success", "success", "failure"]),
        ("liveness", "xx?x", ["success", "success", "success", "failure"]),  # an error is thrown away
        ("readiness", ".", ["success"]),
        ("readiness", ".xxx", ["success", "success", "success", "failure"]),
        ("readiness", ".xxxx.", ["success", "success", "success", "failure", "failure", "success"]),
        ("startup", "xx.", ["unknown", "unknown", "success"]),
        ("startup", "xxx", ["unknown", "unknown", "failure"]),
    ],
)
def test_a_result_counts_after_as_many_equal_ones_as_the_threshold_says(
    kind: Kind, answers: str, results: list[str]
) -> None:
    meant = {".": GOOD, "x": BAD, "?": Answer("error", "no runtime")}
    worker = turn(new_worker(probe(kind), 0.0), running(started=kind != "startup"), 0.0).worker
    seen = []
    for answer in answers:
        worker = answered(worker, meant[answer]).worker
        seen.append(worker.result)
    assert seen == results


def test_readiness_may_need_several_successes() -> None:
    worker = turn(new_worker(probe("readiness", success_threshold=2), 0.0), running(), 0.0).worker
    once = answered(worker, GOOD).worker
    assert once.result == "failure"
    assert answered(once, GOOD).worker.result == "success"


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_after_its_verdict_it_holds_until_there_is_a_new_container(kind: Kind) -> None:
    target = running(started=kind != "startup")
    moments, worker = asked_at(new_worker(probe(kind), 0.0), target, 100.0)
    assert moments == [0, 10, 20]
    assert worker.on_hold
    assert worker.result == "failure"
    again = turn(worker, target._replace(container_id="two", started_at=105.0), 110.0)
    assert again.ask
    assert not again.worker.on_hold
    assert again.worker.result == {"liveness": "success", "startup": "unknown"}[kind]
    assert answered(again.worker, BAD).worker.run == 1


def test_readiness_is_asked_for_ever() -> None:
    moments, worker = asked_at(new_worker(probe("readiness"), 0.0), running(), 100.0)
    assert len(moments) == 11
    assert not worker.on_hold


def test_failures_before_a_crash_count_on_as_with_kubelet() -> None:
    """Only a verdict sets the run back; a container that ended by itself leaves it as it was."""
    _, worker = asked_at(new_worker(probe(), 0.0), running(), 10.0)
    assert worker.run == 2
    worker = turn(worker, running(12.0, name="two"), 20.0).worker
    assert answered(worker, BAD).worker.result == "failure"


def test_others_wait_for_startup_and_startup_ends_with_success() -> None:
    waiting = running(started=False)
    for kind in ("liveness", "readiness"):
        assert not turn(new_worker(probe(kind), 0.0), waiting, 0.0).ask
        assert turn(new_worker(probe(kind), 0.0), running(), 0.0).ask
    startup = new_worker(probe("startup"), 0.0)
    assert turn(startup, waiting, 0.0).ask
    assert not turn(startup, running(), 0.0).ask
    # it is there again for the next container
    assert turn(startup, running(5.0, name="two", started=False), 10.0).ask


@pytest.mark.parametrize("kind", ["liveness", "readiness", "startup"])
def test_what_does_not_run_has_failed(kind: Kind) -> None:
    worker, ask = turn(new_worker(probe(kind), 0.0), Target("one", False), 0.0)
    assert not ask
    assert worker.result == "failure"


def test_without_a_container_it_waits() -> None:
    worker, ask = turn(new_worker(probe(), 0.0), None, 0.0)
    assert not ask
    assert worker.result is None
    assert worker.tick_at == 10


def test_a_pod_that_is_deleted_is_not_killed_for_its_liveness() -> None:
    ended = turn(new_worker(probe(), 0.0), running(), 0.0, deleting=True).worker
    assert ended.stopped
    assert ended.result == "success"
    assert not turn(ended, running(), 10.0).ask
    assert turn(new_worker(probe("readiness"), 0.0), running(), 0.0, deleting=True).ask


def test_every_failing_probe_is_told() -> None:
    worker = turn(new_worker(probe(), 0.0), running(), 0.0).worker
    assert answered(worker, GOOD).note is None
    told = answered(worker, Answer("failure", "HTTP probe failed with statuscode: 503")).note
    assert told is not None
    assert told == (
        "Warning",
        "Unhealthy",
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
        "calico-node",
    )
    ready = new_worker(probe("readiness"), 0.0)
    messages = [answered(ready, Answer("error", "no runtime"), minor).note for minor in (20, 31)]
    assert [note.message for note in messages if note] == [
        "Readiness probe errored: no runtime",
        "Readiness probe errored and resulted in unknown state: no runtime",
    ]
    warned = answered(ready, Answer("warning", "hm"))
    assert warned.note is not None
    assert warned.note.reason == "ProbeWarning"
    assert warned.worker.last == "success"


def test_texts_of_the_http_client() -> None:
    url = PAGE.url
    assert url == "http://127.0.0.1:9099/liveness"
    assert http_answer(200).outcome == http_answer(399).outcome == http_answer(204).outcome == "success"
    assert http_answer(503) == Answer("failure", "HTTP probe failed with statuscode: 503")
    old = http_failed(url, refused("192.168.99.7", 9099, minor=9), minor=9)
    assert old.output == f"Get {url}: dial tcp 192.168.99.7:9099: getsockopt: connection refused"
    new = http_failed(url, refused("127.0.0.1", 9099), minor=29)
    assert new.output == f'Get "{url}": dial tcp 127.0.0.1:9099: connect: connection refused'
    assert http_failed(url, TIMED_OUT).output.startswith(f'Get "{url}": context deadline exceeded (Client.Timeout')
    assert "net/http: request canceled" in http_failed(url, TIMED_OUT, minor=18).output
    assert unreachable("fd00::1", 80, "no route to host") == "dial tcp [fd00::1]:80: connect: no route to host"
    assert HttpGet("fd00::1", 80).url == "http://[fd00::1]:80/"


def test_texts_of_commands() -> None:
    assert exec_answer(0, b"fine").outcome == "success"
    assert exec_answer(1, b"calico/node is not ready\n") == Answer("failure", "calico/node is not ready\n")
    assert len(exec_answer(1, b"x" * 20_000).output) == OUTPUT_MAX
    words = ("calico-node", "-felix-live")
    assert exec_timed_out(words, 1, minor=20).output == ""
    assert exec_timed_out(words, 1, minor=29).output == 'command "calico-node -felix-live" timed out'
    assert (
        exec_timed_out(words, 10, minor=31).output == 'command timed out: "calico-node -felix-live" timed out after 10s'
    )
    assert not enforces_exec_timeout(19)
    assert enforces_exec_timeout(20)


@given(
    delay=st.integers(0, 60),
    period=st.integers(1, 30),
    failures=st.integers(1, 10),
    offset=st.integers(0, 60 * 1024).map(lambda parts: parts / 1024),  # a sum of such is exact
)
def test_a_container_that_never_answers_is_doomed_at_its_budget(
    delay: int, period: int, failures: int, offset: float
) -> None:
    """Not before it, and less than one period and one second after it; exactly then if the ticks fit."""
    spec = probe(initial_delay_s=delay, period_s=period, failure_threshold=failures)
    worker, target = new_worker(spec, 0.0), running(offset)
    now = 0.0
    while not worker.on_hold:
        now = worker.tick_at
        there = now >= offset
        worker, ask = turn(worker, target if there else None, now)
        if ask:
            worker = answered(worker, BAD).worker
    took, budget = now - offset, delay + (failures - 1) * period
    assert budget <= took < budget + period
    if offset % period == 0 and delay % period == 0:
        assert took == budget

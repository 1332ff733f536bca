"""CrashLoopBackOff: 10 s, doubled to five minutes, forgotten after ten minutes of running."""

from __future__ import annotations

from tortie.lab.kubelet.backoff import (
    BackOff,
    Policy,
    after,
    back_off_note,
    in_back_off,
    policy,
    waiting_message,
)

POD = {"metadata": {"name": "calico-node-x7k2p", "namespace": "kube-system", "uid": "abc"}, "spec": {"containers": []}}


def series(policy: Policy, count: int) -> tuple[float, ...]:
    """The waits before the first, second, … restart of a container that ends at once."""
    waits: list[float] = []
    entry, now = None, 0.0
    for _ in range(count):
        waits.append(entry.wait_s if entry else 0.0)
        entry = after(entry, now, now + waits[-1], policy)
        now += waits[-1]
    return tuple(waits)


def test_the_series_of_waits() -> None:
    assert series(Policy(), 9) == (0, 10, 20, 40, 80, 160, 300, 300, 300)
    assert series(policy(10), 8) == (0, 1, 2, 4, 8, 16, 30, 30)


def test_it_counts_from_the_end_of_the_container() -> None:
    entry = BackOff(20.0, 100.0)
    assert in_back_off(entry, 110.0, 129.9, Policy())
    assert not in_back_off(entry, 110.0, 130.0, Policy())
    assert not in_back_off(None, 110.0, 110.0, Policy())


def test_a_container_that_ran_for_ten_minutes_begins_anew() -> None:
    entry = BackOff(300.0, 0.0)
    assert in_back_off(entry, 600.0, 601.0, Policy())
    assert not in_back_off(entry, 600.1, 601.0, Policy())
    assert after(entry, 600.0, 900.0, Policy()).wait_s == 300
    assert after(entry, 600.1, 601.0, Policy()) == BackOff(10.0, 601.0)


def test_texts() -> None:
    whole = "Back-off restarting failed container calico-node in pod calico-node-x7k2p_kube-system(abc)"
    assert back_off_note(POD, "calico-node", 26) == ("Warning", "BackOff", whole, "calico-node")
    assert back_off_note(POD, "calico-node", 25).message == "Back-off restarting failed container"
    expected = "back-off 1m20s restarting failed container=calico-node pod=calico-node-x7k2p_kube-system(abc)"
    assert waiting_message(POD, "calico-node", 80.0) == expected
    assert waiting_message(POD, "calico-node", 300.0).startswith("back-off 5m0s ")

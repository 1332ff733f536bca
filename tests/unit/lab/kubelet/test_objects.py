"""Times, names and references as Kubernetes writes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tortie.lab.kubelet.objects import (
    go_duration,
    hurried,
    letters,
    made_uid,
    node_reference,
    reference,
    seconds,
    stamp,
)

POD = {
    "metadata": {"name": "calico-node-x7k2p", "namespace": "kube-system", "uid": "abc"},
    "spec": {"containers": [{"name": "calico-node"}], "initContainers": [{"name": "upgrade-ipam"}]},
}


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0s"),
        (10, "10s"),
        (80, "1m20s"),
        (180, "3m0s"),
        (185.25, "3m5.25s"),
        (3600, "1h0m0s"),
        (0.25, "250ms"),
        (0.0000005, "0.5µs"),
        (1.5, "1.5s"),
        (59.9999999999, "1m0s"),
        (-10, "-10s"),
    ],
)
def test_go_duration(length: float, text: str) -> None:
    assert go_duration(length) == text


@given(st.integers(0, 4_000_000_000))
def test_stamps_can_be_read_back(at: int) -> None:
    assert seconds(stamp(at)) == at


def test_stamps_are_whole_seconds_in_utc() -> None:
    assert stamp(1763306705.987) == "2025-11-16T15:25:05Z"


def test_names_are_the_same_for_the_same_seed() -> None:
    assert letters(5, "a", "b") == letters(5, "a", "b") != letters(5, "ab")
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", letters(5, "x"))
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made_uid("x"))


def test_hurry_keeps_whole_seconds() -> None:
    assert [hurried(length, 10) for length in (0, 1, 10, 60, 300)] == [0, 1, 1, 6, 30]
    assert hurried(10, 1) == 10


def test_references() -> None:
    assert reference(POD, "upgrade-ipam")["fieldPath"] == "spec.initContainers{upgrade-ipam}"
    assert reference(POD, "calico-node")["fieldPath"] == "spec.containers{calico-node}"
    assert "fieldPath" not in reference(POD)
    assert node_reference("node-1") == {"kind": "Node", "name": "node-1", "uid": "node-1"}

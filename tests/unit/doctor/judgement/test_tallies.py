"""States that were counted instead of shown."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture
from tests.unit.doctor.judgement.test_healthy import AGENTS, judged

from tortie.doctor.judgement.tallies import tally

NODES = {
    "$ kubectl get nodes --no-headers | awk '{print $2}' | sort | uniq -c\n     26 Ready\n": (26, 0),
    "$ kubectl get nodes --no-headers | awk '{print $2}' | sort | uniq -c\n     2 NotReady\n     24 Ready\n": (24, 2),
    "$ kubectl get node --no-headers | grep -vc ' Ready '\n0\n": (0, 0),
    "$ kubectl get nodes | awk '{print }' | sort | uniq -c\n      8 Ready\n      1 STATUS\n": (8, 0),
    "$ kubectl get node --no-headers | grep -vc ' Ready '\n3\n": (0, 3),
    "$ kubectl get no | grep -c NotReady\n0\n": (0, 0),
}
PODS = {
    "$ kubectl get pods -A --no-headers | grep -vE 'Running|Completed'\n(nothing)\n": (0, 0),
    "$ kubectl get po -A | grep -v -e Running -e Completed\nNAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\n": (
        0,
        0,
    ),
    "$ kubectl get po -A --no-headers | awk '$4!=\"Running\"' | wc -l\n7\n": (0, 7),
    "$ kubectl -n calico-system get po --no-headers | awk '{print $3,$4}' | sort | uniq -c\n     76 Running 0\n": (
        76,
        0,
    ),
}

OURS = "$ kubectl get pod -n kube-system --no-headers | grep calico | awk '{print $2,$3,$4}' | sort | uniq -c\n"


@pytest.mark.parametrize("text", NODES)
def test_nodes_are_counted(text: str) -> None:
    counted = tally(picture(text), "nodes")
    assert counted is not None
    assert (counted.well, counted.unwell) == NODES[text]


@pytest.mark.parametrize("text", PODS)
def test_pods_are_counted(text: str) -> None:
    counted = tally(picture(text), "pods")
    assert counted is not None
    assert (counted.well, counted.unwell) == PODS[text]


@pytest.mark.parametrize("text", ["$ kubectl get nodes\nNAME   STATUS\nhm-1   Ready\n", "$ kubectl get ds\n26\n"])
def test_what_counts_nothing_is_no_tally(text: str) -> None:
    assert tally(picture(text), "nodes") is None


@pytest.mark.parametrize("text", NODES)
def test_a_large_cluster_is_judged_by_its_counts(text: str) -> None:
    expected = "undetermined" if NODES[text][1] else "healthy"
    assert judged(AGENTS + text).verdict == expected


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ("     13 1/1 Running 0\n", "healthy"),
        ("      1 0/1 Running 4\n     12 1/1 Running 0\n", "undetermined"),
        ("     13 Running\n", "undetermined"),  # which are ready nobody counted
    ],
)
def test_agents_may_be_counted_too(rows: str, verdict: str) -> None:
    nodes = next(iter(NODES))
    assert judged(OURS + rows + nodes).verdict == verdict


@pytest.mark.parametrize(("count", "unwell"), [("0", 0), ("3", 3)])
def test_agents_that_are_not_ready_are_counted(count: str, unwell: int) -> None:
    for command in ("grep calico-node | grep -vc '1/1'", "grep calico-node | grep -v 1/1 | wc -l"):
        seen = picture(f"$ kubectl get po -n kube-system -o wide | {command}\n{count}\n")
        counted = tally(seen, "agents")
        assert counted is not None
        assert counted.unwell == unwell

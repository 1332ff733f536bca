"""Flags on a lab that is there: what they leave open stays."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.cli.lab.again import kept
from tortie.lab.changes import changes
from tortie.lab.plan import LabPlan
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags


def lab(**flags: Any) -> LabPlan:
    return plan(from_flags(**flags), "demo")


def after(present: LabPlan, **given: Any) -> LabPlan:
    return plan(kept(given, present), "demo")


@pytest.mark.parametrize(
    "flags",
    [
        {"nodes": 4},
        {"nodes": 6, "racks": 2, "store": "etcd", "members": 3},
        {"nodes": 5, "racks": 3, "ipv6": True},
        {"nodes": 2, "store": "etcd"},
        {"nodes": 2, "store": "etcd", "tls": True, "hurry": 10, "classic": "3.20"},
        {"nodes": 2, "kubelet": True},
    ],
)
def test_the_same_number_of_nodes_changes_nothing(flags: dict[str, Any]) -> None:
    present = lab(**flags)
    assert not changes(present, after(present, nodes=flags["nodes"]))


def test_nodes_stay_in_their_racks_and_new_ones_fill_up() -> None:
    present = lab(nodes=3, racks=2, store="etcd")
    larger = after(present, nodes=5)
    change = changes(present, larger)
    assert (change.refused, change.rebuilt) == ((), ())
    assert [node.rack for node in larger.nodes] == ["rack-1", "rack-1", "rack-2", "rack-2", "rack-1"]
    assert not changes(larger, after(larger, nodes=5))


def test_what_is_given_is_meant() -> None:
    present = lab(nodes=4, racks=2, store="etcd", members=3)
    assert next(refusal.key for refusal in changes(present, after(present, racks=0)).refused) == "racks"
    assert after(present, store="embedded").store.kind == "embedded"
    assert len(after(present, racks=4).racks) == 4


def test_another_way_to_start_restarts_the_nodes_and_nothing_else() -> None:
    present = lab(nodes=2, store="etcd")
    change = changes(present, after(present, classic="3.20"))
    assert not change.refused
    assert {each.name: each.settings for each in change.changed} == {
        "node-1": ("CALICO_IPV6POOL_CIDR", "classic", "hurry"),
        "node-2": ("CALICO_IPV6POOL_CIDR", "classic", "hurry"),
    }
    assert all(each.restart for each in change.changed)


def test_certificates_are_not_given_to_a_store_that_runs() -> None:
    present = lab(nodes=2, store="etcd")
    assert [each.key for each in changes(present, after(present, tls=True)).refused] == ["store"]

"""The Node object: conditions with kubelet's words, and the times that belong to them."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.lab.kubelet.conditions import NodeFacts, NodeHealth, node_object, ready
from tortie.lab.kubelet.objects import condition

FACTS = NodeFacts("node-1", "10.0.0.1", 0.0, kernel="6.1.0", pod_cidr="10.244.0.0/24", labels={"rack": "a"})
FINE = NodeHealth(runtime_seen_at=1000.0, pleg_seen_at=1000.0)


def node(
    health: NodeHealth, now: float = 1000.0, previous: dict[str, Any] | None = None, hurry: int = 1
) -> dict[str, Any]:
    return node_object(FACTS, health, previous, now, hurry)


def told(thing: dict[str, Any], kind: str = "Ready") -> tuple[str, str, str]:
    found = condition(thing, kind)
    assert found is not None
    return found["status"], found["reason"], found["message"]


def test_a_healthy_node() -> None:
    made = node(FINE)
    assert ready(made)
    assert told(made) == ("True", "KubeletReady", "kubelet is posting ready status")
    kinds = [one["type"] for one in made["status"]["conditions"]]
    assert kinds == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert made["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "Hostname", "address": "node-1"},
    ]
    assert made["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert made["metadata"]["labels"]["rack"] == "a"
    assert made["spec"]["podCIDR"] == "10.244.0.0/24"
    assert made["status"]["nodeInfo"]["kernelVersion"] == "6.1.0"
    assert made["status"]["capacity"]["cpu"] == "2"


NOT_READY = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:"
PLEG = "PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s"


@pytest.mark.parametrize(
    ("health", "hurry", "message"),
    [
        (FINE._replace(network_ready=False), 1, NOT_READY + "Network plugin returns error: cni plugin not initialized"),
        (
            FINE._replace(network_ready=False, docker=True),
            1,
            NOT_READY + "docker: network plugin is not ready: cni config uninitialized",
        ),
        (FINE._replace(pleg_seen_at=815.0), 1, PLEG),
        (
            FINE._replace(pleg_seen_at=981.5),
            10,
            "PLEG is not healthy: pleg was last seen active 18.5s ago; threshold is 18s",
        ),
        (FINE._replace(runtime_seen_at=970.0), 1, "container runtime is down"),
        (FINE._replace(runtime_seen_at=900.0, pleg_seen_at=815.0), 1, f"[container runtime is down, {PLEG}]"),
        (
            NodeHealth(),
            1,
            "[container runtime status check may not have completed yet, "
            "PLEG is not healthy: pleg has yet to be successful]",
        ),
    ],
)
def test_what_keeps_it_from_being_ready(health: NodeHealth, hurry: int, message: str) -> None:
    assert told(node(health, hurry=hurry)) == ("False", "KubeletNotReady", message)


def test_pressure() -> None:
    made = node(FINE._replace(disk_pressure=True, memory_pressure=True, pid_pressure=True))
    assert told(made, "DiskPressure") == ("True", "KubeletHasDiskPressure", "kubelet has disk pressure")
    assert told(made, "MemoryPressure")[1] == "KubeletHasInsufficientMemory"
    assert told(made, "PIDPressure")[1] == "KubeletHasInsufficientPID"


def test_transitions_stay_and_heartbeats_go_on() -> None:
    up = FINE._replace(calico="up")
    first = node(up)
    second = node(up._replace(runtime_seen_at=1010.0), 1010.0, first)
    third = node(up._replace(runtime_seen_at=900.0), 1020.0, second)
    times = []
    for made in (first, second, third):
        found = condition(made, "Ready")
        assert found is not None
        times.append((found["lastHeartbeatTime"][14:19], found["lastTransitionTime"][14:19]))
    assert times == [("16:40", "16:40"), ("16:50", "16:40"), ("17:00", "17:00")]
    calico = condition(third, "NetworkUnavailable")
    assert calico is not None
    assert calico["reason"] == "CalicoIsUp"
    assert calico["lastHeartbeatTime"] == "1970-01-01T00:16:40Z"

"""The cluster out of its kubelets' records: counts, the node controller's verdict, what people changed."""

from __future__ import annotations

from tests.support.kube_objects import DAY, HOUR, NOW, Thing, ago, daemon_set, node, pod, running, status, world

from tortie.lab.kubectl.cluster import NodeRecord, Sources, cluster, edit_key, is_silent
from tortie.lab.kubectl.kinds import DAEMON_SET, EVENT, NAMESPACE, NODE, POD, condition, is_ready, name_of, of_kind


def _node(things: list[Thing], name: str) -> Thing:
    return next(each for each in of_kind(things, NODE) if name_of(each) == name)


def test_a_daemon_set_counts_its_pods() -> None:
    unready = pod("b", "node-2", ready=False, main=[status("calico-node", running(5))])
    old = pod("c", "node-3", metadata={"labels": {"pod-template-generation": "0"}})
    (owner,) = of_kind(world(pod("a"), unready, old), DAEMON_SET)
    told = owner["status"]
    assert (told["desiredNumberScheduled"], told["currentNumberScheduled"]) == (3, 3)
    assert (told["numberReady"], told["updatedNumberScheduled"], told["numberUnavailable"]) == (2, 2, 1)


def test_a_silent_kubelet_makes_its_node_unknown() -> None:
    lost = node("node-2", beat_s=41)
    things = world(lost, pod("a", "node-2"), pod("b", "node-3"))
    found = _node(things, "node-2")
    assert is_silent(found)
    for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
        told = condition(found, kind)
        assert told is not None
        assert (told["status"], told["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert told["message"] == "Kubelet stopped posting node status."
        assert told["lastHeartbeatTime"] == ago(41)
    assert (condition(found, "NetworkUnavailable") or {})["status"] == "False"
    taints = {(each["key"], each["effect"]) for each in found["spec"]["taints"]}
    assert taints == {("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute")}
    stale = next(each for each in of_kind(things, POD) if name_of(each) == "a")
    assert not is_ready(stale)
    assert stale["status"]["containerStatuses"][0]["ready"]
    said = {(each["involvedObject"]["name"], each["reason"]) for each in of_kind(things, EVENT)}
    assert said == {("node-2", "NodeNotReady"), ("a", "NodeNotReady")}
    assert not is_silent(_node(things, "node-3"))


def test_in_a_hurry_the_controller_waits_for_less() -> None:
    assert not is_silent(_node(world(node("node-2", beat_s=8)), "node-2"))
    assert is_silent(_node(world(node("node-2", beat_s=8), hurry=10), "node-2"))


def test_a_node_that_says_it_is_not_ready_is_tainted_otherwise() -> None:
    found = _node(world(node("node-2", ready="False")), "node-2")
    assert {each["key"] for each in found["spec"]["taints"]} == {"node.kubernetes.io/not-ready"}


def test_records_are_not_changed() -> None:
    lost = node("node-2", beat_s=90)
    world(lost)
    assert lost == node("node-2", beat_s=90)


def _edited(edits: dict[str, dict[str, object]], since: float | None = None) -> list[Thing]:
    records = (NodeRecord("node-1", (node("node-1"), pod("a")), since),)
    return cluster(Sources(NOW - DAY, 1, records, (daemon_set(),), edits=edits), NOW)


def test_what_people_changed_is_shown() -> None:
    edits: dict[str, dict[str, object]] = {
        edit_key(NODE, "", "node-1"): {
            "unschedulable": True,
            "annotations": {"x": "1", "projectcalico.org/IPv4Address": None},
            "labels": {"rack": "a"},
        }
    }
    found = _node(_edited(edits), "node-1")
    assert found["spec"]["unschedulable"]
    assert found["metadata"]["annotations"] == {"x": "1"}
    assert found["metadata"]["labels"]["rack"] == "a"


def test_a_deleted_node_is_back_when_its_kubelet_has_started_anew() -> None:
    edits: dict[str, dict[str, object]] = {edit_key(NODE, "", "node-1"): {"deleted": ago(60)}}
    assert of_kind(_edited(edits, NOW - HOUR), NODE) == []
    assert of_kind(_edited(edits, NOW - HOUR), POD) == []
    assert of_kind(_edited(edits, NOW - 30), NODE) != []


def test_namespaces_are_those_of_any_cluster_and_of_its_pods() -> None:
    lonely = pod("web-1", metadata={"namespace": "shop"})
    names = [name_of(each) for each in of_kind(world(lonely), NAMESPACE)]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system", "shop"]

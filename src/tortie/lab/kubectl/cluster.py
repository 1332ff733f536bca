"""All objects of a lab as one cluster has them. Pure.

Every kubelet knows its own node, pods and events. What they know is put together here with what belongs to the cluster:
namespaces, the states of DaemonSet and Deployment, what people changed by kubectl, and the node controller's verdict on
a node whose kubelet has been silent for too long.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tortie.lab.kubectl.kinds import (
    EVENT,
    LEASE,
    Kind,
    Thing,
    at,
    condition,
    is_ready,
    items_at,
    name_of,
    namespace_of,
    of_kind,
    owned_by,
    pairs_at,
)
from tortie.lab.kubectl.times import seconds_of, stamp

SYSTEM: Final = "kube-system"
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", SYSTEM)
GRACE_S: Final = 40.0  # the node controller waits so long for a sign of life
_LEAST_GRACE_S: Final = 6.0  # also in a hurry: a machine that is busy with something else is late by itself
_API_PORT: Final = 6443
_SILENT: Final = "Kubelet stopped posting node status."
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_REVISION: Final = "pod-template-generation"


class NodeRecord(NamedTuple):
    """What the kubelet of one node has written down."""

    name: str
    things: tuple[Thing, ...]
    kubelet_since: float | None = None  # when it was started; it registers its node again then


class Sources(NamedTuple):
    began: float  # when the lab came up
    hurry: int = 1
    records: tuple[NodeRecord, ...] = ()
    owners: tuple[Thing, ...] = ()  # DaemonSet and Deployment, as people want them
    others: tuple[Thing, ...] = ()  # further objects, taken as they are
    edits: Mapping[
        str, Mapping[str, Any]
    ] = {}  # what people changed of objects that are no files: by `kind/namespace/name`
    backend: str = "bird"


def edit_key(kind: Kind | str, namespace: str, name: str) -> str:
    return f"{kind if isinstance(kind, str) else kind.name}/{namespace}/{name}"


def cluster(sources: Sources, now: float) -> list[Thing]:
    """Every object, ordered as kubectl lists them: by namespace and name, events by time."""
    things: list[Thing] = []
    for record in sources.records:
        if not _is_deleted(record, sources.edits):
            things += _of_node(record, sources.hurry, now)
    things += copy.deepcopy(list(sources.others))
    things = [_edited(thing, sources.edits) for thing in things]
    nodes, pods = [each for each in things if each.get("kind") == "Node"], of_pods(things)
    things += [_counted(copy.deepcopy(owner), nodes, pods) for owner in sources.owners]
    things += _own(sources, nodes, {namespace_of(pod) for pod in pods})
    return sorted(things, key=_order)


def of_pods(things: Sequence[Thing]) -> list[Thing]:
    return [each for each in things if each.get("kind") == "Pod"]


def _order(thing: Thing) -> tuple[float, str, str]:
    seen = at(thing, "lastTimestamp") or at(thing, "eventTime") or at(thing, "firstTimestamp")
    when = (seconds_of(seen) or 0.0) if thing.get("kind") == EVENT.name else 0.0
    return when, namespace_of(thing), name_of(thing)


def _is_deleted(record: NodeRecord, edits: Mapping[str, Mapping[str, Any]]) -> bool:
    """A node that was deleted is back when its kubelet has started anew, not before."""
    deleted = seconds_of(edits.get(edit_key("Node", "", record.name), {}).get("deleted"))
    return deleted is not None and (record.kubelet_since is None or record.kubelet_since <= deleted)


def _of_node(record: NodeRecord, hurry: int, now: float) -> list[Thing]:
    things = [copy.deepcopy(thing) for thing in record.things]
    node = next((each for each in things if each.get("kind") == "Node"), None)
    if node is None:
        return things
    beat = heartbeat(node)
    if not of_kind(things, LEASE):
        things.append(_lease(node, beat))
    grace = max(GRACE_S / max(hurry, 1), _LEAST_GRACE_S)
    if beat is not None and now - beat > grace:
        lost = int(beat + grace) + 1.0
        _mark_silent(node, lost)
        for pod in of_pods(things):
            _mark_not_ready(pod, lost)
            things.append(_controller_event(pod, "Warning", "Node is not ready", lost))
        things.append(_controller_event(node, "Normal", f"Node {name_of(node)} status is now: NodeNotReady", lost))
    elif not is_ready(node):
        changed = seconds_of((condition(node, "Ready") or {}).get("lastTransitionTime")) or now
        _taint(node, _NOT_READY, changed)
    return things


def heartbeat(node: Thing) -> float | None:
    """When its kubelet last told how the node is."""
    beats = [seconds_of(each.get("lastHeartbeatTime")) for each in items_at(node, "status", "conditions")]
    return max((each for each in beats if each is not None), default=None)


def is_silent(node: Thing) -> bool:
    """Whether the node controller has given it up."""
    return (condition(node, "Ready") or {}).get("status") == "Unknown"


def _mark_silent(node: Thing, lost: float) -> None:
    for told in items_at(node, "status", "conditions"):
        if told.get("type") in _PRESSURES:
            told.update(status="Unknown", reason="NodeStatusUnknown", message=_SILENT, lastTransitionTime=stamp(lost))
    _taint(node, _UNREACHABLE, lost)


def _taint(node: Thing, key: str, since: float) -> None:
    """With both effects, unless it has that taint."""
    taints = node.setdefault("spec", {}).setdefault("taints", [])
    taints[:] = [each for each in taints if each.get("key") not in (_NOT_READY, _UNREACHABLE)]
    for effect in ("NoSchedule", "NoExecute"):
        taints.append({"key": key, "effect": effect, "timeAdded": stamp(since)})


def _mark_not_ready(pod: Thing, lost: float) -> None:
    """The rest of what is known of it is kept: nobody is there to tell anything else."""
    told = condition(pod, "Ready")
    if told is not None and told.get("status") == "True":
        told.update(status="False", lastTransitionTime=stamp(lost))


def _controller_event(thing: Thing, kind: str, message: str, when: float) -> Thing:
    name, namespace = name_of(thing), namespace_of(thing) or "default"
    involved = {"kind": thing.get("kind"), "name": name, "uid": at(thing, "metadata", "uid")}
    if namespace_of(thing):
        involved["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": EVENT.name,
        "metadata": {
            "name": f"{name}.{int(when):016x}",
            "namespace": namespace,
            "creationTimestamp": stamp(when),
        },
        "involvedObject": involved,
        "reason": "NodeNotReady",
        "message": message,
        "source": {"component": "node-controller"},
        "firstTimestamp": stamp(when),
        "lastTimestamp": stamp(when),
        "count": 1,
        "type": kind,
        "reportingComponent": "node-controller",
        "reportingInstance": "",
    }


def _lease(node: Thing, beat: float | None) -> Thing:
    name = name_of(node)
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40}
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {
            "name": name,
            "namespace": "kube-node-lease",
            "creationTimestamp": at(node, "metadata", "creationTimestamp"),
        },
        "spec": spec if beat is None else {**spec, "renewTime": stamp(beat)},
    }


def _edited(thing: Thing, edits: Mapping[str, Mapping[str, Any]]) -> Thing:
    edit = edits.get(edit_key(str(thing.get("kind")), namespace_of(thing), name_of(thing)))
    if not edit:
        return thing
    for field in ("labels", "annotations"):
        if changes := edit.get(field):
            merged = {**pairs_at(thing, "metadata", field), **changes}
            thing["metadata"][field] = {key: value for key, value in merged.items() if value is not None}
    if edit.get("unschedulable"):
        spec = thing.setdefault("spec", {})
        spec["unschedulable"] = True
        spec.setdefault("taints", []).append({"key": _UNSCHEDULABLE, "effect": "NoSchedule"})
    return thing


def _counted(owner: Thing, nodes: Sequence[Thing], pods: Sequence[Thing]) -> Thing:
    """With the state that its controller would write."""
    own = [pod for pod in pods if _is_owned(pod, owner) and not at(pod, "metadata", "deletionTimestamp")]
    ready = [pod for pod in own if is_ready(pod)]
    generation = at(owner, "metadata", "generation") or 1
    updated = [pod for pod in own if _generation(pod) in (None, str(generation))]
    if owner.get("kind") == "DaemonSet":
        status: dict[str, Any] = {
            "currentNumberScheduled": len(own),
            "desiredNumberScheduled": len(nodes),
            "numberAvailable": len(ready),
            "numberMisscheduled": 0,
            "numberReady": len(ready),
            "numberUnavailable": len(nodes) - len(ready),
            "observedGeneration": generation,
            "updatedNumberScheduled": len(updated),
        }
        owner["status"] = {key: value for key, value in status.items() if value or key != "numberUnavailable"}
        return owner
    wanted = int(at(owner, "spec", "replicas") or 0) if at(owner, "spec", "replicas") is not None else 1
    available = len(ready) >= wanted
    owner["status"] = {
        "availableReplicas": len(ready),
        "conditions": [
            {
                "type": "Available",
                "status": "True" if available else "False",
                "reason": "MinimumReplicasAvailable" if available else "MinimumReplicasUnavailable",
            }
        ],
        "observedGeneration": generation,
        "readyReplicas": len(ready),
        "replicas": len(own),
        "unavailableReplicas": max(wanted - len(ready), 0),
        "updatedReplicas": len(updated),
    }
    return owner


def _is_owned(pod: Thing, owner: Thing) -> bool:
    """A Deployment owns its pods through a ReplicaSet, whose name begins with its own."""
    name = name_of(owner)
    if owner.get("kind") == "DaemonSet":
        return owned_by(pod, "DaemonSet", name)
    owners = items_at(pod, "metadata", "ownerReferences")
    return owned_by(pod, "Deployment", name) or any(
        each.get("kind") == "ReplicaSet" and str(each.get("name", "")).rpartition("-")[0] == name for each in owners
    )


def _generation(pod: Thing) -> str | None:
    found = pairs_at(pod, "metadata", "labels").get(_REVISION)
    return None if found is None else str(found)


def _own(sources: Sources, nodes: Sequence[Thing], used: set[str]) -> list[Thing]:
    """Namespaces, the ConfigMap of the network, and where the API would be."""
    began = stamp(sources.began)
    names = sorted({*NAMESPACES, *(used - {""})})
    things: list[Thing] = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "creationTimestamp": began,
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        for name in names
    ]
    things.append(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "calico-config", "namespace": SYSTEM, "creationTimestamp": began},
            "data": {"calico_backend": sources.backend, "typha_service_name": "none", "veth_mtu": "0"},
        }
    )
    addresses = [
        {"ip": str(each.get("address"))}
        for node in nodes[:1]
        for each in items_at(node, "status", "addresses")
        if each.get("type") == "InternalIP"
    ]
    ports = [{"name": "https", "port": _API_PORT, "protocol": "TCP"}]
    things.append(
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default", "creationTimestamp": began},
            "subsets": [{"addresses": addresses, "ports": ports}] if addresses else [],
        }
    )
    return things

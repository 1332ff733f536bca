"""`kubectl describe node`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from tortie.lab.kubectl.describing import (
    annotation_lines,
    described,
    event_lines,
    events_of,
    label_lines,
    taint_lines,
)
from tortie.lab.kubectl.kinds import Thing, at, items_at, name_of, namespace_of, pairs_at
from tortie.lab.kubectl.quantities import amount, bytes_text, cpu_text, share
from tortie.lab.kubectl.tables import NONE, node_roles
from tortie.lab.kubectl.times import long_date, since

_FINISHED: Final = ("Succeeded", "Failed")
_SYSTEM: Final = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
)
_COUNTED: Final = ("cpu", "memory", "ephemeral-storage")


def describe_node(node: Thing, pods: Sequence[Thing], events: Sequence[Thing], lease: Thing | None, now: float) -> str:
    """`pods` and `events` of the whole cluster; what is the node's is shown."""
    own = [
        pod
        for pod in pods
        if at(pod, "spec", "nodeName") == name_of(node) and at(pod, "status", "phase") not in _FINISHED
    ]
    lines = [*_lines(node, lease), *_pods(node, own, now), *_allocated(node, own)]
    return described(lines, event_lines(events_of(events, node), now))


def _lines(node: Thing, lease: Thing | None) -> Iterator[str]:
    yield f"Name:\t{name_of(node)}"
    yield f"Roles:\t{','.join(node_roles(node)) or NONE}"
    yield from label_lines("Labels", pairs_at(node, "metadata", "labels"))
    yield from annotation_lines("Annotations", pairs_at(node, "metadata", "annotations"))
    yield f"CreationTimestamp:\t{long_date(at(node, 'metadata', 'creationTimestamp'))}"
    yield from taint_lines("Taints", items_at(node, "spec", "taints"))
    yield f"Unschedulable:\t{'true' if at(node, 'spec', 'unschedulable') else 'false'}"
    yield from _lease(node, lease)
    if conditions := items_at(node, "status", "conditions"):
        yield "Conditions:"
        yield "  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage"
        yield "  ----\t------\t-----------------\t------------------\t------\t-------"
        yield from (f"  {_condition(each)}" for each in conditions)
    yield "Addresses:"
    for each in items_at(node, "status", "addresses"):
        yield f"  {each.get('type')}:\t{each.get('address')}"
    for title in ("Capacity", "Allocatable"):
        if named := pairs_at(node, "status", title.lower()):
            yield f"{title}:"
            yield from (f"  {name}:\t{named[name]}" for name in sorted(named))
    yield "System Info:"
    for title, field in _SYSTEM:
        yield f"  {title}:\t{at(node, 'status', 'nodeInfo', field) or ''}"
    if at(node, "spec", "podCIDR"):
        yield f"PodCIDR:\t{at(node, 'spec', 'podCIDR')}"
    if networks := items_at(node, "spec", "podCIDRs"):
        yield f"PodCIDRs:\t{','.join(networks)}"


def _condition(told: Mapping[str, Any]) -> str:
    heartbeat, changed = (long_date(told.get(each)) for each in ("lastHeartbeatTime", "lastTransitionTime"))
    reason, message = told.get("reason", ""), told.get("message", "")
    return f"{told.get('type')} \t{told.get('status')} \t{heartbeat} \t{changed} \t{reason} \t{message}"


def _lease(node: Thing, lease: Thing | None) -> Iterator[str]:
    if lease is None:
        name = name_of(node)
        yield f'Lease:\tFailed to get lease: leases.coordination.k8s.io "{name}" not found'
        return
    yield "Lease:"
    yield f"  HolderIdentity:\t{at(lease, 'spec', 'holderIdentity') or '<unset>'}"
    for title, field in (("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")):
        value = at(lease, "spec", field)
        yield f"  {title}:\t{long_date(value) if value else '<unset>'}"


class _Use(NamedTuple):
    requests: dict[str, Decimal]
    limits: dict[str, Decimal]


def _use(pod: Thing) -> _Use:
    """The sum of the containers, or the largest of the init containers if that is more."""
    sums = []
    for field in ("requests", "limits"):
        named: dict[str, Decimal] = {}
        for container in items_at(pod, "spec", "containers"):
            for name, text in pairs_at(container, "resources", field).items():
                named[name] = named.get(name, Decimal(0)) + amount(text)
        for container in items_at(pod, "spec", "initContainers"):
            for name, text in pairs_at(container, "resources", field).items():
                named[name] = max(named.get(name, Decimal(0)), amount(text))
        sums.append(named)
    return _Use(*sums)


def _room(node: Thing) -> dict[str, Any]:
    return pairs_at(node, "status", "allocatable") or pairs_at(node, "status", "capacity")


def _pods(node: Thing, pods: Sequence[Thing], now: float) -> Iterator[str]:
    room = _room(node)
    yield f"Non-terminated Pods:\t({len(pods)} in total)"
    yield "  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge"
    yield "  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---"
    for pod in pods:
        use = _use(pod)
        cells = [
            _amount_text(name, each.get(name, Decimal(0)), room)
            for name in ("cpu", "memory")
            for each in (use.requests, use.limits)
        ]
        age = since(at(pod, "metadata", "creationTimestamp"), now)
        yield f"  {namespace_of(pod)}\t{name_of(pod)}\t\t" + "\t".join(cells) + f"\t{age}"


def _allocated(node: Thing, pods: Sequence[Thing]) -> Iterator[str]:
    room, uses = _room(node), [_use(pod) for pod in pods]
    yield "Allocated resources:"
    yield "  (Total limits may be over 100 percent, i.e., overcommitted.)"
    yield "  Resource\tRequests\tLimits"
    yield "  --------\t--------\t------"
    others = sorted(name for name in room if name not in (*_COUNTED, "pods"))
    for name in (*_COUNTED, *others):
        requested = sum((use.requests.get(name, Decimal(0)) for use in uses), Decimal(0))
        limited = sum((use.limits.get(name, Decimal(0)) for use in uses), Decimal(0))
        if name in others:
            yield f"  {name}\t{bytes_text(requested)}\t{bytes_text(limited)}"
        else:
            yield f"  {name}\t{_amount_text(name, requested, room)}\t{_amount_text(name, limited, room)}"


def _amount_text(name: str, value: Decimal, room: Mapping[str, Any]) -> str:
    text = cpu_text(value) if name == "cpu" else bytes_text(value)
    return f"{text} ({share(value, amount(room.get(name, 0)))}%)"

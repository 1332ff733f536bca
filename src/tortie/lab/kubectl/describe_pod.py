"""`kubectl describe pod`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tortie.lab.kubectl.describe_containers import container_lines, volume_lines
from tortie.lab.kubectl.describing import (
    annotation_lines,
    described,
    event_lines,
    events_of,
    label_lines,
    toleration_lines,
)
from tortie.lab.kubectl.kinds import Thing, at, items_at, name_of, namespace_of, pairs_at
from tortie.lab.kubectl.tables import NONE
from tortie.lab.kubectl.times import long_date, since

_FINISHED: Final = ("Succeeded", "Failed")
_COMPUTED: Final = ("cpu", "memory")


def describe_pod(pod: Thing, events: Sequence[Thing], now: float) -> str:
    """`events` of all objects; those of the pod are shown."""
    return described([*_lines(pod, now)], event_lines(events_of(events, pod), now))


def _lines(pod: Thing, now: float) -> Iterator[str]:
    spec, status = pairs_at(pod, "spec"), pairs_at(pod, "status")
    yield f"Name:\t{name_of(pod)}"
    yield f"Namespace:\t{namespace_of(pod)}"
    if spec.get("priority") is not None:
        yield f"Priority:\t{spec['priority']}"
    if spec.get("priorityClassName"):
        yield f"Priority Class Name:\t{spec['priorityClassName']}"
    if spec.get("serviceAccountName"):
        yield f"Service Account:\t{spec['serviceAccountName']}"
    yield f"Node:\t{spec['nodeName']}/{status.get('hostIP', '')}" if spec.get("nodeName") else f"Node:\t{NONE}"
    if status.get("startTime"):
        yield f"Start Time:\t{long_date(status['startTime'])}"
    yield from label_lines("Labels", pairs_at(pod, "metadata", "labels"))
    yield from annotation_lines("Annotations", pairs_at(pod, "metadata", "annotations"))
    deleted = at(pod, "metadata", "deletionTimestamp")
    if deleted and status.get("phase") not in _FINISHED:
        yield f"Status:\tTerminating (lasts {since(deleted, now)})"
        yield f"Termination Grace Period:\t{at(pod, 'metadata', 'deletionGracePeriodSeconds') or 0}s"
    else:
        yield f"Status:\t{status.get('phase', '')}"
    for title in ("Reason", "Message"):
        if status.get(title.lower()):
            yield f"{title}:\t{status[title.lower()]}"
    yield f"IP:\t{status.get('podIP', '')}"
    addresses = items_at(status, "podIPs")
    yield "IPs:" if addresses else f"IPs:\t{NONE}"
    yield from (f"  IP:\t{each.get('ip', '')}" for each in addresses)
    if owner := next((each for each in items_at(pod, "metadata", "ownerReferences") if each.get("controller")), None):
        yield f"Controlled By:\t{owner.get('kind')}/{owner.get('name')}"
    if containers := items_at(spec, "initContainers"):
        yield from container_lines("Init Containers", containers, items_at(status, "initContainerStatuses"), pod)
    yield from container_lines("Containers", items_at(spec, "containers"), items_at(status, "containerStatuses"), pod)
    if conditions := items_at(status, "conditions"):
        yield "Conditions:"
        yield "  Type\tStatus"
        yield from (f"  {each.get('type')} \t{each.get('status')} " for each in conditions)
    yield from volume_lines(items_at(spec, "volumes"))
    yield f"QoS Class:\t{status.get('qosClass') or quality(pod)}"
    yield from label_lines("Node-Selectors", pairs_at(spec, "nodeSelector"))
    yield from toleration_lines("Tolerations", items_at(spec, "tolerations"))


def quality(pod: Thing) -> str:
    """The class that a pod has by what its containers ask for."""
    containers = items_at(pod, "spec", "initContainers") + items_at(pod, "spec", "containers")
    asked = [pairs_at(each, "resources") for each in containers]
    if not any(pairs_at(each, "requests") or pairs_at(each, "limits") for each in asked):
        return "BestEffort"
    for each in asked:
        limits = pairs_at(each, "limits")
        requests = {**limits, **pairs_at(each, "requests")}
        if any(limits.get(name) is None or requests.get(name) != limits[name] for name in _COMPUTED):
            return "Burstable"
    return "Guaranteed"

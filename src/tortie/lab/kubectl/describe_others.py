"""`kubectl describe` of DaemonSets, Deployments, ConfigMaps, Endpoints and namespaces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tortie.lab.kubectl.describe_containers import container_lines, volume_lines
from tortie.lab.kubectl.describing import (
    annotation_lines,
    described,
    event_lines,
    events_of,
    label_lines,
    toleration_lines,
)
from tortie.lab.kubectl.kinds import Thing, at, items_at, name_of, namespace_of, owned_by, pairs_at
from tortie.lab.kubectl.pod_state import pod_phases
from tortie.lab.kubectl.tables import NONE, label_text
from tortie.lab.kubectl.times import long_date


def describe_owner(owner: Thing, pods: Sequence[Thing], events: Sequence[Thing], now: float) -> str:
    """Of a DaemonSet or a Deployment."""
    lines = _daemon_set(owner, pods) if owner.get("kind") == "DaemonSet" else _deployment(owner)
    return described([*lines], event_lines(events_of(events, owner), now))


def _daemon_set(owner: Thing, pods: Sequence[Thing]) -> Iterator[str]:
    status = pairs_at(owner, "status")
    own = [pod for pod in pods if owned_by(pod, "DaemonSet", name_of(owner))]
    running, waiting, succeeded, failed = pod_phases(own)
    yield f"Name:\t{name_of(owner)}"
    yield f"Namespace:\t{namespace_of(owner)}"
    yield f"Selector:\t{label_text(pairs_at(owner, 'spec', 'selector', 'matchLabels'))}"
    yield f"Node-Selector:\t{label_text(pairs_at(owner, 'spec', 'template', 'spec', 'nodeSelector'))}"
    yield from label_lines("Labels", pairs_at(owner, "metadata", "labels"))
    yield from annotation_lines("Annotations", pairs_at(owner, "metadata", "annotations"))
    for title, field in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        yield f"{title}: {status.get(field) or 0}"
    yield f"Pods Status:\t{running} Running / {waiting} Waiting / {succeeded} Succeeded / {failed} Failed"
    yield from _template(owner)


def _deployment(owner: Thing) -> Iterator[str]:
    status, spec = pairs_at(owner, "status"), pairs_at(owner, "spec")
    yield f"Name:\t{name_of(owner)}"
    yield f"Namespace:\t{namespace_of(owner)}"
    yield f"CreationTimestamp:\t{long_date(at(owner, 'metadata', 'creationTimestamp'))}"
    yield from label_lines("Labels", pairs_at(owner, "metadata", "labels"))
    yield from annotation_lines("Annotations", pairs_at(owner, "metadata", "annotations"))
    yield f"Selector:\t{label_text(pairs_at(spec, 'selector', 'matchLabels'))}"
    counts = [status.get(each) or 0 for each in ("updatedReplicas", "replicas", "availableReplicas")]
    yield (
        f"Replicas:\t{spec.get('replicas', 1)} desired | {counts[0]} updated | {counts[1]} total | "
        f"{counts[2]} available | {status.get('unavailableReplicas') or 0} unavailable"
    )
    yield f"StrategyType:\t{at(spec, 'strategy', 'type') or 'RollingUpdate'}"
    yield f"MinReadySeconds:\t{spec.get('minReadySeconds') or 0}"
    yield from _template(owner)
    if conditions := items_at(status, "conditions"):
        yield "Conditions:"
        yield "  Type\tStatus\tReason"
        yield "  ----\t------\t------"
        yield from (f"  {each.get('type')} \t{each.get('status')}\t{each.get('reason', '')}" for each in conditions)


def _template(owner: Thing) -> Iterator[str]:
    template = pairs_at(owner, "spec", "template")
    spec = pairs_at(template, "spec")
    yield "Pod Template:"
    yield from label_lines("  Labels", pairs_at(template, "metadata", "labels"))
    if annotations := pairs_at(template, "metadata", "annotations"):
        yield from annotation_lines("  Annotations", annotations)
    if spec.get("serviceAccountName"):
        yield f"  Service Account:\t{spec['serviceAccountName']}"
    if containers := items_at(spec, "initContainers"):
        yield from container_lines("Init Containers", containers, [], None, "  ")
    yield from container_lines("Containers", items_at(spec, "containers"), [], None, "  ")
    yield from volume_lines(items_at(spec, "volumes"), "  ")
    if spec.get("priorityClassName"):
        yield f"  Priority Class Name:\t{spec['priorityClassName']}"
    yield from label_lines("  Node-Selectors", pairs_at(spec, "nodeSelector"))
    yield from toleration_lines("  Tolerations", items_at(spec, "tolerations"))


def describe_plain(thing: Thing, events: Sequence[Thing], now: float) -> str:
    """A ConfigMap with its data, Endpoints with their addresses, a namespace with its state."""
    kind = thing.get("kind")
    lines = [f"Name:\t{name_of(thing)}"]
    lines += [f"Namespace:\t{namespace_of(thing)}"] if namespace_of(thing) else []
    lines += label_lines("Labels", pairs_at(thing, "metadata", "labels"))
    lines += annotation_lines("Annotations", pairs_at(thing, "metadata", "annotations"))
    if kind == "Namespace":
        lines += [
            f"Status:\t{at(thing, 'status', 'phase') or ''}",
            "",
            "No resource quota.",
            "",
            "No LimitRange resource.",
        ]
        return described(lines, None)
    if kind == "ConfigMap":
        data = pairs_at(thing, "data")
        lines += ["", "Data", "===="]
        for key in sorted(data):
            lines += [f"{key}:", "----", *str(data[key]).split("\n"), ""]
        lines += ["", "BinaryData", "====", ""]
    if kind == "Endpoints":
        lines.append("Subsets:")
        for subset in items_at(thing, "subsets"):
            lines += _subset(subset)
    return described(lines, event_lines(events_of(events, thing), now))


def _subset(subset: Thing) -> Iterator[str]:
    for title, field in (("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")):
        yield f"  {title}:\t{','.join(str(each.get('ip')) for each in items_at(subset, field)) or NONE}"
    yield "  Ports:"
    yield "    Name\tPort\tProtocol"
    yield "    ----\t----\t--------"
    for port in items_at(subset, "ports"):
        yield f"    {port.get('name') or '<unset>'}\t{port.get('port')}\t{port.get('protocol', 'TCP')}"
    yield ""

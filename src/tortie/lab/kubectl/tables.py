"""Tables of `kubectl get`: which columns each kind has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tortie.lab.kubectl.kinds import Kind, Thing, at, condition, items_at, name_of, namespace_of, pairs_at
from tortie.lab.kubectl.pod_state import pod_state
from tortie.lab.kubectl.tabs import table
from tortie.lab.kubectl.times import UNKNOWN, since

NONE: Final = "<none>"
_SHOWN_ADDRESSES: Final = 3
_ROLE: Final = "node-role.kubernetes.io/"


class Columns(NamedTuple):
    heads: tuple[str, ...]
    wide: tuple[str, ...]  # all of them, with -o wide
    row: Callable[[Thing, float], list[str]]  # a cell for each of `wide`


class Look(NamedTuple):
    """How a table is wanted."""

    wide: bool = False
    namespaces: bool = False  # a column with them: -A
    headers: bool = True
    labels: bool = False  # --show-labels
    label_columns: tuple[str, ...] = ()  # -L
    titles: bool = False  # the kind in front of each name, when several kinds are shown


def get_table(kind: Kind, things: Sequence[Thing], now: float, look: Look) -> str:
    columns = _COLUMNS[kind.name]
    namespaces = look.namespaces and kind.namespaced
    shown = columns.wide if look.wide else columns.heads
    places = [columns.wide.index(head) for head in shown]
    heads = [*(["NAMESPACE"] if namespaces else []), *shown]
    heads += [each.rpartition("/")[2].upper() for each in look.label_columns]
    heads += ["LABELS"] if look.labels else []
    rows = [heads] if look.headers else []
    for thing in things:
        told = columns.row(thing, now)
        cells = [told[place] for place in places]
        if look.titles and shown[0] == "NAME":
            cells[0] = f"{kind.title}/{cells[0]}"
        labels = pairs_at(thing, "metadata", "labels")
        cells += [str(labels.get(each, NONE)) for each in look.label_columns]
        cells += [label_text(labels)] if look.labels else []
        rows.append([*([namespace_of(thing)] if namespaces else []), *cells])
    return table(rows)


def label_text(labels: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def node_roles(node: Mapping[str, Any]) -> list[str]:
    labels = pairs_at(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    return sorted((roles | {str(labels.get("kubernetes.io/role", ""))}) - {""})


def event_object(event: Mapping[str, Any]) -> str:
    return f"{str(at(event, 'involvedObject', 'kind') or '').lower()}/{at(event, 'involvedObject', 'name') or ''}"


def event_ages(event: Mapping[str, Any], now: float) -> tuple[str, str]:
    """First and last time, as ages."""
    first = since(at(event, "firstTimestamp") or at(event, "eventTime"), now)
    last = since(at(event, "lastTimestamp"), now)
    return first, first if last == UNKNOWN else last


def _age(thing: Thing, now: float) -> str:
    return since(at(thing, "metadata", "creationTimestamp"), now)


def _pod(pod: Thing, now: float) -> list[str]:
    state = pod_state(pod)
    address = at(pod, "status", "podIP") or NONE
    node, nominated = at(pod, "spec", "nodeName") or NONE, at(pod, "status", "nominatedNodeName") or NONE
    ready = f"{state.ready}/{state.total}"
    return [name_of(pod), ready, state.status, state.restarts_text(now), _age(pod, now), address, node, nominated, NONE]


def _node(node: Thing, now: float) -> list[str]:
    told = condition(node, "Ready")
    status = "Unknown" if told is None else "Ready" if told.get("status") == "True" else "NotReady"
    if at(node, "spec", "unschedulable"):
        status += ",SchedulingDisabled"
    roles = ",".join(node_roles(node)) or NONE
    info = pairs_at(node, "status", "nodeInfo")
    system = [str(info.get(each) or UNKNOWN) for each in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    addresses = [_node_address(node, "InternalIP"), _node_address(node, "ExternalIP")]
    version = str(info.get("kubeletVersion") or "")
    return [name_of(node), status, roles, _age(node, now), version, *addresses, *system]


def _node_address(node: Thing, kind: str) -> str:
    found = items_at(node, "status", "addresses")
    return next((str(each.get("address")) for each in found if each.get("type") == kind), NONE)


def _daemon_set(owner: Thing, now: float) -> list[str]:
    numbers = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [str(at(owner, "status", each) or 0) for each in (*numbers, "numberAvailable")]
    selector = label_text(pairs_at(owner, "spec", "template", "spec", "nodeSelector"))
    return [name_of(owner), *counts, selector, _age(owner, now), *_templates(owner)]


def _deployment(owner: Thing, now: float) -> list[str]:
    ready = f"{at(owner, 'status', 'readyReplicas') or 0}/{_replicas(owner)}"
    counts = [str(at(owner, "status", each) or 0) for each in ("updatedReplicas", "availableReplicas")]
    return [name_of(owner), ready, *counts, _age(owner, now), *_templates(owner)]


def _replicas(owner: Thing) -> int:
    found = at(owner, "spec", "replicas")
    return 1 if found is None else int(found)


def _templates(owner: Thing) -> list[str]:
    containers = items_at(owner, "spec", "template", "spec", "containers")
    names = [",".join(str(each.get(field, "")) for each in containers) for field in ("name", "image")]
    return [*names, label_text(pairs_at(owner, "spec", "selector", "matchLabels"))]


def _event(event: Thing, now: float) -> list[str]:
    first, last = event_ages(event, now)
    message = str(at(event, "message") or "").strip()
    source = ", ".join(str(each) for each in (at(event, "source", "component"), at(event, "source", "host")) if each)
    told = [last, str(at(event, "type") or ""), str(at(event, "reason") or ""), event_object(event)]
    path = str(at(event, "involvedObject", "fieldPath") or "")
    return [*told, path, source, message, first, str(at(event, "count") or 1), name_of(event)]


def _config_map(thing: Thing, now: float) -> list[str]:
    count = len(pairs_at(thing, "data")) + len(pairs_at(thing, "binaryData"))
    return [name_of(thing), str(count), _age(thing, now)]


def _endpoints(thing: Thing, now: float) -> list[str]:
    found = []
    for subset in items_at(thing, "subsets"):
        addresses = [str(each.get("ip")) for each in items_at(subset, "addresses")]
        ports = [str(each.get("port")) for each in items_at(subset, "ports")]
        found += [f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for port in ports for each in addresses]
    shown = ",".join(found[:_SHOWN_ADDRESSES])
    more = f" + {len(found) - _SHOWN_ADDRESSES} more..." if len(found) > _SHOWN_ADDRESSES else ""
    return [name_of(thing), shown + more or NONE, _age(thing, now)]


def _namespace(thing: Thing, now: float) -> list[str]:
    return [name_of(thing), str(at(thing, "status", "phase") or ""), _age(thing, now)]


def _lease(thing: Thing, now: float) -> list[str]:
    return [name_of(thing), str(at(thing, "spec", "holderIdentity") or ""), _age(thing, now)]


_POD: Final = ("NAME", "READY", "STATUS", "RESTARTS", "AGE")
_NODE: Final = ("NAME", "STATUS", "ROLES", "AGE", "VERSION")
_SYSTEM: Final = ("INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME")
_DAEMON_SET: Final = ("NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE")
_DEPLOYMENT: Final = ("NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE")
_TEMPLATE: Final = ("CONTAINERS", "IMAGES", "SELECTOR")
_SEEN: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT")


def _same(heads: tuple[str, ...], row: Callable[[Thing, float], list[str]]) -> Columns:
    return Columns(heads, heads, row)


_COLUMNS: Final[dict[str, Columns]] = {
    "Pod": Columns(_POD, (*_POD, "IP", "NODE", "NOMINATED NODE", "READINESS GATES"), _pod),
    "Node": Columns(_NODE, (*_NODE, *_SYSTEM), _node),
    "DaemonSet": Columns(_DAEMON_SET, (*_DAEMON_SET, *_TEMPLATE), _daemon_set),
    "Deployment": Columns(_DEPLOYMENT, (*_DEPLOYMENT, *_TEMPLATE), _deployment),
    "Event": Columns(
        (*_SEEN, "MESSAGE"), (*_SEEN, "SUBOBJECT", "SOURCE", "MESSAGE", "FIRST SEEN", "COUNT", "NAME"), _event
    ),
    "ConfigMap": _same(("NAME", "DATA", "AGE"), _config_map),
    "Endpoints": _same(("NAME", "ENDPOINTS", "AGE"), _endpoints),
    "Namespace": _same(("NAME", "STATUS", "AGE"), _namespace),
    "Lease": _same(("NAME", "HOLDER", "AGE"), _lease),
}

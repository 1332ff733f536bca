"""Kubernetes and Calico resources as facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tortie.doctor.picture.facts import (
    CalicoNode,
    Condition,
    Document,
    Event,
    Fact,
    Node,
    Pool,
    Registered,
    ResourceCondition,
    Setting,
    Version,
)
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers import resource_settings
from tortie.doctor.reading.readers.resource_pods import pod, workload
from tortie.doctor.reading.readers.times import epoch
from tortie.doctor.reading.readers.values import dicts, get, name_of, number, text
from tortie.doctor.reading.readers.yaml_tree import Tree

_ADDRESS: Final = "projectcalico.org/IPv4Address"


class Where:
    """Places of the parts of a document."""

    def __init__(self, exhibit: Exhibit, tree: Tree, start: int, stop: int, whole: Place | None = None) -> None:
        self._exhibit, self._tree, self._start, self._stop = exhibit, tree, start, stop
        self.whole = whole or exhibit.place(start, stop)

    def within(self, place: Place) -> Where:
        """For a document inside of a value: all of it is at the value's place."""
        return Where(self._exhibit, Tree(None, {}, {}), self._start, self._stop, place)

    def of(self, value: object) -> Place:
        return self._place(self._tree.lines.get(id(value)))

    def key(self, body: object, key: str) -> Place:
        return self._place(self._tree.keys.get((id(body), key)))

    def _place(self, lines: tuple[int, int] | None) -> Place:
        if lines is None:
            return self.whole
        first, last = self._start + lines[0], min(self._stop - 1, self._start + lines[1])
        while last > first and self._exhibit.lines[last].strip(" .") == "":
            last -= 1  # the parser counts blank lines to what stands before them
        return self._exhibit.place(first, last + 1)


def facts(body: object, where: Where) -> Iterator[Fact]:
    if isinstance(body, list):
        for item in dicts(body):
            yield from facts(item, where)
        return
    if not isinstance(body, dict):
        return
    kind = text(body.get("kind"))
    if (kind.endswith("List") or not kind) and isinstance(body.get("items"), list):
        for item in dicts(body["items"]):
            yield from facts(
                {**item, "kind": item.get("kind", kind.removesuffix("List"))} if "kind" not in item else item, where
            )
        return
    cni = resource_settings.is_cni(body)
    yield Document(where.of(body), "cni" if cni else kind, name_of(body), body)
    if cni:
        yield from resource_settings.cni(body, where)
        return
    reader = _READERS.get(kind)
    if kind == "Node" and "projectcalico" in text(body.get("apiVersion")):
        reader = _calico_node
    if reader:
        yield from reader(body, where)
    elif kind:
        yield from resource_settings.settings(kind, body, where)
        yield from _states(kind, body, where)


def _node(body: dict[str, object], where: Where) -> Iterator[Fact]:
    name, info = name_of(body), get(body, "status", "nodeInfo")
    addresses = tuple((text(a.get("type")), text(a.get("address"))) for a in dicts(get(body, "status", "addresses")))
    annotations = _texts(get(body, "metadata", "annotations"))
    conditions = list(_conditions(name, get(body, "status", "conditions"), where))
    ready = next((c.status for c in conditions if c.kind == "Ready"), "")
    status = "" if not ready else "Ready" if ready == "True" else "NotReady"
    if get(body, "spec", "unschedulable") is True:
        status += ",SchedulingDisabled"
    taints = tuple(
        f"{text(t.get('key'))}{'=' + text(t.get('value')) if t.get('value') else ''}:{text(t.get('effect'))}"
        for t in dicts(get(body, "spec", "taints"))
    )

    def said(key: str) -> str:
        return text(get(info, key))

    yield Node(
        where.of(body), name, status, "", "", said("kubeletVersion"), dict(addresses).get("InternalIP", ""), addresses,
        annotations, _texts(get(body, "metadata", "labels")), taints, text(get(body, "spec", "podCIDR")),
        said("osImage"), said("kernelVersion"), said("containerRuntimeVersion"), said("architecture"),
    )  # fmt: skip
    yield from conditions
    yield from registered(get(body, "metadata", "annotations"), name, where)
    for component, key in (("kubelet", "kubeletVersion"), ("kernel", "kernelVersion")):
        if said(key):
            yield Version(where.key(info, key), component, said(key), name)
    runtime, _, version = said("containerRuntimeVersion").partition("://")
    if version:
        yield Version(where.key(info, "containerRuntimeVersion"), runtime, version, name)


def registered(annotations: object, node: str, where: Where) -> Iterator[Fact]:
    value = text(get(annotations, _ADDRESS))
    if value:
        address, _, length = value.partition("/")
        yield Registered(where.key(annotations, _ADDRESS), node, address, number(length), "annotation")


def _calico_node(body: dict[str, object], where: Where) -> Iterator[Fact]:
    name, bgp = name_of(body), get(body, "spec", "bgp")
    yield CalicoNode(where.of(body), name, _texts(get(body, "metadata", "labels")))
    value = text(get(bgp, "ipv4Address"))
    if value:
        address, _, length = value.partition("/")
        asn = text(get(bgp, "asNumber"))
        yield Registered(where.key(bgp, "ipv4Address"), name, address, number(length), "calicoctl", "", asn)
    for key, held in _texts(bgp):
        yield Setting(where.key(bgp, key), "caliconode", key, held, name)


def _event(body: dict[str, object], where: Where) -> Iterator[Fact]:
    involved = get(body, "involvedObject") or get(body, "regarding")
    thing = f"{text(get(involved, 'kind')).lower()}/{text(get(involved, 'name'))}"
    source = get(body, "source") or get(body, "deprecatedSource")

    def moment(*keys: str) -> float | None:
        return next((then for key in keys if (then := epoch(text(body.get(key)))) is not None), None)

    first = moment("firstTimestamp", "deprecatedFirstTimestamp", "eventTime")
    last = epoch(text(get(body, "series", "lastObservedTime"))) or moment(
        "lastTimestamp", "deprecatedLastTimestamp", "eventTime"
    )
    count = body.get("count") or body.get("deprecatedCount") or get(body, "series", "count")
    component = get(source, "component") or body.get("reportingComponent") or body.get("reportingController")
    yield Event(
        where.of(body), text(body.get("reason")), text(body.get("message") or body.get("note")), text(body.get("type")),
        thing, text(component), text(get(source, "host") or body.get("reportingInstance")), None,
        number(text(count)) or 1, last - first if first is not None and last is not None else None, time=last,
    )  # fmt: skip


def _pool(body: dict[str, object], where: Where) -> Iterator[Fact]:
    spec = get(body, "spec") or body
    disabled, nat = get(spec, "disabled"), get(spec, "natOutgoing")
    yield Pool(
        where.of(body), name_of(body), text(get(spec, "cidr")), number(text(get(spec, "blockSize"))),
        text(get(spec, "ipipMode")), text(get(spec, "vxlanMode")), disabled if isinstance(disabled, bool) else None,
        text(get(spec, "nodeSelector")), nat if isinstance(nat, bool) else None if nat else False,
    )  # fmt: skip
    yield from resource_settings.settings("IPPool", body, where)


def _tigera(body: dict[str, object], where: Where) -> Iterator[Fact]:
    name = name_of(body)
    conditions = list(_states("TigeraStatus", body, where))
    yield from conditions
    told = [c for kind in ("Available", "Progressing", "Degraded") for c in conditions if c.kind == kind]
    if told:
        worst = next((c for c in told if c.kind == "Degraded" and c.status == "True"), told[0])
        states = " ".join(f"{c.kind.lower()}={c.status}" for c in told)
        yield Setting(worst.place, "tigerastatus", name, states)


def _states(kind: str, body: dict[str, object], where: Where) -> Iterator[ResourceCondition]:
    for item in dicts(get(body, "status", "conditions")):
        yield ResourceCondition(
            where.of(item), kind, name_of(body), text(item.get("type")), text(item.get("status")),
            text(item.get("reason")), text(item.get("message")), epoch(text(item.get("lastTransitionTime"))),
        )  # fmt: skip


def _conditions(owner: str, items: object, where: Where) -> Iterator[Condition]:
    for item in dicts(items):
        heartbeat, transition = text(item.get("lastHeartbeatTime")), text(item.get("lastTransitionTime"))
        yield Condition(
            where.of(item), owner, text(item.get("type")), text(item.get("status")), text(item.get("reason")),
            text(item.get("message")), epoch(heartbeat), epoch(transition),
        )  # fmt: skip


def _pod(body: dict[str, object], where: Where) -> Iterator[Fact]:
    yield from pod(body, where)
    yield from _conditions(name_of(body), get(body, "status", "conditions"), where)


def _texts(body: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(body, dict):
        return ()
    return tuple((str(key), text(value)) for key, value in body.items() if not isinstance(value, dict | list))


_READERS: Final[dict[str, Callable[[dict[str, object], Where], Iterator[Fact]]]] = {
    "Node": _node, "Pod": _pod, "Event": _event, "IPPool": _pool, "TigeraStatus": _tigera,
    "DaemonSet": workload, "Deployment": workload, "StatefulSet": workload, "ReplicaSet": workload, "Job": workload,
}  # fmt: skip

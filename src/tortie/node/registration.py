"""What a start writes into the datastore, decided before anything is written: Calico's objects, in Calico's order.

Every write expects what was read (a revision, or absence), so a node that starts at the same moment makes this
one decide again instead of being overwritten. What cannot be read is left as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.ipam_settings import IPAM_CONFIG, in_effect, sound
from tortie.model.kinds import API_VERSION
from tortie.model.network import CIDR, IP
from tortie.model.release import DATA_MODEL
from tortie.model.resource import stored_form, stored_value
from tortie.model.resources.policies import BUILT_IN_TIERS
from tortie.model.wire import Document, encode
from tortie.node.picture import CONTROLLERS, DEFAULTS, MACHINE, Picture, Stored, key_of
from tortie.store.contract import ABSENT, Operation, Put

# Whoever has one of these has decided about it; nothing is added later.
_ONLY_CREATED: Final = ("IPPool", "Tier", "BGPConfiguration", "IPAMConfiguration", "KubeControllersConfiguration")

_IPAM: Final[Document] = {
    "autoAllocateBlocks": True,
    "maxBlocksPerHost": 0,
    "strictAffinity": False,
    "kubeVirtVMAddressPersistence": "Enabled",
}


class NewPool(NamedTuple):
    document: Document
    said: str  # what Calico logs when it is created


class Intent(NamedTuple):
    """What the decisions before came to."""

    name: str
    ipv4: CIDR | None
    ipv6: CIDR | None
    as_number: int | None = None
    k8s_node_ref: str = ""
    interfaces: tuple[tuple[str, tuple[IP, ...]], ...] = ()
    machine: str = ""
    pools: tuple[NewPool, ...] = ()  # default pools to create
    cluster_types: tuple[str, ...] = ()
    retire: tuple[str, ...] = ()  # earlier names of this machine, whose records give up their addresses
    networking: bool = True  # False: backend none, addresses are none of our business
    calico_version: str = DATA_MODEL  # of a new cluster; a Calico that shares the datastore writes its own


class Stamp(NamedTuple):
    """Time and chance, passed in."""

    now: Callable[[], str]
    new_uid: Callable[[], str]


class Write(NamedTuple):
    what: str  # as Calico's messages name it: Node(n1)
    action: str  # create, update, keep, leave
    why: str = ""
    operation: Operation | None = None
    said: str = ""  # the line for the log when it is done, where Calico has one


Change = Callable[[Document], list[str]]  # changes the document in place, and says what it changed


def plan(picture: Picture, intent: Intent, stamp: Stamp) -> tuple[Write, ...]:
    def ensure(kind: str, name: str, change: Change, stored: Stored | None = None) -> Write:
        stored = stored or picture.documents.get(key_of(kind, name))
        if stored and kind in _ONLY_CREATED:
            return Write(f"{kind}({name})", "keep")
        return _ensured(kind, name, stored, change, stamp)

    writes = [ensure("Node", intent.name, lambda node: _change_node(node, intent), picture.node)]
    writes += [ensure("Node", name, _withdraw_addresses) for name in intent.retire]
    for pool in intent.pools:
        write = ensure("IPPool", str(pool.document["metadata"]["name"]), _filling(pool.document["spec"]))
        writes.append(write._replace(said=pool.said))
    for kind, name in DEFAULTS:
        if kind == "IPAMConfiguration":
            writes.append(ensure(kind, name, _filling(_ipam_settings(picture))))
            continue
        writes.append(ensure(kind, name, _default_change(kind, name, intent, stamp)))
        if (kind, name) == ("FelixConfiguration", "default"):
            writes.append(ensure(kind, f"node.{intent.name}", _filling({"defaultEndpointToHostAction": "Return"})))
    writes.append(ensure(*CONTROLLERS, _filling(DEFAULT_SPEC)))
    return tuple(writes)


def _ipam_settings(picture: Picture) -> Document:
    """The resource says from the beginning what IPAM reads; where IPAM has nothing to read, these are its defaults."""
    stored = picture.documents.get(IPAM_CONFIG)
    spec: Document = in_effect({"spec": _IPAM}, sound(stored.document) if stored and not stored.unreadable else None)[
        "spec"
    ]
    return spec


def own_record_unreadable(picture: Picture) -> str:
    """Why this node's own record cannot be worked with; "" when it can. It is never replaced unread."""
    if picture.node is None:
        return ""
    if picture.node.unreadable:
        return picture.node.unreadable
    document = picture.node.document
    for part in ("metadata", "spec"):
        if not isinstance(document.get(part), dict | None):
            return f"its {part} is not an object"
    for part, of in (("annotations", "metadata"), ("bgp", "spec")):
        if not isinstance((document.get(of) or {}).get(part), dict | None):
            return f"its {of}.{part} is not an object"
    return ""


def operations(writes: tuple[Write, ...]) -> list[Operation]:
    return [write.operation for write in writes if write.operation]


def _ensured(kind: str, name: str, stored: Stored | None, change: Change, stamp: Stamp) -> Write:
    what = f"{kind}({name})"
    if stored is None:
        document: Document = {"kind": kind, "apiVersion": API_VERSION, "metadata": {"name": name}, "spec": {}}
        change(document)
        document["metadata"] |= {"uid": stamp.new_uid(), "creationTimestamp": stamp.now()}
        return Write(what, "create", operation=Put(key_of(kind, name), encode(stored_form(document)), ABSENT))
    if stored.unreadable:
        return Write(what, "leave", f"it cannot be read: {stored.unreadable}")
    try:
        document = copy.deepcopy(stored.document)
        changed = change(document)
        value = stored_value(document) if changed else b""
    except (TypeError, AttributeError, KeyError, ValueError, RecursionError):
        return Write(what, "leave", "it is not built as such an object is")
    if not changed:
        return Write(what, "keep")
    return Write(what, "update", ", ".join(changed), Put(stored.key, value, stored.revision))


def _change_node(node: Document, intent: Intent) -> list[str]:
    spec = _part(node, "spec")
    changed: list[str] = []
    if intent.networking:
        bgp = _part(spec, "bgp")
        for field, cidr in (("ipv4Address", intent.ipv4), ("ipv6Address", intent.ipv6)):
            _set(bgp, field, str(cidr) if cidr else None, "spec.bgp.", changed)
        if intent.as_number is not None:
            _set(bgp, "asNumber", intent.as_number, "spec.bgp.", changed)
        if not bgp:
            del spec["bgp"]
        told = [{"name": name, "addresses": [str(ip) for ip in ips]} for name, ips in intent.interfaces]
        _set(spec, "interfaces", told or None, "spec.", changed)
    if intent.k8s_node_ref:
        _set(spec, "orchRefs", _with_k8s(spec.get("orchRefs"), intent.k8s_node_ref), "spec.", changed)
    if intent.machine:
        annotations = _part(_part(node, "metadata"), "annotations")
        _set(annotations, MACHINE, intent.machine, "metadata.annotations.", changed)
    return changed


def _part(document: Document, name: str) -> Document:
    """A part that is there afterwards; null is as good as nothing."""
    part: Document | None = document.get(name)
    if part is None:
        part = document[name] = {}
    return part


def _withdraw_addresses(node: Document) -> list[str]:
    changed: list[str] = []
    bgp = node["spec"]["bgp"]
    for field in ("ipv4Address", "ipv6Address"):
        _set(bgp, field, None, "spec.bgp.", changed)
    if not bgp:
        del node["spec"]["bgp"]
    return changed


def _with_k8s(refs: Any, node_name: str) -> list[Document]:
    others = [ref for ref in refs or [] if ref.get("orchestrator") != "k8s"]
    return [*others, {"nodeName": node_name, "orchestrator": "k8s"}]


def _default_change(kind: str, name: str, intent: Intent, stamp: Stamp) -> Change:
    if kind == "ClusterInformation":
        return lambda document: _change_cluster(document, intent, stamp)
    if kind == "Tier":
        order, action = BUILT_IN_TIERS[name]
        return _filling({"order": order, "defaultAction": action})
    specs: dict[str, Document] = {
        "FelixConfiguration": {"reportingInterval": "0s", "logSeverityScreen": "Info"},
        "BGPConfiguration": {},
    }
    return _filling(specs[kind])


def _change_cluster(document: Document, intent: Intent, stamp: Stamp) -> list[str]:
    spec = _part(document, "spec")
    changed: list[str] = []
    stored = [each for each in str(spec.get("clusterType") or "").split(",") if each]
    merged = ",".join(dict.fromkeys((*stored, *intent.cluster_types)))
    _set(spec, "clusterType", merged or None, "spec.", changed)
    if not spec.get("clusterGUID"):
        _set(spec, "clusterGUID", stamp.new_uid().replace("-", ""), "spec.", changed)
    if not spec.get("calicoVersion"):
        _set(spec, "calicoVersion", intent.calico_version, "spec.", changed)
    if spec.get("datastoreReady") is None:
        _set(spec, "datastoreReady", True, "spec.", changed)
    return changed


def _filling(wanted: Document) -> Change:
    return lambda document: _fill(document, wanted)


def _fill(document: Document, wanted: Document) -> list[str]:
    """Adds what is missing, and changes nothing that somebody has set."""
    spec = _part(document, "spec")
    missing = {field: value for field, value in wanted.items() if spec.get(field) is None}
    spec.update(missing)
    return [f"spec.{field}={value}" for field, value in missing.items()]


def _set(part: Document, field: str, value: Any, path: str, changed: list[str]) -> None:
    before = part.get(field)
    if before == value or (not before and value is None):
        return
    if value is None:
        del part[field]
        changed.append(f"{path}{field} withdrawn" + ("" if isinstance(before, list) else f" (was {before})"))
    else:
        part[field] = value
        shown = "" if isinstance(value, list) else f"={value}" + (f" (was {before})" if before else "")
        changed.append(f"{path}{field}{shown}")

"""calicoctl's migration file, both ways: resources as YAML, ClusterInformation as JSON, IPAM as JSON. Pure.

The three parts stand below each other, divided by lines of `===`. Names of nodes become those that Kubernetes knows,
because that is where such a file usually goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tortie.model.errors import TortieError, UsageError
from tortie.model.kinds import API_VERSION, BY_NAME, Kind
from tortie.model.policy_names import TIERED
from tortie.model.wire import Document
from tortie.store.contract import Entry
from tortie.store.presenting import presented

# In calicoctl's order: who is named by others comes before them.
KINDS: Final = tuple(
    BY_NAME[name]
    for name in (
        *("IPPool", "BGPPeer", "Tier", "GlobalNetworkPolicy", "StagedGlobalNetworkPolicy", "GlobalNetworkSet"),
        *("HostEndpoint", "KubeControllersConfiguration", "NetworkPolicy", "StagedNetworkPolicy"),
        *("StagedKubernetesNetworkPolicy", "NetworkSet", "Node", "BGPConfiguration", "FelixConfiguration"),
        *("IPReservation", "BGPFilter"),
    )
)
CLUSTER: Final = BY_NAME["ClusterInformation"]
# Calico makes them itself wherever it starts.
PROTECTED_TIERS: Final = frozenset({"default", "kube-admin", "kube-baseline"})
FROM_KUBERNETES: Final = "knp.default."

_DIVIDER: Final = b"==="
_PREFIX_OF_NODE: Final = "node."
_OF_THIS_STORE: Final = (
    *("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
)
_POLICY_ANNOTATION: Final = "projectcalico.org/metadata"
# Felix reads them in any case; the API takes them only with one capital.
_CAPITALIZED: Final = (
    *("defaultEndpointToHostAction", "iptablesFilterAllowAction"),
    *("iptablesMangleAllowAction", "iptablesFilterDenyAction"),
)


class Parts(NamedTuple):
    """Of a file that was read: as text, because only the reader of each knows what is in it."""

    resources: str
    cluster: Document
    ipam: Document


class NoReference(TortieError):
    """A node that Kubernetes does not know by any name."""

    code = "no-k8s-node"

    def __init__(self, names: Sequence[str]) -> None:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        super().__init__(
            f"node {names[0]} missing a 'k8s' orchestrator reference",
            "Unable to export data unless every node has a 'k8s' orchestrator reference: "
            f"{len(names)} of them have none ({shown})",
            "set spec.orchRefs of these nodes; or `tortie datastore export`, to copy to etcd or the embedded store",
        )


def node_names(entries: Iterable[Entry]) -> dict[str, str]:
    """From the names of Nodes to those of Kubernetes; raises NoReference if one has none."""
    names: dict[str, str] = {}
    for entry in entries:
        node = presented(BY_NAME["Node"], entry)
        spec = node.get("spec")
        references = (spec.get("orchRefs") if isinstance(spec, dict) else None) or []
        found = [each.get("nodeName") or "" for each in references if each.get("orchestrator") == "k8s"]
        names[str(node["metadata"]["name"])] = found[-1] if found else ""
    if missing := [name for name, known in names.items() if not known]:
        raise NoReference(missing)
    return names


def exported(kind: Kind, entries: Iterable[Entry], names: Mapping[str, str]) -> list[Document]:
    """The resources of one kind as the file has them, in calicoctl's order."""
    documents = [_without_store(presented(kind, entry)) for entry in entries]
    if kind.name == "NetworkPolicy":
        documents = [each for each in documents if not str(each["metadata"]["name"]).startswith(FROM_KUBERNETES)]
    if kind.name == "Tier":
        documents.sort(key=_tier_order)
    return [_renamed(kind, document, names) for document in documents]


def listed(kind: Kind, documents: list[Document], revision: int) -> Document:
    return {
        "apiVersion": API_VERSION,
        "items": documents,
        "kind": f"{kind.name}List",
        "metadata": {"resourceVersion": str(revision)},
    }


def cluster_document(entry: Entry) -> Document:
    """In Go's order of fields, where the revision stands before the time."""
    document = presented(CLUSTER, entry)
    metadata = document["metadata"]
    first = {name: metadata[name] for name in ("name", "uid", "resourceVersion") if name in metadata}
    return {
        "kind": CLUSTER.name,
        "apiVersion": API_VERSION,
        **{name: value for name, value in document.items() if name not in ("kind", "apiVersion")},
        "metadata": {**first, **metadata},
    }


def as_json(value: object) -> str:
    """Indented as Go does."""
    import msgspec

    # Python's own encoder would take ten times as long for indented text.
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    for character in "<>&\u2028\u2029":  # outside of strings JSON has none of them
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text + "\n"


def together(resources: Iterable[str], cluster: str, ipam: str) -> str:
    return "".join(f"{text}---\n" for text in resources) + f"===\n{cluster}===\n{ipam}"


def read_parts(content: bytes, source: str) -> Parts:
    """Raises UsageError if it is no such file, or one that lost its resources."""
    if content.startswith(b'{"apiVersion":"tortie/v1"'):
        what = f"imported file: {source} is improperly formatted"
        raise UsageError(what, "it is what `tortie datastore export` writes", f"tortie datastore import {source}")
    parts: list[list[bytes]] = [[]]
    for line in content.splitlines(keepends=True):
        if line.rstrip(b"\r\n") == _DIVIDER:
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) != 3:
        raise UsageError(
            f"imported file: {source} is improperly formatted",
            f"it has {len(parts)} parts between lines of ===, not three",
            "Try recreating with `tortie datastore migrate export`, or calicoctl's",
        )
    resources, cluster, ipam = (b"".join(lines) for lines in parts)
    if lost := sum(line.strip() == b"null" for line in resources.splitlines()):
        raise UsageError(
            f"imported file: {source} lacks its resources",
            f"{lost} kinds are `null` in it: calicoctl writes that if the versions differ and it was told to go on",
            "export again, with `tortie datastore migrate export` or a calicoctl of the cluster's version",
        )
    try:
        text = resources.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not text", f"byte {error.start} is not UTF-8", "export again") from None
    return Parts(text, _object(cluster, source, "cluster information"), _object(ipam, source, "IPAM resources"))


def _object(content: bytes, source: str, what: str) -> Document:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}: failed to read the {what}", str(error), "was it cut? export again") from None
    if not isinstance(value, dict):
        raise UsageError(f"{source}: failed to read the {what}", "it is no JSON object", "export again")
    return value


def _without_store(document: Document) -> Document:
    metadata = {name: value for name, value in document["metadata"].items() if name not in _OF_THIS_STORE}
    if document.get("kind") in TIERED:
        annotations = {k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != _POLICY_ANNOTATION}
        metadata |= {"annotations": annotations} if annotations else {}
        document = {**document, "spec": _without_empty_peers(document.get("spec"))}
    return {**document, "metadata": metadata}


def _without_empty_peers(spec: Any) -> Any:
    """Stored policies name both sides of every rule; whoever reads them sees only those that say something."""
    if not isinstance(spec, dict):
        return spec

    def short(rule: Any) -> Any:
        if not isinstance(rule, dict):
            return rule
        return {name: value for name, value in rule.items() if name not in ("source", "destination") or value}

    rules = {side: [short(rule) for rule in spec.get(side) or []] for side in ("ingress", "egress") if spec.get(side)}
    return {**spec, **rules}


def _tier_order(tier: Document) -> tuple[float, str]:
    """Without an order: last."""
    spec = tier.get("spec")
    order = spec.get("order") if isinstance(spec, dict) else None
    return (float(order) if isinstance(order, int | float) else float("inf"), str(tier["metadata"]["name"]))


def _renamed(kind: Kind, document: Document, names: Mapping[str, str]) -> Document:
    metadata, spec = document["metadata"], document.get("spec")
    name = str(metadata["name"])
    if kind.name == "Node":
        return {**document, "metadata": {**metadata, "name": names.get(name, name)}}
    if kind.name in ("FelixConfiguration", "BGPConfiguration") and name.startswith(_PREFIX_OF_NODE):
        node = name.removeprefix(_PREFIX_OF_NODE)
        document = {**document, "metadata": {**metadata, "name": _PREFIX_OF_NODE + names.get(node, node)}}
    if not isinstance(spec, dict):
        return document
    if kind.name == "FelixConfiguration":
        words = {field: str(spec[field]).capitalize() for field in _CAPITALIZED if spec.get(field)}
        return {**document, "spec": {**spec, **words}}
    if kind.name in ("HostEndpoint", "BGPPeer") and spec.get("node") in names:
        return {**document, "spec": {**spec, "node": names[spec["node"]]}}
    return document

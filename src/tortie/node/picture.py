"""What the datastore says to a node that starts: everything it needs, read in one round trip, at one revision."""

from __future__ import annotations

import json
from ipaddress import ip_interface, ip_network
from typing import Final, NamedTuple

import msgspec

from tortie.addressing.conflicts import Registered
from tortie.model.keys import IPAM_CONFIG, ResourceKey, resource_prefix
from tortie.model.kinds import BY_NAME
from tortie.model.network import CIDR, Network
from tortie.model.wire import Document, Undecodable, decode
from tortie.store.contract import Entry, Revision, Snapshot

# The machine that wrote a Node record, so that a renamed machine and a second machine of the same name can be told.
MACHINE: Final = "tortie/machine"

NODES: Final = resource_prefix(BY_NAME["Node"])
POOLS: Final = resource_prefix(BY_NAME["IPPool"])

# Cluster-wide objects that a start makes sure of, in Calico's order.
DEFAULTS: Final = (
    ("ClusterInformation", "default"),
    ("Tier", "default"),
    ("Tier", "kube-admin"),
    ("Tier", "kube-baseline"),
    ("FelixConfiguration", "default"),
    ("BGPConfiguration", "default"),
    ("IPAMConfiguration", "default"),
)

# Calico leaves this one to its controllers. Here a cluster may have none, and `calicoctl ipam check` ends without it.
CONTROLLERS: Final = ("KubeControllersConfiguration", "default")


class Stored(NamedTuple):
    """One entry: its document, or why it has none."""

    key: str
    revision: Revision
    document: Document
    unreadable: str = ""


class Picture(NamedTuple):
    revision: Revision
    node: Stored | None  # this node's own record
    others: tuple[Registered, ...]
    unreadable: tuple[str, ...]  # names of Node records that make no sense
    pools: tuple[Network, ...]
    unreadable_pools: tuple[str, ...]
    documents: dict[str, Stored]  # the defaults that exist, and records of this machine under earlier names


EMPTY: Final = Picture(0, None, (), (), (), (), {})


def key_of(kind: str, name: str) -> str:
    return str(ResourceKey(BY_NAME[kind], name))


def wanted_keys(name: str) -> list[str]:
    own = key_of("FelixConfiguration", f"node.{name}")
    return [*(key_of(*default) for default in (*DEFAULTS, CONTROLLERS)), own, IPAM_CONFIG]


def read_picture(name: str, snapshot: Snapshot, *, earlier_name: str = "") -> Picture:
    """`earlier_name`: what the machine was called at its last start; its record is kept whole, too."""
    documents = {key: _stored(entry) for key, entry in snapshot.entries.items()}
    own: Stored | None = None
    others: list[Registered] = []
    unreadable: list[str] = []
    for entry in snapshot.listings[NODES]:
        node_name = entry.key[len(NODES) :]
        if node_name == name:
            own = _stored(entry)
            continue
        if node_name == earlier_name:
            documents[entry.key] = _stored(entry)
        node = _registered(node_name, entry.value)
        if node is None:
            unreadable.append(node_name)
        else:
            others.append(node)
    pools = {entry.key[len(POOLS) :]: _pool_network(entry) for entry in snapshot.listings[POOLS]}
    networks = tuple(network for network in pools.values() if network)
    lost = tuple(name for name, network in pools.items() if network is None)
    return Picture(snapshot.revision, own, tuple(others), tuple(unreadable), networks, lost, documents)


def addresses_of(document: Document) -> tuple[CIDR, ...]:
    """The addresses a Node document registers, as far as they are addresses."""
    try:
        node = _registered("", json.dumps(document).encode())
    except RecursionError:
        return ()
    return node.addresses if node else ()


def machine_of(document: Document) -> str:
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return str(annotations.get(MACHINE) or "") if isinstance(annotations, dict) else ""


class _Metadata(msgspec.Struct):
    annotations: dict[str, object] | None = None


class _BGP(msgspec.Struct):
    ipv4Address: str | None = None
    ipv6Address: str | None = None


class _Spec(msgspec.Struct):
    bgp: _BGP | None = None


class _Node(msgspec.Struct):
    """The few fields of another node that matter here: with 5,000 of them, whole documents are too many."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None


_NODE: Final = msgspec.json.Decoder(_Node)


def _registered(name: str, value: bytes) -> Registered | None:
    try:
        node = _NODE.decode(value)
        bgp = node.spec.bgp if node.spec else None
        texts = (bgp.ipv4Address, bgp.ipv6Address) if bgp else ()
        addresses = tuple(ip_interface(text) for text in texts if text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    annotations = (node.metadata.annotations if node.metadata else None) or {}
    return Registered(name, addresses, str(annotations.get(MACHINE) or ""))


def _stored(entry: Entry) -> Stored:
    try:
        return Stored(entry.key, entry.revision, decode(entry.value, entry.key))
    except Undecodable as error:
        return Stored(entry.key, entry.revision, {}, error.why)


def _pool_network(entry: Entry) -> Network | None:
    spec = _stored(entry).document.get("spec")
    text = str(spec.get("cidr") or "") if isinstance(spec, dict) else ""
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None

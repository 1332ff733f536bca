"""What the lab writes into its store before a node starts, in Calico's keys and bytes.

* The pools, so that no node makes another one.
* For each node a block that it owns. IPAM would claim one with the first pod; the lab has routes to show without pods.
* With racks: BGPPeers, so that every node tells the router which block it has. Through a tunnel the router sees no
  address of a pod, and is told nothing.
* Node records with labels, for nodes that have some. An agent keeps what it finds in its record and adds to it, so
  selectors match from the first moment, and nobody has to write into the record beside the agent.

Each seed is written only where its key is absent: what is there belongs to the cluster by now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tortie.lab.plan import LabPlan, Machine
from tortie.lab.pools import pool_spec
from tortie.lab.rules import RACK_LABEL
from tortie.model.keys import ResourceKey, block_key, host_affinity_key
from tortie.model.kinds import API_VERSION, BY_NAME
from tortie.model.network import Network
from tortie.model.resource import stored_form
from tortie.model.shape import builtins
from tortie.model.wire import Document, encode

_NANOSECONDS = 1_000_000_000


class Stamp(NamedTuple):
    """Time and chance, passed in."""

    now_ns: int  # since 1970
    new_uid: Callable[[], str]

    @property
    def now(self) -> str:
        return datetime.fromtimestamp(self.now_ns // _NANOSECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seeds(plan: LabPlan, stamp: Stamp) -> list[tuple[str, bytes]]:
    """Key and value of everything, in the order in which it should be written."""
    found = [_resource(kind, name, spec, labels, stamp) for kind, name, spec, labels in _resources(plan)]
    for node in plan.nodes:
        for block in node.blocks:
            found.append((host_affinity_key(node.name, str(block)), encode({"state": "confirmed", "deleted": False})))
            found.append((block_key(str(block)), encode(_empty_block(node, block, stamp))))
    return found


def claims(plan: LabPlan) -> dict[str, str]:
    """The keys of all affinities, each with that of its block: neither may be written without the other."""
    return {
        host_affinity_key(node.name, str(block)): block_key(str(block)) for node in plan.nodes for block in node.blocks
    }


def keys_of(node: Machine) -> list[str]:
    """The records that belong to one node alone, and go when it leaves the lab. Addresses are IPAM's business."""
    resources = (("Node", node.name), ("FelixConfiguration", f"node.{node.name}"), ("CalicoNodeStatus", node.name))
    return [str(ResourceKey(BY_NAME[kind], name)) for kind, name in resources]


def relabelled(document: Document, before: Machine, after: Machine) -> Document:
    """A Node document with the topology's labels changed, and those that others have set kept."""
    metadata = document.get("metadata") or {}
    others = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in before.labels}
    return {**document, "metadata": {**metadata, "labels": others | after.labels}}


def _resources(plan: LabPlan) -> Iterator[tuple[str, str, Document, dict[str, str]]]:
    for pool in plan.pools:
        yield "IPPool", pool.name, builtins(pool_spec(pool)), {}
    if plan.router_learns:
        for nic in plan.router.nics:
            for address in nic.addresses if nic.segment in plan.racks else ():
                name = f"{nic.segment}-router" + ("" if address.version == 4 else "-v6")
                selector = f"{RACK_LABEL} == '{nic.segment}'"
                yield "BGPPeer", name, _peer(selector, str(address.ip), plan.as_number), {}
    for node in plan.nodes:
        if node.labels:
            yield "Node", node.name, {}, node.labels


def _peer(selector: str, address: str, as_number: int) -> Document:
    return {"nodeSelector": selector, "peerIP": address, "asNumber": as_number}


def _resource(kind: str, name: str, spec: Document, labels: dict[str, str], stamp: Stamp) -> tuple[str, bytes]:
    metadata: Document = {"name": name, "uid": stamp.new_uid(), "creationTimestamp": stamp.now}
    metadata |= {"labels": labels} if labels else {}
    document: Document = {"kind": kind, "apiVersion": API_VERSION, "metadata": metadata, "spec": spec}
    return str(ResourceKey(BY_NAME[kind], name)), encode(stored_form(document))


def _empty_block(node: Machine, block: Network, stamp: Stamp) -> Document:
    """All of its addresses free, in order; the sequence begins with the time, so that no number is used twice."""
    return {
        "cidr": str(block),
        "affinity": f"host:{node.name}",
        "affinity_claim_time": stamp.now,
        "allocations": [None] * block.num_addresses,
        "unallocated": list(range(block.num_addresses)),
        "attributes": [],
        "sequenceNumber": stamp.now_ns,
        "sequenceNumberForAllocation": {},
        "deleted": False,
    }

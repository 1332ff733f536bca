"""What flags mean for a lab that is there: what they leave open stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tortie.lab.forms import LabName
from tortie.lab.plan import LabPlan
from tortie.lab.topology import Topology, from_flags


def kept(given: Mapping[str, Any], present: LabPlan) -> Topology:
    """From the flags that are given and, for the others, what the lab has. Nodes stay in their racks."""
    topology = from_flags(**{**flags_of(present, given), **given})
    return _in_their_racks(topology, present)


def flags_of(present: LabPlan, given: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that would make such a lab."""
    flags: dict[str, Any] = {
        "nodes": len(present.nodes),
        "racks": len(present.racks),
        "store": present.store.kind,
        "ipv6": any(pool.cidr.version == 6 for pool in present.pools),
        "classic": present.classic,
    }
    if present.hurry:
        flags |= {"kubelet": True, "hurry": present.hurry}
    if present.store.tls and given.get("store", "etcd") == "etcd":
        flags["tls"] = True
    if present.store.members and given.get("store", "etcd") == "etcd":
        flags["members"] = len(present.store.members)
    return flags


def _in_their_racks(topology: Topology, present: LabPlan) -> Topology:
    """With the same racks whoever is there stays where it is, and who is new goes where the fewest are.

    To deal all of them out again would move nodes, and a node that moves is built anew.
    """
    racks = tuple(str(rack) for rack in topology.racks)
    if not racks or racks != present.racks:
        return topology
    from msgspec.structs import replace

    standing = {node.name: node.rack for node in present.nodes}
    rack_of = {str(node.name): standing[str(node.name)] for node in topology.nodes if str(node.name) in standing}
    for node in topology.nodes:
        if str(node.name) not in rack_of:
            rack_of[str(node.name)] = min(racks, key=list(rack_of.values()).count)
    nodes = tuple(replace(node, rack=LabName(rack_of[str(node.name)])) for node in topology.nodes)
    return replace(topology, nodes=nodes)

"""How the parts of a topology have to go together. Every rule tells field, value, why and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tortie.lab.forms import LabNode, Topology
from tortie.lab.layout import FABRIC, SERVICES, Layout, lay_out
from tortie.lab.network_rules import network_rules
from tortie.lab.pools import pool_spec, pools_of
from tortie.model.errors import Problem
from tortie.model.kinds import nearest
from tortie.model.resource import label_problems

NODES_MAX: Final = 1000
RACKS_MAX: Final = 250
MEMBERS: Final = (1, 3)
RACK_LABEL: Final = "rack"

# Machines of the lab itself, and interfaces that the agent or the kernel make.
_MACHINES: Final = re.compile(r"router|switch|store|keeper|etcd-[0-9]+")
_INTERFACES: Final = ("lo", "tunl0", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali", "wg-v6.cali")
HURRY_MAX: Final = 60
_FIRST: Final = (2, 6)  # of the releases of Calico that nodes can start like
_LAST: Final = (3, 28)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What tells the nodes of a lab apart; one that lied about it would work in another node's folder.
_SET_BY_THE_LAB: Final = ("NODENAME", "TORTIE_ROOT")


def rules(topology: Topology) -> Iterator[Problem]:
    layout = lay_out(topology)
    if topology.name and topology.metadata.name and topology.name != topology.metadata.name:
        yield Problem("name", topology.name, f"metadata.name says {topology.metadata.name}", "leave one of the two out")
    yield from _node_count(topology)
    yield from _rack_rules(topology, layout)
    yield from _store_rules(topology)
    yield from _kubelet_rules(topology)
    yield from _setting_rules(topology.settings, "settings")
    names: dict[str, str] = {}
    for index, node in enumerate(topology.nodes):
        yield from _node_rules(node, f"nodes[{index}]", layout.rack_of[index], names)
    yield from _pool_rules(topology, layout)
    yield from network_rules(topology, layout)


def _node_count(topology: Topology) -> Iterator[Problem]:
    count = len(topology.nodes)
    if not 1 <= count <= NODES_MAX:
        yield Problem("nodes", f"{count} nodes", f"a lab has 1 to {NODES_MAX:,} nodes", "nodes: 3")


def _rack_rules(topology: Topology, layout: Layout) -> Iterator[Problem]:
    racks, said = topology.racks, [node.rack for node in topology.nodes]
    if len(racks) > RACKS_MAX:
        yield Problem("racks", f"{len(racks)} racks", f"a lab has at most {RACKS_MAX} racks", "fewer racks")
    for index, rack in enumerate(racks):
        if rack in racks[:index]:
            yield Problem(f"racks[{index}]", rack, "is there already", "another name")
        if rack in (FABRIC, SERVICES):
            yield Problem(f"racks[{index}]", rack, "is the name of a segment of the lab's own", "another name")
    if not any(said):
        if len(racks) > len(said):
            why = f"there are {len(said)} nodes for {len(racks)} racks"
            yield Problem("racks", len(racks), why, "at least as many nodes as racks")
        return
    for index, rack in enumerate(said):
        where = f"nodes[{index}].rack"
        if not rack:
            yield Problem(where, "", "other nodes have a rack, and this one has none", f"rack: {layout.racks[0]}")
        elif racks and rack not in racks:
            near = nearest(rack, racks)
            yield Problem(where, rack, "is not in the list of racks", f"did you mean {near}?" if near else "add it")
        elif rack in (FABRIC, SERVICES):
            yield Problem(where, rack, "is the name of a segment of the lab's own", "another name")


def _store_rules(topology: Topology) -> Iterator[Problem]:
    store = topology.store
    if store.members not in MEMBERS:
        why = "etcd runs with one member or with three"
        yield Problem("store.members", store.members, why, "members: 1 or members: 3")
    elif store.kind == "embedded" and store.members != 1:
        yield Problem("store.members", store.members, "the embedded store is one file", "kind: etcd, or members: 1")
    if store.tls and store.kind == "embedded":
        yield Problem("store.tls", True, "the embedded store is a file, which nobody connects to", "kind: etcd")


def _kubelet_rules(topology: Topology) -> Iterator[Problem]:
    if topology.kubelet and not 1 <= topology.kubelet.hurry <= HURRY_MAX:
        yield Problem(
            "kubelet.hurry", topology.kubelet.hurry, f"a clock ticks 1 to {HURRY_MAX} times as fast", "hurry: 10"
        )
    release = str(topology.classic)
    if release and not _FIRST <= _numbers(release) <= _LAST:
        why = "is not among the releases whose start is known"
        right = f"{_FIRST[0]}.{_FIRST[1]} to {_LAST[0]}.{_LAST[1]}, for example 3.20"
        yield Problem("classic", release, why, right)


def _numbers(release: str) -> tuple[int, int]:
    major, minor = release.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


def _setting_rules(settings: Mapping[str, str], where: str) -> Iterator[Problem]:
    for name, value in settings.items():
        if not _VARIABLE.fullmatch(name):
            right = "letters, digits and _, for example FELIX_LOGSEVERITYSCREEN"
            yield Problem(f"{where}.{name}", value, "is not the name of an environment variable", right)
        elif name in _SET_BY_THE_LAB:
            yield Problem(f"{where}.{name}", value, "the lab gives each node its own", "leave it out")


def _node_rules(node: LabNode, where: str, rack: str, names: dict[str, str]) -> Iterator[Problem]:
    if node.name in names:
        yield Problem(f"{where}.name", node.name, f"{names[node.name]} has the same name", "another name")
    names.setdefault(node.name, where)
    if _MACHINES.fullmatch(node.name):
        why = "is kept for a machine of the lab itself: its router, its stores"
        yield Problem(f"{where}.name", node.name, why, "another name, for example node-1")
    yield from label_problems(node.labels, f"{where}.labels")
    if rack and node.labels.get(RACK_LABEL, rack) != rack:
        why = f"the node stands in the rack {rack}, and the lab labels it so"
        yield Problem(f"{where}.labels.{RACK_LABEL}", node.labels[RACK_LABEL], why, "leave the label out")
    yield from _setting_rules(node.settings, f"{where}.settings")
    yield from _interface_rules(node, where)


def _interface_rules(node: LabNode, where: str) -> Iterator[Problem]:
    names = {"eth0": "it is the node's NIC in the lab's own network, with the addresses of the node"}
    named = [(f"nics[{index}]", str(nic.name)) for index, nic in enumerate(node.nics)]
    named += [(f"bridges[{index}]", str(bridge.name)) for index, bridge in enumerate(node.bridges)]
    for path, name in named:
        if name in names:
            yield Problem(f"{where}.{path}.name", name, names[name], "another name, for example eth1")
        elif name in _INTERFACES:
            yield Problem(f"{where}.{path}.name", name, "is an interface that the node makes itself", "another name")
        names.setdefault(name, f"{where}.{path} has the same name")
    for index, bridge in enumerate(node.bridges):
        seen: set[object] = set()
        for path, address in bridge.given.items():
            if address.ip in seen:
                yield Problem(f"{where}.bridges[{index}].{path}", address, "is there already", "another address")
            seen.add(address.ip)


def _pool_rules(topology: Topology, layout: Layout) -> Iterator[Problem]:
    pool = topology.pool
    for name in ("cidr6", "blockSize6"):
        if getattr(pool, name) is not None and not topology.ipv6:
            yield Problem(f"pool.{name}", getattr(pool, name), "the lab has no IPv6", "ipv6: true")
    for made in pools_of(topology):
        ending = "6" if made.cidr.version == 6 else ""
        problems = [
            problem._replace(field=f"pool.{problem.field}{ending}")
            for problem in pool_spec(made).problems()
            if problem.field in ("cidr", "blockSize")
        ]
        yield from problems
        blocks = 1 << max(0, made.block_size - made.cidr.prefixlen)
        if not problems and blocks < len(layout.numbers):
            why = f"has {blocks} blocks of /{made.block_size}, one for each of {len(layout.numbers)} nodes is needed"
            yield Problem(f"pool.cidr{ending}", made.cidr, why, "a larger range, or smaller blocks")

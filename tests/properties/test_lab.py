"""Any topology that is accepted gives a plan in which machines do not get into each other's way."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tortie.lab.changes import changes
from tortie.lab.describe import describe, describe_changes
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.planning import plan
from tortie.lab.router import router_text
from tortie.lab.seeds import Stamp, seeds
from tortie.lab.topology import Topology, read_topology
from tortie.model.errors import Invalid

ODD = ["10.77.0.0", "10.77.0.254", "10.99.0.1", "fd77::9", "10.0.0.66/16"]  # what most networks have no room for


@st.composite
def nics(draw: st.DrawFn, name: str) -> dict[str, Any]:
    host = draw(st.integers(1, 14))
    leads = [
        {"network": "lan"},
        {"network": "storage"},
        {"network": "lan", "address": f"10.0.0.{host}"},
        {"address": f"10.8.0.{host}"},
        {"address": f"192.168.5.{host}/28"},
        {"address": draw(st.sampled_from(ODD))},
    ]
    return {"name": name, **draw(st.sampled_from(leads))}


@st.composite
def nodes(draw: st.DrawFn, racks: list[str]) -> list[dict[str, Any]]:
    numbers = st.integers(1, 12) | st.integers(1, 300)
    names = numbers.map(lambda number: f"node-{number}") | st.sampled_from(["a", "b.c", "k8s-7"])
    listed = draw(st.lists(names, min_size=max(1, len(racks)), max_size=6, unique=True))
    in_racks = bool(racks) and draw(st.booleans())
    found = []
    for index, name in enumerate(listed):
        node: dict[str, Any] = {"name": name}
        if in_racks:
            node["rack"] = draw(st.sampled_from(racks))
        elif not racks and draw(st.integers(0, 2)) == 0:
            node["address"] = f"10.77.0.{20 + index + draw(st.integers(0, 1))}"
        elif draw(st.integers(0, 20)) == 0:
            node["address"] = draw(st.sampled_from(ODD))
        node["nics"] = [draw(nics(f"eth{place + 1}")) for place in range(draw(st.sampled_from([0, 0, 1, 2])))]
        if draw(st.booleans()):
            node["bridges"] = [{"name": "docker0", "address": "172.17.0.1/16"}]
        found.append(node)
    return found


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    racks = draw(st.sampled_from([[], [], ["rack-1", "rack-2"], ["left"]]))
    lan: dict[str, Any] = {"name": "lan", "cidr": "10.0.0.0/24"}
    if draw(st.booleans()):
        lan["cidr6"] = "fd00::/64"
    document: dict[str, Any] = {
        "apiVersion": "tortie/v1",
        "kind": "Lab",
        "nodes": draw(nodes(racks)),
        "racks": racks,
        "ipv6": draw(st.booleans()),
        "networks": [lan, {"name": "storage", "cidr": "10.8.0.0/28"}],
        "pool": draw(st.sampled_from([{}, {"cidr": "10.20.0.0/24", "blockSize": 29}, {"blockSize": 20}])),
    }
    if not racks and draw(st.integers(0, 3)) == 0:
        document["networks"].append({"name": "fabric", "cidr": "10.77.0.0/26"})
    if draw(st.booleans()):
        document["store"] = {"kind": "etcd", "members": draw(st.sampled_from([1, 3]))}
    return document


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A lab, and what somebody made of its file: most often other nodes, sometimes all of it."""
    left = draw(documents())
    if draw(st.integers(0, 5)) == 0:
        return left, draw(documents())
    kept = [node for node in left["nodes"] if draw(st.booleans())]
    names = {node["name"] for node in kept}
    return left, left | {"nodes": kept + [node for node in draw(nodes(left["racks"])) if node["name"] not in names]}


def accepted(document: dict[str, Any]) -> Topology | None:
    try:
        return read_topology(json.dumps(document), "lab.json")
    except Invalid as refused:
        problems = refused.problems
    assert all(problem.field and problem.why and problem.right for problem in problems)
    return None


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_a_plan_holds_together(document: dict[str, Any]) -> None:
    topology = accepted(document)
    if topology is None:
        return
    found = plan(topology, "lab")
    _everything_is_there_once(found)
    _every_machine_reaches_its_gateway(found)
    _blocks_are_disjoint(found)
    _neighbours_are_the_others_of_the_segment(found)
    assert from_json(json.loads(json.dumps(as_json(found)))) == found
    assert describe(found)
    assert describe(found, "zh")
    assert bool(router_text(found)) == bool(found.racks)
    keys = [key for key, _ in seeds(found, Stamp(0, lambda: "u"))]
    assert len(keys) == len(set(keys))
    assert not changes(found, found)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_changes_lead_from_one_plan_to_the_other(files: tuple[dict[str, Any], dict[str, Any]]) -> None:
    first, second = (accepted(file) for file in files)
    if first is None or second is None:
        return
    before, after = plan(first, "lab"), plan(second, "lab")
    found = changes(before, after)
    assert describe_changes(found)
    if found.refused:
        return
    standing = {machine.name: machine for machine in before.machines}
    for machine in found.removed:
        del standing[machine.name]
    for machine in (*found.rebuilt, *found.added):
        standing[machine.name] = machine
    for change in found.changed:
        old = standing[change.name]
        new = after.machine(change.name)
        assert new
        nics = [nic for nic in old.nics if nic not in change.nics_removed] + list(change.nics_added)
        assert set(nics) == set(new.nics)
        bridges = [each for each in old.bridges if each not in change.bridges_removed] + list(change.bridges_added)
        assert set(bridges) == set(new.bridges)
        gone = {nic.name for nic in change.nics_removed}
        kept = {each for each in old.neighbours if each.nic not in gone} - set(change.neighbours_removed)
        assert kept | set(change.neighbours_added) == set(new.neighbours)
        standing[change.name] = new
    assert {machine.name: _whatever_the_order(machine) for machine in standing.values()} == {
        machine.name: _whatever_the_order(machine) for machine in after.machines
    }


def _whatever_the_order(machine: Machine) -> tuple[object, ...]:
    many = (machine.nics, machine.bridges, machine.neighbours)
    return (*map(frozenset, many), machine._replace(nics=machine.nics[:1], bridges=(), neighbours=()))


def _everything_is_there_once(found: LabPlan) -> None:
    nics = [nic for machine in found.machines for nic in machine.nics]
    addresses = [address.ip for nic in nics for address in nic.addresses]
    assert len(addresses) == len(set(addresses))
    assert len({nic.mac for nic in nics}) == len(nics)
    assert len({machine.name for machine in found.machines}) == len(found.machines)
    for machine in found.machines:
        names = [nic.name for nic in machine.nics] + [bridge.name for bridge in machine.bridges]
        assert len(names) == len(set(names))
    for nic in nics:
        segment = found.segment(nic.segment)
        for address in nic.addresses:
            assert address.network == (segment.network if address.version == 4 else segment.network6)


def _every_machine_reaches_its_gateway(found: LabPlan) -> None:
    for machine in found.machines:
        if machine.role == "router":
            continue
        segment = machine.nics[0].segment
        at_the_router = {ip.ip for nic in found.router.nics if nic.segment == segment for ip in nic.addresses}
        assert {gateway for _, gateway in machine.routes} == at_the_router
        for _, gateway in machine.routes:
            assert any(gateway in address.network for address in machine.nics[0].addresses)
            assert any(neighbour.address == gateway for neighbour in machine.neighbours)


def _blocks_are_disjoint(found: LabPlan) -> None:
    blocks = [block for node in found.nodes for block in node.blocks]
    assert len(blocks) == len(found.nodes) * len(found.pools)
    for one, other in combinations(blocks, 2):
        assert one.version != other.version or not one.overlaps(other)
    for node in found.nodes:
        for pool, block in zip(found.pools, node.blocks, strict=True):
            assert int(pool.cidr.network_address) <= int(block.network_address)
            assert int(block.broadcast_address) <= int(pool.cidr.broadcast_address)
            assert block.prefixlen == pool.block_size


def _neighbours_are_the_others_of_the_segment(found: LabPlan) -> None:
    for machine in found.machines:
        for nic in machine.nics:
            others = {
                (address.ip, other.mac)
                for each in found.machines
                if each is not machine
                for other in each.nics
                if other.segment == nic.segment
                for address in other.addresses
            }
            known = {(entry.address, entry.mac) for entry in machine.neighbours if entry.nic == nic.name}
            assert known == others

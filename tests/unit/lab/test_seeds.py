"""What is in the lab's store before its nodes start."""

from __future__ import annotations

import json
from typing import Any

from tests.support.topologies import planned

from tortie.lab.plan import LabPlan
from tortie.lab.seeds import Stamp, claims, keys_of, relabelled, seeds
from tortie.model.keys import parse_resource_key
from tortie.model.resource import stored_form, typed, validate
from tortie.model.resources.bgp import BGPPeer
from tortie.model.resources.ippool import IPPool
from tortie.node import registration
from tortie.node.picture import NODES, POOLS, read_picture
from tortie.node.registration import Intent
from tortie.store.contract import Entry, Put, Snapshot

NOW_NS = 1_714_557_603_000_000_001
STAMP = Stamp(NOW_NS, lambda: "6f0c8f2a-0000-4000-8000-000000000000")
RESOURCES = "/calico/resources/v3/projectcalico.org/"


def stored(plan: LabPlan) -> dict[str, Any]:
    found = seeds(plan, STAMP)
    assert len(dict(found)) == len(found), "no key twice"
    return {key: json.loads(value) for key, value in found}


def test_three_nodes_have_a_pool_and_a_block_each() -> None:
    assert list(stored(planned())) == [
        f"{RESOURCES}ippools/default-ipv4-ippool",
        "/calico/ipam/v2/host/node-1/ipv4/block/10.244.0.0-26",
        "/calico/ipam/v2/assignment/ipv4/block/10.244.0.0-26",
        "/calico/ipam/v2/host/node-2/ipv4/block/10.244.0.64-26",
        "/calico/ipam/v2/assignment/ipv4/block/10.244.0.64-26",
        "/calico/ipam/v2/host/node-3/ipv4/block/10.244.0.128-26",
        "/calico/ipam/v2/assignment/ipv4/block/10.244.0.128-26",
    ]


def test_a_block_is_written_as_calico_writes_a_new_one() -> None:
    values = dict(seeds(planned("nodes: [a]\npool: {blockSize: 30}"), STAMP))
    assert values["/calico/ipam/v2/host/a/ipv4/block/10.244.0.0-30"] == b'{"state":"confirmed","deleted":false}'
    assert values["/calico/ipam/v2/assignment/ipv4/block/10.244.0.0-30"] == (
        b'{"cidr":"10.244.0.0/30","affinity":"host:a","affinity_claim_time":"2024-05-01T10:00:03Z",'
        b'"allocations":[null,null,null,null],"unallocated":[0,1,2,3],"attributes":[],'
        b'"sequenceNumber":1714557603000000001,"sequenceNumberForAllocation":{},"deleted":false}'
    )


def test_resources_are_what_apply_would_store() -> None:
    plan = planned(nodes=4, racks=2, ipv6=True)
    resources = {key: value for key, value in stored(plan).items() if parse_resource_key(key)}
    assert len(resources) == 2 + 4 + 4
    for document in resources.values():
        assert validate(document) == []
        assert stored_form(document) == document
        assert list(document["metadata"])[:3] == ["name", "uid", "creationTimestamp"]


def test_the_pool_is_the_default_pool() -> None:
    plan = planned("nodes: 1\npool: {cidr: 10.10.0.0/16, blockSize: 28, encapsulation: VXLAN, natOutgoing: false}")
    pool = typed(stored(plan)[f"{RESOURCES}ippools/default-ipv4-ippool"])
    assert isinstance(pool, IPPool)
    assert (str(pool.spec.cidr), pool.spec.blockSize) == ("10.10.0.0/16", 28)
    assert (pool.spec.vxlanMode, pool.spec.ipipMode, pool.spec.natOutgoing) == ("Always", "Never", False)


def test_nodes_of_a_rack_peer_with_the_router_there() -> None:
    found = stored(planned(nodes=2, racks=2, ipv6=True))
    peers = {key.rpartition("/")[2]: typed(value) for key, value in found.items() if "/bgppeers/" in key}
    told = {}
    for name, peer in peers.items():
        assert isinstance(peer, BGPPeer)
        assert peer.spec.asNumber == 64512
        told[name] = (str(peer.spec.nodeSelector), str(peer.spec.peerIP))
    assert told == {
        "rack-1-router": ("rack == 'rack-1'", "10.77.1.254"),
        "rack-1-router-v6": ("rack == 'rack-1'", "fd77:0:0:1::fffe"),
        "rack-2-router": ("rack == 'rack-2'", "10.77.2.254"),
        "rack-2-router-v6": ("rack == 'rack-2'", "fd77:0:0:2::fffe"),
    }
    assert found[f"{RESOURCES}nodes/node-2"]["metadata"]["labels"] == {"rack": "rack-2"}


def test_only_nodes_with_labels_have_a_record_beforehand() -> None:
    found = stored(planned("nodes: [a, {name: b, labels: {role: db}}]"))
    assert [key for key in found if "/nodes/" in key] == [f"{RESOURCES}nodes/b"]


def test_an_agent_keeps_the_labels_it_finds_and_makes_no_other_pool() -> None:
    plan = planned("nodes: [{name: a, labels: {role: db}}]")
    entries = [Entry(key, value, 1) for key, value in seeds(plan, STAMP)]
    listings = {prefix: tuple(entry for entry in entries if entry.key.startswith(prefix)) for prefix in (NODES, POOLS)}
    picture = read_picture("a", Snapshot({}, listings, 1))
    assert [str(pool) for pool in picture.pools] == ["10.244.0.0/16"]
    intent = Intent("a", ipv4=plan.nodes[0].nics[0].addresses[0], ipv6=None)
    (write,) = (
        write
        for write in registration.plan(picture, intent, registration.Stamp(lambda: STAMP.now, STAMP.new_uid))
        if write.what == "Node(a)"
    )
    assert write.action == "update"
    assert isinstance(write.operation, Put)
    document = json.loads(write.operation.value)
    assert document["metadata"]["labels"] == {"role": "db"}
    assert document["spec"]["bgp"] == {"ipv4Address": "10.77.0.1/24"}


def test_with_a_node_goes_all_that_came_with_it_and_nothing_else() -> None:
    both = planned("nodes: [node-1, {name: node-2, labels: {role: db}}]\nipv6: true")
    one = set(stored(planned("nodes: [node-1]\nipv6: true")))
    own = set(keys_of(both.nodes[1]))
    held = claims(both)
    assert set(stored(both)) - one <= own | {key for pair in held.items() for key in pair}
    assert not own & one
    assert {f"{RESOURCES}felixconfigurations/node.node-2", f"{RESOURCES}caliconodestatuses/node-2"} <= own


def test_an_affinity_comes_with_its_block() -> None:
    plan = planned(nodes=2, ipv6=True)
    held = claims(plan)
    assert len(held) == 4
    assert {key for pair in held.items() for key in pair} == {key for key in stored(plan) if "/ipam/" in key}
    assert held["/calico/ipam/v2/host/node-2/ipv4/block/10.244.0.64-26"] == (
        "/calico/ipam/v2/assignment/ipv4/block/10.244.0.64-26"
    )


def test_a_router_that_only_sees_tunnels_is_told_nothing() -> None:
    for mode in ("VXLAN", "VXLANCrossSubnet"):
        plan = planned(f"nodes: 4\nracks: 2\nipv6: true\npool: {{encapsulation: {mode}}}")
        assert not any("/bgppeers/" in key for key in stored(plan))
        assert not plan.router_learns


def test_labels_that_others_have_set_stay() -> None:
    before = planned("nodes: [{name: a, labels: {x: '1', y: '1'}}]").nodes[0]
    after = planned("nodes: [{name: a, labels: {y: '2', z: '3'}}]").nodes[0]
    document = {"metadata": {"name": "a", "labels": {"x": "1", "y": "1", "mine": "0"}}, "spec": {"bgp": {}}}
    assert relabelled(document, before, after) == {
        "metadata": {"name": "a", "labels": {"mine": "0", "y": "2", "z": "3"}},
        "spec": {"bgp": {}},
    }

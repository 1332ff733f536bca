"""Readers of the agent's records, given anything: they say that it makes no sense, and never fail."""

from __future__ import annotations

import json
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import pytest
from tests.support.damage import damages
from tests.support.dataplane import key, resource

from tortie.dataplane.desired import desired
from tortie.dataplane.known import Known
from tortie.model.keys import block_key
from tortie.model.wire import Undecodable, decode
from tortie.node.own_record import _record
from tortie.node.picture import NODES, POOLS, read_picture, wanted_keys
from tortie.node.registration import Intent, Stamp, own_record_unreadable, plan
from tortie.node.tunnel_choice import KINDS, current_address, home_of, read_pool, usable_pools, why_not_readable
from tortie.node.tunnel_choice import with_address as node_with
from tortie.store.contract import Change, Entry, Snapshot

NODE: dict[str, Any] = {
    "bgp": {"ipv4Address": "10.0.0.1/24", "asNumber": 64512, "ipv4IPIPTunnelAddr": "10.244.0.1"},
    "ipv4VXLANTunnelAddr": "10.244.0.2",
    "vxlanTunnelMACAddr": "66:aa:00:00:00:01",
    "addresses": [{"address": "10.0.0.1/24", "type": "CalicoNodeIP"}],
    "orchRefs": [{"orchestrator": "k8s", "nodeName": "a"}],
}
POOL: dict[str, Any] = {
    "cidr": "10.244.0.0/16",
    "vxlanMode": "Always",
    "ipipMode": "Never",
    "natOutgoing": True,
    "blockSize": 26,
    "nodeSelector": "all()",
    "allowedUses": ["Workload", "Tunnel"],
    "disabled": False,
}
FELIX: dict[str, Any] = {
    **{"vxlanPort": 4789, "natOutgoingAddress": "10.0.0.9", "natPortRange": "1000:2000", "vxlanEnabled": True},
    **{"interfacePrefix": "cali", "mtuIfacePattern": "a{99999999999999999999}", "deviceRouteSourceAddress": "10.0.0.1"},
}
ENDPOINT = {"node": "a", "interfaceName": "cali1", "ipNetworks": ["10.244.0.9/32"], "mac": "02:00:00:00:00:0a"}
BLOCK = {
    **{"cidr": "255.255.255.192/26", "affinity": "host:a", "allocations": [0] * 200, "unallocated": []},
    **{"attributes": [{"handle_id": "h", "secondary": {"node": "b"}}], "deleted": False, "sequenceNumber": 1},
}
OWN = resource("Node", "a", NODE, labels={"zone": "a"}, annotations={"tortie/machine": "m"})
RECORDS: dict[str, bytes] = {
    OWN.key: OWN.value,
    key("Node", "b"): resource("Node", "b", NODE).value,
    key("IPPool", "p"): resource("IPPool", "p", POOL).value,
    key("FelixConfiguration", "default"): resource("FelixConfiguration", "default", FELIX).value,
    key("WorkloadEndpoint", "a-k8s-w-eth0", "default"): resource("WorkloadEndpoint", "w", ENDPOINT).value,
    block_key("255.255.255.192/26"): json.dumps(BLOCK).encode(),
}


def test_the_dataplane_knows_the_rest() -> None:
    for damaged, good in RECORDS.items():
        known = Known("a")
        for at, value in RECORDS.items():
            known.learn(at, value)
        for value in damages(json.loads(good)):
            known.learn(damaged, value)
            desired(known.state({}), ())
        known.learn(damaged, good)
        assert not [note for note in known.state({}).notes if "mtuIfacePattern" not in note and "200" not in note]


def test_the_own_record() -> None:
    for value in damages(json.loads(OWN.value)):
        _record(Change(OWN.key, value, 1))
        with suppress(Undecodable):
            node = decode(value, "")
            for kind in KINDS:
                current_address(kind, node)
                if not why_not_readable(node):
                    with suppress(RecursionError):
                        assert node_with(kind, node, ip_address("10.244.0.3"))


def test_pools_of_tunnels() -> None:
    for value in damages(json.loads(RECORDS[key("IPPool", "p")])):
        with suppress(Undecodable, ValueError):
            pools = {"p": read_pool(decode(value, ""))}
            for kind in KINDS:
                usable_pools(kind, pools, {"zone": "a"})
            home_of(ip_address("10.244.0.1"), pools)


DEFAULTS = {
    at: resource("ClusterInformation", "default", {"clusterType": "k8s", "logSeverityScreen": "Info"}).value
    for at in wanted_keys("a")
}


@pytest.mark.parametrize("damaged", [OWN.key, key("Node", "b"), key("Node", "old"), key("IPPool", "p"), *DEFAULTS])
def test_what_a_start_reads(damaged: str) -> None:
    good = DEFAULTS.get(damaged) or RECORDS.get(damaged) or RECORDS[key("Node", "b")]
    for value in damages(json.loads(good)):
        found = {**RECORDS, **DEFAULTS, key("Node", "old"): RECORDS[key("Node", "b")], damaged: value}
        entries = {at: Entry(at, found[at], 1) for at in DEFAULTS}
        listings = {
            prefix: tuple(Entry(at, found[at], 1) for at in found if at.startswith(prefix)) for prefix in (NODES, POOLS)
        }
        picture = read_picture("a", Snapshot(entries, listings, 1), earlier_name="old")
        if not own_record_unreadable(picture):
            intent = Intent("a", None, None, k8s_node_ref="a", machine="m", retire=("old",), cluster_types=("bgp",))
            assert plan(picture, intent, Stamp(lambda: "now", lambda: "uid"))

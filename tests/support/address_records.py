"""The records of addresses of a small, healthy cluster, to be broken one way at a time; as a census and as a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.census import CLUSTER, ENDPOINTS, KEYS, NODES, POOLS, PREFIXES, RESERVATIONS, Census, census_of
from tortie.ipam.records import read_block, write_block
from tortie.model.keys import block_key, handle_key, host_affinity_key
from tortie.model.network import IP
from tortie.store.contract import Entry, Put, Snapshot, Store

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
GUID = "0b0c" * 8
CONTAINER = "4f" * 32


class Records:
    """Keys and values; what is written directly may be as wrong as one likes."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def __setitem__(self, key: str, value: bytes | dict[str, Any]) -> None:
        self.values[key] = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()

    def __getitem__(self, key: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.values[key])
        return document

    def __delitem__(self, key: str) -> None:
        del self.values[key]

    def change(self, key: str, change: Callable[[dict[str, Any]], object]) -> None:
        document = self[key]
        change(document)
        self[key] = document

    def pool(self, name: str, cidr: str, **spec: Any) -> None:
        self[f"{POOLS}{name}"] = {"metadata": {"name": name}, "spec": {"cidr": cidr, **spec}}

    def node(self, name: str, **spec: Any) -> None:
        self[f"{NODES}{name}"] = {"metadata": {"name": name}, "spec": spec}

    def claim(self, node: str, cidr: str) -> None:
        self[block_key(cidr)] = write_block(new_block(ip_network(cidr), f"host:{node}", NOW))
        self[host_affinity_key(node, cidr)] = {"state": "confirmed", "deleted": False}

    def block(self, cidr: str) -> Block:
        return read_block(block_key(cidr), self.values[block_key(cidr)])

    def hold(self, cidr: str, handle: str, **secondary: str) -> IP:
        """One address more for the handle, with its row."""
        block, (ip,) = self.block(cidr).assign(1, Attribute(handle, secondary))
        self[block_key(cidr)] = write_block(block.next_write())
        row: dict[str, Any] = {"block": {}, "deleted": False}
        row |= self[handle_key(handle)] if handle_key(handle) in self.values else {}
        row["block"][cidr] = row["block"].get(cidr, 0) + 1
        self[handle_key(handle)] = row
        return ip

    def pod(self, cidr: str, name: str, node: str, container: str = CONTAINER) -> IP:
        """A pod with an address, as the CNI plugin leaves it."""
        ip = self.hold(cidr, f"k8s-pod-network.{container}", namespace="default", node=node, pod=name)
        self.endpoint(name, node, container, ip)
        return ip

    def endpoint(self, name: str, node: str, container: str, *ips: IP | str) -> None:
        spec = {"orchestrator": "k8s", "node": node, "pod": name, "endpoint": "eth0", "containerID": container}
        networks = [f"{ip}/{128 if ':' in str(ip) else 32}" for ip in ips]
        key = f"{ENDPOINTS}default/{node}-k8s-{name}-eth0"
        self[key] = {"metadata": {"name": name}, "spec": {**spec, "ipNetworks": networks}}

    def census(self) -> Census:
        entries = [Entry(key, value, index) for index, (key, value) in enumerate(sorted(self.values.items()), start=1)]
        listings = {prefix: tuple(each for each in entries if each.key.startswith(prefix)) for prefix in PREFIXES}
        keys = {each.key: each for each in entries if each.key in KEYS}
        return census_of(Snapshot(keys, listings, len(entries)))

    async def write(self, store: Store) -> None:
        operations = [Put(key, value) for key, value in self.values.items()]
        for start in range(0, len(operations), 100):
            await store.commit(operations[start : start + 100])


def healthy() -> Records:
    """Two nodes, IPv4 and IPv6, pods, tunnels, one borrowed address, a reservation, a virtual machine's handle."""
    records = Records()
    records[CLUSTER] = {"spec": {"clusterGUID": GUID, "clusterType": "k8s,bgp", "datastoreReady": True}}
    records.pool("default-ipv4-ippool", "192.168.0.0/16", blockSize=26)
    records.pool("default-ipv6-ippool", "fd00:10:244::/112", blockSize=122)
    records[f"{RESERVATIONS}odd"] = {"spec": {"reservedCIDRs": ["192.168.36.127/32"]}}
    records.claim("node1", "192.168.36.64/26")
    records.claim("node2", "192.168.104.0/26")
    records.claim("node1", "fd00:10:244::a680/122")
    ipip = records.hold("192.168.36.64/26", "ipip-tunnel-addr-node1", node="node1", type="ipipTunnelAddress")
    vxlan6 = records.hold(
        "fd00:10:244::a680/122", "vxlan-v6-tunnel-addr-node1", node="node1", type="vxlanV6TunnelAddress"
    )
    records.node(
        "node1", bgp={"ipv4Address": "10.0.0.1/24", "ipv4IPIPTunnelAddr": str(ipip)}, ipv6VXLANTunnelAddr=str(vxlan6)
    )
    records.node("node2", bgp={"ipv4Address": "10.0.0.2/24"})
    records.pod("192.168.36.64/26", "web", "node1", "a1" * 32)
    records.pod("192.168.104.0/26", "db", "node2", "b2" * 32)
    records.pod("192.168.104.0/26", "borrower", "node1", "c3" * 32)
    records.pod("fd00:10:244::a680/122", "six", "node1", "d4" * 32)
    return records

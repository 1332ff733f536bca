"""A cluster's nodes, pods and addresses as they stand in the store, written by hand: for what must come to pass with
them, without any allocator that might be wrong in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any

from tortie.ipam.block import Attribute, Block, new_block
from tortie.ipam.census import KEYS, PREFIXES, Census, census_of
from tortie.ipam.records import Affinity, Handle, write_affinity, write_block, write_handle
from tortie.model.keys import block_key, handle_key, host_affinity_key
from tortie.model.names import EndpointName
from tortie.model.network import Network
from tortie.store.contract import Entry, Put, Snapshot, Store

API = "projectcalico.org/v3"
ROOT = f"/calico/resources/v3/{API.partition('/')[0]}/"
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


class World:
    """What is added is what the store would hold; `census` and `fill` make something of it."""

    def __init__(self, pool: str = "10.244.0.0/16") -> None:
        self.entries: dict[str, bytes] = {}
        self.blocks: dict[Network, Block] = {}
        self.handles: dict[str, Handle] = {}
        self.resource("clusterinformations", "default", {"datastoreReady": True, "clusterGUID": "g"})
        self.resource("ippools", "pool", {"cidr": pool, "blockSize": 26})

    def resource(self, plural: str, name: str, spec: Mapping[str, Any]) -> str:
        kinds = {
            "clusterinformations": "ClusterInformation",
            "ippools": "IPPool",
            "nodes": "Node",
            "workloadendpoints": "WorkloadEndpoint",
            "felixconfigurations": "FelixConfiguration",
            "bgpconfigurations": "BGPConfiguration",
            "caliconodestatuses": "CalicoNodeStatus",
            "kubecontrollersconfigurations": "KubeControllersConfiguration",
        }
        metadata = {"name": name.rpartition("/")[2], "uid": "u", "creationTimestamp": "2026-03-01T00:00:00Z"}
        if "/" in name:
            metadata["namespace"] = name.partition("/")[0]
        document = {"kind": kinds[plural], "apiVersion": API, "metadata": metadata, "spec": dict(spec)}
        key = f"{ROOT}{plural}/{name}"
        self.entries[key] = json.dumps(document).encode()
        return key

    def node(self, name: str, **tunnels: str) -> None:
        self.resource("nodes", name, {"bgp": {"ipv4Address": "192.0.2.1/24"}, **tunnels})

    def drop(self, plural: str, name: str) -> None:
        del self.entries[f"{ROOT}{plural}/{name}"]

    def block(self, cidr: str, owner: str | None) -> None:
        network = ip_network(cidr)
        self.blocks[network] = new_block(network, f"host:{owner}" if owner else None, DAY)
        if owner:
            self.entries[host_affinity_key(owner, cidr)] = write_affinity(Affinity(owner, network))

    def hold(self, ip: str, handle: str, **secondary: str) -> None:
        """In the block that has the address; the handle's count goes with it."""
        address = ip_address(ip)
        cidr = next(cidr for cidr in self.blocks if address in cidr)
        attribute = Attribute(handle, secondary)
        self.blocks[cidr] = self.blocks[cidr].assign_given(address, attribute).next_write()
        known = self.handles.get(handle, Handle(handle, {}))
        self.handles[handle] = known.with_added(cidr, 1)

    def pod(self, name: str, node: str, *ips: str, endpoint: bool = True, container: str = "") -> None:
        """A pod in the namespace `shop` with its addresses, and unless it died without a word, its endpoint."""
        container = container or f"c-{name}"
        for ip in ips:
            self.hold(ip, f"k8s-pod-network.{container}", namespace="shop", node=node, pod=name)
        if endpoint:
            self.endpoint(name, node, *ips, container=container)

    def endpoint(self, name: str, node: str, *ips: str, container: str = "") -> None:
        networks = [f"{ip}/{128 if ':' in ip else 32}" for ip in ips]
        spec = {"node": node, "orchestrator": "k8s", "pod": name, "endpoint": "eth0", "containerID": container}
        self.resource("workloadendpoints", self.endpoint_name(name, node), {**spec, "ipNetworks": networks})

    @staticmethod
    def endpoint_name(pod: str, node: str) -> str:
        return f"shop/{EndpointName(node, 'k8s', pod, 'eth0')}"

    def stored(self) -> dict[str, bytes]:
        blocks = {block_key(str(cidr)): write_block(block) for cidr, block in self.blocks.items()}
        handles = {handle_key(name): write_handle(handle) for name, handle in self.handles.items()}
        return {**self.entries, **blocks, **handles}

    def census(self) -> Census:
        """Every entry's revision is its place, so that a test can tell them apart."""
        stored = sorted(self.stored().items())
        entries = [Entry(key, value, number) for number, (key, value) in enumerate(stored, 1)]
        listings = {prefix: tuple(e for e in entries if e.key.startswith(prefix)) for prefix in PREFIXES}
        return census_of(Snapshot({e.key: e for e in entries if e.key in KEYS}, listings, len(entries)))

    async def fill(self, store: Store) -> None:
        operations = [Put(key, value) for key, value in self.stored().items()]
        for at in range(0, len(operations), 100):
            await store.commit(operations[at : at + 100])

"""What IPAM finds in a datastore: pools, nodes, settings, reservations; and pods as they are written there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tortie.ipam.records import IpamSettings
from tortie.ipam.request import Request
from tortie.model.ipam_settings import config_for
from tortie.model.keys import IPAM_CONFIG, ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.names import EndpointName, host_interface
from tortie.model.network import IP
from tortie.store.contract import Delete, Operation, Put, Store

NAMESPACE = "default"
NETWORK = "k8s-pod-network"


def resource(kind: str, name: str, spec: dict[str, Any], *, namespace: str | None = None, **metadata: Any) -> Put:
    key = ResourceKey(BY_NAME[kind], name, namespace)
    where = {"namespace": namespace} if namespace else {}
    document = {
        "kind": kind,
        "apiVersion": "projectcalico.org/v3",
        "metadata": {"name": name, **where, **metadata},
        "spec": spec,
    }
    return Put(str(key), json.dumps(document, separators=(",", ":")).encode())


def pool(name: str, cidr: str, block_size: int, **spec: Any) -> Put:
    return resource("IPPool", name, {"cidr": cidr, "blockSize": block_size, "nodeSelector": "all()", **spec})


def node(name: str, **labels: str) -> Put:
    return resource("Node", name, {"bgp": {"ipv4Address": "172.30.0.1/16"}}, labels=labels)


def reservation(name: str, cidrs: Sequence[str]) -> Put:
    return resource("IPReservation", name, {"reservedCIDRs": list(cidrs)})


def gone(kind: str, name: str) -> Delete:
    return Delete(str(ResourceKey(BY_NAME[kind], name)))


def settings(wanted: IpamSettings) -> Put:
    spec = {
        "strictAffinity": wanted.strict_affinity,
        "autoAllocateBlocks": wanted.auto_allocate_blocks,
        "maxBlocksPerHost": wanted.max_blocks_per_host,
        "ipCooldownSeconds": wanted.cooldown_s,
    }
    return Put(IPAM_CONFIG, config_for(spec, None))


def pod_handle(container: str) -> str:
    return f"{NETWORK}.{container}"


def container(handle: str) -> str:
    return handle.removeprefix(f"{NETWORK}.")


def endpoint_key(node_name: str, pod: str) -> str:
    name = str(EndpointName(node_name, "k8s", pod, "eth0"))
    return str(ResourceKey(BY_NAME["WorkloadEndpoint"], name, NAMESPACE))


def endpoint(node_name: str, pod: str, ips: Sequence[IP]) -> Put:
    """As the plugin writes it, together with the address."""
    spec = {
        "orchestrator": "k8s",
        "node": node_name,
        "containerID": pod,
        "pod": pod,
        "endpoint": "eth0",
        "ipNetworks": [f"{ip}/{ip.max_prefixlen}" for ip in ips],
        "profiles": [f"kns.{NAMESPACE}"],
        "interfaceName": host_interface(NAMESPACE, pod),
        "mac": "ee:ee:ee:ee:ee:ee",
    }
    name = str(EndpointName(node_name, "k8s", pod, "eth0"))
    return resource("WorkloadEndpoint", name, spec, namespace=NAMESPACE)


def pod_request(node_name: str, pod: str, **wanted: Any) -> Request:
    """One address of IPv4, unless something else is wanted, and the endpoint along with it."""
    attributes = {"node": node_name, "namespace": NAMESPACE, "pod": pod, "timestamp": "2026-01-01 00:00:00 +0000 UTC"}
    fields: dict[str, Any] = {"v4": 1, "along": lambda ips: [endpoint(node_name, pod, ips)], **wanted}
    return Request(node_name, pod_handle(pod), attributes, **fields)


def pod_leaves(node_name: str, pod: str) -> list[Operation]:
    """What is committed along with the release of its addresses."""
    return [Delete(endpoint_key(node_name, pod))]


async def emptied(store: Store) -> None:
    """Nothing of Calico's is left in it."""
    keys = [entry.key for entry in (await store.scan("/calico/")).entries]
    for begin in range(0, len(keys), 100):
        await store.commit([Delete(key) for key in keys[begin : begin + 100]])

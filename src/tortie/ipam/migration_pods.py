"""Who uses an address of this node, from all that can be known about it. Pure.

A WorkloadEndpoint in the store, a list of pods as `kubectl get pods -A -o json` prints it, a route of this machine's
kernel to the address over a veth: each of them is proof enough that the address must not be given to anybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final, Literal, NamedTuple

from tortie.ipam.census import Endpoint
from tortie.model.errors import UsageError
from tortie.model.kinds import API_VERSION
from tortie.model.names import EndpointName, host_interface
from tortie.model.network import IP, HostNetwork
from tortie.model.wire import Document

Source = Literal["endpoint", "pods", "route"]

_ENDED: Final = ("Succeeded", "Failed")


class Pod(NamedTuple):
    namespace: str
    name: str
    ips: tuple[IP, ...]
    labels: Mapping[str, str] = {}
    service_account: str = ""


class User(NamedTuple):
    """Somebody who uses an address."""

    source: Source
    namespace: str = ""  # "" with `pod`: only the kernel knows it
    pod: str = ""
    container: str = ""
    interface: str = ""  # of the host, if a route leads over it
    document: Pod | None = None  # as --pods told it

    @property
    def told(self) -> str:
        if self.pod:
            return f"{self.namespace}/{self.pod}"
        return f"a pod behind {self.interface}"


def pods_in(document: Any, node: str, source: str) -> tuple[Pod, ...]:
    """Those of this node that have addresses of their own and still run."""
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        why = "it is no list of pods"
        raise UsageError(f"{source} cannot be used", why, "make it with: kubectl get pods -A -o json > pods.json")
    return tuple(_pods(document["items"], node))


def _pods(items: Iterable[Any], node: str) -> Iterator[Pod]:
    for item in items:
        if not isinstance(item, dict):
            continue
        metadata, spec, status = (_part(item, name) for name in ("metadata", "spec", "status"))
        if spec.get("nodeName", node) != node or spec.get("hostNetwork") or status.get("phase") in _ENDED:
            continue
        several = status.get("podIPs") or ()
        texts = [status.get("podIP"), *(each.get("ip") for each in several if isinstance(each, dict))]
        if ips := tuple(dict.fromkeys(ip for text in texts if (ip := _ip(text)))):
            name, namespace = metadata.get("name", ""), metadata.get("namespace", "default")
            yield Pod(namespace, name, ips, metadata.get("labels") or {}, spec.get("serviceAccountName", ""))


def _part(document: Document, name: str) -> Document:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _ip(text: Any) -> IP | None:
    try:
        return ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None


def users_of(node: str, endpoints: Iterable[Endpoint], pods: Iterable[Pod], here: HostNetwork) -> dict[IP, User]:
    """By address; the most telling source wins, and what the kernel knows is added to it."""
    routes = dict(_routes(here))
    users = {ip: User("route", interface=interface) for ip, interface in routes.items()}
    for pod in pods:
        for ip in pod.ips:
            users[ip] = User("pods", pod.namespace, pod.name, interface=routes.get(ip, ""), document=pod)
    for endpoint in endpoints:
        if endpoint.node == node:
            for ip in endpoint.ips:
                interface = routes.get(ip, "")
                users[ip] = User("endpoint", endpoint.namespace, endpoint.pod, endpoint.container_id, interface)
    return users


def _routes(here: HostNetwork) -> Iterator[tuple[IP, str]]:
    """Routes to single addresses over the host's end of a veth."""
    veths = {link.index: link.name for link in here.interfaces if link.kind == "veth"}
    for route in here.routes:
        if route.kind == "unicast" and route.interface in veths and route.destination.num_addresses == 1:
            yield route.destination.network_address, veths[route.interface]


def endpoint_document(node: str, pod: Pod, container: str, interface: str, host_side: str) -> Document:
    """The resource for a pod that has none yet: without it nobody would know whose the address is, and those who
    clean up would take it back.
    """
    name = str(EndpointName(node, "k8s", pod.name, interface))
    account = pod.service_account or "default"
    labels = {
        **pod.labels,
        "projectcalico.org/namespace": pod.namespace,
        "projectcalico.org/orchestrator": "k8s",
        "projectcalico.org/serviceaccount": account,
    }
    spec: Document = {
        "orchestrator": "k8s",
        "node": node,
        "containerID": container,
        "pod": pod.name,
        "endpoint": interface,
        "serviceAccountName": account,
        "ipNetworks": [f"{ip}/{ip.max_prefixlen}" for ip in pod.ips],
        "profiles": [f"kns.{pod.namespace}", f"ksa.{pod.namespace}.{account}"],
        "interfaceName": host_side or host_interface(pod.namespace, pod.name),
    }
    return {
        "kind": "WorkloadEndpoint",
        "apiVersion": API_VERSION,
        "metadata": {"name": name, "namespace": pod.namespace, "labels": labels},
        "spec": spec,
    }

"""Who uses each address, as pods and nodes themselves say; and whom an address is held for, as IPAM has noted. Pure.

The two should agree. Where they do not, somebody crashed between two writes, or somebody was never told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from tortie.ipam.block import WINDOWS_HANDLE, Attribute, Holding, clean_handle
from tortie.ipam.census import Census, Endpoint, Service
from tortie.ipam.records import TUNNEL_HANDLES
from tortie.model.network import IP

UseKind = Literal["pod", "tunnel", "loadbalancer", "windows", "unknown"]

_LOAD_BALANCER: Final = "lb-"


class Use(NamedTuple):
    """One user of one address."""

    ip: IP
    kind: UseKind
    owner: str  # as Calico's check names it: Workload(default/web-1), Node(node-1)
    node: str = ""


class _Tunnel(NamedTuple):
    node: str
    kind: str


_User = Endpoint | _Tunnel | Service


def _use(ip: IP, user: _User) -> Use:
    if isinstance(user, Service):
        return Use(ip, "loadbalancer", f"Service({user.namespace}/{user.name})")
    if isinstance(user, _Tunnel):
        return Use(ip, "tunnel", f"Node({user.node}) {user.kind}", user.node)
    return Use(ip, "pod", f"Workload({user.namespace}/{user.pod or user.name})", user.node)


class Users:
    """Everybody who says that an address is theirs, found by address, and pods by name."""

    def __init__(self, census: Census) -> None:
        self._endpoints = census.endpoints
        self._services_known = census.services is not None
        self._by_ip: dict[IP, tuple[_User, ...]] = {}
        self._by_pod: dict[tuple[str, str], list[Endpoint]] | None = None
        for endpoint in census.endpoints:
            for ip in endpoint.ips:
                self._add(ip, endpoint)
        for node in census.nodes.values():
            for ip, kind in node.tunnels:
                self._add(ip, _Tunnel(node.name, kind))
        for service in census.services or ():
            self._add(service.ip, service)

    def _add(self, ip: IP, user: _User) -> None:
        alone = (user,)
        before = self._by_ip.setdefault(ip, alone)
        if before is not alone and user not in before:
            self._by_ip[ip] = (*before, user)

    def __len__(self) -> int:
        """How many addresses are used."""
        return len(self._by_ip)

    def counts(self) -> Iterator[tuple[IP, int]]:
        """Every address that is used, and by how many."""
        return ((ip, len(users)) for ip, users in self._by_ip.items())

    def of(self, ip: IP) -> tuple[Use, ...]:
        return tuple(_use(ip, user) for user in self._by_ip.get(ip, ()))

    def endpoints_of(self, ip: IP) -> tuple[Endpoint, ...]:
        return tuple([user for user in self._by_ip.get(ip, ()) if isinstance(user, Endpoint)])

    def as_noted(self, holding: Holding) -> bool:
        """Used by just the pod that it is held for, as nearly all are."""
        users = self._by_ip.get(holding.ip, ())
        user = users[0] if len(users) == 1 else None
        if not isinstance(user, Endpoint):
            return False
        attribute = holding.attribute
        secondary = attribute.secondary or {}
        return (
            bool(user.pod)
            and user.pod == secondary.get("pod")
            and user.namespace == secondary.get("namespace", "")
            and user.node in ("", secondary.get("node", ""))
            and user.container_id in ("", container_of(attribute.handle))
        )

    def pods_named(self, namespace: str, pod: str) -> tuple[Endpoint, ...]:
        """All endpoints of a pod, on whatever node."""
        if self._by_pod is None:
            self._by_pod = {}
            for endpoint in self._endpoints:
                self._by_pod.setdefault((endpoint.namespace, endpoint.pod), []).append(endpoint)
        return tuple(self._by_pod.get((namespace, pod), ()))

    def why_unused(self, holding: Holding) -> str:
        """Why nobody uses an address that is held; "" if somebody does, or if that cannot be known from here."""
        if holding.attribute.released_at or holding.ip in self._by_ip:
            return ""
        held = held_for(holding.ip, holding.attribute)
        if held.kind == "loadbalancer":
            return "no Service of Kubernetes has this address" if self._services_known else ""
        if held.kind == "windows":
            return ""
        if held.kind == "tunnel":
            return f"{held.owner} does not say that this is the address of its tunnel"
        secondary = holding.attribute.secondary or {}
        namespace, pod = secondary.get("namespace", ""), secondary.get("pod", "")
        if not pod:
            return "no pod and no node says that it has this address"
        others = self.pods_named(namespace, pod)
        if any(not endpoint.ips for endpoint in others):
            return ""  # it is being set up
        if others:
            theirs = ", ".join(str(ip) for endpoint in others for ip in endpoint.ips)
            return f"the pod {namespace}/{pod} has {theirs} by now"
        return f"there is no endpoint of the pod {namespace}/{pod}"


def held_for(ip: IP, attribute: Attribute) -> Use:
    """Whom the allocation itself names."""
    secondary = attribute.secondary or {}
    node, kind, handle = attribute.node, secondary.get("type", ""), clean_handle(attribute.handle or "")
    if handle == WINDOWS_HANDLE:
        return Use(ip, "windows", "reserved for Windows", node)
    if secondary.get("pod"):
        return Use(ip, "pod", f"Workload({secondary.get('namespace', '')}/{secondary['pod']})", node)
    for name, beginning in TUNNEL_HANDLES.items():
        if kind == name or handle.startswith(beginning):
            node = node or handle.removeprefix(beginning)
            return Use(ip, "tunnel", f"Node({node}) {name}", node)
    if handle.startswith(_LOAD_BALANCER) or "service" in secondary:
        owner = f"Service({secondary.get('namespace', '')}/{secondary.get('service', '')})"
        return Use(ip, "loadbalancer", owner, node)
    return Use(ip, "unknown", f"Handle({handle})" if handle else "nobody", node)


def container_of(handle: str | None) -> str:
    """The container's id in the handle of a pod, `<network>.<id>`; "" where there is none, as with virtual machines."""
    network, _, container = clean_handle(handle or "").rpartition(".")
    return container if network and ".vmi." not in network + "." else ""

"""The Node object: what kubelet says of its machine, and whether it is ready, in Kubernetes's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from tortie.lab.kubelet.objects import Object, condition, go_duration, made_uid, stamp

RUNTIME_SILENT_S: Final = 30.0
PLEG_SILENT_S: Final = 180.0
_NETWORK: Final = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:"
_CONTAINERD: Final = "Network plugin returns error: cni plugin not initialized"
_DOCKER: Final = "docker: network plugin is not ready: cni config uninitialized"
_PRESSURES: Final = (
    (
        "MemoryPressure",
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ),
    (
        "DiskPressure",
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ),
    (
        "PIDPressure",
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ),
)


class NodeFacts(NamedTuple):
    """What stays as long as the machine is up."""

    name: str
    address: str  # InternalIP
    created_at: float
    kernel: str = ""
    os_image: str = ""
    architecture: str = "amd64"
    kubelet_version: str = "v1.31.4"
    runtime_version: str = "containerd://1.7.22"
    cpus: int = 2
    memory_kib: int = 4 * 1024 * 1024
    disk_kib: int = 20 * 1024 * 1024
    pods: int = 110
    pod_cidr: str = ""
    labels: Mapping[str, str] = {}  # never changed
    annotations: Mapping[str, str] = {}
    machine_id: str = ""
    boot_id: str = ""


class NodeHealth(NamedTuple):
    """What kubelet has seen of its machine. Times: when it last worked; nothing if it never has."""

    runtime_seen_at: float | None = None
    pleg_seen_at: float | None = None  # the last time that all containers were listed
    network_ready: bool = True
    docker: bool = False  # dockershim has its own words
    memory_pressure: bool = False
    disk_pressure: bool = False
    pid_pressure: bool = False
    calico: Literal["up", "down"] | None = None  # what calico-node has said of the network; stays when it is gone


def node_object(facts: NodeFacts, health: NodeHealth, previous: Object | None, now: float, hurry: int = 1) -> Object:
    """The Node as kubelet writes it now; a condition that stays as it is keeps its transition time."""
    metadata = {
        "name": facts.name,
        "uid": made_uid("node", facts.name, stamp(facts.created_at)),
        "creationTimestamp": stamp(facts.created_at),
        "labels": {
            "beta.kubernetes.io/arch": facts.architecture,
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": facts.architecture,
            "kubernetes.io/hostname": facts.name,
            "kubernetes.io/os": "linux",
            **facts.labels,
        },
        "annotations": dict(facts.annotations),
    }
    amounts = {
        "cpu": str(facts.cpus),
        "ephemeral-storage": f"{facts.disk_kib}Ki",
        "memory": f"{facts.memory_kib}Ki",
        "pods": str(facts.pods),
    }
    spec: Object = {"podCIDR": facts.pod_cidr, "podCIDRs": [facts.pod_cidr]} if facts.pod_cidr else {}
    status = {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": _conditions(health, previous, now, hurry),
        "addresses": [
            {"type": "InternalIP", "address": facts.address},
            {"type": "Hostname", "address": facts.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": facts.machine_id,
            "systemUUID": facts.machine_id,
            "bootID": facts.boot_id,
            "kernelVersion": facts.kernel,
            "osImage": facts.os_image,
            "containerRuntimeVersion": facts.runtime_version,
            "kubeletVersion": facts.kubelet_version,
            "kubeProxyVersion": facts.kubelet_version,
            "operatingSystem": "linux",
            "architecture": facts.architecture,
        },
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def ready(node: Object) -> bool:
    found = condition(node, "Ready")
    return found is not None and found["status"] == "True"


def not_ready_because(health: NodeHealth, now: float, hurry: int = 1) -> str:
    """Everything that keeps the node from being ready, as kubelet joins it; empty if nothing does."""
    found = []
    if health.runtime_seen_at is None:
        found.append("container runtime status check may not have completed yet")
    elif now - health.runtime_seen_at >= RUNTIME_SILENT_S / hurry:
        found.append("container runtime is down")
    pleg_s = PLEG_SILENT_S / hurry
    if health.pleg_seen_at is None:
        found.append("PLEG is not healthy: pleg has yet to be successful")
    elif now - health.pleg_seen_at > pleg_s:
        ago = go_duration(round(now - health.pleg_seen_at, 6))
        threshold = go_duration(pleg_s)
        found.append(f"PLEG is not healthy: pleg was last seen active {ago} ago; threshold is {threshold}")
    if not health.network_ready:
        found.append(_NETWORK + (_DOCKER if health.docker else _CONTAINERD))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _conditions(health: NodeHealth, previous: Object | None, now: float, hurry: int) -> list[Object]:
    wanted = []
    if health.calico == "up":
        wanted.append(("NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node"))
    elif health.calico == "down":
        wanted.append(("NetworkUnavailable", "True", "CalicoIsDown", "Calico is shutting down on this node"))
    under = (health.memory_pressure, health.disk_pressure, health.pid_pressure)
    for (kind, fine, pressed), is_under in zip(_PRESSURES, under, strict=True):
        wanted.append((kind, str(is_under), *(pressed if is_under else fine)))
    why = not_ready_because(health, now, hurry)
    if why:
        wanted.append(("Ready", "False", "KubeletNotReady", why))
    else:
        wanted.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    return [_condition(*one, previous, now) for one in wanted]


def _condition(kind: str, status: str, reason: str, message: str, previous: Object | None, now: float) -> Object:
    old = condition(previous, kind) if previous else None
    same = old is not None and old["status"] == status
    since = old["lastTransitionTime"] if old and same else stamp(now)
    # calico-node writes its condition once, when it changes; kubelet renews its own
    heartbeat = since if kind == "NetworkUnavailable" else stamp(now)
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": heartbeat,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }

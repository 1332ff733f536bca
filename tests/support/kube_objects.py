"""Objects of Kubernetes, written by hand, for tests of what kubectl makes of them."""

from __future__ import annotations

from typing import Any

from tortie.lab.kubectl.cluster import NodeRecord, Sources, cluster
from tortie.lab.kubectl.times import seconds_of, stamp

Thing = dict[str, Any]

NOW_TEXT = "2026-11-16T15:04:05Z"
_NOW = seconds_of(NOW_TEXT)
assert _NOW is not None
NOW: float = _NOW
IMAGE = "docker.io/calico/node:v3.20.0"
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def ago(seconds: float) -> str:
    return stamp(NOW - seconds)


def running(since_s: float) -> Thing:
    return {"running": {"startedAt": ago(since_s)}}


def waiting(reason: str) -> Thing:
    return {"waiting": {"reason": reason}}


def terminated(code: int, reason: str, since_s: float, until_s: float, **more: object) -> Thing:
    times = {"startedAt": ago(since_s), "finishedAt": ago(until_s)}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


def status(
    name: str, state: Thing, last: Thing | None = None, *, ready: bool = False, restarts: int = 0, image: str = IMAGE
) -> Thing:
    return {
        "name": name,
        "image": image,
        "imageID": f"{image}@sha256:9f4c",
        "containerID": "" if "waiting" in state and not last else "containerd://4b1d0cf4a0d7",
        "state": state,
        "lastState": last or {},
        "ready": ready,
        "restartCount": restarts,
    }


def daemon_set(generation: int = 1) -> Thing:
    labels = {"k8s-app": "calico-node"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "calico-node",
            "namespace": "kube-system",
            "generation": generation,
            "creationTimestamp": ago(2 * DAY),
            "labels": labels,
            "uid": "ds-uid",
        },
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec()}},
    }


def spec() -> Thing:
    """The pod template of the manifests, abridged."""
    return {
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priority": 2000001000,
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "calico-node",
        "tolerations": [
            {"effect": "NoSchedule", "operator": "Exists"},
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"effect": "NoExecute", "operator": "Exists"},
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
        "initContainers": [
            {
                "name": "upgrade-ipam",
                "image": "docker.io/calico/cni:v3.20.0",
                "command": ["/opt/cni/bin/calico-ipam", "-upgrade"],
            },
            {"name": "install-cni", "image": "docker.io/calico/cni:v3.20.0", "command": ["/opt/cni/bin/install"]},
        ],
        "containers": [
            {
                "name": "calico-node",
                "image": IMAGE,
                "env": [
                    {"name": "DATASTORE_TYPE", "value": "kubernetes"},
                    {"name": "NODENAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
                    {
                        "name": "CALICO_NETWORKING_BACKEND",
                        "valueFrom": {"configMapKeyRef": {"name": "calico-config", "key": "calico_backend"}},
                    },
                    {"name": "IP", "value": "autodetect"},
                ],
                "livenessProbe": {
                    "exec": {"command": ["/bin/calico-node", "-felix-live", "-bird-live"]},
                    "initialDelaySeconds": 10,
                    "timeoutSeconds": 10,
                    "periodSeconds": 10,
                    "failureThreshold": 6,
                },
                "readinessProbe": {
                    "httpGet": {"host": "127.0.0.1", "path": "/readiness", "port": 9099, "scheme": "HTTP"},
                    "periodSeconds": 10,
                },
                "resources": {"requests": {"cpu": "250m"}},
                "volumeMounts": [
                    {"name": "var-run-calico", "mountPath": "/var/run/calico"},
                    {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": True},
                ],
            }
        ],
        "volumes": [
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules", "type": ""}},
            {"name": "var-run-calico", "hostPath": {"path": "/var/run/calico"}},
            {"name": "token", "secret": {"secretName": "calico-node-token-x7k2p"}},
        ],
    }


def pod(
    name: str,
    node: str = "node-1",
    *,
    phase: str = "Running",
    init: list[Thing] | None = None,
    main: list[Thing] | None = None,
    age_s: float = HOUR,
    ready: bool = True,
    initialized: bool = True,
    metadata: Thing | None = None,
) -> Thing:
    number = node.rpartition("-")[2]
    done = terminated(0, "Completed", age_s, age_s - 1)
    conditions = (("Initialized", initialized), ("Ready", ready), ("ContainersReady", ready), ("PodScheduled", True))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "uid": f"uid-{name}",
            "creationTimestamp": ago(age_s),
            "labels": {
                "k8s-app": "calico-node",
                "controller-revision-hash": "6d9c545b84",
                "pod-template-generation": "1",
            },
            "ownerReferences": [{"kind": "DaemonSet", "name": "calico-node", "uid": "ds-uid", "controller": True}],
            **(metadata or {}),
        },
        "spec": {**spec(), "nodeName": node},
        "status": {
            "phase": phase,
            "hostIP": f"10.77.0.{number}",
            "podIP": f"10.77.0.{number}",
            "podIPs": [{"ip": f"10.77.0.{number}"}],
            "startTime": ago(age_s),
            "conditions": [{"type": kind, "status": "True" if holds else "False"} for kind, holds in conditions],
            "initContainerStatuses": init
            if init is not None
            else [status("upgrade-ipam", done, ready=True), status("install-cni", done, ready=True)],
            "containerStatuses": main if main is not None else [status("calico-node", running(age_s - 2), ready=True)],
        },
    }


def node(name: str, *, ready: str = "True", beat_s: float = 3.0, age_s: float = 2 * DAY) -> Thing:
    number = name.rpartition("-")[2]

    def told(kind: str, state: str, reason: str, message: str, since_s: float = beat_s) -> Thing:
        times = {"lastHeartbeatTime": ago(since_s), "lastTransitionTime": ago(age_s)}
        return {"type": kind, "status": state, "reason": reason, "message": message, **times}

    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": ago(age_s),
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {"projectcalico.org/IPv4Address": f"10.77.0.{number}/24"},
        },
        "spec": {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": f"10.77.0.{number}"},
                {"type": "Hostname", "address": name},
            ],
            "capacity": {"cpu": "4", "memory": "8148736Ki", "ephemeral-storage": "20509264Ki", "pods": "110"},
            "allocatable": {"cpu": "4", "memory": "8046336Ki", "ephemeral-storage": "18901337672", "pods": "110"},
            "conditions": [
                told("NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node", age_s - 60),
                told(
                    "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"
                ),
                told("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                told("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                told("Ready", ready, "KubeletReady", "kubelet is posting ready status"),
            ],
            "nodeInfo": {
                "machineID": "5f1f1b4c",
                "systemUUID": "5f1f1b4c",
                "bootID": "c2b1",
                "kernelVersion": "5.15.0-91-generic",
                "osImage": "Ubuntu 22.04.3 LTS",
                "containerRuntimeVersion": "containerd://1.7.2",
                "kubeletVersion": "v1.21.14",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def event(
    about: Thing,
    reason: str,
    message: str,
    *,
    last_s: float,
    first_s: float = 0.0,
    count: int = 1,
    warning: bool = False,
) -> Thing:
    metadata = about["metadata"]
    involved = {"kind": about["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    namespace = metadata.get("namespace", "default")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{reason.lower()}{count}", "namespace": namespace},
        "involvedObject": {**involved, "namespace": namespace, "fieldPath": "spec.containers{calico-node}"},
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": ago(first_s or last_s),
        "lastTimestamp": ago(last_s),
        "count": count,
    }


def world(*things: Thing, hurry: int = 1) -> list[Thing]:
    """As one cluster, with three nodes; what is given belongs to its node, or to node-1."""
    names = ("node-1", "node-2", "node-3")
    given: dict[str, list[Thing]] = {name: [] for name in names}
    for thing in things:
        if thing["kind"] == "Node":
            given[thing["metadata"]["name"]].insert(0, thing)
        else:
            given[thing.get("spec", {}).get("nodeName", "node-1")].append(thing)
    for name in names:
        if not any(thing["kind"] == "Node" for thing in given[name]):
            given[name].insert(0, node(name))
    records = tuple(NodeRecord(name, tuple(own)) for name, own in given.items())
    return cluster(Sources(NOW - 2 * DAY, hurry, records, (daemon_set(),)), NOW)


def healthy() -> list[Thing]:
    first = pod("calico-node-x7k2p")
    events = [
        event(first, "Started", "Started container calico-node", last_s=HOUR - 2),
        event(first, "Pulled", f'Container image "{IMAGE}" already present on machine', last_s=HOUR - 1),
    ]
    return world(first, *events, pod("calico-node-8mkf7", "node-2", age_s=2 * DAY), pod("calico-node-dp6vz", "node-3"))


def crash_loop() -> list[Thing]:
    last = terminated(137, "Error", 130, 12)
    broken = pod(
        "calico-node-x7k2p",
        ready=False,
        main=[status("calico-node", waiting("CrashLoopBackOff"), last, restarts=3)],
    )
    said = (
        "Liveness probe failed: calico/node is not ready: Felix is not live: Get "
        '"http://localhost:9099/liveness": dial tcp 127.0.0.1:9099: connect: connection refused'
    )
    killed = "Container calico-node failed liveness probe, will be restarted"
    back = "Back-off restarting failed container"
    events = [
        event(broken, "Unhealthy", said, last_s=72, first_s=8 * MINUTE, count=18, warning=True),
        event(broken, "Killing", killed, last_s=62, first_s=7 * MINUTE, count=3),
        event(broken, "BackOff", back, last_s=3, first_s=2 * MINUTE, count=12, warning=True),
    ]
    return world(broken, *events, pod("calico-node-8mkf7", "node-2"), pod("calico-node-dp6vz", "node-3"))


def init_stuck() -> list[Thing]:
    stuck = pod(
        "calico-node-jwhzz",
        phase="Pending",
        ready=False,
        initialized=False,
        init=[status("upgrade-ipam", running(57 * MINUTE)), status("install-cni", waiting("PodInitializing"))],
        main=[status("calico-node", waiting("PodInitializing"))],
    )
    started = event(stuck, "Started", "Started container upgrade-ipam", last_s=57 * MINUTE)
    return world(stuck, started, pod("calico-node-8mkf7", "node-2"), pod("calico-node-dp6vz", "node-3"))


def silent_node() -> list[Thing]:
    lost = node("node-2", beat_s=5 * MINUTE)
    return world(lost, pod("calico-node-x7k2p"), pod("calico-node-8mkf7", "node-2"), pod("calico-node-dp6vz", "node-3"))


def unready() -> list[Thing]:
    first = pod("calico-node-x7k2p", ready=False, main=[status("calico-node", running(HOUR))])
    said = "Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 172.18.0.1"
    told = event(first, "Unhealthy", said + "\n", last_s=59 * MINUTE, first_s=2 * DAY + 2 * HOUR, count=7, warning=True)
    return world(first, told, pod("calico-node-8mkf7", "node-2"), pod("calico-node-dp6vz", "node-3"))


WORLDS = {
    "healthy": healthy,
    "crash-loop": crash_loop,
    "init-stuck": init_stuck,
    "silent-node": silent_node,
    "unready": unready,
}

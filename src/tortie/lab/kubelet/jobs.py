"""What the keeper tells the processes of a node that has a kubelet. Plain values, handed over by fork."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tortie.lab.notes import write_note


class RuntimeJob(NamedTuple):
    """For `runtime.run_runtime`: the worker `node-1/runtime`."""

    node: str
    root: str
    command: Callable[[Sequence[str]], int]  # Tortie's own, for containers whose first word is `tortie`
    cgroup: str = ""  # folder of the node's cgroup, which containers join; "" when there is none
    hurry: int = 1
    files_max: tuple[int, int] | None = None  # RLIMIT_NOFILE of containers


class KubeletJob(NamedTuple):
    """For `process.run_kubelet`: the worker `node-1/kubelet`, started again by the keeper when it ends."""

    lab: str  # name
    folder: str  # of the lab: daemonset.json, deployment.json
    node: str
    root: str
    address: str  # the node's InternalIP
    environment: Mapping[str, str]  # of all containers; what a pod's own template says counts more
    hurry: int = 1
    deployment: bool = False  # whether the pods of deployment.json run here: the first node
    swaps_outside: str = ""  # /proc/swaps as the keeper sees it: the machine's own swap is nobody's fault here
    classic: str = ""
    pod_cidr: str = ""  # what the node's spec says, for those who migrate addresses
    labels: Mapping[str, str] = {}  # of the Node, beside those that every node has


class LoadJob(NamedTuple):
    """For `load.run_load`: the worker `node-1/load`."""

    root: str
    cgroup: str = ""


class Paths(NamedTuple):
    """Files of a node that has a kubelet."""

    root: str

    @property
    def runtime_socket(self) -> str:
        return os.path.join(self.root, "run/containerd/containerd.sock")

    @property
    def containers(self) -> str:
        return os.path.join(self.root, "run/containerd/containers.json")

    @property
    def kubelet_socket(self) -> str:
        return os.path.join(self.root, "run/kubelet.sock")

    @property
    def objects(self) -> str:
        return os.path.join(self.root, "var/lib/kubelet/objects.json")

    @property
    def manifests(self) -> str:
        return os.path.join(self.root, "etc/kubernetes/manifests")

    @property
    def kubelet_log(self) -> str:
        return os.path.join(self.root, "var/log/kubelet.log")

    @property
    def runtime_log(self) -> str:
        return os.path.join(self.root, "var/log/containerd.log")

    @property
    def pod_logs(self) -> str:
        return os.path.join(self.root, "var/log/pods")

    @property
    def runtime_pid(self) -> str:
        return os.path.join(self.root, "run/containerd.pid")

    @property
    def kubelet_pid(self) -> str:
        return os.path.join(self.root, "run/kubelet.pid")

    @property
    def overlay(self) -> str:
        """Variables that containers get, or do not get, whatever their template says; written by the keeper."""
        return os.path.join(self.root, "run/overlay.json")

    @property
    def loadavg(self) -> str:
        return os.path.join(self.root, "run/loadavg")

    def make(self) -> None:
        """The folders. The keeper calls it before it forks the first of them."""
        for folder in ("run/containerd", "var/lib/kubelet", "var/log/pods", "etc/kubernetes/manifests"):
            os.makedirs(os.path.join(self.root, folder), exist_ok=True)

    def note_pid(self, path: str) -> None:
        """Of this process; a disk that is full does not keep it from its work."""
        write_note(path, f"{os.getpid()}\n")

"""Calico's images by what is shown of them without their names: a program that would not start, a container, a pod."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.whose import asks_itself
from tortie.doctor.signs import Hit

# The last part of a program's path, or of a container's or pod's name without what Kubernetes hangs on it.
_IMAGES: Final = {
    "start_runit": "calico/node", "start-calico": "calico/node", "calico-node": "calico/node", "bird": "calico/node",
    "confd": "calico/node", "mount-bpffs": "calico/node", "upgrade-ipam": "calico/cni", "install-cni": "calico/cni",
    "install-cni.sh": "calico/cni", "install": "calico/cni", "calico-ipam": "calico/cni", "calico-cni": "calico/cni",
    "calico-typha": "calico/typha", "typha": "calico/typha", "kube-controllers": "calico/kube-controllers",
    "calico-kube-controllers": "calico/kube-controllers", "check-status": "calico/kube-controllers",
    "flexvol.sh": "calico/pod2daemon-flexvol", "flexvol-driver": "calico/pod2daemon-flexvol",
    "calico-apiserver": "calico/apiserver", "apiserver": "calico/apiserver", "calico-csi": "calico/csi",
    "csi-driver": "calico/csi", "csi-node-driver": "calico/csi", "csi-node-driver-registrar":
    "calico/node-driver-registrar", "tigera-operator": "tigera/operator",
}  # fmt: skip
_CONTAINER: Final = lazily(r"(?:\s-c[ =]?|\s--container[ =])([a-z][a-z0-9-]{0,62})")
_POD: Final = lazily(r"\b((?:calico|csi|tigera)-[a-z-]{1,40}?)(?:-[a-f0-9]{8,10})?-[a-z0-9]{5}\b")


def image_of(program: str, command: str) -> str:
    """The program's own name goes first; else whose log was asked for: its container, then its pod's first one."""
    if known := _IMAGES.get(program.rpartition("/")[2], ""):
        return known
    if container := _CONTAINER.search(command):
        return _IMAGES.get(container[1], "")
    pod = _POD.search(command)
    return _IMAGES.get(pod[1], "") if pod else ""


def nodes_of(picture: Picture, hits: list[Hit], arches: dict[str, str]) -> list[str]:
    """Where it does not start: the nodes of agents that fail, else the machine whose own log says it, else the
    nodes that are not Ready or as many as agents fail, where these are all of one architecture and others are not.

    The machine where kubectl was typed says nothing."""
    agents = [pod for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready]
    if placed := [pod.node for pod in agents if pod.node]:
        return list(dict.fromkeys(placed))
    if hosts := [hit.host for hit in hits if hit.host in arches and asks_itself(hit.command)]:
        return hosts[:1]
    down = [name for name, node in picture.nodes_now().items() if name in arches and _not_ready(node)]
    if _are_of_one(down, arches):
        return down
    kinds = {kind: [name for name in arches if arches[name] == kind] for kind in set(arches.values())}
    fitting = [names for names in kinds.values() if len(names) == len(agents)]
    return fitting[0] if len(kinds) > 1 and len(fitting) == 1 else []


def _not_ready(node: Node) -> bool:
    return bool(re.match(r"NotReady\b", node.status))


def _are_of_one(names: list[str], arches: dict[str, str]) -> bool:
    """All nodes of one architecture, and none of another."""
    kinds = {arches[name] for name in names}
    return len(kinds) == 1 and len(set(arches.values())) > 1 and len(names) == sum(a in kinds for a in arches.values())

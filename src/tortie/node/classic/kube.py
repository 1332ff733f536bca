"""What Kubernetes would tell this node, in a lab: its Node and its Pods, as the lab's kubelet has written them down."""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from tortie.host.files import read_text
from tortie.model.errors import TortieError
from tortie.model.network import IP
from tortie.node.paths import Paths

_OBJECTS: Final = "/var/lib/kubelet/objects.json"


class Kube(NamedTuple):
    """`node` is None where there is no Kubernetes, or it does not know the node."""

    node: dict[str, Any] | None = None
    pods: tuple[dict[str, Any], ...] = ()

    @property
    def pod_cidr(self) -> str:
        spec = (self.node or {}).get("spec")
        return str(spec.get("podCIDR") or "") if isinstance(spec, dict) else ""

    @property
    def internal_ips(self) -> tuple[IP, ...] | None:
        if self.node is None:
            return None
        status = self.node.get("status")
        told = status.get("addresses") if isinstance(status, dict) else None
        found = []
        for each in told if isinstance(told, list) else ():
            if isinstance(each, dict) and each.get("type") == "InternalIP":
                try:
                    found.append(ip_address(str(each.get("address"))))
                except ValueError:
                    continue
        return tuple(found)


def read_kube(paths: Paths, name: str) -> Kube:
    """Never an error: what cannot be read is not there."""
    try:
        document = json.loads(read_text(paths.below(_OBJECTS)) or "{}")
    except (TortieError, ValueError, RecursionError):
        return Kube()
    items = document.get("items") if isinstance(document, dict) else None
    objects = [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
    node = next((each for each in objects if each.get("kind") == "Node" and _name_of(each) == name), None)
    return Kube(node, tuple(each for each in objects if each.get("kind") == "Pod"))


def _name_of(item: dict[str, Any]) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""

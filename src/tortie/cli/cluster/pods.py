"""Whose logs are collected: of every component of Calico's a few pods, the interesting ones first. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from tortie.cli.cluster.questions import Pod
from tortie.model.wire import Document

_NAMESPACES: Final = ("calico", "tigera")
_NAMES: Final = ("calico-", "canal", "kube-calico", "tigera-", "tortie-")
_OF_A_SET: Final = re.compile(r"-[a-z0-9]{5,10}$")
_SAFE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def pods_of(text: str) -> list[Pod]:
    """Calico's pods in kubectl's JSON; what is none of Kubernetes' names becomes no file and no command."""
    try:
        items = json.loads(text)["items"]
        return [_pod(item) for item in items if _is_calicos(item) and _is_safe(item)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return []


def chosen(pods: Sequence[Pod], focus: Sequence[str], at_most: int) -> list[Pod]:
    """Per component: those on the nodes of interest, in their order; then the sick; then the rest."""
    by_component: dict[tuple[str, str], list[Pod]] = {}
    for pod in pods:
        by_component.setdefault((pod.namespace, pod.component), []).append(pod)
    place = {node: number for number, node in enumerate(focus)}
    found: list[Pod] = []
    for members in by_component.values():
        members.sort(key=lambda pod: (place.get(pod.node, len(place)), pod.is_well, pod.node, pod.name))
        found += members[:at_most]
    return found


def _is_calicos(item: Document) -> bool:
    metadata = item["metadata"]
    namespace = str(metadata.get("namespace", ""))
    return any(word in namespace for word in _NAMESPACES) or str(metadata["name"]).startswith(_NAMES)


def _is_safe(item: Document) -> bool:
    metadata, spec = item["metadata"], item.get("spec") or {}
    names = [metadata.get("namespace"), metadata["name"], spec.get("nodeName") or "none", *_containers(spec)]
    return all(isinstance(name, str) and _SAFE.fullmatch(name) for name in names)


def _containers(spec: Document) -> list[Any]:
    return [each["name"] for field in ("initContainers", "containers") for each in spec.get(field) or ()]


def _pod(item: Document) -> Pod:
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    states = status.get("containerStatuses") or ()
    is_well = status.get("phase") == "Running" and all(each.get("ready") for each in states)
    node = spec.get("nodeName") or "none"
    owner = (metadata.get("ownerReferences") or [{}])[0]
    component = str(owner.get("name") or metadata["name"])
    if owner.get("kind") == "ReplicaSet":  # of a Deployment, which has one for each of its versions
        component = _OF_A_SET.sub("", component)
    return Pod(metadata["namespace"], metadata["name"], node, component, tuple(_containers(spec)), is_well)

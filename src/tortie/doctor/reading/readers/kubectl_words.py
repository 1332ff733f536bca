"""What a kubectl command line asks for, and the small change of its tables."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.readers.rows import NONE

NAMELIKE: Final = lazily(r"[a-z0-9](?:[a-z0-9.:-]{0,252}[a-z0-9])?$")
KINDS: Final = {
    "ds": "DaemonSet", "daemonset": "DaemonSet", "deploy": "Deployment", "deployment": "Deployment",
    "sts": "StatefulSet", "statefulset": "StatefulSet", "rs": "ReplicaSet", "replicaset": "ReplicaSet",
    "po": "Pod", "pod": "Pod", "no": "Node", "node": "Node", "svc": "Service", "service": "Service",
    "crd": "crd", "customresourcedefinition": "crd", "ep": "Endpoints", "endpoint": "Endpoints",
    "clusterrole": "clusterrole", "clusterrolebinding": "clusterrolebinding", "apiservice": "apiservice",
}  # fmt: skip


def asked_for(command: str) -> str:
    """The kind of resource a `get` or `describe` asks for: our word for it, or as typed."""
    match = compiled(
        r"\b(?:get|describe|top)\s+"
        r"(?:-[^\s=]++(?:=\S++| (?!-)[\w.-]++)?\s++){0,20}?([a-z][a-z.]*)(?:[\s/,]|$)"
    ).search(command)
    if not match:
        return ""
    kind = match[1].split(".")[0]
    return KINDS.get(kind) or KINDS.get(kind.rstrip("s")) or kind


def namespace_of(command: str) -> str:
    if "-n" not in command:
        return ""
    match = compiled(r"(?:\s-n[= ]?|--namespace[= ])([a-z0-9][a-z0-9-]*)(?:\s|$)").search(command)
    return match[1] if match else ""


def bare_name(name: str) -> str:
    return name.rpartition("/")[2]


def some(cell: str) -> str:
    return "" if cell == NONE else cell


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)

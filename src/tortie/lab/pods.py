"""Pods of a lab as values: what is wanted, what is there, and how both are named and told. Pure.

A pod is a network and a hostname, without any process: whoever wants one in it uses `tortie lab pod exec`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from tortie.lab.failures import LabFailure

NAMESPACE: Final = "default"
COUNT_MAX: Final = 5000  # in one command
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

State = Literal["starting", "running", "ending"]


class PodName(NamedTuple):
    namespace: str
    name: str

    @property
    def label(self) -> str:
        """How people call it; where nothing is said, the namespace is `default`."""
        return self.name if self.namespace == NAMESPACE else f"{self.namespace}/{self.name}"


class Pod(NamedTuple):
    name: PodName
    node: str
    container: str  # its id, as a runtime would choose it; another one with every attempt to wire it
    uid: str
    state: State = "starting"
    addresses: tuple[str, ...] = ()  # IPv4 first
    interface: str = ""  # the node's end of its cable

    def as_json(self, age_s: float) -> dict[str, Any]:
        return {
            "name": self.name.name,
            "namespace": self.name.namespace,
            "node": self.node,
            "state": self.state,
            "addresses": list(self.addresses),
            "interface": self.interface,
            "container": self.container,
            "age_s": round(age_s, 1),
        }


class Wanted(NamedTuple):
    """A pod that is asked for. Without a node the lab chooses one."""

    name: PodName
    node: str = ""

    def as_json(self) -> dict[str, str]:
        return {"name": self.name.name, "namespace": self.name.namespace, "node": self.node}


def pod_name(text: str, namespace: str = NAMESPACE) -> PodName:
    """From `web-1` or `other/web-1`."""
    before, slash, after = text.rpartition("/")
    found = PodName(before if slash else namespace, after)
    for part in found:
        if not _NAME.fullmatch(part):
            raise LabFailure("bad-pod-name", name=text)
    return found


def counted_names(names: Sequence[str], count: int | None) -> list[str]:
    """`web` three times is web-1, web-2, web-3."""
    if count is None:
        return list(names)
    return [f"{name}-{number}" for name in names for number in range(1, count + 1)]


def wanted_from(raw: Iterable[Mapping[str, str]]) -> list[Wanted]:
    return [Wanted(PodName(each["namespace"], each["name"]), each["node"]) for each in raw]


def dealt_out(wanted: Iterable[Wanted], nodes: Sequence[str], standing: Mapping[str, int]) -> list[Wanted]:
    """Whoever names no node goes where the fewest pods are; among equals, to the first."""
    wanted = list(wanted)
    counts = {node: standing.get(node, 0) for node in nodes}
    for each in wanted:
        if each.node in counts:
            counts[each.node] += 1
    dealt = []
    for each in wanted:
        if not each.node:
            node = min(counts, key=counts.__getitem__)
            counts[node] += 1
            each = each._replace(node=node)
        dealt.append(each)
    return dealt

"""The parts of Kubernetes' own NetworkPolicy, which a StagedKubernetesNetworkPolicy is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from tortie.model.errors import Problem
from tortie.model.fields import CIDR, Port
from tortie.model.resource import label_problems
from tortie.model.resources.checks import outside, under
from tortie.model.shape import Part


class LabelRequirement(Part, frozen=True, kw_only=True):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    def problems(self) -> Iterator[Problem]:
        if self.operator in ("In", "NotIn") and not self.values:
            yield Problem("values", "", f"operator {self.operator} needs at least one value", "list the values")
        if self.operator not in ("In", "NotIn") and self.values:
            why = f"operator {self.operator} takes no values"
            yield Problem("values", ", ".join(self.values), why, "leave them out, or use In or NotIn")


class LabelSelector(Part, frozen=True, kw_only=True):
    """Everything, when it is empty."""

    matchLabels: dict[str, str] = {}
    matchExpressions: tuple[LabelRequirement, ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from label_problems(self.matchLabels, "matchLabels")
        for index, requirement in enumerate(self.matchExpressions):
            yield from under(f"matchExpressions[{index}]", requirement.problems())


class IPBlock(Part, frozen=True, kw_only=True):
    cidr: CIDR
    except_: tuple[CIDR, ...] = msgspec.field(default=(), name="except")

    def problems(self) -> Iterator[Problem]:
        for index, hole in enumerate(self.except_):
            if hole.version != self.cidr.version or not hole.subnet_of(self.cidr):  # type: ignore[arg-type]
                yield Problem(f"except[{index}]", hole, f"is not inside of {self.cidr}", f"a part of {self.cidr}")


class NetworkPolicyPeer(Part, frozen=True, kw_only=True):
    podSelector: LabelSelector | None = None
    namespaceSelector: LabelSelector | None = None
    ipBlock: IPBlock | None = None

    def problems(self) -> Iterator[Problem]:
        parts = {"podSelector": self.podSelector, "namespaceSelector": self.namespaceSelector, "ipBlock": self.ipBlock}
        present = {name: part for name, part in parts.items() if part is not None}
        for name, part in present.items():
            yield from under(name, part.problems())
        if not present:
            right = "one of podSelector, namespaceSelector and ipBlock"
            yield Problem("podSelector", "", "a peer has to be somebody", right)
        if self.ipBlock is not None and len(present) > 1:
            why = "ipBlock cannot be combined with a podSelector or namespaceSelector"
            yield Problem("ipBlock", self.ipBlock.cidr, why, "make two peers of it")


class KubernetesPort(Port):
    """A number, or a name in quotes; digits in quotes stay in quotes."""


class NetworkPolicyPort(Part, frozen=True, kw_only=True):
    protocol: Literal["TCP", "UDP", "SCTP"] | None = None
    port: KubernetesPort | None = None
    endPort: int | None = None

    def problems(self) -> Iterator[Problem]:
        if self.port is not None and ":" in self.port:
            first, _, last = self.port.partition(":")
            yield Problem("port", self.port, "Kubernetes writes ranges otherwise", f"port: {first}, endPort: {last}")
            return
        yield from outside(self, {"endPort": (1, 65535)})
        if self.endPort is not None and (self.port is None or self.port.is_named or int(self.port) > self.endPort):
            yield Problem("endPort", self.endPort, "a range begins with a number not above its end", "set port too")


class IngressRule(Part, frozen=True, kw_only=True):
    ports: tuple[NetworkPolicyPort, ...] = ()
    from_: tuple[NetworkPolicyPeer, ...] = msgspec.field(default=(), name="from")

    def problems(self) -> Iterator[Problem]:
        yield from _each("ports", self.ports)
        yield from _each("from", self.from_)


class EgressRule(Part, frozen=True, kw_only=True):
    ports: tuple[NetworkPolicyPort, ...] = ()
    to: tuple[NetworkPolicyPeer, ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from _each("ports", self.ports)
        yield from _each("to", self.to)


def _each(name: str, parts: Sequence[NetworkPolicyPort | NetworkPolicyPeer]) -> Iterator[Problem]:
    for index, part in enumerate(parts):
        yield from under(f"{name}[{index}]", part.problems())

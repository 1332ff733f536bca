"""Network sets: addresses outside of the cluster that get labels, so that selectors find them."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.model.errors import Problem
from tortie.model.fields import IPInterface
from tortie.model.resource import Resource, Spec

_RESERVED_LABEL = "projectcalico.org/namespace"


class NetworkSetSpec(Spec, frozen=True, kw_only=True):
    nets: tuple[IPInterface, ...] = ()


class GlobalNetworkSet(Resource, frozen=True, kw_only=True):
    spec: NetworkSetSpec = NetworkSetSpec()

    def problems(self) -> Iterator[Problem]:
        if value := self.metadata.labels.get(_RESERVED_LABEL):
            why = "this label is reserved: Calico sets it from the namespace itself"
            yield Problem(f"metadata.labels.{_RESERVED_LABEL}", value, why, "leave it out")


class NetworkSet(GlobalNetworkSet, frozen=True, kw_only=True):
    """The same within a namespace."""

"""Policies, staged policies, tiers and profiles: who may talk to whom, and in which order that is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from tortie.model.errors import Problem
from tortie.model.fields import Name, Selector
from tortie.model.policy_names import annotated
from tortie.model.resource import Condition, Resource, Spec, label_problems
from tortie.model.resources.checks import misplaced_global, repeated, too_long, too_many, under
from tortie.model.resources.kubernetes import EgressRule, IngressRule, LabelSelector
from tortie.model.resources.rules import Rule, rule_problems
from tortie.model.shape import Part, builtins
from tortie.model.wire import Document

PolicyType = Literal["Ingress", "Egress"]
StagedAction = Literal["", "Set", "Delete", "Learn", "Ignore"]

DEFAULT_TIER = "default"
TIER_LABEL = "projectcalico.org/tier"
DEFAULT_ALLOW_PROFILE = "projectcalico-default-allow"
TIER_ORDER = 1_000_000  # of a tier that names none
# Tiers that every cluster has, with the order and the default action that they keep.
BUILT_IN_TIERS = {
    DEFAULT_TIER: (TIER_ORDER, "Deny"),
    "kube-admin": (1_000, "Pass"),
    "kube-baseline": (10_000_000, "Pass"),
}

_RULES_MAX = 1024
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_POLICY_NAME = re.compile(rf"({_LABEL}\.)?{_LABEL}")
# In etcd, copies of Kubernetes' network policies and of OpenStack's security groups stand among Calico's own.
OF_KUBERNETES = "knp.default."
_COPIED_NAME = re.compile(rf"{_POLICY_NAME.pattern}|(knp|ossg)\.default\..+")
_SELECTORS = ("selector", "serviceAccountSelector", "namespaceSelector")


class PolicySpec(Spec, frozen=True, kw_only=True):
    """What all policies have in common."""

    in_namespace: ClassVar[bool] = True

    tier: Name = Name("")
    order: float | None = None
    ingress: tuple[Rule, ...] = ()
    egress: tuple[Rule, ...] = ()
    selector: Selector = Selector("")
    types: tuple[PolicyType, ...] = ()

    def problems(self) -> Iterator[Problem]:
        selectors = [name for name in _SELECTORS if hasattr(self, name)]
        yield from too_many(self, {"ingress": _RULES_MAX, "egress": _RULES_MAX})
        yield from rule_problems(self.ingress, "ingress", in_namespace=self.in_namespace)
        yield from rule_problems(self.egress, "egress", in_namespace=self.in_namespace)
        yield from repeated("types", self.types)
        yield from misplaced_global(self, *selectors)
        yield from too_long(self, *selectors)
        yield from _order_problems(self.order)


class NetworkPolicySpec(PolicySpec, frozen=True, kw_only=True):
    serviceAccountSelector: Selector = Selector("")
    performanceHints: tuple[Literal["AssumeNeededOnEveryNode"], ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from PolicySpec.problems(self)
        yield from repeated("performanceHints", self.performanceHints)


class GlobalNetworkPolicySpec(PolicySpec, frozen=True, kw_only=True):
    in_namespace = False

    doNotTrack: bool = False
    preDNAT: bool = False
    applyOnForward: bool = False
    serviceAccountSelector: Selector = Selector("")
    namespaceSelector: Selector = Selector("")
    performanceHints: tuple[Literal["AssumeNeededOnEveryNode"], ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from PolicySpec.problems(self)
        yield from repeated("performanceHints", self.performanceHints)
        if self.doNotTrack and self.preDNAT:
            yield Problem("preDNAT", "true", "preDNAT and doNotTrack cannot both be true", "choose one of them")
        if (self.doNotTrack or self.preDNAT) and not self.applyOnForward:
            why = "must be true if either preDNAT or doNotTrack is true"
            yield Problem("applyOnForward", "false", why, "applyOnForward: true")
        if self.preDNAT and self.egress:
            why = "a preDNAT policy has no egress rules"
            yield Problem("egress", f"{len(self.egress)} rules", why, "leave them out")
        if self.preDNAT and "Egress" in self.types:
            yield Problem("types", ", ".join(self.types), "a preDNAT policy is for ingress only", "types: [Ingress]")


class StagedNetworkPolicySpec(NetworkPolicySpec, frozen=True, kw_only=True):
    written_first = ("stagedAction",)
    stagedAction: StagedAction = ""

    def problems(self) -> Iterator[Problem]:
        yield from NetworkPolicySpec.problems(self)
        yield from _deletion_problems(self, self.stagedAction)


class StagedGlobalNetworkPolicySpec(GlobalNetworkPolicySpec, frozen=True, kw_only=True):
    written_first = ("stagedAction",)
    stagedAction: StagedAction = ""

    def problems(self) -> Iterator[Problem]:
        yield from GlobalNetworkPolicySpec.problems(self)
        yield from _deletion_problems(self, self.stagedAction)


class StagedKubernetesNetworkPolicySpec(Spec, frozen=True, kw_only=True):
    stagedAction: StagedAction = ""
    podSelector: LabelSelector = LabelSelector()
    ingress: tuple[IngressRule, ...] = ()
    egress: tuple[EgressRule, ...] = ()
    policyTypes: tuple[PolicyType, ...] = ()

    def problems(self) -> Iterator[Problem]:
        yield from under("podSelector", self.podSelector.problems())
        for index, ingress in enumerate(self.ingress):
            yield from under(f"ingress[{index}]", ingress.problems())
        for index, egress in enumerate(self.egress):
            yield from under(f"egress[{index}]", egress.problems())
        yield from repeated("policyTypes", self.policyTypes)
        yield from _deletion_problems(self, self.stagedAction)


def _deletion_problems(spec: Spec, action: StagedAction) -> Iterator[Problem]:
    """A staged deletion says which policy would go, and nothing else."""
    if action != "Delete":
        return
    for name, value in builtins(spec).items():
        if name not in ("stagedAction", "tier") and value:
            why = "a staged deletion has no other fields than its tier"
            yield Problem(name, "set", why, "leave it out, or stagedAction: Set")


def _order_problems(order: float | None) -> Iterator[Problem]:
    if order is not None and not math.isfinite(order):
        yield Problem("order", order, "is not a number that JSON has", "leave it out to come last")


class _Policy(Resource, frozen=True, kw_only=True):
    @classmethod
    def derive(cls, metadata: Document, spec: Document) -> Document:
        """Its tier as a label, and in an annotation the name as it was given; neither is anybody else's to set."""
        labels = {**(metadata.get("labels") or {}), TIER_LABEL: spec["tier"]}
        return metadata | {"labels": labels, "annotations": annotated(metadata)}

    @classmethod
    def complete(cls, spec: Document) -> Document:
        """A policy governs the directions it has rules for; one without any rules governs ingress."""
        directions = [word for word, rules in (("Ingress", "ingress"), ("Egress", "egress")) if spec.get(rules)]
        return spec | {
            "tier": spec.get("tier") or DEFAULT_TIER,
            "types": spec.get("types") or directions or ["Ingress"],
        }

    names: ClassVar[re.Pattern[str]] = _POLICY_NAME

    def problems(self) -> Iterator[Problem]:
        if not self.names.fullmatch(self.metadata.name):
            right = "letters, digits and -, with at most one dot behind the tier's name"
            yield Problem("metadata.name", self.metadata.name, "is not the name of a policy", right)


class _StagedPolicy(_Policy, frozen=True, kw_only=True):
    @classmethod
    def complete(cls, spec: Document) -> Document:
        if spec.get("stagedAction") == "Delete":
            return spec | {"tier": spec.get("tier") or DEFAULT_TIER, "types": None}
        return _Policy.complete(spec) | {"stagedAction": spec.get("stagedAction") or "Set"}


class NetworkPolicy(_Policy, frozen=True, kw_only=True):
    spec: NetworkPolicySpec = NetworkPolicySpec()
    names = _COPIED_NAME

    def problems(self) -> Iterator[Problem]:
        yield from _Policy.problems(self)
        if self.metadata.name.startswith(OF_KUBERNETES):
            why = "kubernetes network policies must be managed through the kubernetes API"
            yield Problem("metadata.name", self.metadata.name, why, "choose another name, or change it with kubectl")


class GlobalNetworkPolicy(_Policy, frozen=True, kw_only=True):
    spec: GlobalNetworkPolicySpec = GlobalNetworkPolicySpec()


class StagedNetworkPolicy(_StagedPolicy, frozen=True, kw_only=True):
    spec: StagedNetworkPolicySpec = StagedNetworkPolicySpec()
    names = _COPIED_NAME


class StagedGlobalNetworkPolicy(_StagedPolicy, frozen=True, kw_only=True):
    spec: StagedGlobalNetworkPolicySpec = StagedGlobalNetworkPolicySpec()


class StagedKubernetesNetworkPolicy(Resource, frozen=True, kw_only=True):
    spec: StagedKubernetesNetworkPolicySpec = StagedKubernetesNetworkPolicySpec()

    @classmethod
    def complete(cls, spec: Document) -> Document:
        return spec | {"stagedAction": spec.get("stagedAction") or "Set"}


class ProfileSpec(Spec, frozen=True, kw_only=True):
    ingress: tuple[Rule, ...] = ()
    egress: tuple[Rule, ...] = ()
    labelsToApply: dict[str, str] = {}

    def problems(self) -> Iterator[Problem]:
        yield from too_many(self, {"ingress": _RULES_MAX, "egress": _RULES_MAX})
        yield from rule_problems(self.ingress, "ingress", in_namespace=False)
        yield from rule_problems(self.egress, "egress", in_namespace=False)
        yield from label_problems(self.labelsToApply, "labelsToApply")


class Profile(Resource, frozen=True, kw_only=True):
    spec: ProfileSpec = ProfileSpec()

    def problems(self) -> Iterator[Problem]:
        if self.metadata.name == DEFAULT_ALLOW_PROFILE:
            why = "this profile is built in and cannot be changed"
            yield Problem("metadata.name", self.metadata.name, why, "make a profile of another name")


class TierSpec(Spec, frozen=True, kw_only=True):
    order: float | None = None
    defaultAction: Literal["Deny", "Pass"] | None = None

    def problems(self) -> Iterator[Problem]:
        yield from _order_problems(self.order)


class TierStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class Tier(Resource, frozen=True, kw_only=True):
    spec: TierSpec = TierSpec()
    status: TierStatus = TierStatus()

    @classmethod
    def complete(cls, spec: Document) -> Document:
        order = spec.get("order")
        return spec | {
            "order": TIER_ORDER if order is None else order,
            "defaultAction": spec.get("defaultAction") or "Deny",
        }

    def problems(self) -> Iterator[Problem]:
        name = self.metadata.name
        if len(name) > 63 or "." in name:
            right = "at most 63 lower-case letters, digits and -"
            yield Problem("metadata.name", name, "is not the name of a tier", right)
        if name in BUILT_IN_TIERS:
            yield from self._fixed(*BUILT_IN_TIERS[name])

    def _fixed(self, order: float, action: str) -> Iterator[Problem]:
        wanted: tuple[tuple[str, Any, Any], ...] = (
            ("order", TIER_ORDER if self.spec.order is None else self.spec.order, order),
            ("defaultAction", self.spec.defaultAction or "Deny", action),
        )
        for field, value, right in wanted:
            if value != right:
                why = f"the {field} of the tier {self.metadata.name} is fixed"
                yield Problem(f"spec.{field}", value, why, f"{field}: {right}")

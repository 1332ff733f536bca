"""TRT8009: a policy keeps the system's own pods (DNS, controllers, metrics) from the API, while nodes reach it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.firewall.closed_inward import answered_inside, closed_inward, lookups_fail
from tortie.doctor.causes.firewall.system_policies import ISOLATED, Policy, isolating
from tortie.doctor.causes.shared import API_DEADLINE, DIAL_FAILED, DNS_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine
from tortie.doctor.picture.facts import Action, LogLine, Pod, PortTest
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit

PODS: Final = ("coredns", "kube-dns", "calico-kube-controllers", "metrics-server", "calico-apiserver", "dns-autoscaler")
API_PORTS: Final = ("443", "6443")
OWN_FILES: Final = ("plugin/", "kube-controllers/")  # at the head of what CoreDNS and the controllers write
# A packet that a policy drops is not answered; a refusal is somebody's answer.
SILENT: Final = ("timeout", "timed out", "deadline")


class Seen:
    """Policies of the system's namespaces, pods that do not reach the API, and nodes that do."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.policies = isolating(picture)
        self.deleted = [a for a in picture.of(Action) if a.verb == "delete" and not a.failed and self._names_one(a)]

    def _names_one(self, action: Action) -> bool:
        return any(policy.name in action.object.split() for policy in self.policies)

    @cached_property
    def failing(self) -> list[Hit | PortTest]:
        """Pods of the system, by their logs, and trials from inside of pods."""
        pods = {line.place for line in self.picture.of(LogLine) if line.program.startswith(PODS)}
        logged = [
            hit
            for hit in self.picture.hits(DIAL_FAILED, API_DEADLINE)
            if hit.value("port") in API_PORTS and any(word in hit.text.lower() for word in SILENT)
            if hit.place in pods or any(word in hit.line for word in OWN_FILES) or any(p in hit.command for p in PODS)
        ]
        return [*logged, *(test for test in self._tests if test.pod and test.result in ("timeout", "closed"))]

    @cached_property
    def node_answers(self) -> list[PortTest]:
        return [t for t in self._tests if not t.pod and (t.result == "open" or t.result.startswith("http-"))]

    @cached_property
    def node_fails(self) -> list[PortTest]:
        return [t for t in self._tests if not t.pod and t.result in ("timeout", "refused", "unreachable")]

    @cached_property
    def _tests(self) -> list[PortTest]:
        return [test for test in self.picture.of(PortTest) if str(test.port) in API_PORTS]

    @cached_property
    def sick(self) -> list[Pod]:
        pods = [pod for pod in self.picture.pods_now() if pod.name.startswith(PODS)]
        return [pod for pod in pods if pod.containers is not None and not pod.all_ready]

    @property
    def only_pods(self) -> bool:
        """Two kinds of the system's pods are not ready, and agents, which no such policy concerns, are."""
        kinds = {name for name in PODS for pod in self.sick if pod.name.startswith(name)}
        return len(kinds) > 1 and agents_fine(self.picture)

    @property
    def agents_fail(self) -> bool:
        """Agents are no pods to a policy of a namespace: they live in their host's network."""
        agents = [pod for pod in self.picture.agents_now() if is_agent(pod.name)]
        return any(pod.containers is not None and not pod.all_ready for pod in agents)


def taken_away(seen: Seen) -> Finding | None:
    return ruled_out(seen.deleted[:1]) if seen.deleted and not seen.sick else None


def nodes_fail_too(seen: Seen) -> Finding | None:
    if seen.policies and seen.failing and seen.node_fails and not seen.node_answers:
        return ruled_out(seen.node_fails[:1])
    return None


def pods_only(seen: Seen) -> Finding | None:
    """Pods fail, and what the policy says explains it."""
    if not seen.policies or not seen.failing:
        return None
    policy = seen.policies[0]
    if policy.lets == "nothing":
        strength = PROVEN if seen.node_answers else STRONG
    else:
        strength = LIKELY if seen.node_answers else POSSIBLE
    if seen.agents_fail:
        strength = POSSIBLE
    return _found(seen, policy, strength, "" if policy.lets != "unknown" else "policy-not-shown")


def isolated(seen: Seen) -> Finding | None:
    """It is there; whether anything fails by it is not shown."""
    if not seen.policies:
        return None
    policy = seen.policies[0]
    if policy.lets == "nothing" and seen.only_pods:
        return _found(seen, policy, LIKELY, "pods-only")
    return _found(seen, policy, POSSIBLE if seen.sick and policy.lets == "nothing" else HINT, "policy-only")


def dns_closed(seen: Seen) -> Finding | None:
    """Pods of other namespaces ask DNS in vain, and a policy of its namespace lets none of them in."""
    picture = seen.picture
    closed = closed_inward(picture)
    failing = lookups_fail(picture) if closed else []
    if not failing:
        return None
    inside = answered_inside(picture)
    dns = [pod for pod in picture.pods_now("coredns", "kube-dns") if pod.containers is not None]
    well = bool(dns) and all(pod.all_ready for pod in dns)
    who = culprits(named("resource", closed[0].name), Culprit("resource", "NetworkPolicy"))
    return found(STRONG if inside else LIKELY if well else POSSIBLE, who, (closed[0], *failing[:2], *inside[:1]),
                 policy=closed[0].name, policy_kind="NetworkPolicy", policy_namespace=closed[0].namespace)  # fmt: skip


def _found(seen: Seen, policy: Policy, strength: float, say: str) -> Finding:
    kind = "NetworkPolicy" if policy.namespace else "GlobalNetworkPolicy"
    who = culprits(
        named("resource", policy.name), Culprit("resource", kind), named("pod", *(pod.name for pod in seen.sick[:2]))
    )
    evidence = (policy, *seen.failing[:2], *seen.node_answers[:1], *seen.sick[:1])
    return found(strength, who, evidence, say=say, policy=policy.name, policy_kind=kind,
                 policy_namespace=policy.namespace)  # fmt: skip


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    namespace = finding.value("policy_namespace")
    yield do("look") if namespace else do("look-global")
    yield do("allow-dns" if finding.rule == "dns-closed" else "allow")
    yield from ways.remove_policy(picture, finding.value("policy"), namespace)


CAUSE = Cause(
    module=__name__,
    id="networkpolicy-blocks-system-pods",
    code="TRT8009",
    severity="high",
    explains=("api-unreachable", "service-dead", "others-failing", "controllers-failing", "crash-loop", "not-ready",
              "log-errors", "datastore-error", "traffic-dead"),
    signs=(ISOLATED, DIAL_FAILED, API_DEADLINE, DNS_FAILED),
    look=Seen,
    rules=(taken_away, nodes_fail_too, pods_only, dns_closed, isolated),
    fix=fix,
)  # fmt: skip

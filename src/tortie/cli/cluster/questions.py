"""What kubectl is asked for the bundle of a cluster, and where each answer goes. Pure.

Files that `tortie doctor collect` writes too have the same name and the same commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_AGENTS: Final = ("calico-node", "canal", "kube-calico")
# A log that is longer is cut to its end; the answer of one question is bounded as well.
LINES_MAX: Final = 20_000
ANSWER_MAX: Final = 20_000_000
_CNI_LOGS: Final = "/var/log/calico/cni"
_CNI_LOGS_MAX: Final = 10
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_RESOURCE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")

# Kinds of Kubernetes and of those who work with it, listed in full and as a table.
_KINDS: Final = (
    *("configmaps", "daemonsets", "deployments", "endpoints", "endpointslices", "pods", "pv", "pvc", "sc"),
    *("services", "statefulsets", "jobs", "cronjobs", "nodes", "namespaces", "leases"),
    *("networkpolicies.networking.k8s.io", "adminnetworkpolicies.policy.networking.k8s.io"),
    *("baselineadminnetworkpolicies.policy.networking.k8s.io", "apiservices.apiregistration.k8s.io"),
    *("validatingwebhookconfigurations.admissionregistration.k8s.io",),
    *("mutatingwebhookconfigurations.admissionregistration.k8s.io",),
    *("network-attachment-definitions.k8s.cni.cncf.io", "gatewayclasses", "gateways", "httproutes", "grpcroutes"),
    *("tcproutes", "tlsroutes", "udproutes", "referencegrants", "backendlbpolicies", "backendtlspolicies"),
    *("elasticsearches", "kibanas", "prometheuses", "alertmanagers"),
)
# What no cluster is without; others are asked only where the API server knows them.
_ALWAYS: Final = frozenset(_KINDS[: _KINDS.index("leases") + 1])

_ON_A_NODE: Final = (
    ("ip-addr", ("ip", "addr")),
    ("ip-addr", ("ip", "-d", "link")),
    ("ip-route", ("ip", "route", "show", "table", "all")),
    ("ip-route", ("ip", "rule")),
    ("ip-route", ("ip", "neigh")),
    ("ip-route", ("ip", "-6", "route", "show", "table", "all")),
    ("rules", ("nft", "-n", "-a", "list", "ruleset")),
    ("rules", ("iptables-legacy-save", "-c")),
    ("rules", ("iptables-nft-save", "-c")),
    ("rules", ("ipset", "list")),
    ("rules", ("conntrack", "-S")),
    ("network", ("tc", "qdisc", "show")),
    ("network", ("bpftool", "prog", "list")),
    ("network", ("bpftool", "map", "list")),
)
_OF_BPF: Final = (
    *("conntrack dump", "ipsets dump", "nat dump", "nat aff", "routes dump", "counters dump", "arp dump"),
    *("ifstate dump", "conntrack stats"),
)


class Question(NamedTuple):
    part: str  # the file of the bundle, without .txt
    words: tuple[str, ...]  # behind `kubectl`
    optional: bool = False  # a refusal is an answer, and nothing that is missing


class Pod(NamedTuple):
    """A pod of Calico's, as far as it decides what is asked of it."""

    namespace: str
    name: str
    node: str
    component: str  # what made it: all pods of a DaemonSet or Deployment have the same
    containers: tuple[str, ...]
    is_well: bool

    @property
    def is_agent(self) -> bool:
        return self.name.startswith(_AGENTS) and "calico-node" in self.containers


def of_cluster() -> Iterator[Question]:
    """The first ones are those that a ticket has, too."""
    yield Question("cluster/nodes", ("version",))
    yield Question("cluster/nodes", ("get", "nodes", "-o", "wide"))
    yield Question("cluster/pods", ("get", "pods", "-A", "-o", "wide"))
    yield Question("cluster/pods", ("get", "ds", "-A"))
    yield Question("cluster/pods", ("get", "endpoints", "kubernetes"), True)
    yield Question("cluster/events", ("get", "events", "-A", "--sort-by=.lastTimestamp"))
    yield Question("cluster/tigerastatus", ("get", "tigerastatus", "-o", "yaml"), True)


def of_kinds(known: Iterable[str], calico: Iterable[str]) -> Iterator[Question]:
    """`known`: resources that the API server serves, by any of their names; `calico`: those that are Calico's."""
    there = set(known)
    for kind in _KINDS:
        if kind in _ALWAYS or kind in there:
            yield Question(f"cluster/kubernetes/{kind}", ("get", kind, "-A", "-o", "wide"))
            if kind not in ("namespaces", "pv", "sc"):
                yield Question(f"cluster/kubernetes/{kind}-yaml", ("get", kind, "-A", "-o", "yaml"))
    for kind in sorted(set(calico)):
        yield Question(f"cluster/crd/{kind}", ("get", kind, "-A", "-o", "yaml"))


def of_pod(pod: Pod, since: str) -> Iterator[Question]:
    inside = ("-n", pod.namespace)
    yield Question(f"cluster/describe/{pod.name}", (*inside, "describe", "pod", pod.name))
    times = (f"--since={since}",) if since else ()
    for container in pod.containers:
        log = (*inside, "logs", pod.name, "-c", container, f"--tail={LINES_MAX}")
        yield Question(f"cluster/logs/{pod.name}", (*log, *times))
        yield Question(f"cluster/logs/{pod.name}", (*log, *times, "-p"), True)


def of_agent(pod: Pod) -> Iterator[Question]:
    """What the node itself says, asked in the agent's container, which is in the node's network."""
    for part, words in _ON_A_NODE:
        yield Question(f"nodes/{pod.node}/{part}", _inside(pod, *words), True)


def of_bpf(pod: Pod) -> Iterator[Question]:
    """Only where there is something of it: elsewhere each of them is one more refusal."""
    for words in _OF_BPF:
        yield Question(f"nodes/{pod.node}/bpf", _inside(pod, "calico-node", "-bpf", *words.split()), True)


def cni_logs(pod: Pod) -> Question:
    return Question(f"nodes/{pod.node}/cni-logs", _inside(pod, "ls", "-t", _CNI_LOGS), True)


def of_cni_logs(pod: Pod, listing: str) -> Iterator[Question]:
    """The newest ones of those that `cni_logs` has listed."""
    names = [name for name in listing.split("\n") if _FILE.fullmatch(name)]
    for name in names[:_CNI_LOGS_MAX]:
        words = _inside(pod, "tail", "-c", str(ANSWER_MAX // 10), f"{_CNI_LOGS}/{name}")
        yield Question(f"nodes/{pod.node}/cni-logs/{name}", words, True)


def has_bpf(answer: str) -> bool:
    return re.search(r"^\d+:.*name cali", answer, re.MULTILINE) is not None


def names_of(answer: str) -> list[str]:
    """Resources in the answer of `api-resources -o name` or `get crd -o name`: what is no name is passed over."""
    words = (line.strip().removeprefix("customresourcedefinition.apiextensions.k8s.io/") for line in answer.split("\n"))
    return [word for word in words if _RESOURCE.fullmatch(word)]


def is_calicos(resource: str) -> bool:
    group = resource.partition(".")[2]
    return "projectcalico" in group or "tigera" in group


def _inside(pod: Pod, *words: str) -> tuple[str, ...]:
    return ("-n", pod.namespace, "exec", pod.name, "-c", "calico-node", "--", *words)

"""TRT0010: the operator takes a manifest's installation over, node by node, and does not come to the end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.release.operator_evidence import degraded, reason_in, well_now
from tortie.doctor.picture.facts import Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

LABEL: Final = Sign("migration-label", '(operator-node-migration(")?(=|: )(")?)pre-operator')
PATCH: Final = Sign("migration-patch", "Patch NodeSelector with: <list>operator-node-migration<rest>")
FAILED: Final = Sign("migration-failed", "error migrating resources to calico-system<rest>")
UNSUPPORTED: Final = Sign(
    "migration-unsupported", "Existing Calico installation can not be managed by Tigera Operator<rest>"
)
NOT_READY: Final = Sign("migration-not-ready", "node DaemonSet is not ready with the updated nodeSelector<rest>")
WAITING: Final = Sign("migration-waiting", "waiting for kube-system/calico-node to have <n> replicas<rest>")
COMPLETE: Final = Sign("migration-complete", "Namespace migration complete")
NOTHING: Final = Sign("migration-nothing-new", "No resources found in calico-system namespace")
KEY: Final = "operator-node-migration"
_VALUE: Final = "pre-operator"
_WORDS: Final = "error migrating resources to calico-system"
_UNSUPPORTED: Final = "Existing Calico installation can not be managed"
_PLEASE: Final = "Please update your existing Calico install config"
_TYPED: Final = ("grep", "kubectl", "k get")
_LINES: Final = 2_000  # of one list of nodes
HOUR_S: Final = 3600.0
MANY: Final = 20  # restarts; an operator that ends all the time begins again and again


class Seen:
    """Labels that the operator gave, what it says while it waits, and what runs in both namespaces."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.nodes = {node.name: node.place for node in picture.nodes_now().values() if _unmigrated(node)}
        self.nodes |= _in_column(picture)
        counted = [number for number in picture.numbers(KEY, _VALUE) if number.value > 0]
        printed = [hit for hit in picture.hits(LABEL) if not any(word in hit.line for word in _TYPED)]
        self.labels: list[object] = [*self.nodes.values(), *counted, *printed, *picture.hits(PATCH)]
        sick = degraded(picture)
        self.stated = [one for one in sick if one.message.startswith((_WORDS, _UNSUPPORTED))]
        self.failed = picture.hits(FAILED, NOT_READY)
        self.unsupported = picture.hits(UNSUPPORTED)
        self.waiting = picture.hits(WAITING)
        self.complete = picture.hits(COMPLETE)
        self.nothing = picture.hits(NOTHING)
        self.operators = picture.pods_now("tigera-operator")

    @cached_property
    def new(self) -> bool:
        """Agents in the new namespace."""
        return any(pod.namespace == "calico-system" for pod in self.picture.agents_now())

    @property
    def lasts(self) -> bool:
        """A migration takes minutes; the operator has been there for longer."""
        return any((pod.age_s or 0.0) >= HOUR_S for pod in self.operators)

    @property
    def agents_sick(self) -> bool:
        return any(pod.containers is not None and not pod.all_ready for pod in self.picture.agents_now())

    @cached_property
    def reason(self) -> str:
        for one in self.stated:
            said = one.message.removeprefix(_WORDS).rpartition(_PLEASE)[2]
            return said.strip(": ")
        hits: list[Hit] = [*self.unsupported, *self.failed]
        told = (reason_in(hit).rpartition(_PLEASE)[2].strip(": ") for hit in reversed(hits))
        return next((said for said in told if said), "")

    def found(self, strength: float, evidence: tuple[object, ...]) -> Finding:
        who = culprits(
            Culprit("setting", KEY),
            named("node", *list(self.nodes)[:4]),
            Culprit("program", "tigera-operator"),
        )
        restarts = max((pod.restarts or 0 for pod in self.operators), default=0)
        again = str(restarts) if restarts >= MANY else ""
        return found(strength, who, (*evidence, *self.operators[:1]), reason=self.reason, restarts=again)


def _unmigrated(node: Node) -> bool:
    return dict(node.labels).get(f"projectcalico.org/{KEY}") == _VALUE


def _in_column(picture: Picture) -> dict[str, Place]:
    """`kubectl get nodes -L projectcalico.org/operator-node-migration` has the label as its last column."""
    found = {}
    for exhibit in picture.exhibits:
        head = next((at for at, line in enumerate(exhibit.lines[:_LINES]) if line.rstrip().endswith(KEY.upper())), None)
        for at, line in enumerate(exhibit.lines[:_LINES]):
            words = line.split()
            if head is not None and at > head and len(words) > 2 and words[-1] == _VALUE:
                found[words[0]] = exhibit.place(at)
    return found


def at_its_end(seen: Seen) -> Finding | None:
    """The operator says so, or it is well and no node waits any more."""
    well = well_now(seen.picture, "calico") if not seen.nodes else []
    ended = seen.complete or (well if seen.labels or seen.failed else [])
    return ruled_out(ended[:1]) if ended and not seen.stated else None


def not_supported(seen: Seen) -> Finding | None:
    stated = [one for one in seen.stated if one.message.startswith(_UNSUPPORTED)]
    if not stated and not seen.unsupported:
        return None
    who = culprits(Culprit("program", "tigera-operator"), Culprit("resource", "installation/default"))
    return found(PROVEN if stated else STRONG, who, stated[:1] or seen.unsupported[-1:], reason=seen.reason)


def fails(seen: Seen) -> Finding | None:
    if not seen.stated and not seen.failed:
        return None
    strength = PROVEN if (seen.stated or seen.labels) and seen.lasts else STRONG
    evidence = (*seen.stated[:1], *seen.failed[-1:], *seen.labels[:1])
    # The operator waits for agents that have a trouble of their own: where that has a name, it is the cause.
    return seen.found(LIKELY if seen.agents_sick else strength, evidence)


def does_not_begin(seen: Seen) -> Finding | None:
    """All nodes still wait, nothing is in the new namespace, and the operator has had time."""
    if not seen.labels or seen.new or not seen.lasts:
        return None
    evidence = (*seen.labels[:2], *seen.nothing[:1], *seen.waiting[-1:])
    if seen.agents_sick:
        return seen.found(LIKELY, evidence)
    return seen.found(PROVEN if seen.nothing else STRONG, evidence)


def does_not_end(seen: Seen) -> Finding | None:
    if not (seen.labels or seen.waiting):
        return None
    strength = LIKELY if seen.lasts and seen.nodes and not seen.agents_sick else POSSIBLE
    return seen.found(strength, (*seen.labels[:2], *seen.waiting[-1:]))


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    if finding.rule == "not-supported":
        yield do("convert")
        return
    yield do("see")
    yield do("log")
    if finding.value("restarts"):
        yield do("restarts")
    yield do("old")
    yield do("typha")


CAUSE = Cause(
    module=__name__,
    id="operator-migration-stuck",
    code="TRT0010",
    severity="medium",
    explains=("operator-degraded", "restarts", "status-stale", "log-errors", "pod-pending"),
    signs=(LABEL, PATCH, FAILED, UNSUPPORTED, NOT_READY, WAITING, COMPLETE, NOTHING),
    look=Seen,
    rules=(at_its_end, not_supported, fails, does_not_begin, does_not_end),
    fix=fix,
    yields_to=("installation-invalid", "image-pull-failed", "typha-port-blocked", "rbac-forbidden"),
)

"""TRT1007: calico-node, the CNI plugin and kubelet call one host by different names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, conflicts, same_host
from tortie.doctor.causes.nodes.installations import restarted, uses_etcd
from tortie.doctor.causes.nodes.node_names import (
    NAME_SIGNS,
    Called,
    by_agent,
    by_cni,
    by_file,
    drains_by_old_flag,
    old_record,
    split_names,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.picture.facts import CalicoNode
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

NO_NODE: Final = Sign("trt1007-no-node", "failed to get node for host <rest>")
NOT_MADE: Final = Sign("trt1007-node-not-made", "operation Create is not supported on Node\\(<name>\\)")
NOT_THERE: Final = Sign("trt1007-node-not-there", "resource does not exist: Node\\(<name>\\) with error")


class Seen:
    """Names in Calico's records, in Kubernetes, in CNI configurations and in files."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.recorded = picture.calico_nodes()
        pods = picture.agents() or picture.pods_now()
        self.known = list(picture.nodes_now()) or list(dict.fromkeys(pod.node for pod in pods if pod.node))
        self.lookups = picture.hits(NO_NODE)
        self.cni = by_cni(picture)
        self.agent = by_agent(picture)

    @cached_property
    def twice(self) -> list[tuple[str, str]]:
        """A short and a full name of one host, both recorded."""
        return split_names(self.recorded)

    @cached_property
    def pinned(self) -> list[Called]:
        """Names that something other than Kubernetes uses for a host."""
        others = (*self._looked_up(), *by_file(self.picture)) if self.known else ()
        return [call for call in (*self.cni, *others) if self._differs(call)]

    def _looked_up(self) -> list[Called]:
        """Names under which the datastore was asked for a node that it does not have."""
        hits = [hit for hit in self.picture.hits(NOT_THERE, NOT_MADE) if "\\n" not in hit.value("name")]
        return [Called(hit.value("name"), "lookup", "", hit) for hit in hits]

    def _differs(self, call: Called) -> bool:
        """The name is not the one that Kubernetes or calico-node has for the same host."""
        if call.name.lower() in (name.lower() for name in self.known):
            return self._is_anothers(call)
        names = [*self.known, *(other.name for other in self.agent), *self.recorded]
        if any(name != call.name and same_host(name, call.name) for name in names):
            return True
        # Two full names of one host differ by their domains.
        first = call.name.lower().partition(".")[0]
        if call.by == "lookup" and any(name.lower().partition(".")[0] == first for name in self.known):
            return True
        if self._is_nobodys(call):
            return True
        of_a_node = bool(call.host) and any(same_host(call.host, name) for name in names)
        return of_a_node and not same_host(call.host, call.name)

    def _is_nobodys(self, call: Called) -> bool:
        """Endpoints are stored under a name of the CNI configuration that no node of Kubernetes has."""
        if call.by != "cni" or len(self.known) < 2:
            return False
        tables = [*self.picture.commands("workloadendpoint"), *self.picture.commands("get wep")]
        return any(call.name in line.split() for exhibit in tables for line in exhibit.lines[1:])

    def _is_anothers(self, call: Called) -> bool:
        """A configuration that was copied from one node to another has the first one's name."""
        there = [name for name in self.known if call.host and same_host(call.host, name)]
        return call.by == "cni" and bool(there) and not same_host(call.host, call.name)

    @cached_property
    def names(self) -> tuple[str, str]:
        """The wrong one, and the node's own; that is empty where nothing says it."""
        if self.pinned:
            wrong, host = self.pinned[0].name, self.pinned[0].host
            first = wrong.lower().partition(".")[0]
            alike = [name for name in self.known if name.lower().partition(".")[0] == first]
            right = next((name for name in self.known if same_host(name, wrong) or same_host(name, host)), "")
            right = right or next(iter(alike), "")
            return wrong, right or next((long for short, long in self.twice if short == wrong), host)
        short, long = self.twice[0]
        return (long, short) if short in self.known and long not in self.known else (short, long)

    @property
    def strength(self) -> float:
        if self.twice and self.pinned:
            return PROVEN
        if self.pinned:
            return STRONG if self.known or self.agent else POSSIBLE
        # A record alone may be a relic of an earlier name.
        beside = [name for name in self.recorded if self.known and name not in self.known]
        extra = any(same_host(name, node) for name in beside for node in self.known)
        return STRONG if extra and len(self.known) > 1 else LIKELY


def address_conflict(seen: Seen) -> Finding | None:
    reported = conflicts(seen.picture)
    return ruled_out(reported[:1]) if reported and not seen.pinned else None


def renamed(seen: Seen) -> Finding | None:
    """The other name is only a record of before."""
    names = None if seen.pinned else old_record(seen.picture)
    if names is None:
        return None
    records = [node for node in seen.picture.of(CalicoNode) if node.name in names]
    return ruled_out(records[:2], other=names[0], node=names[1])


def two_names(seen: Seen) -> Finding | None:
    if not (seen.twice or seen.pinned):
        return None
    wrong, right = seen.names
    blamed = culprits(
        named("node", wrong, right),
        named("setting", "nodename", "NODENAME"),
        named("file", "10-calico.conf" if seen.pinned else ""),
    )
    records = [node for node in seen.picture.of(CalicoNode) if node.name in (wrong, right)]
    calls = [call.source for call in (*seen.pinned, *seen.agent)]
    return found(
        seen.strength,
        blamed,
        (*calls, *records, *seen.lookups[:1]),
        say="" if right else "foreign-name",
        wrong=wrong,
        right=right,
        node=right,
        by=seen.pinned[0].by if seen.pinned else "record",
    )


def looked_up(seen: Seen) -> Finding | None:
    return found(POSSIBLE, named("setting", "nodename"), seen.lookups[:1]) if seen.lookups else None


def same_names(seen: Seen) -> Finding | None:
    same = seen.recorded and seen.known and set(seen.recorded) <= set(seen.known)
    return ruled_out(seen.picture.of(CalicoNode)[:2]) if same else None


def cni_has_nodes_name(seen: Seen) -> Finding | None:
    right = seen.cni and seen.known and all(call.name in seen.known for call in seen.cni)
    return ruled_out(call.source for call in seen.cni) if right else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    node, by = finding.value("node"), finding.value("by")
    operator, in_template = has_operator(picture), by in ("cni", "")
    if not operator and (by != "cni" or by_agent(picture)):
        yield do("take-name")
    if not operator and in_template:
        yield do("cni-template")
    if operator or in_template:  # at its start the agent writes the CNI configuration and the file with its name anew
        yield from restarted(picture, node)
    if _recorded(picture, finding.value("wrong")):
        yield do("remove")
    yield do("recreate-before-1-20" if drains_by_old_flag(picture) else "recreate")


def _recorded(picture: Picture, name: str) -> bool:
    """Only Calico's own records can be of a name that Kubernetes does not have."""
    recorded = picture.calico_nodes()
    return uses_etcd(picture) is not False and (not recorded or name in recorded)


def _by_cni(picture: Picture, finding: Finding) -> bool:
    del picture
    return finding.value("by") == "cni"


CAUSE = Cause(
    module=__name__,
    id="nodename-mismatch",
    code="TRT1007",
    severity="high",
    explains=("traffic-dead", "others-failing", "service-dead", "sandbox-failed", "crash-loop", "no-address"),
    signs=(*SHARED_SIGNS, *NAME_SIGNS, NO_NODE, NOT_THERE, NOT_MADE),
    look=Seen,
    rules=(address_conflict, renamed, two_names, looked_up, same_names, cni_has_nodes_name),
    fix=fix,
    prevents={"no-names": _by_cni},
)

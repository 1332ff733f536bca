"""TRT1009: two hosts run under one Calico name and take turns owning its record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, same_host
from tortie.doctor.causes.nodes.booked_pods import booked_at_home, booked_elsewhere
from tortie.doctor.causes.nodes.foreign_names import foreign_names
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, NODENAME_FILE, STORED_NAME, by_agent, by_file
from tortie.doctor.causes.nodes.shared_records import one_tunnel, turns, unnamed
from tortie.doctor.causes.nodes.trt1004_node_ip_changed import CHANGED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import CalicoNode, Interface, Pod, Route, Setting
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at

_SEVERAL: Final = lazily(
    r"\b(?:two|both|2) (?:\w+ )?(?:hosts|machines|nodes|vms|servers)|in turns?\b|take turns|alternat|"
    r"(?:两|2) ?(?:台|个)|轮流|交替",
    re.I,
)
# A name behind the resource, or a filter: then others may be there.
_NAMED: Final = lazily(
    r"\bget\s+no(?:des?)?(?:\s+(?!-)[a-z0-9]|[^|]{0,200}\|\s*(?:grep|egrep|head|tail|awk|sed)\b)|\s-l\b"
)
_YOUNG: Final = 120.0  # seconds
_VARIABLE: Final = Culprit("setting", "NODENAME")
_FILE: Final = Culprit("file", NODENAME_FILE)


class Seen:
    """What tells of two hosts under one name."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.changed = picture.hits(CHANGED)
        self.cloned = picture.said("cloned-vm")
        self.stored = picture.hits(STORED_NAME)
        self.fixed = [call for call in by_agent(picture) if call.by == "calico-node"]
        self.files = by_file(picture)

    @cached_property
    def tunnels(self) -> list[Interface]:
        return one_tunnel(self.picture)

    @cached_property
    def fewer(self) -> list[str]:
        """Nodes of Kubernetes that have no record in Calico although its list is shown."""
        recorded = [node.name for node in self.picture.of(CalicoNode)]
        nodes = [name for name, node in self.picture.nodes_now().items() if node.status]
        if not recorded or len(nodes) <= len(set(recorded)):
            return []
        return [name for name in nodes if name not in recorded]

    @cached_property
    def records(self) -> list[CalicoNode]:
        """Calico's nodes where their list is whole: a name or a filter in the command leaves some out."""
        shown: dict[str, CalicoNode] = {}
        for one in self.picture.of(CalicoNode):
            exhibit = exhibit_at(self.picture, one.place)
            if exhibit and _NAMED.search(exhibit.command):
                return []
            shown[one.name] = one
        return list(shown.values())

    @cached_property
    def ready(self) -> list[Pod]:
        """Agents that are ready, one of each node: every one of them has registered under some name."""
        agents = {pod.node: pod for pod in self.picture.agents_now() if pod.node and pod.all_ready}
        return list(agents.values())

    @cached_property
    def alone(self) -> list[Setting]:
        """No peer at all, though there are other nodes: who has one name is one node, and needs none."""
        shown = [setting for setting in self.picture.settings("ipv4-peers", "calicoctl") if setting.value == "none"]
        return [] if self.picture.sessions() else shown

    @cached_property
    def one_block(self) -> list[Pod]:
        """Pods of several nodes with addresses of one block, which belongs to one node."""
        hosts = set(self.picture.internal_ips().values())
        pods = [pod for pod in self.picture.pods_now() if pod.ip and pod.node and pod.ip not in hosts]
        pods = [pod for pod in pods if not on_host_network(pod.name)]
        blocks = [r.destination for r in self.picture.of(Route) if r.kind == "blackhole" and "/" in r.destination]
        for block in blocks:
            inner = {pod.node: pod for pod in pods if inside(pod.ip, block)}
            if len(inner) > 1:
                return list(inner.values())[:2]
        return []

    @cached_property
    def same_name(self) -> list[str]:
        """What several machines call themselves, where nothing else tells them apart."""
        names = [one.name for one in self.records]
        return [name for name in names if unnamed(name)]


def foreign_name(seen: Seen) -> Finding | None:
    foreign = next(iter(foreign_names(seen.picture)), None)
    if foreign is None:
        return None
    sure = seen.tunnels or seen.fewer or seen.changed or seen.cloned or seen.stored
    return found(
        PROVEN if sure else STRONG,
        culprits(named("node", foreign.name, foreign.host), _FILE, _VARIABLE),
        (*seen.cloned[:1], foreign.source, *seen.stored[:1], *seen.tunnels, *seen.changed[:1]),
        name=foreign.name,
        host=foreign.host,
        node=foreign.host,
        by="file" if seen.stored else foreign.by,
    )


def booked(seen: Seen) -> Finding | None:
    """Addresses of one node's pods are booked for another one, which is there as well."""
    picture = seen.picture
    known = {*picture.nodes_now(), *picture.calico_nodes(), *(pod.node for pod in picture.of(Pod) if pod.node)}
    strays = booked_elsewhere(picture)
    if not strays:
        return None
    stray = next((one for one in strays if any(same_host(one.name, node) for node in known)), strays[0])
    other = any(same_host(stray.name, node) for node in known)
    twice = [pod for pod in picture.pods_now() if _same_address(picture, pod, stray.pod)]
    sure = seen.cloned or seen.stored or twice
    return found(
        (PROVEN if sure else STRONG) if other else LIKELY if sure else POSSIBLE,
        culprits(named("node", stray.host, stray.name), _FILE, named("pod", *(one.pod for one in strays[:3]))),
        (*stray.places, *twice[:1], *seen.cloned[:1], *seen.stored[:1]),
        name=stray.name, host=stray.host, node=stray.host, by="file", pod=stray.pod, pod_namespace=stray.namespace,
        over="yes" if booked_at_home(picture, stray.host) else "",
    )  # fmt: skip


def _same_address(picture: Picture, pod: Pod, name: str) -> bool:
    mine = next((one.ip for one in picture.pods_now() if one.name == name), "")
    return bool(mine) and pod.ip == mine and pod.name != name


def only_host(seen: Seen) -> Finding | None:
    """A stored name that is not the name of the only host on which anything was typed; kubectl reaches other hosts."""
    picture, stored = seen.picture, seen.stored
    logged = picture.hits(NODE_NAME, NODE_USED)
    hosts = {exhibit.host for exhibit in picture.exhibits if exhibit.host}
    own = {setting.value for setting in picture.settings("name", "host")}
    one_host = len(hosts) == 1 and len(own) == 1 and not any(pod.node for pod in picture.agents())
    if not stored or not logged or not one_host:
        return None
    name, host = logged[-1].value("name"), own.pop()
    # A host that was renamed keeps its stored name as well: then it is one host with two names.
    if same_host(name, host) or picture.said("hostname-changed") or not same_host(host, hosts.pop()):
        return None
    told = picture.said("complains", "cloned-vm")
    both = [one for one in told if one.kind == "cloned-vm" or _SEVERAL.search(one.text)]
    return found(
        LIKELY if both else POSSIBLE,
        culprits(named("node", name, host), _FILE, _VARIABLE),
        (stored[0], logged[-1], *picture.settings("name", "host")[:1], *both[:1]),
        name=name,
        host=host,
        node=host,
        by="file",
    )


def shared_tunnel(seen: Seen) -> Finding | None:
    if not seen.tunnels:
        return None
    first, second = (link.host for link in seen.tunnels)
    address = seen.tunnels[0].addresses[0]
    return found(
        STRONG,
        culprits(named("node", first, second), named("address", address), _FILE, _VARIABLE),
        (*seen.tunnels, *seen.changed[:1]),
        name=first,
        host=second,
        node=second,
        address=address,
    )


def address_changes(seen: Seen) -> Finding | None:
    if not seen.changed:
        return None
    blamed = culprits(named("node", *seen.fewer, *(call.name for call in seen.fixed)), _VARIABLE, _FILE)
    named_so = [hit for hit in seen.picture.hits(NODE_NAME, NODE_BUILT, NODE_USED) if unnamed(hit.value("name"))]
    sure = seen.fewer or seen.cloned or seen.stored or named_so
    return found(LIKELY if sure else POSSIBLE, blamed, (*seen.changed[:2], *seen.stored[:1], *seen.cloned))


def one_record(seen: Seen) -> Finding | None:
    """More agents are ready than there are names: some of them share one."""
    if not seen.records or len(seen.ready) <= len(seen.records) or _tried_anew(seen):
        return None
    proofs = [bool(seen.alone) and len(seen.records) == 1, seen.one_block, seen.cloned, seen.same_name, seen.stored]
    told = sum(map(bool, proofs))
    nodes = {pod.node for pod in seen.ready}
    shared = [one for one in seen.records if one.name not in nodes] or seen.records[:1]
    strength = PROVEN if told > 1 else STRONG if told else LIKELY
    first = shared[0]
    evidence = (first, *seen.ready[:2], *seen.alone[:1], *seen.one_block, *seen.cloned[:1], *seen.stored[:1])
    absent = [pod.node for pod in seen.ready if pod.node not in {one.name for one in seen.records}]
    return found(
        strength, culprits(named("node", first.name, *absent[:3]), _VARIABLE, _FILE), evidence,
        shared=first.name, records=len(seen.records), agents=len(seen.ready), same="yes" if seen.same_name else "",
    )  # fmt: skip


def _tried_anew(seen: Seen) -> bool:
    """An agent that started while the list was made is not in it yet."""
    return any(pod.age_s is not None and pod.age_s < _YOUNG for pod in seen.ready)


def by_turns(seen: Seen) -> Finding | None:
    """One record that has another address each time it is shown, each that of a machine that is there."""
    turn = next(iter(turns(seen.picture)), None)
    if turn is None:
        return None
    told = seen.cloned or seen.changed or seen.stored or turn.both or unnamed(turn.name)
    sure = turn.back or (turn.both and told)
    if not (sure or told):
        return None  # a machine with two cards, or a new lease, has two addresses as well
    blamed = culprits(named("node", turn.name), named("address", *turn.addresses[:2]), _VARIABLE, _FILE)
    evidence = (*turn.shown[:3], *seen.changed[:1], *seen.cloned[:1])
    return found(
        STRONG if sure else LIKELY, blamed, evidence,
        shared=turn.name, addresses=list(turn.addresses[:3]), same="yes" if unnamed(turn.name) else "",
    )  # fmt: skip


def fewer_records(seen: Seen) -> Finding | None:
    if not seen.fewer:
        return None
    told = seen.stored or seen.fixed
    strength = LIKELY if told and seen.cloned else POSSIBLE if seen.cloned or seen.stored else HINT
    blamed = culprits(named("node", *seen.fewer[:3]), _VARIABLE, _FILE)
    return found(strength, blamed, (*seen.stored[:1], *seen.cloned), absent=seen.fewer[:3])


def own_names(seen: Seen) -> Finding | None:
    own = seen.files and all(not call.host or same_host(call.host, call.name) for call in seen.files)
    return ruled_out(call.source for call in seen.files) if own else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    by, name = finding.value("by"), finding.value("name")
    host = finding.value("host")
    if not by or finding.value("over"):
        yield do("compare")
    if finding.value("same"):
        yield do("own-name")
    if by != "agent" and not finding.value("over"):
        yield do("remove-file")
    if by != "file" and not has_operator(picture):
        yield do("take-names")
    if finding.rule == "booked":
        if not finding.value("over"):
            yield from ways.restart_agent(picture, host)
        yield do("recreate")
        return
    yield from ways.restart_agent(picture, host) if host else (do("restart"),)
    yield from ways.restart_agent(picture, name) if name else (do("restart-original"),)


def _copied(picture: Picture, finding: Finding) -> bool:
    return finding.value("by") == "file" or bool(picture.said("cloned-vm"))


def _written(picture: Picture, finding: Finding) -> bool:
    del picture
    return finding.value("by") == "agent"


CAUSE = Cause(
    module=__name__,
    id="duplicate-nodename",
    code="TRT1009",
    severity="high",
    explains=(
        "not-ready", "bgp-down", "bird-not-ready", "traffic-dead", "others-failing", "crash-loop", "start-terminated",
        "service-dead",
    ),
    signs=(*NAME_SIGNS, CHANGED, NODE_NAME, NODE_BUILT, NODE_USED),
    look=Seen,
    rules=(
        foreign_name, booked, only_host, shared_tunnel, by_turns, one_record, address_changes, fewer_records, own_names,
    ),
    fix=fix,
    prevents={"template": _copied, "manifest": _written},
)  # fmt: skip

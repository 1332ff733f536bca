"""TRT3010: two installations of Calico run on one host and fight for ports, rules and routes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of, sick_names
from tortie.doctor.causes.agent.trt3006_port_9099_conflict import IN_USE, OTHER_BIRD, OURS, PORTS
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Listener, Process, Setting, Workload
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit

INSTALLS: Final = ("calico-node", "canal", "canal-node", "kube-calico")
OPERATORS: Final = "calico-system/"  # where the operator puts its own
_FELIX: Final = lazily(r"(?:^|/)calico-felix\b|calico-node -felix\b|(?:^|/)felix\b")
_NO_FELIX: Final = lazily(r"\b(?:runsv|grep|svlogd|exec|live|ready)\b")


class Seen:
    """Everything that would show two of them: processes, DaemonSets, pods, containers, ports."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.birds = picture.hits(OTHER_BIRD)
        self.bound = [hit for hit in picture.hits(IN_USE) if _port(hit) in PORTS]
        listening = picture.of(Listener)
        self.owners = [one for one in listening if str(one.port) in PORTS and one.program]
        self.own = _in_the_way(picture, self.owners, self.bound)
        self.felixes = _felixes(picture)
        self.sets = _daemonsets(picture)
        self.node, self.installs, self.pods = _agents_of_one_node(picture)
        boxes = _containers_of_one_host(picture)
        self.orphan = _orphan(picture, boxes)
        self.boxes = sorted(boxes, key=lambda box: box is not self.orphan)
        self.said = picture.said("two-installs")

    @cached_property
    def proofs(self) -> int:
        held = bool(self.own and self.bound)
        several = (len(self.felixes) > 1, len(self.sets) > 1)
        return sum((bool(self.birds), held, *several, bool(self.node), bool(self.boxes), bool(self.said)))

    @property
    def decisive(self) -> bool:
        """Both were seen on one host."""
        seen_twice = len(self.felixes) > 1 or bool(self.own and self.bound) or bool(self.node) or bool(self.boxes)
        return seen_twice or bool(self.birds and (len(self.sets) > 1 or self.bound))

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        processes = [f"{process.pid}" for process in self.felixes[1:] if process.pid]
        hosts = [*(process.host for process in self.felixes[:1]), self.node]
        names = [*self.pods, *hosts_of(self.picture, *self.birds[:1], *self.bound[:1]), *sick_names(self.picture)]
        return culprits(
            *((Culprit("container", box.name), *named("pod", box.owner)) for box in self.boxes),
            named("resource", *self.sets),
            named("program", *processes, "calico-felix" if self.felixes or self.own else ""),
            named("node", *hosts),
            named("resource", *self.installs),
            as_culprits(names),
            named("program", "bird" if self.birds else ""),
            named("port", *(f"{owner.port}/tcp" for owner in self.own[:1])),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        rows = [row for row in self.picture.of(Workload) if _full_name(row) in self.sets]
        seen_twice = (*rows[:2], *self.felixes[:2], *self.birds[:1], *self.own[:1])
        return (*seen_twice, *self.boxes[:2], *self.bound[:1], *self.said[:1])

    @property
    def which(self) -> list[str]:
        return self.sets or ([f"{len(self.felixes)} calico-felix"] if len(self.felixes) > 1 else [])


def another_program(seen: Seen) -> Finding | None:
    foreign = any(owner not in seen.own for owner in seen.owners)
    return ruled_out(seen.owners[:1]) if not seen.proofs and seen.bound and foreign else None


def taken_by_unknown(seen: Seen) -> Finding | None:
    return found(POSSIBLE / 2, seen.culprits, seen.bound[:1]) if seen.bound and not seen.proofs else None


def two_instances(seen: Seen) -> Finding | None:
    if not seen.proofs:
        return None
    if seen.decisive or seen.birds:
        strength = PROVEN if seen.decisive and seen.proofs > 1 else STRONG
    else:
        strength = LIKELY if sick_names(seen.picture) else POSSIBLE
    orphan, boxes = seen.orphan, seen.boxes
    namespace, _, name = _to_delete(seen.sets).partition("/")
    return found(
        strength, seen.culprits, seen.evidence, which=seen.which, several="yes" if seen.sets else "",
        node=boxes[0].host if boxes else node_of(seen.picture, seen.culprits), containers=[box.name for box in boxes],
        container_id=orphan.name if orphan else "", runtime=_runtime(seen.picture, orphan) if orphan else "",
        second_namespace=namespace, second=name,
    )  # fmt: skip


def _port(hit: Hit) -> str:
    return hit.value("where").rpartition(":")[2]


def _in_the_way(picture: Picture, owners: list[Listener], bound: list[Hit]) -> list[Listener]:
    """Ports that Calico has; who has another port, or the port of another host, is in nobody's way."""
    own = [owner for owner in owners if any(word in owner.program.lower() for word in OURS)]
    if not bound:
        return own
    where, ports = hosts_of(picture, *bound), {_port(hit) for hit in bound}
    return [one for one in own if str(one.port) in ports and not (where and one.host and one.host not in where)]


def _felixes(picture: Picture) -> list[Process]:
    """Felix processes of the host that has most of them; supervisors and greps are none."""
    every = picture.of(Process)
    running = [one for one in every if _FELIX.search(one.command) and not _NO_FELIX.search(one.command)]
    listings: dict[tuple[str, object], dict[int | None, Process]] = {}
    for process in running:  # who is in two listings one after the other may have been restarted in between
        exhibit = exhibit_at(picture, process.place)
        listing = (process.host, exhibit.place(0) if exhibit else None)
        listings.setdefault(listing, {})[process.pid] = process
    most = max(listings.values(), key=len, default={})
    return [] if _one_for_each_node(picture, list(most.values())) else list(most.values())


def _one_for_each_node(picture: Picture, running: list[Process]) -> bool:
    """Nodes that are containers of one machine, which is no node itself: it sees the agents of all."""
    nodes = {pod.node for pod in picture.agents_now() if pod.node}
    host = running[0].host.lower() if running else ""
    known = {name.lower().split(".")[0] for name in (*nodes, *picture.nodes_now())}
    return bool(host) and host.split(".")[0] not in known and len(running) == len(nodes) > 1


def _full_name(row: Workload) -> str:
    return f"{row.namespace}/{row.name}".strip("/")


def _daemonsets(picture: Picture) -> list[str]:
    """DaemonSets that bring an agent, as namespace/name, when there are several with pods."""
    sets = [row for row in picture.of(Workload) if row.kind.lower().startswith(("daemonset", "ds"))]
    names = dict.fromkeys(_full_name(row) for row in sets if row.name in INSTALLS and row.desired != 0)
    bare = {name.rpartition("/")[2] for name in names if "/" in name}  # a listing without the column repeats it
    several = [name for name in names if "/" in name or name not in bare]
    return several if len(several) > 1 else []


def _to_delete(sets: list[str]) -> str:
    """The one beside the operator's, which the operator would only make again; else nobody can tell from here."""
    others = [name for name in sets if not name.startswith(OPERATORS)]
    return others[0] if len(others) == 1 and len(sets) > 1 and "/" in others[0] else ""


def _agents_of_one_node(picture: Picture) -> tuple[str, list[str], list[str]]:
    """The node, the installations and the pods, where two agents of different installations run."""
    by_node: dict[str, dict[str, str]] = {}
    for pod in picture.pods_now():
        if is_agent(pod.name) and pod.node and pod.status == "Running":
            install = f"{pod.namespace}/{pod.name.rpartition('-')[0]}"
            by_node.setdefault(pod.node, {})[install] = pod.name
    for node, installs in by_node.items():
        if len(installs) > 1:
            return node, list(installs), list(installs.values())
    return "", [], []


def _containers_of_one_host(picture: Picture) -> list[Setting]:
    """Running agent containers of different pods on one host."""
    by_host: dict[str, dict[str, Setting]] = {}
    for box in picture.of(Setting):
        if box.scope == "runtime-id" and box.host and is_agent(box.value):
            by_host.setdefault(box.host, {})[box.owner or box.name] = box
    return next((list(boxes.values()) for boxes in by_host.values() if len(boxes) > 1), [])


def _orphan(picture: Picture, boxes: list[Setting]) -> Setting | None:
    """The one that the API does not know, where it was asked. Who is stopped by mistake takes the node's network."""
    known = {pod.name for pod in picture.pods_now()}
    listed = any(box.owner in known for box in boxes)
    gone = [box for box in boxes if (listed and box.owner not in known) or _searched_in_vain(picture, box.owner)]
    return gone[0] if len(gone) == 1 else None


def _searched_in_vain(picture: Picture, pod: str) -> bool:
    """Somebody looked for this pod in the API, and nothing came."""
    for exhibit in (*picture.commands("get pod", "grep"), *picture.commands("get po ", "grep")):
        word = exhibit.command.rpartition("grep")[2].strip(" '\"")
        if word and word in pod and not any(line.strip() for line in exhibit.lines):
            return True
    return False


def _runtime(picture: Picture, box: Setting) -> str:
    """Whose listing the container stands in: docker's, or one of the CRI's."""
    for exhibit in picture.commands("docker ps"):
        lines = {exhibit.number(index) for index in range(len(exhibit.lines))}
        if exhibit.source == box.place.source and box.place.first in lines:
            return "docker"
    return "crictl"


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    containers = bool(dict(finding.values).get("containers"))
    if containers:
        if not finding.value("container_id"):
            yield do("which")
        yield do("orphan-docker" if finding.value("runtime") == "docker" else "orphan")
    if finding.value("several") or not containers:
        yield do("delete")
    yield from restart_agent(picture, finding.value("node") if containers else "")


CAUSE = Cause(
    module=__name__,
    id="duplicate-calico-instance",
    code="TRT3010",
    severity="medium",
    explains=("not-ready", "felix-not-ready", "bird-not-ready", "crash-loop", "restarts", "bgp-down", "log-errors"),
    signs=(IN_USE, OTHER_BIRD),
    look=Seen,
    rules=(another_program, taken_by_unknown, two_instances),
    fix=fix,
)

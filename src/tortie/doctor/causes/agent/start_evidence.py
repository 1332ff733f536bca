"""What ended a start-up: what killed it, what the probes said, and how long each step took."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.culprits import Culprit
from tortie.doctor.causes.shared import PROBE_FAILED, STARTED, TERMINATING
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container, Event, LogLine, Pod, Probe, Workload
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.health.window import ProbeWindow
from tortie.model.tuples import NamedTuple

KILLED: Final = Sign("start-liveness-killed", "failed liveness probe")  # both wordings of kubelet's event
CRASH_LOOP: Final = Sign("start-crash-loop", "CrashLoopBackOff")
KEY_READ: Final = Sign("start-key-read", "Get Key: /calico/<key>")  # one read of the address check, logged at DEBUG
NODE_NAMED: Final = Sign("start-node-named", "Determined node name: <node>")
START_SIGNS: Final = (KILLED, CRASH_LOOP, KEY_READ, NODE_NAMED, PROBE_FAILED, STARTED, TERMINATING)

USUAL_WINDOW: Final = ProbeWindow(10.0, 10.0, 6)  # what Calico's manifests carry when nobody shows the probe
GRACE_S: Final = 35.0  # probe jitter, time-outs and the pod's termination grace come on top of the window
_CONTINUED: Final = lazily(r"(?:calico|Get |dial |command|felix|bird|BGP |OCI |rpc |HTTP |Error|error|20\d\d-)", re.I)
_JSON_TEXT: Final = lazily(r'(?:[^"\\]|\\.)*')  # up to the end of a quoted value
_POD: Final = lazily(r"\b((?:calico-node|canal|kube-calico|calico-typha|calico-kube-controllers)-[a-z0-9-]*[a-z0-9])")


class ProbeFailure(NamedTuple):
    kind: str  # liveness, readiness, startup
    text: str  # what follows the colon
    hit: Hit


def window(picture: Picture) -> tuple[Probe | None, ProbeWindow]:
    """The agent's liveness probe, and the time it leaves for a start."""
    probe = picture.probe("liveness")
    return (probe, ProbeWindow(probe.initial_delay_s, probe.period_s, probe.failure)) if probe else (None, USUAL_WINDOW)


def probe_failures(picture: Picture, kind: str = "") -> list[ProbeFailure]:
    """What kubelet says of failed probes. An empty text stays empty unless the next line continues it."""
    failures = []
    for hit in picture.hits(PROBE_FAILED):
        word = hit.text.split()[0].lower()
        if (kind and word != kind) or of_another(picture, hit):
            continue
        text = re.split(r"probe failed:", hit.line, maxsplit=1, flags=re.I)[-1]
        if '"message"' in hit.line and (value := _JSON_TEXT.match(text)):
            text = value[0]
        text = text.strip(" \"',}")
        if not text:
            after = line_after(picture, hit.place)
            text = after if _CONTINUED.match(after) else ""
        failures.append(ProbeFailure(word, text, hit))
    return failures


def line_after(picture: Picture, place: Place) -> str:
    """The line below a place, of the same exhibit."""
    for exhibit in picture.exhibits:
        if exhibit.source != place.source:
            continue
        numbers = exhibit.numbers or range(exhibit.first, exhibit.first + len(exhibit.lines))
        if numbers and numbers[0] <= place.last < numbers[-1] and place.last in numbers:
            return exhibit.lines[numbers.index(place.last) + 1].strip()
    return ""


def lines_before(picture: Picture, place: Place, count: int = 2) -> str:
    """The lines above a place, lower-case: a heading or the first half of a wrapped event."""
    above = []
    for exhibit in picture.exhibits:
        if exhibit.source == place.source:
            for index, line in enumerate(exhibit.lines):
                if place.first - count <= exhibit.number(index) < place.first:
                    above.append(line.lower())
    return "\n".join(above)


def kills(picture: Picture) -> list[Hit]:
    """Kubelet's own word that liveness killed a container; a remark of prose counts as well."""
    killed = [hit for hit in picture.hits(KILLED) if not of_another(picture, hit)]
    return [hit for hit in killed if not _of_a_pod_that_is_gone(picture, hit)]


def _of_a_pod_that_is_gone(picture: Picture, hit: Hit) -> bool:
    """Events outlive their pod by an hour. Told only where the pods of all nodes are listed."""
    named = _POD.search(hit.line)
    agents = picture.agents_now()
    served, nodes = {pod.node for pod in agents}, set(picture.nodes_now())
    complete = bool(nodes) and nodes <= served
    return bool(named and complete and is_agent(named[1]) and named[1] not in {pod.name for pod in agents})


def crash_looping(picture: Picture) -> bool:
    if any(pod.status == "CrashLoopBackOff" or (pod.restarts or 0) > 1 for pod in picture.agents_now()):
        return True
    said = picture.hits(CRASH_LOOP)
    if picture.agents_now():  # then the rows of other pods are shown as well
        said = [hit for hit in said if "calico" in hit.line or "canal" in hit.line]
    return bool(said or kills(picture))


def settled(picture: Picture) -> list[Pod]:
    """The agent's pods when all are ready and none ever restarted: whatever events say is history then."""
    pods = picture.agents_now()
    calm = pods and all(pod.all_ready and pod.restarts == 0 for pod in pods)
    return pods if calm and not unready(picture) else []


def unready(picture: Picture) -> list[Workload]:
    """The agent's DaemonSet as last shown, when it counts fewer ready pods than it wants: some rows are not shown."""
    sets = {row.name: row for row in picture.of(Workload) if is_agent(row.name)}
    return [row for row in sets.values() if (row.ready or 0) < (row.desired or 0)]


def lifetimes(picture: Picture) -> list[tuple[Container, float]]:
    """How long each agent's container lived before it was ended, where describe says both times."""
    return [
        (container, container.last_finished - container.last_started)
        for container in picture.containers(init=False)
        if container.last_started is not None
        and container.last_finished is not None
        and (is_agent(container.pod) or "calico" in container.name)
    ]


def started_to_killed(picture: Picture) -> list[tuple[Event, float]]:
    """From `Started container calico-node` to its kill by liveness, by the ages of events that were each seen once.

    Of the same pod, as far as the events say whose they are.
    """
    started = [event for event in picture.events("Started") if "calico-node" in event.message and event.count == 1]
    return [
        (killed, begin.age_s - killed.age_s)
        for killed in picture.events("Killing")
        for begin in started
        if "liveness" in killed.message and killed.count == 1 and begin.age_s is not None and killed.age_s is not None
        if not (begin.object and killed.object) or begin.object == killed.object
    ]


def fits(seconds: float, budget: ProbeWindow) -> bool:
    """Whether something that ended after so long was ended by this window."""
    return 0.8 * budget.kill_after_s <= seconds <= budget.kill_after_s + budget.period_s + GRACE_S


class Gap(NamedTuple):
    """How long something took that normally takes a second."""

    container: str
    seconds: float
    begin: Event | Pod
    end: Event | Container


def created_to_started(picture: Picture) -> list[Gap]:
    """From `Created container x` to `Started container x` by the ages of the events; ages are rounded to their unit."""
    gaps = []
    created = {(event.object, event.message.split()[-1]): event for event in picture.events("Created") if event.message}
    for event in picture.events("Started"):
        name = event.message.split()[-1] if event.message else ""
        begin = created.get((event.object, name))
        if begin and begin.age_s is not None and event.age_s is not None and begin.count == event.count == 1:
            gaps.append(Gap(name, begin.age_s - event.age_s, begin, event))
    return gaps


def pod_to_container(picture: Picture) -> list[Gap]:
    """From a pod's start to that of its first init container, when that one never restarted."""
    gaps = []
    starts = {pod.name: pod for pod in picture.of(Pod) if pod.started is not None}
    seen: set[str] = set()
    for container in picture.containers():
        pod = starts.get(container.pod)
        if pod is None or container.pod in seen:
            continue
        seen.add(container.pod)
        if container.started is not None and pod.started is not None and not container.restarts:
            gaps.append(Gap(container.name, container.started - pod.started, pod, container))
    return gaps


def stuck_inits(picture: Picture) -> list[Container]:
    """Init containers that are running although they normally end within seconds, and never restarted."""
    return [box for box in picture.containers(init=True) if box.state == "Running" and not box.restarts]


def pods_named(hit: Hit | None) -> list[str]:
    """Pods of Calico that a hit's line or command names."""
    if not hit:
        return []
    if hit.line.lstrip().startswith("{") and '"items"' in hit.line:  # a list of objects on one line: the one it is in
        return _POD.findall(hit.line.partition(hit.text)[0])[-1:]
    return _POD.findall(f"{hit.line} {hit.command}")


def hosts_of(picture: Picture, *hits: Hit | None) -> list[str]:
    """Nodes and pods behind hits: where they were printed, which pods they name, and where those run."""
    names: list[str] = []
    wanted = {(hit.place.source, hit.place.first) for hit in hits if hit}
    if not wanted:
        return names
    rows = {pod.name: pod for pod in picture.of(Pod) if pod.node}
    lines = {at: line for line in picture.of(LogLine) if (at := (line.place.source, line.place.first)) in wanted}
    for hit in hits:
        if hit is None:
            continue
        pods = pods_named(hit)
        line = lines.get((hit.place.source, hit.place.first))
        names += [rows[pod].node for pod in pods if pod in rows]
        names += [line.host, line.pod] if line else []
        names += [*pods, hit.host if "kubectl" not in hit.command else ""]
    return [name for name in dict.fromkeys(names) if name and name not in _desks(picture)]


@remembered
def _desks(picture: Picture) -> frozenset[str]:
    """Machines where kubectl was typed, and where none of the agents runs that are shown with their nodes."""
    nodes = {pod.node.lower() for pod in picture.agents_now() if pod.node}
    shown = {*nodes, *(name.lower() for name in picture.nodes_now()), *(ip for ip in picture.internal_ips().values())}
    typed = {exhibit.host for exhibit in picture.exhibits if exhibit.host and "kubectl" in exhibit.command}
    return frozenset(host for host in typed if nodes and not _is_one_of(host.lower(), shown))


def _is_one_of(host: str, names: set[str]) -> bool:
    return any(host.partition(".")[0] == name.partition(".")[0] or host in name for name in names)


def as_culprits(names: Iterable[str]) -> tuple[Culprit, ...]:
    """Names of nodes and of agents' pods, each as what it is."""
    return tuple(Culprit("pod" if _POD.fullmatch(name) else "node", name) for name in names if name)


def node_of(picture: Picture, some: Iterable[Culprit]) -> str:
    """The node to go to: one that the cluster knows, else the first host that is named where no node is known."""
    names = [one.name for one in some if one.kind == "node"]
    known = {*picture.nodes_now(), *(pod.node for pod in picture.agents_now() if pod.node)}
    return next((name for name in names if name in known), names[0] if names and not known else "")


def sick_agents(picture: Picture) -> list[Pod]:
    """Agents that are not ready now or restart, the worst first."""
    sick = [pod for pod in picture.agents_now() if not pod.all_ready or (pod.restarts or 0) > 1]
    return sorted(sick, key=lambda pod: (pod.all_ready, -(pod.restarts or 0)))


def sick_names(picture: Picture) -> list[str]:
    """Their nodes, then their names."""
    sick = sick_agents(picture)
    return list(dict.fromkeys([*(pod.node for pod in sick if pod.node), *(pod.name for pod in sick)]))


def nodes_named(picture: Picture) -> list[str]:
    """Nodes as their start-up logs name them."""
    return list(dict.fromkeys(hit.value("node") for hit in picture.hits(NODE_NAMED)))

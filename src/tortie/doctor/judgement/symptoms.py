"""Everything abnormal in a picture, each to be explained by a cause; what is over is told apart from what is now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from tortie.doctor.causes.nodes.bgp_evidence import Complaint, complaints, mesh_off, no_peers, session_node
from tortie.doctor.causes.shared import DIAL_FAILED, SYMPTOMS, TERMINATING
from tortie.doctor.diagnosis import Symptom
from tortie.doctor.judgement.grave_lines import HARMLESS
from tortie.doctor.judgement.passing import Passing, is_settled
from tortie.doctor.judgement.standing import Standing, live, ready
from tortie.doctor.picture.facts import Condition, Container, Event, LogLine, Pod, Setting, Workload
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words

ELSEWHERE = "elsewhere"  # seen, and no business of the network
_SYSTEM = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator")
_MANY, _A_DAY = 10, 3.0  # restarts that are more than history
_FILTERS = ("grep", "field-selector", "head", "tail", "awk", "sed")
_POD_OF_KUBELET = re.compile(r"\b([a-z0-9][a-z0-9.-]*)_[a-z0-9-]+\([0-9a-f-]{36}\)")  # name_namespace(uid)
_PULL = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName")
SAID = {
    "cross-node-dead": ("traffic-dead", Words("pods on different nodes cannot reach each other", "跨节点的 Pod 不通")),
    "ping-works-tcp-not": ("traffic-dead", Words("ping crosses nodes, TCP does not", "跨节点 ping 通，TCP 不通")),
    "large-packets-stall": ("traffic-dead", Words("large transfers stall", "大包传输卡住")),
    "service-dead": ("service-dead", Words("services do not answer", "Service 访问不通")),
    "nodeport-dead": ("service-dead", Words("a NodePort does not answer on some nodes", "部分节点上 NodePort 不通")),
    "pods-stuck": ("sandbox-failed", Words("new pods get no network", "新建的 Pod 起不来")),
    "keeps-restarting": ("restarts", Words("containers restart again and again", "容器反复重启")),
    "network-dead": ("traffic-dead", Words("pods have no network", "Pod 网络不通")),
    "host-pod-dead": ("traffic-dead", Words("hosts and pods cannot reach each other", "主机与 Pod 互相不通")),
    "network-lost-sometimes": ("traffic-dead", Words("pods lose the network now and then", "Pod 网络时断时续")),
}


def symptoms(picture: Picture, standing: Standing) -> list[Symptom]:
    """In the order a person would tell them: pods, nodes, sessions, messages, complaints."""
    return [
        *_pods(picture, standing),
        *_workloads(picture),
        *_restless(picture),
        *_uncovered(picture),
        *_operator(picture),
        *_nodes(picture),
        *_sessions(picture, standing),
        *_containers(picture, standing),
        *_events(picture, standing),
        *_logs(picture, standing),
        *_messages(picture, standing),
        *_members(picture),
        *_said(picture),
    ]


def kind_of(pod: Pod) -> str:
    """What a pod's row complains about; empty when it does not."""
    status = pod.status
    if any(word in status for word in _PULL):
        return "image-pull"
    if status.startswith("Init:"):
        return "init-crash" if "Error" in status or "CrashLoop" in status else "init-stuck"
    if "CrashLoopBackOff" in status or status in ("Error", "RunContainerError", "OOMKilled"):
        return "crash-loop"
    if status == "Evicted":
        return "evicted"
    if status == "Terminating":
        return "terminating-stuck"
    if status == "Pending":
        return "pod-pending"
    if status == "ContainerCreating":
        return "sandbox-failed"
    if status == "Running" and pod.ready is not None and not pod.all_ready:
        return "not-ready"
    return ""


def _pods(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    by_kind: dict[tuple[str, bool], list[Pod]] = {}
    for pod in live(picture.pods_now()):
        kind = _told(pod, standing)
        if kind:
            by_kind.setdefault((kind, is_agent(pod.name)), []).append(pod)
    for (kind, _), pods in sorted(by_kind.items(), key=lambda item: not item[0][1]):
        names = ", ".join(pod.name for pod in pods[:4]) + (" …" if len(pods) > 4 else "")
        state = pods[0].status + (f" {pods[0].ready}/{pods[0].containers}" if pods[0].containers is not None else "")
        text = Words(f"{names}: {state}", f"{names}：{state}")
        yield Symptom(kind, text, _few(pods), tuple(pod.name for pod in pods))


def _told(pod: Pod, standing: Standing) -> str:
    """The same, by whose pod it is: trouble of an application may have nothing to do with its network.

    An application that ends by itself while all that was shown of the network is well is one of those.
    """
    kind = kind_of(pod)
    if is_agent(pod.name) or not kind:
        return kind
    applications = ("pod-pending", "image-pull", "evicted", *(("crash-loop",) if standing.well else ()))
    if pod.namespace and pod.namespace not in _SYSTEM and kind in applications:
        return ELSEWHERE
    if kind in ("crash-loop", "not-ready"):
        return "controllers-failing" if "calico" in pod.name else "others-failing"
    return kind


def _workloads(picture: Picture) -> Iterator[Symptom]:
    for workload in picture.of(Workload):
        current, desired = workload.current, workload.desired
        if is_agent(workload.name) and desired is not None and workload.ready is not None and workload.ready < desired:
            ready_ones = f"{workload.ready}/{desired}"
            text = Words(f"{workload.name}: {ready_ones} ready", f"{workload.name}：{ready_ones} 就绪")
            yield Symptom("not-ready", text, (workload.place,), (workload.name,))
        if is_agent(workload.name) and current is not None and desired is not None and current < desired:
            short = f"{current}/{desired}"
            text = Words(f"{workload.name}: {short} pods exist", f"{workload.name}：只有 {short} 个 Pod")
            yield Symptom("pod-not-created", text, (workload.place,), (workload.name,))


def _restless(picture: Picture) -> Iterator[Symptom]:
    """Agents that are ready at this moment, and are restarted all the time."""
    for pod in live(picture.agents_now()):
        count, age_s = pod.restarts or 0, pod.age_s or 0.0
        if ready(pod) and age_s and count >= _MANY and count / age_s * 86_400 > _A_DAY:
            text = Words(f"{pod.name}: {count} restarts", f"{pod.name}：重启 {count} 次")
            yield Symptom("restarts", text, (pod.place,), (pod.name, pod.node))


def _uncovered(picture: Picture) -> Iterator[Symptom]:
    """Ready nodes on which a whole list of agents has none."""
    agents = [pod for pod in picture.agents_now() if pod.node]
    filtered = {
        place.source: exhibit
        for exhibit in picture.exhibits
        for place in (pod.place for pod in agents)
        if place.source == exhibit.source and exhibit.number(0) <= place.first <= exhibit.number(0) + len(exhibit.lines)
        if any(word in exhibit.command for word in _FILTERS)
    }
    nodes = [node for node in picture.nodes_now().values() if node.status == "Ready"]
    if len(agents) < 2 or filtered or len(nodes) <= len(agents):
        return
    served = {pod.node for pod in agents}
    missing = [node for node in nodes if node.name not in served]
    if missing and len(missing) < len(nodes) / 2:
        names = ", ".join(node.name for node in missing[:4])
        text = Words(f"no agent is shown on {names}", f"{names} 上没有 calico-node")
        yield Symptom("pod-not-created", text, _few(missing), tuple(node.name for node in missing))


def _operator(picture: Picture) -> Iterator[Symptom]:
    for setting in picture.of(Setting):
        if setting.scope == "tigerastatus" and ("degraded=True" in setting.value or "available=False" in setting.value):
            text = Words(
                f"tigerastatus {setting.name}: {setting.value}", f"tigerastatus {setting.name}：{setting.value}"
            )
            yield Symptom("operator-degraded", text, (setting.place,), (setting.name,))


def _nodes(picture: Picture) -> Iterator[Symptom]:
    bad = [node for node in picture.nodes_now().values() if "NotReady" in node.status]
    if bad:
        names = ", ".join(node.name for node in bad[:4])
        yield Symptom("node-not-ready", Words(f"{names}: NotReady", f"{names}：NotReady"), _few(bad),
                      tuple(node.name for node in bad))  # fmt: skip
    for condition in picture.of(Condition):
        wrong = condition.kind == "Ready" and condition.status in ("False", "Unknown")
        if wrong and condition.owner in picture.nodes_now():
            text = f"{condition.owner}: Ready={condition.status} {condition.reason} {condition.message}".strip()
            yield Symptom("node-not-ready", Words(text, text), (condition.place,), (condition.owner,))
        elif condition.kind.endswith("Pressure") and condition.status == "True":
            text = f"{condition.owner}: {condition.kind}"
            yield Symptom("evicted", Words(text, text), (condition.place,), (condition.owner,))


def _sessions(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    down = picture.sessions_down()
    if down:
        told = "; ".join(f"{s.peer} {s.state} {s.info}".strip() for s in down[:3]) + (" …" if len(down) > 3 else "")
        where = next((s.host for s in down if s.host), "")
        text = Words(f"BGP sessions not established: {told}", f"BGP 会话未建立：{told}")
        peers = tuple(s.peer for s in down) + ((where,) if where else ())
        yield Symptom("bgp-down", text, _few(down), peers, since=min((s.since for s in down if s.since), default=""))
    elif not picture.sessions() and mesh_off(picture) and (none := no_peers(picture)):
        text = Words("no node has a BGP peer, and the mesh is off", "没有任何节点有 BGP 对等体，且 mesh 已关闭")
        yield Symptom("bgp-down", text, _few(none))
    elif hits := picture.hits("bgp-not-established"):
        told_of = complaints(picture)
        over = standing.agents_well or (bool(picture.sessions()) and all(_up_now(picture, one) for one in told_of))
        told = hits[-1].text
        yield Symptom("bgp-down", Words(told, told), _few(hits), (hits[-1].value("peers"),), current=not over)


def _up_now(picture: Picture, complaint: Complaint) -> bool:
    """A table that may be of the node that complains shows every peer that it complains about to be up."""
    tables: dict[str, set[str]] = {}
    nodes: dict[str, str] = {}
    for (owner, peer), session in picture.sessions_now().items():
        nodes[owner] = session_node(picture, session)
        if session.state == "up":
            tables.setdefault(owner, set()).add(peer)
    return any(
        set(complaint.peers) <= up and (not complaint.node or nodes[owner] in ("", complaint.node))
        for owner, up in tables.items()
    )


def elsewhere(picture: Picture, standing: Standing) -> set[str]:
    """Names of pods whose trouble is their own."""
    return {pod.name for pod in live(picture.pods_now()) if _told(pod, standing) == ELSEWHERE}


def _containers(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    others = elsewhere(picture, standing)
    for container in picture.of(Container):
        if container.pod in others:
            continue
        if (container.last_reason and container.last_reason != "Completed") or container.reason == "CrashLoopBackOff":
            told = container.last_reason or container.reason
            code = f" ({container.last_exit_code})" if container.last_exit_code is not None else ""
            text = Words(f"{container.name} ended before: {told}{code}", f"{container.name} 上次退出：{told}{code}")
            kind = "crash-loop" if container.reason == "CrashLoopBackOff" else "restarts"
            yield Symptom(kind, text, (container.place,), (container.pod, container.name), current=not container.ready)
        elif container.init and container.state == "Running" and not container.ready:
            text = Words(f"init container {container.name} is still running", f"初始化容器 {container.name} 仍在运行")
            yield Symptom("init-stuck", text, (container.place,), (container.pod, container.name))


def _events(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    seen: dict[str, list[Place]] = {}
    words: dict[str, str] = {}
    longest: dict[str, Event] = {}
    current: set[str] = set()
    passing = Passing(picture, standing)
    for event in picture.events():
        kind = _event_kind(event.reason, event.message)
        pod = passing.pod(event)
        if kind and pod is not None and _told(pod, standing) == ELSEWHERE:
            kind = ELSEWHERE
        if kind:
            if not passing.is_past(event):
                current.add(kind)
            seen.setdefault(kind, []).append(event.place)
            words[kind] = _cut(event.message, 160)
            if (event.over_s or 0.0) >= (longest[kind].over_s or 0.0 if kind in longest else 0.0):
                longest[kind] = event
    for kind, where in seen.items():
        since = _lasting(longest[kind])
        yield Symptom(kind, Words(words[kind], words[kind]), tuple(where[:3]), current=kind in current, since=since)


def _lasting(event: Event) -> str:
    """How long an event has been repeating, as kubectl writes it: 6d2h (x52551)."""
    seconds = event.over_s or event.age_s
    if not seconds:
        return ""
    parts = [(seconds // size, unit) for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))]
    first = next((number for number, (count, _) in enumerate(parts) if count), 3)
    days = int(parts[first][0])
    rest = int(seconds % (86_400, 3_600, 60, 1)[first])
    smaller = (3_600, 60, 1, 1)[first]
    more = f"{rest // smaller}{'hmss'[first]}" if first < 3 and rest // smaller else ""
    times = f" (x{event.count})" if event.count > 1 else ""
    return f"{days}{parts[first][1]}{more}{times}"


def _event_kind(reason: str, message: str) -> str:
    if reason == "Unhealthy" or "probe failed" in message:
        if "Liveness" in message:
            return "killed-by-liveness"
        return "bird-not-ready" if "BIRD" in message else "felix-not-ready" if "felix" in message else "not-ready"
    if "failed liveness probe" in message:
        return "killed-by-liveness"
    return {
        "FailedCreatePodSandBox": "sandbox-failed",
        "FailedKillPod": "terminating-stuck",
        "FailedCreate": "pod-not-created",
        "FailedScheduling": "pod-pending",
        "FailedMount": "init-stuck",
        "Evicted": "evicted",
        "BackOff": "crash-loop" if "restarting" in message else "image-pull",
        "NodeNotReady": "node-not-ready",
    }.get(reason, "image-pull" if reason == "Failed" and "pull" in message.lower() else "")


def _logs(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    ended = [hit for hit in picture.hits(TERMINATING) if hit.line.rstrip().endswith("Terminating")]
    if ended:
        text = Words("start-up gave up (Terminating)", "启动流程自行终止（Terminating）")
        yield Symptom("start-terminated", text, _few(ended), current=not standing.agents_well)
    dials = [hit for hit in picture.hits(DIAL_FAILED) if hit.value("port") in ("443", "6443")]
    if dials:
        failing = any(kind_of(pod) for pod in picture.pods_now() if "calico" in pod.name)
        over = standing.agents_well and not failing and not any(hit.command.startswith("curl") for hit in dials)
        told = dials[-1].text
        yield Symptom("api-unreachable", Words(told, told), _few(dials), (dials[-1].value("ip"),), current=not over)
    others = elsewhere(picture, standing)
    fatal = [
        line
        for line in picture.of(LogLine)
        if line.level in ("FATAL", "PANIC", "ERROR") and not HARMLESS.search(line.message)
        if not any(name in line.message for name in others) and not _of_another_life(line, picture, standing)
    ]
    if fatal:
        # The last of the worst tells most.
        worst = [line for line in fatal if line.level != "ERROR"] or fatal
        told = _cut(worst[-1].message, 200)
        settled = all(is_settled(line, picture, standing) for line in worst[-3:])
        over = settled or Passing(picture, standing).is_history(line.place for line in worst)
        yield Symptom("log-errors", Words(told, told), (worst[-1].place,), current=not over)


def _of_another_life(line: LogLine, picture: Picture, standing: Standing) -> bool:
    """What a kubelet said of a pod that is gone, while the pods that are there are well."""
    named = _POD_OF_KUBELET.search(line.message)
    return bool(named and standing.well and named[1] not in {pod.name for pod in picture.pods_now()})


def _messages(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    passing = Passing(picture, standing)
    past = [event.place for event in picture.events() if passing.is_past(event)]
    for kind, signs in SYMPTOMS.items():
        hits = picture.hits(*signs)
        if hits:
            told = hits[-1].text
            over = standing.agents_well and kind in ("datastore-error", "typha-down")
            left = [hit.place for hit in hits if not _in_the_past(hit.place, past)]
            left = [place for place in left if not passing.started_since(place)]
            over = over or not left or passing.is_history(left)
            yield Symptom(kind, Words(told, told), _few(hits), current=not over)


def _members(picture: Picture) -> Iterator[Symptom]:
    """What etcd's members answer to who asks them now; agents that are well live on what they know."""
    latest = {setting.name: setting for setting in picture.of(Setting) if setting.scope == "etcd"}
    sick = [setting for setting in latest.values() if setting.value != "healthy"]
    if sick:
        told = ", ".join(f"{setting.name} is {setting.value}" for setting in sick[:3])
        yield Symptom("datastore-error", Words(told, told), _few(sick), tuple(setting.name for setting in sick[:3]))


def _in_the_past(place: Place, past: list[Place]) -> bool:
    return any(place.source == one.source and one.first <= place.first <= one.last for one in past)


def _said(picture: Picture) -> Iterator[Symptom]:
    for kind, (symptom, text) in SAID.items():
        statements = picture.said(kind)
        if statements:
            yield Symptom(symptom, text, _few(statements))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"


class _Placed(Protocol):
    @property
    def place(self) -> Place: ...


def _few(facts: Sequence[_Placed]) -> tuple[Place, ...]:
    return tuple(fact.place for fact in facts[:3])

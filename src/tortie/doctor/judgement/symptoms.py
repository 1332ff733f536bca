"""Everything abnormal in a picture, each to be explained by a cause; what is over is told apart from what is now."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import places
from tortie.doctor.causes.datastore.etcd_evidence import brief_elections, leaders_lost
from tortie.doctor.causes.nodes.bgp_evidence import Complaint, complaints, mesh_off, no_peers, session_node
from tortie.doctor.causes.nodes.reflectors import gap
from tortie.doctor.causes.shared import DIAL_FAILED, SYMPTOMS, TERMINATING
from tortie.doctor.diagnosis import Symptom
from tortie.doctor.judgement.complaints import is_over
from tortie.doctor.judgement.grave_lines import HARMLESS
from tortie.doctor.judgement.meant_trials import only_pinged
from tortie.doctor.judgement.passing import OWN, Passing, is_settled, went_past
from tortie.doctor.judgement.pods import ELSEWHERE, containers, elsewhere, few, kind_of, pod_symptoms, trouble_of
from tortie.doctor.judgement.quoting import condensed
from tortie.doctor.judgement.standing import Standing
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Condition, Event, LogLine, Ping, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit
from tortie.doctor.words import Words

_POD_OF_KUBELET = lazily(
    r"\b(?<![a-z0-9.-])([a-z0-9][a-z0-9.-]{0,252})_[a-z0-9-]{1,63}\([0-9a-f-]{36}\)"
)  # name_namespace(uid)
SAID = {
    "cross-node-dead": ("traffic-dead", Words("pods on different nodes cannot reach each other", "跨节点的 Pod 不通")),
    "same-node-only": ("traffic-dead", Words("pods on different nodes cannot reach each other", "跨节点的 Pod 不通")),
    "ping-works-tcp-not": ("traffic-dead", Words("ping crosses nodes, TCP does not", "跨节点 ping 通，TCP 不通")),
    "large-packets-stall": ("traffic-dead", Words("large transfers stall", "大包传输卡住")),
    "service-dead": ("service-dead", Words("services do not answer", "Service 访问不通")),
    "nodeport-dead": ("service-dead", Words("a NodePort does not answer on some nodes", "部分节点上 NodePort 不通")),
    "pods-stuck": ("sandbox-failed", Words("new pods get no network", "新建 Pod 没有网络")),
    "keeps-restarting": ("restarts", Words("containers restart again and again", "容器反复重启")),
    "network-dead": ("traffic-dead", Words("pods have no network", "Pod 网络不通")),
    "host-pod-dead": ("traffic-dead", Words("hosts and pods cannot reach each other", "主机与 Pod 互相不通")),
    "host-lost-with-pods": (
        "traffic-dead",
        Words("machines lose their network when pods start", "Pod 启动后主机断网"),
    ),
    "policy-without-effect": (
        "policy-without-effect",
        Words("packets pass that a network policy shall drop", "网络策略没有拦截应当拦截的流量"),
    ),
    "network-lost-sometimes": ("traffic-dead", Words("pods lose the network now and then", "Pod 网络时断时续")),
}


def symptoms(picture: Picture, standing: Standing) -> list[Symptom]:
    """In the order a person would tell them: pods, nodes, sessions, messages, complaints."""
    return [
        *pod_symptoms(picture, standing),
        *_operator(picture),
        *_nodes(picture),
        *_sessions(picture, standing),
        *_unheard(picture),
        *containers(picture, standing),
        *_events(picture, standing),
        *_logs(picture, standing),
        *_messages(picture, standing),
        *_members(picture),
        *_trials(picture),
        *_said(picture, standing),
    ]


def _operator(picture: Picture) -> Iterator[Symptom]:
    for setting in picture.of(Setting):
        if setting.scope == "tigerastatus" and ("degraded=True" in setting.value or "available=False" in setting.value):
            text = Words(
                f"tigerastatus {setting.name}: {setting.value}", f"tigerastatus {setting.name}：{setting.value}"
            )
            yield Symptom("operator-degraded", text, (setting.place,), (setting.name,))
        elif setting.scope == "apiservice" and setting.value.startswith("False"):
            text = Words(f"APIService {setting.name}: {setting.value}", f"APIService {setting.name}：{setting.value}")
            yield Symptom("operator-degraded", text, (setting.place,), (setting.name,))


def _nodes(picture: Picture) -> Iterator[Symptom]:
    bad = [node for node in picture.nodes_now().values() if "NotReady" in node.status]
    if bad:
        names = ", ".join(node.name for node in bad[:4])
        yield Symptom("node-not-ready", Words(f"{names}: NotReady", f"{names}：NotReady"), few(bad),
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
        yield Symptom("bgp-down", text, few(down), peers, since=min((s.since for s in down if s.since), default=""))
    elif not picture.sessions() and mesh_off(picture) and (none := no_peers(picture)):
        text = Words("no node has a BGP peer, and the mesh is off", "所有节点都没有 BGP 对等体，且 mesh 已关闭")
        yield Symptom("bgp-down", text, few(none))
    elif hits := picture.hits("bgp-not-established"):
        told_of = complaints(picture)
        over = standing.agents_well or (bool(picture.sessions()) and all(_up_now(picture, one) for one in told_of))
        told = hits[-1].text
        yield Symptom("bgp-down", Words(told, told), few(hits), (hits[-1].value("peers"),), current=not over)


def _unheard(picture: Picture) -> Iterator[Symptom]:
    """Sessions that stand, and by which some nodes never hear of the others' pods."""
    missed = gap(picture)
    if missed is not None and missed.sure and missed.of_nodes:
        one, other = missed.of_nodes[0]
        text = Words(f"{one} and {other} get no routes from each other", f"{one} 与 {other} 学不到对方的路由")
        yield Symptom("traffic-dead", text, places(missed.evidence)[:3], (one, other))


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


def _events(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    seen: dict[str, list[Place]] = {}
    words: dict[str, str] = {}
    longest: dict[str, Event] = {}
    current: set[str] = set()
    passing = Passing(picture, standing)
    for event in picture.events():
        kind = _event_kind(event.reason, event.message)
        pod = passing.pod(event)
        if kind and pod is not None and trouble_of(pod, standing) == ELSEWHERE:
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
        yield Symptom("start-terminated", text, few(ended), current=not standing.agents_well)
    dials = [hit for hit in picture.hits(DIAL_FAILED) if hit.value("port") in ("443", "6443")]
    if dials:
        failing = any(kind_of(pod) for pod in picture.pods_now() if "calico" in pod.name)
        foreign = {line.place for line in picture.of(LogLine) if line.program not in OWN or _of_a_workload(line)}
        foreign -= went_past(picture)
        asked = any(hit.command.startswith("curl") or hit.place in foreign or _by_dns(hit) for hit in dials)
        over = standing.agents_well and not failing and not asked
        told = dials[-1].text
        yield Symptom("api-unreachable", Words(told, told), few(dials), (dials[-1].value("ip"),), current=not over)
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


def _of_a_workload(line: LogLine) -> bool:
    """Calico's programs end with another form of line; klog's own has no year."""
    return line.level == "FATAL" and line.of_some_year is not None and not line.program


def _by_dns(hit: Hit) -> bool:
    """CoreDNS has a form of its own; that agents are ready says nothing of it."""
    return hit.line.lstrip().startswith("[ERROR] plugin/")


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
            over = standing.agents_well and kind in ("datastore-error", "typha-down") and not leaders_lost(picture)
            left = [hit.place for hit in hits if not _in_the_past(hit.place, past)]
            left = [place for place in left if place not in brief_elections(picture)]
            left = [place for place in left if not passing.started_since(place)]
            over = over or not left or passing.is_history(left)
            yield Symptom(kind, Words(told, told), few(hits), current=not over)


def _members(picture: Picture) -> Iterator[Symptom]:
    """What etcd's members answer to who asks them now; agents that are well live on what they know."""
    latest = {setting.name: setting for setting in picture.of(Setting) if setting.scope == "etcd"}
    sick = [setting for setting in latest.values() if setting.value != "healthy"]
    if sick:
        told = ", ".join(f"{setting.name} is {setting.value}" for setting in sick[:3])
        yield Symptom("datastore-error", Words(told, told), few(sick), tuple(setting.name for setting in sick[:3]))


def _in_the_past(place: Place, past: list[Place]) -> bool:
    return any(place.source == one.source and one.first <= place.first <= one.last for one in past)


def _trials(picture: Picture) -> Iterator[Symptom]:
    """A pod that gets no answer from any node: what a node answers to everybody."""
    nodes = set(picture.internal_ips().values())
    pings = [ping for ping in picture.of(Ping) if ping.pod and ping.address in nodes]
    lost = [ping for ping in pings if not ping.ok]
    if lost and len(lost) == len(pings):
        told = ", ".join(dict.fromkeys(ping.address for ping in lost))
        text = Words(f"pods get no answer from {told}", f"Pod ping 不通 {told}")
        yield Symptom("traffic-dead", text, few(lost), tuple(ping.address for ping in lost))


def _said(picture: Picture, standing: Standing) -> Iterator[Symptom]:
    for kind, (symptom, text) in SAID.items():
        statements = picture.said(kind)
        still = [one for one in statements if not (standing.well_as_told and is_over(one, picture))]
        if kind == "service-dead":
            still = [one for one in still if not only_pinged(one.text, picture)]
        if statements:
            yield Symptom(symptom, text, few(still or statements), current=bool(still))


def _cut(text: str, most: int) -> str:
    """Of a long message what failed, and why."""
    return condensed(text, most)

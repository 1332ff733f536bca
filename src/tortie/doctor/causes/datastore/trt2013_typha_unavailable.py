"""TRT2013: there is no ready Typha to connect to."""

from __future__ import annotations

from tortie.doctor.causes.agent.start_evidence import unready
from tortie.doctor.causes.datastore.api_evidence import TYPHA_PORT, VIP_SIGNS, Trouble, asks_vip, troubles
from tortie.doctor.causes.datastore.api_trust import AFTER, EXPIRED, refusals
from tortie.doctor.causes.legacy import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.picture.facts import Event, Pod, Workload
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

DISCOVERY = Sign("trt2013-discovery", "Typha discovery enabled but discovery failed")
NOT_FOUND = Sign("trt2013-not-found", '(services|endpoints|endpointslices) "<service>" not found')
NO_READY = Sign("trt2013-no-ready", "(Didn't|did not|couldn't) find any ready Typha instances")
CONNECT = Sign("trt2013-connect", "Failed to connect to Typha")
NAMES = ("FELIX_TYPHAK8SNAMESPACE", "FELIX_TYPHAK8SSERVICENAME")


def typhas(picture: Picture) -> list[Pod]:
    return [pod for pod in picture.pods_now() if "typha" in pod.name and "autoscaler" not in pod.name]


def typhas_ready(picture: Picture) -> list[Pod]:
    """Ready ones; on a node that is not Ready the status is stale."""
    nodes = picture.nodes_now()
    return [pod for pod in typhas(picture) if pod.all_ready and not nodes_dead(nodes.get(pod.node))]


def nodes_dead(node: object) -> bool:
    return node is not None and "NotReady" in str(getattr(node, "status", ""))


def no_endpoints(picture: Picture) -> Place | None:
    """`get ep calico-typha` that shows `<none>`."""
    for exhibit in picture.exhibits:
        for index, line in enumerate(
            exhibit.lines[:60] if "ep" in exhibit.command or "endpoint" in exhibit.command else ()
        ):
            if "calico-typha" in line and "<none>" in line.split():
                return exhibit.place(index)
    return None


def _all_well(picture: Picture) -> bool:
    agents = picture.agents_now()
    return bool(agents) and all(pod.all_ready for pod in agents) and not unready(picture)


def typha_troubles(picture: Picture) -> list[Trouble]:
    return [t for t in troubles(picture) if t.port == TYPHA_PORT]


def judge(picture: Picture) -> Finding:
    failing = typha_troubles(picture)
    expired = [r for r in refusals(picture, AFTER, EXPIRED) if r.server == "typha"]
    discovery = [h for h in picture.hits(DISCOVERY) if not asks_vip(picture, h)]
    through_vip = [h for h in picture.hits(DISCOVERY) if asks_vip(picture, h)]
    missing = [h for h in picture.hits(NOT_FOUND) if "typha" in h.value("service") or "typha" in h.line.lower()]
    pods, ready, empty = typhas(picture), typhas_ready(picture), no_endpoints(picture)
    deployed = [w for w in picture.of(Workload) if "typha" in w.name]
    unscheduled = [e for e in picture.of(Event) if e.reason == "FailedScheduling" and "typha" in e.object]
    symptom = (*discovery[:1], *missing[:1], *failing[:2], *picture.hits(NO_READY, CONNECT)[:1])
    if expired:
        return ruled_out(
            Words("the connection is made; the certificate has expired", "能建立连接，是证书过期"), (expired[0].hit,)
        )
    if ready and not missing and not empty:
        return ruled_out(Words(f"Typha is ready ({ready[0].name})", f"Typha 已就绪（{ready[0].name}）"), ready[:2])
    if _all_well(picture) and not pods:
        return ruled_out(Words("every agent is ready", "所有 calico-node 均已就绪"), picture.agents_now()[:2])
    settings = [s for name in NAMES for s in picture.settings(name)]
    asleep = [w for w in deployed if w.desired == 0]
    sick = [pod for pod in pods if pod not in ready]
    names = [pod.name for pod in sick]
    objects = (
        *names,
        *(h.value("service") for h in missing),
        "calico-typha",
        *(s.name for s in settings),
        *(p.node for p in sick),
        "5473",
    )
    evidence = (*sick[:3], *((empty,) if empty else ()), *unscheduled[:1], *asleep[:1], *settings[:1], *symptom)
    if missing:
        service = missing[0].value("service") or "calico-typha"
        why = Words(
            f"The service {service} that Felix looks for does not exist in that namespace.",
            f"Felix 查找的服务 {service} 在该命名空间中不存在。",
        )
        return found(PROVEN if settings else STRONG, why, objects, evidence, reason="service")
    if (sick and not ready) or empty or asleep:
        reason = _reason(sick, unscheduled, asleep)
        felix = symptom or any(not pod.all_ready for pod in picture.agents_now())
        strength = PROVEN if symptom and (sick or empty) else STRONG if felix else POSSIBLE
        return found(strength, reason, objects, evidence, pod=names[0] if names else "")
    if discovery or picture.hits(NO_READY):
        why = Words("Felix finds no ready Typha.", "Felix 找不到就绪的 Typha。")
        return found(LIKELY, why, objects, evidence)
    refused = [t for t in failing if t.how == "refused"]
    if refused:
        why = Words(
            f"Nothing listens at {refused[0].address}:{TYPHA_PORT}: no Typha is there.",
            f"{refused[0].address}:{TYPHA_PORT} 无人监听：没有可用的 Typha。",
        )
        return found(LIKELY, why, (*objects, refused[0].address), evidence)
    if failing or picture.hits(CONNECT):
        why = Words("Typha does not answer; whether one is ready is not shown", "Typha 无响应；没有其是否就绪的信息")
        return found(POSSIBLE, why, objects, evidence)
    if through_vip:
        return ruled_out(
            Words(
                "discovery fails on the API's service address, not on Typha", "发现过程失败在 API 服务地址，而非 Typha"
            ),
            through_vip[:1],
        )
    if any("felix is not ready" in e.message for e in picture.of(Event)) and pods:
        return found(
            HINT, Words("Felix is not ready and Typha is used", "Felix 未就绪且使用了 Typha"), objects, pods[:1]
        )
    return cannot_tell(Words("Typha's pods and Felix's connection are not shown", "没有 Typha Pod 及 Felix 连接的信息"))


def _reason(sick: list[Pod], unscheduled: list[Event], asleep: list[Workload]) -> Words:
    if unscheduled:
        text = unscheduled[0].message[:120]
        return Words(f"No Typha runs; it cannot be scheduled: {text}", f"没有 Typha 在运行，无法调度：{text}")
    if asleep:
        return Words("No Typha runs: the Deployment wants 0 replicas.", "没有 Typha 在运行：Deployment 副本数为 0。")
    if sick:
        shown = ", ".join(f"{p.name} ({p.status}{f' on {p.node}' if p.node else ''})" for p in sick[:3])
        return Words(f"No Typha is ready: {shown}.", f"没有就绪的 Typha：{shown}。")
    return Words("The service calico-typha has no endpoints.", "服务 calico-typha 没有 endpoint。")


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    namespace = picture.namespace
    steps = [
        Step(
            Words("See why no Typha is ready", "查看 Typha 未就绪的原因"),
            f"kubectl -n {namespace} get pod,ep -l k8s-app=calico-typha -o wide; kubectl -n {namespace} describe pod "
            "-l k8s-app=calico-typha | tail -5",
        )
    ]
    if finding.value("reason") == "service":
        steps.append(
            Step(
                Words("Point Felix to the service that exists", "让 Felix 指向实际存在的服务"),
                f"kubectl get svc -A | grep typha; kubectl -n {namespace} set env ds/calico-node "
                "FELIX_TYPHAK8SNAMESPACE=<namespace> FELIX_TYPHAK8SSERVICENAME=calico-typha",
                "disruptive",
            )
        )
    steps += [
        Step(
            Words(
                "Let it run where the agent runs: the same tolerations, at least one replica",
                "使用与 calico-node 相同的容忍，并至少一个副本",
            ),
            f"kubectl -n {namespace} scale deploy/calico-typha --replicas=2; kubectl -n {namespace} edit deploy "
            "calico-typha",
            "disruptive",
        ),
        Step(
            Words(
                "A Typha stuck on a dead node: remove it, so that another starts",
                "卡在故障节点上的 Typha：删除以便在其他节点启动",
            ),
            f"kubectl -n {namespace} delete pod {finding.value('pod', '<typha pod>')} --grace-period=0 --force",
            "disruptive",
        ),
    ]
    return tuple(steps)


CAUSE = Cause(
    id="typha-unavailable",
    code="TRT2013",
    severity="high",
    name=Words("no Typha available", "Typha 无可用实例"),
    what=Words(
        "Felix is to use Typha, and none is ready: pending, crashing, on a dead node, or looked for under another "
        "name.",
        "Felix 配置为使用 Typha，但没有就绪的实例：Pending、崩溃、位于故障节点，或服务名、命名空间不对。",
    ),
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    look_alikes=(
        (
            "typha-port-blocked",
            Words("Typha is ready, and nodes without a local one time out", "Typha 就绪，只有没有本地实例的节点超时"),
        ),
        ("typha-cert-expired", Words("x509 in the line", "行中有 x509")),
        ("kube-proxy-down", Words("the failing URL is the API's service address", "失败的 URL 是 API 服务地址")),
        ("localhost-misresolved", Words("only Typha's own health port is broken", "只是 Typha 自己的健康端口异常")),
    ),
    signs=(*VIP_SIGNS, DISCOVERY, NOT_FOUND, NO_READY, CONNECT, AFTER, EXPIRED),
    judge=judge,
    ask=Ask(
        "kubectl -n <ns> get pod,ep -l k8s-app=calico-typha -o wide; kubectl -n <ns> describe pod -l "
        "k8s-app=calico-typha | tail -5",
        Words("no ready pod or no endpoint proves it", "没有就绪 Pod 或没有 endpoint 即可证实"),
    ),
    fix=fix,
    verify=(Step(Words("The service has endpoints", "服务有 endpoint"), "kubectl -n <ns> get ep calico-typha"),),
    prevent=(Words("Two replicas and a PodDisruptionBudget.", "至少两个副本，并设置 PodDisruptionBudget。"),),
    yields_to=("typha-cert-expired", "localhost-misresolved", "image-pull-failed"),
)

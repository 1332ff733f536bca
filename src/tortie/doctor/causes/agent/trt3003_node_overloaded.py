"""TRT3003: the host has no CPU or disk time left, so the agent cannot start or answer in time."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    ProbeFailure,
    crash_looping,
    culprits,
    kills,
    nodes_named,
    probe_failures,
    settled,
    sick_names,
    window,
)
from tortie.doctor.causes.agent.start_log import fatal_lines, start_logs, terminations
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, Strain, calm, drain, hogs, overload
from tortie.doctor.causes.legacy import (
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
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

SOME: Final = ("only-some-nodes", "one-node-only")
SLOW_WORDS: Final = ("Client.Timeout", "context deadline exceeded")


def judge(picture: Picture) -> Finding:
    strained, relaxed = overload(picture), calm(picture)
    liveness, killed = probe_failures(picture, "liveness"), kills(picture)
    slow = [failure for failure in probe_failures(picture) if _late(failure)]
    refused = [failure for failure in liveness if "refused" in failure.text]
    if relaxed:
        on, of = (f" on {relaxed[0].host}", f"{relaxed[0].host} ") if relaxed[0].host else ("", "")
        why = Words(f"the load{on} is normal ({relaxed[0].text})", f"{of}负载正常（{relaxed[0].text}）")
        return ruled_out(why, relaxed[0].places)
    if pods := settled(picture):
        return ruled_out(
            Words("all agents are ready and never restarted", "所有 calico-node 均就绪且从未重启"), pods[:2]
        )
    symptoms = bool(liveness or slow or killed or crash_looping(picture))
    if strained:
        return _starved(picture, strained, slow or refused or liveness, symptoms)
    if ended := terminations(picture):
        why = Words("calico-node says Terminating: it ended by itself", "日志有 Terminating：calico-node 是自行退出的")
        return ruled_out(why, ended[:1])
    if failed := fatal_lines(picture):
        return ruled_out(Words("the agent's log names an error", "calico-node 日志中有报错"), failed[:1])
    if not symptoms or (liveness and not (slow or refused) and any(f.text for f in liveness)):
        return cannot_tell(Words("the load of the node is not shown", "没有节点负载"))
    probe, budget = window(picture)
    some = picture.said(*SOME) or _some_agents(picture)
    objects = [*(v for s in picture.said(*SOME) for v in s.values), *sick_names(picture), *nodes_named(picture)]
    objects += culprits(picture, *killed[:2], *(f.hit for f in (slow or refused)[:2]))
    logs = [log for log in start_logs(picture) if not log.finished]
    where = ("only on some nodes with the same manifest", "仅部分节点出现，且清单相同") if some else ("", "")
    why = Words(
        f"Liveness kills the agent (window {budget}) {where[0]}; its log shows no error. The load, which decides, is "
        f"not "
        "shown.",
        f"存活探测杀掉 calico-node（窗口 {budget}）{where[1]}；日志无报错。起决定作用的负载未给出。",
    )
    if not (killed or refused or slow):
        return cannot_tell(Words("the load of the node is not shown", "没有节点负载"))
    strength = POSSIBLE + 0.05 if some else POSSIBLE - 0.1
    evidence = [f.hit for f in (slow or refused)[:2]]
    return found(strength, why, objects, (*evidence, *killed[:1], *(log.last for log in logs[:1]), probe))


def _starved(picture: Picture, strained: list[Strain], failures: list[ProbeFailure], symptoms: bool) -> Finding:
    hosts = [strain.host for strain in strained if strain.host]
    some = picture.said(*SOME)
    objects = [
        *(v for s in picture.said("load-high", *SOME) for v in s.values), *hosts, *sick_names(picture),
        *nodes_named(picture),
        *culprits(picture, *(f.hit for f in failures[:3]), *kills(picture)[:2]), *hogs(picture, hosts),
        strained[0].text,
    ]  # fmt: skip
    if not symptoms:
        why = Words(
            f"The host is overloaded ({strained[0].text}); nothing shows that the agent suffers from it.",
            f"主机过载（{strained[0].text}）；但没有证据表明 calico-node 受其影响。",
        )
        return found(POSSIBLE, why, objects, [p for s in strained[:2] for p in s.places])
    ended = terminations(picture)
    strength = POSSIBLE if ended else PROVEN if not strained[0].said and failures else STRONG
    if not failures and not kills(picture) and not ended:
        strength = LIKELY
    why = Words(
        f"The host is overloaded ({strained[0].text}), so the agent neither starts nor answers its probes in time "
        f"and is "
        "killed.",
        f"主机过载（{strained[0].text}），calico-node 无法及时启动或响应探测而被杀掉。",
    )
    evidence = [p for s in strained[:3] for p in s.places]
    return found(
        strength, why, objects, (*evidence, *(f.hit for f in failures[:2]), *kills(picture)[:1], *some[:1]),
        node=next((o for o in objects if o), ""),
    )  # fmt: skip


def _late(failure: ProbeFailure) -> bool:
    """Felix's health endpoint answered too late; other programs' endpoints are another matter."""
    return any(word in failure.text for word in SLOW_WORDS) and any(
        w in failure.text for w in ("9099", "felix", "Felix")
    )


def _some_agents(picture: Picture) -> bool:
    """Some agents fail while others of the same DaemonSet are ready."""
    pods = picture.agents_now()
    return any(pod.all_ready for pod in pods) and any(not pod.all_ready for pod in pods)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node = finding.value("node", "<node>")
    patch = (
        '{"spec":{"template":{"spec":{"priorityClassName":"system-node-critical","containers":'
        '[{"name":"calico-node","resources":{"requests":{"cpu":"250m"}}}]}}}}'
    )
    return (
        Step(
            Words("See what eats the host, there and on a healthy node", "找出占用资源的进程，并与正常节点对比"),
            "uptime; nproc; top -b -n1 | head -20; iostat -x 1 3",
        ),
        Step(
            Words(
                "Limit or move what makes the load; if that is not possible at once, drain the node",
                "限制或迁走造成负载的程序；不能立即做到时先排空节点",
            ),
            drain(picture, node),
            "disruptive",
        ),
        Step(
            Words("Give the agent a CPU request and its priority class", "为 calico-node 设置 CPU request 与优先级"),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "A reboot only clears the load; find its origin before the node takes work again",
                "重启只能暂时清除负载；恢复调度前必须找到负载来源",
            )
        ),
    )


CAUSE = Cause(
    id="node-overloaded",
    code="TRT3003",
    severity="medium",
    name=Words("node overloaded", "节点过载"),
    what=Words(
        "CPU or I/O of the host is used up; calico-node cannot start or answer within the probe's window.",
        "主机的 CPU 或 I/O 已耗尽，calico-node 无法在探测窗口内启动或响应。",
    ),
    explains=("crash-loop", "killed-by-liveness", "restarts", "not-ready", "bgp-down", "felix-not-ready"),
    look_alikes=(
        ("probe-timeout", Words("load is normal and timeout=1s", "负载正常且 timeout=1s")),
        (
            "liveness-window-too-short",
            Words("load is normal, the log advances to the end of the window", "负载正常，日志一直推进到窗口末尾"),
        ),
        ("bird-overloaded", Words("only bird is busy", "只有 bird 繁忙")),
        ("etcd-slow", Words("the datastore answers late on every node", "所有节点访问数据存储都慢")),
    ),
    signs=(*START_SIGNS, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "uptime; nproc; top -b -n1 | head -20; iostat -x 1 3",
        Words(
            "load many times the cores, unlike on a healthy node, is this cause",
            "负载是核数的许多倍，且与正常节点不同，就是此原因",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("The load is near the number of cores or below", "负载不高于核数附近"), "uptime; nproc"),
        Step(
            Words("The agent is 1/1 and its restarts stop", "calico-node 为 1/1 且不再重启"),
            "kubectl -n kube-system get pod -l k8s-app=calico-node -o wide",
        ),
    ),
    prevent=(
        Words(
            "Requests and limits for workloads, reserved CPU for the system, an alarm on load, a startupProbe.",
            "为业务设置 requests/limits，为系统预留 CPU，对负载告警，并使用 startupProbe。",
        ),
    ),
)

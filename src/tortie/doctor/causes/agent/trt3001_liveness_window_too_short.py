"""TRT3001: a start that makes progress takes longer than liveness allows, so kubelet kills it, again and again."""

from __future__ import annotations

from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    crash_looping,
    culprits,
    fits,
    kills,
    lifetimes,
    nodes_named,
    probe_failures,
    settled,
    sick_names,
    started_to_killed,
    window,
)
from tortie.doctor.causes.agent.start_log import StartLog, fatal_lines, start_logs, terminations
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, calm, overload
from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.picture.facts import Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words
from tortie.health.window import ProbeWindow

CONFLICT_CHECK = "check for conflicts"
SLOWEST_STEP_S = 45.0  # a log whose lines are further apart stands still; it does not make progress


def judge(picture: Picture) -> Finding:
    probe, budget = window(picture)
    killed, failing = kills(picture), probe_failures(picture, "liveness")
    if pods := settled(picture):
        return ruled_out(
            Words("all agents are ready and never restarted", "所有 calico-node 均就绪且从未重启"), pods[:2]
        )
    if not killed and (pods := _never_restarted(picture)):
        return ruled_out(Words("no agent was ever restarted", "没有任何 calico-node 重启过"), pods[:2])
    if ended := terminations(picture):
        why = Words("calico-node says Terminating: it ended by itself", "日志有 Terminating：calico-node 是自行退出的")
        return ruled_out(why, ended[:1])
    if strained := overload(picture):
        why = Words(
            f"{strained[0].text}: the host is starved, the window is not the reason",
            f"{strained[0].text}：主机资源耗尽，问题不在探测窗口",
        )
        return ruled_out(why, strained[0].places)
    logs = [log for log in start_logs(picture) if not log.finished]
    well = {pod.name for pod in picture.agents_now() if pod.all_ready and pod.restarts == 0}
    sick = [log for log in logs if log.last.pod not in well]
    if failed := fatal_lines(picture):
        why = Words("the log names an error: the start does not make progress", "日志中有报错：启动并未推进")
        return ruled_out(why, failed[:1])
    objects = [
        "livenessProbe", *culprits(picture, *killed[:2], *(f.hit for f in failing[:2])), *sick_names(picture),
        *nodes_named(picture),
        *(log.last.pod for log in sick), *(log.last.host for log in sick),
        f"initialDelaySeconds {budget.initial_delay_s:g}", f"failureThreshold {budget.failures}",
        "Liveness probe",
    ]  # fmt: skip
    cut = [log for log in sick if _was_cut(log, budget)]
    if cut:
        return _by_log(picture, cut[-1], objects)
    # What describe says is exact to the second; ages of events are rounded.
    lived = [(one, s) for one, s in (*started_to_killed(picture), *lifetimes(picture)) if fits(s, budget)]
    if killed and lived and logs:
        seconds = lived[-1][1]
        why = Words(
            f"The container is killed by liveness {seconds:.0f} s after its start, in the middle of starting and "
            f"without "
            f"an error; the window is {budget}.",
            f"容器启动 {seconds:.0f} 秒后被存活探测杀掉，此时仍在启动且无报错；窗口为 {budget}。",
        )
        strength = STRONG if calm(picture) else POSSIBLE
        return found(strength, why, objects, (probe, lived[-1][0], *(log.last for log in sick[-1:]), *killed[:1]))
    return _by_symptoms(picture, objects)


def _never_restarted(picture: Picture) -> list[Pod]:
    """The agents' pods when all are shown and none was ever started again: nobody cut their start off."""
    pods = picture.agents_now()
    calm = pods and all(pod.restarts == 0 and pod.status == "Running" for pod in pods)
    return pods if calm and not crash_looping(picture) else []


def _was_cut(log: StartLog, budget: ProbeWindow) -> bool:
    """It advanced up to the end of the window. Of a log cut down to its ends only the ends are known."""
    advancing = log.lines <= 3 or log.longest_gap_s <= SLOWEST_STEP_S
    return fits(log.seconds, budget) and advancing and not log.failed


def _by_log(picture: Picture, log: StartLog, objects: list[str]) -> Finding:
    probe, budget = window(picture)
    looping = crash_looping(picture) or bool(probe_failures(picture, "liveness"))
    checking = CONFLICT_CHECK in log.first.message or any(
        "Get Key" in hit.text for hit in picture.hits("start-key-read")
    )
    strength = STRONG if probe or looping or calm(picture) else LIKELY if checking else POSSIBLE
    why = Words(
        f"The start-up log advances for {log.seconds:.0f} s and is cut off without Terminating; liveness kills after "
        f"{budget}.",
        f"启动日志持续推进 {log.seconds:.0f} 秒后中断，没有 Terminating；存活探测在 {budget} 后杀掉容器。",
    )
    return found(
        strength, why, objects, (probe, log.first, log.last, *kills(picture)[:1]), seconds=f"{log.seconds:.0f}"
    )


def _by_symptoms(picture: Picture, objects: list[str]) -> Finding:
    """Killed from outside, and the time it had is not shown."""
    probe, budget = window(picture)
    killed, failing = kills(picture), probe_failures(picture, "liveness")
    refused = [failure for failure in failing if "refused" in failure.text]
    if not (killed or refused) or not crash_looping(picture):
        return cannot_tell(
            Words(
                "a start-up log with times and kubelet's kill are not shown",
                "没有带时间的启动日志，也没有 kubelet 的终止事件",
            )
        )
    if failing and not refused:
        why = Words("liveness fails with another text than a refused port", "存活探测失败的原因不是端口拒绝连接")
        return ruled_out(why, [failing[0].hit])
    unfinished = [log for log in start_logs(picture) if not log.finished]
    grown = picture.said("datastore-far", "new-nodes-fail")
    why = Words(
        f"Liveness kills a start that reports no error; the window is {budget}. How far the start got by then, and the "
        "host's load, are not shown.",
        f"存活探测杀掉了没有报错的启动过程；窗口为 {budget}。届时启动到哪一步、主机负载如何均未给出。",
    )
    likely = unfinished and (grown or calm(picture))
    possible = POSSIBLE - 0.05 if picture.said("only-some-nodes", "one-node-only") else POSSIBLE
    return found(
        LIKELY if likely else possible, why, objects, (probe, *killed[:1], *(f.hit for f in refused[:1]), *grown[:1]),
    )  # fmt: skip


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    patch = (
        '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","livenessProbe":'
        '{"initialDelaySeconds":60,"failureThreshold":10}}]}}}}'
    )
    return (
        Step(
            Words(
                "Give the start more time (150 s here); agents restart one after another",
                "放宽启动时间（此处为 150 秒）；calico-node 会逐个重启",
            ),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "On Kubernetes 1.18 or newer prefer a startupProbe, which leaves liveness strict once it runs",
                "Kubernetes 1.18 及以上更宜使用 startupProbe，启动完成后存活探测仍保持严格",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        Step(
            Words(
                "Shorten the start itself: a datastore near the nodes, the Kubernetes datastore or Typha",
                "缩短启动本身的耗时：让数据存储靠近节点，或改用 Kubernetes 数据存储、Typha",
            )
        ),
    )


CAUSE = Cause(
    id="liveness-window-too-short",
    code="TRT3001",
    severity="medium",
    name=Words("liveness window too short", "存活探测窗口太短"),
    what=Words(
        "A start that makes progress needs longer than initialDelay + (failures - 1) x period, so kubelet kills it "
        "for ever.",
        "启动过程仍在推进，但所需时间超过 initialDelay +（failures − 1）× period，于是被 kubelet 反复杀掉。",
    ),
    explains=("crash-loop", "killed-by-liveness", "restarts", "not-ready", "bgp-down"),
    look_alikes=(
        ("node-overloaded", Words("load far above the cores", "负载远高于核数")),
        ("probe-timeout", Words("nothing follows `probe failed:`", "`probe failed:` 之后没有文字")),
        ("datastore-unreachable", Words("the log shows errors and no progress", "日志有报错且没有推进")),
        ("port-9099-conflict", Words("Felix runs and cannot open 9099", "Felix 已运行但无法监听 9099")),
    ),
    signs=(*START_SIGNS, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system logs -p <pod> --timestamps | sed -n '1p;$p'; kubectl -n kube-system describe pod "
        "<pod> | "
        "grep -e Liveness -e Killing -e 'Exit Code'; uptime",
        Words(
            "a log that ends mid-way at the window's length, with normal load, is this cause",
            "日志在窗口时长处中断且负载正常，就是此原因",
        ),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Restarts stop growing and the pod is 1/1", "重启次数不再增加，pod 为 1/1"),
            "kubectl -n kube-system get pod -l k8s-app=calico-node -o wide",
        ),
    ),
    prevent=(
        Words(
            "Size the window by nodes x reads x round trip, and alarm when a start takes half of it.",
            "按 节点数 × 读取次数 × 往返时延 设定窗口，启动耗时超过一半即告警。",
        ),
    ),
    yields_to=(
        "node-overloaded",
        "port-9099-conflict",
        "localhost-misresolved",
        "loopback-down",
        "missing-mount",
        "bird-config-invalid",
        "bird-overloaded",
    ),
)

"""TRT3005: the kernel kills the agent at its memory limit."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
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
from tortie.doctor.picture.facts import Container, Pod
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

OOM_KILLED: Final = Sign("oom-reason", "OOMKilled")
CGROUP: Final = Sign("oom-cgroup", "Memory cgroup out of memory: <verb> process <pid> \\(<program>\\)")
GLOBAL: Final = Sign("oom-global", "Out of memory: <verb> process <pid> \\(<program>\\)")
KILLED_PROCESS: Final = Sign("oom-killed-process", "Killed process <pid> \\(<program>\\)")
OURS: Final = ("calico", "felix", "bird", "confd", "canal", "typha", "kube-controllers", "check-status")
TASK: Final = Sign("oom-task", "oom-kill:constraint=<list>task=<program>,pid=<n_pid>")
AT_LIMIT: Final = Sign("oom-at-limit", "memory: usage <used>, limit <limit>, failcnt <n_fails>")


def judge(picture: Picture) -> Finding:
    boxes = [box for box in picture.containers() if "OOMKilled" in (box.reason, box.last_reason) and _ours(box)]
    kernel = [hit for hit in picture.hits(CGROUP, GLOBAL, TASK, KILLED_PROCESS) if _our_program(hit)]
    words = [hit for hit in picture.hits(OOM_KILLED) if _about_us(picture, hit)]
    limit = _memory_limit(picture, boxes, bool(kernel))
    programs = [hit.value("program") for hit in kernel]
    objects = [
        *(box.name for box in boxes), *programs, *(box.pod for box in boxes), limit, "memory limit" if limit else "",
        *_nodes_of(picture, boxes), *culprits(picture, *kernel[:2], *(() if boxes else words[:2])),
        *(sick_names(picture) if not boxes else ()),
        "resources.limits.memory",
    ]  # fmt: skip
    who = (boxes[0].name if boxes else programs[0] if programs else "") or "calico-node"
    at = (f" at its limit of {limit}", f"，限额为 {limit}") if limit else ("", "")
    why = Words(
        f"The kernel kills {who} for memory{at[0]}: OOMKilled, exit code 137.",
        f"{who} 因内存超限被内核杀掉{at[1]}：OOMKilled，退出码 137。",
    )
    evidence = (*boxes[:2], *kernel[:2], *words[:2])
    if evidence and (well := _over(picture, boxes, kernel)):
        past = Words(
            f"{who} was once killed for memory{at[0]}, and all agents are ready now.",
            f"{who} 曾因内存超限被杀{at[1]}，目前所有 calico-node 均已就绪。",
        )
        return found(POSSIBLE / 3, past, objects, (*evidence, *well[:1]), aside=True)
    if (boxes or words) and kernel:
        return found(PROVEN, why, objects, evidence, limit=limit)
    if boxes or words:
        return found(PROVEN if boxes and limit else STRONG, why, objects, evidence, limit=limit)
    if kernel:
        inside = any(hit.sign == CGROUP.key or "CONSTRAINT_MEMCG" in hit.line for hit in kernel)
        proven = inside and bool(picture.hits(AT_LIMIT) or limit)
        return found(PROVEN if proven else STRONG if inside else LIKELY, why, objects, evidence, limit=limit)
    ended = [box for box in picture.containers() if 137 in (box.exit_code, box.last_exit_code) and _ours(box)]
    if ended:
        reason = ended[0].last_reason or ended[0].reason
        why = Words(
            f"exit code 137 with reason {reason or 'Error'}: killed by the runtime or liveness, not for memory",
            f"退出码 137，原因为 {reason or 'Error'}：由运行时或存活探测杀掉，与内存无关",
        )
        return ruled_out(why, ended[:1])
    if others := picture.hits(CGROUP, GLOBAL):
        why = Words(
            f"the kernel killed {others[0].value('program')}, which is not part of Calico",
            f"内核杀掉的是 {others[0].value('program')}，不属于 Calico",
        )
        return found(POSSIBLE / 3, why, (others[0].value("program"),), others[:1], aside=True)
    return cannot_tell(Words("last state of the container and kernel log are not shown", "没有容器上次状态与内核日志"))


def _nodes_of(picture: Picture, boxes: list[Container]) -> list[str]:
    killed = {box.pod for box in boxes}
    return [pod.node for pod in picture.pods_now() if pod.node and pod.name in killed]


def _ours(box: Container) -> bool:
    return is_agent(box.pod) or any(word in f"{box.pod} {box.name}" for word in OURS)


def _our_program(hit: Hit) -> bool:
    return any(word in hit.value("program").lower() for word in OURS)


def _about_us(picture: Picture, hit: Hit) -> bool:
    """The word alone names nobody: its line or command must, or Calico must be all that is described."""
    text = f"{hit.line} {hit.command}".lower()
    if any(word in text for word in OURS):
        return True
    if any(box.state or box.last_state or box.image for box in picture.containers()) or hit.command:
        return False
    return bool(picture.agents()) and not hit.prose


def _over(picture: Picture, boxes: list[Container], kernel: list[Hit]) -> list[Pod]:
    """The agents, when it happened once, all of them are ready, and nobody says that it goes on."""
    pods = [pod for pod in picture.agents_now() if pod.containers is not None]
    again = (
        picture.said("keeps-restarting")
        or len({hit.value("pid") or hit.value("n_pid") for hit in kernel}) > 1
        or any((box.restarts or 0) > 1 for box in boxes)
        or any((pod.restarts or 0) > 1 for pod in pods)
    )
    return pods if pods and not again and all(pod.all_ready for pod in pods) else []


def _memory_limit(picture: Picture, boxes: list[Container], killed: bool) -> str:
    shown = [box for box in picture.containers(init=False) if _ours(box) or not (box.pod or box.name)]
    for box in (*boxes, *shown):
        if memory := dict(box.limits).get("memory", ""):
            return memory
    reached = picture.hit(AT_LIMIT) if killed else None
    kilobytes = reached.value("limit").lower().removesuffix("kb") if reached else ""
    return f"{int(kilobytes) // 1024}Mi" if kilobytes.isdecimal() else ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words(
                "Raise the memory limit well above what it uses, or remove it; agents restart one after another",
                "把内存限额提高到远高于实际用量，或去掉限额；calico-node 会逐个重启",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        Step(
            Words(
                "Watch whether it keeps growing: then it is a leak, and a newer release is the cure",
                "观察内存是否持续增长：若是则为泄漏，应升级版本",
            ),
            f"kubectl -n {picture.namespace} top pod --containers -l k8s-app=calico-node",
        ),
    )


CAUSE = Cause(
    id="oom-killed",
    code="TRT3005",
    severity="medium",
    name=Words("killed for memory", "内存超限被杀"),
    what=Words(
        "The container's memory limit is too low for what Felix needs, or a leak reaches it.",
        "容器内存限额低于 Felix 所需，或内存泄漏触及限额。",
    ),
    # Between two kills the pod looks well; what Felix has not written meanwhile is missing.
    explains=("restarts", "crash-loop", "not-ready", "traffic-dead"),
    look_alikes=(
        (
            "liveness-window-too-short",
            Words(
                "137 without OOMKilled is a kill by liveness or runtime", "没有 OOMKilled 的 137 来自存活探测或运行时"
            ),
        ),
        ("disk-pressure", Words("evicted by kubelet, not killed by the kernel", "被 kubelet 驱逐，而非被内核杀掉")),
        ("cgroup-driver-mismatch", Words("Completed with exit code 0", "Completed，退出码 0")),
    ),
    signs=(OOM_KILLED, CGROUP, GLOBAL, KILLED_PROCESS, TASK, AT_LIMIT),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system describe pod <pod> | grep -A5 'Last State'; dmesg -T | grep -i 'out of memory'",
        Words("OOMKilled with exit code 137 is this cause", "OOMKilled 且退出码 137，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Memory stays below 80 % of the limit and restarts stop", "内存低于限额的 80%，且不再重启"),
            "kubectl -n kube-system top pod --containers -l k8s-app=calico-node",
        ),
    ),
    prevent=(Words("Alarm at 80 % of the limit.", "用量达到限额 80% 时告警。"),),
)

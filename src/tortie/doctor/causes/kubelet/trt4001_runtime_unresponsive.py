"""TRT4001: docker or containerd hangs or lost its partner, so kubelet never sees what containers do."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import (
    Gap,
    created_to_started,
    culprits,
    pod_to_container,
    settled,
    sick_names,
    stuck_inits,
)
from tortie.doctor.causes.kubelet.node_evidence import drain
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
from tortie.doctor.picture.facts import Condition, Event, Pod, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

PLEG: Final = Sign("runtime-pleg", "PLEG is not healthy")
PLEG_LIST: Final = Sign("runtime-pleg-list", "GenericPLEG: Unable to retrieve pods")
DEADLINE: Final = Sign("runtime-deadline", "code = DeadlineExceeded desc = context deadline exceeded")
NO_DOCKER: Final = Sign("runtime-no-docker", "Cannot connect to the Docker daemon")
NO_CONTAINERD: Final = Sign(
    "runtime-no-containerd", "containerd.sock: <list>connect: (connection refused|no such file or directory)"
)
DIAL_CONTAINERD: Final = Sign("runtime-dial-containerd", 'failed to dial "<list>containerd.sock"')
RUNTIME_DOWN: Final = Sign("runtime-down", "container runtime is down")
NETDEVICE: Final = Sign("runtime-netdevice", "unregister_netdevice: waiting for <device> to become free")
RETRYING: Final = Sign("runtime-ipam-retrying", "failed to migrate ipam, retrying")
CLEAR: Final = (PLEG, PLEG_LIST, NO_DOCKER, NO_CONTAINERD, DIAL_CONTAINERD, RUNTIME_DOWN)
SLOW_S: Final = 90.0  # between steps that take a second; ages of events are rounded to minutes
QUICK_S: Final = 2.0


def judge(picture: Picture) -> Finding:
    said = picture.said("runtime-broken")
    serving = _serving(picture)
    clear = [hit for hit in picture.hits(*CLEAR) if not _is_other_call(hit) and not _is_over(hit, serving)]
    hanging = _hanging(picture)
    units = [unit for unit in picture.of(Unit) if _is_runtime(unit) and unit.active not in ("active", "")]
    gaps = [*created_to_started(picture), *_unexplained(picture, pod_to_container(picture))]
    slow = [gap for gap in gaps if gap.seconds >= SLOW_S]
    stuck = stuck_inits(picture)
    retrying = picture.hits(RETRYING)
    weak = [hit for hit in picture.hits(DEADLINE, NETDEVICE) if not _is_other_call(hit)]
    if retrying and not (clear or said):
        why = Words(
            "upgrade-ipam runs and keeps retrying: it is the migration", "upgrade-ipam 在运行并不断重试：卡在迁移"
        )
        return ruled_out(why, retrying[:1])
    pods = settled(picture)
    if pods and (not (said or clear) or _recovered(picture)):
        return ruled_out(
            Words("all agents are ready and never restarted", "所有 calico-node 均就绪且从未重启"), pods[:2]
        )
    objects = [*(host for host, _ in hanging), *_objects(picture, [*clear, *weak], slow, units)]
    evidence = [
        *said[:1],
        *clear[:3],
        *(place for _, place in hanging[:1]),
        *units[:1],
        *(end for gap in slow[:2] for end in (gap.begin, gap.end)),
        *stuck[:1],
    ]
    if said or clear or units or hanging:
        strength = PROVEN if (said or units or hanging) and (clear or slow) else STRONG
        words = [*(one.text for one in said), *(hit.text for hit in clear), *(unit.name for unit in units), "timeout"]
        return found(strength, _why_words(words[0]), objects, evidence)
    if slow:
        return found(STRONG if stuck or len(slow) > 1 else LIKELY, _why_slow(slow), objects, evidence)
    return _by_hints(picture, objects, gaps, weak)


def _by_hints(picture: Picture, objects: list[str], gaps: list[Gap], weak: list[Hit]) -> Finding:
    stuck = stuck_inits(picture)
    ended = [pod for pod in picture.of(Pod) if pod.status in ("Terminating", "ContainerCreating")]
    if weak:
        sure = LIKELY if any(hit.sign == NETDEVICE.key for hit in weak) and ended else POSSIBLE
        why = Words(
            f"Calls to the runtime run into their limit ({weak[0].text}).", f"对运行时的调用超时（{weak[0].text}）。"
        )
        return found(sure, why, objects, weak[:3])
    quick = [gap for gap in gaps if gap.seconds <= QUICK_S]
    if stuck and quick:
        why = Words(
            f"{quick[0].container} was started within {max(quick[0].seconds, 0):.0f} s: the runtime does its work",
            f"{quick[0].container} 在 {max(quick[0].seconds, 0):.0f} 秒内即启动：运行时工作正常",
        )
        return ruled_out(why, (quick[0].begin, quick[0].end))
    waiting = [pod for pod in picture.agents_now() if pod.status.startswith("Init:0/") and (pod.age_s or 0) > 600]
    if stuck or waiting:
        why = Words(
            "An init container does not end; neither its log nor the times of its creation and start are shown.",
            "初始化容器迟迟不结束；其日志以及创建、启动的时间均未给出。",
        )
        return found(POSSIBLE, why, objects, (*stuck[:1], *waiting[:1]))
    return cannot_tell(
        Words("how long the runtime takes to start containers is not shown", "没有运行时启动容器所用的时间")
    )


def _why_words(text: str) -> Words:
    return Words(
        f'The container runtime does not answer ("{text.strip()[:120]}"), so the end of containers never reaches '
        f"kubelet.",
        f'容器运行时没有响应（"{text.strip()[:120]}"），容器的结束状态传不到 kubelet。',
    )


def _why_slow(slow: list[Gap]) -> Words:
    gap = max(slow, key=lambda one: one.seconds)
    begin = Words("its creation", "创建") if isinstance(gap.begin, Event) else Words("the pod's start", "pod 启动")
    return Words(
        f"{gap.container} was started {gap.seconds / 60:.1f} min after {begin.en}, which takes a second on a healthy "
        f"runtime, and "
        "its end never reached kubelet.",
        f"{gap.container} 从{begin.zh}到容器启动用了 {gap.seconds / 60:.1f} 分钟（正常不到一秒），"
        f"其结束状态也没有传到 kubelet。",
    )


def _objects(picture: Picture, hits: list[Hit], slow: list[Gap], units: list[Unit]) -> list[str]:
    described = [pod for pod in picture.of(Pod) if pod.started is not None and pod.node]
    silent = [condition.owner for condition in picture.of(Condition) if "PLEG" in condition.message]
    runtime = " ".join(node.runtime for node in picture.nodes_now().values())
    ids = "docker" if "docker" in runtime or picture.hits(NO_DOCKER) else "containerd"
    return [
        *silent, *(pod.node for pod in described), *culprits(picture, *hits[:3]), *(unit.host for unit in units[:1]),
        *(unit.name for unit in units[:1]), *(v for s in picture.said("runtime-broken") for v in s.values), ids,
        "containerd", "docker",
        *(gap.container for gap in slow), *(pod.name for pod in described), *sick_names(picture),
    ]  # fmt: skip


def _unexplained(picture: Picture, gaps: list[Gap]) -> list[Gap]:
    """A pod whose image was still being pulled, or whose volumes were missing, starts late without any fault of the "
    "runtime."""
    busy = picture.events("Pulling", "FailedMount", "Failed", "BackOff", "FailedCreatePodSandBox")
    return [gap for gap in gaps if gap.seconds < SLOW_S or not busy]


def _hanging(picture: Picture) -> list[tuple[str, Place]]:
    """Host and place of calls that `timeout` ended, or a person did, though they end by themselves."""
    return [(call.host, call.place) for call in picture.of(Setting) if (call.scope, call.value) == ("runtime", "hangs")]


def _serving(picture: Picture) -> set[str]:
    """Hosts whose runtime lists its containers when somebody asks."""
    asked = [exhibit for exhibit in picture.commands("crictl ps") if exhibit.host]
    return {each.host for each in asked if any(line.lstrip().startswith("CONTAINER") for line in each.lines)}


def _is_over(hit: Hit, serving: set[str]) -> bool:
    """Nobody was there to connect to, as when kubelet is the first to start; by now somebody is."""
    return hit.host in serving and hit.sign in (PLEG_LIST.key, NO_CONTAINERD.key, DIAL_CONTAINERD.key)


def _is_runtime(unit: Unit) -> bool:
    return unit.name.removesuffix(".service") in ("docker", "containerd", "crio", "cri-docker", "cri-o")


def _is_other_call(hit: Hit) -> bool:
    return any(word in hit.line.lower() for word in ("probe", "https://", "pull image", "pulling image"))


def _recovered(picture: Picture) -> bool:
    nodes = picture.nodes_now()
    return bool(nodes) and all(node.status.startswith("Ready") for node in nodes.values())


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node = next(
        (name for name in finding.objects if name in picture.nodes_now()),
        finding.objects[0] if finding.objects else "<node>",
    )
    steps = [
        Step(Words("Empty the node if it still can be", "若仍可操作，先排空节点"), drain(picture, node), "disruptive"),
        Step(
            Words("Restart containerd; containers survive it", "重启 containerd；运行中的容器不受影响"),
            "systemctl restart containerd",
            "disruptive",
        ),
    ]
    if "docker" in finding.objects[:6] or picture.hits(NO_DOCKER):
        steps.append(
            Step(
                Words(
                    "Then docker: containers survive only with live-restore",
                    "再重启 docker：仅启用 live-restore 时容器不受影响",
                ),
                "systemctl restart docker",
                "disruptive",
            )
        )
    steps.append(Step(Words("Then kubelet", "最后重启 kubelet"), "systemctl restart kubelet", "disruptive"))
    return tuple(steps)


CAUSE = Cause(
    id="runtime-unresponsive",
    code="TRT4001",
    severity="high",
    name=Words("container runtime hangs", "容器运行时卡死"),
    what=Words(
        "docker or containerd hangs or lost its partner, so the state of containers never reaches kubelet.",
        "docker 或 containerd 卡死或彼此失联，容器状态传不到 kubelet。",
    ),
    explains=(
        "init-stuck",
        "node-not-ready",
        "terminating-stuck",
        "sandbox-failed",
        "not-ready",
        "pod-pending",
        "restarts",
    ),
    look_alikes=(
        (
            "ipam-migration-stuck",
            Words(
                "upgrade-ipam's log prints retries, and it was started within a second",
                "upgrade-ipam 日志不断重试，且一秒内即启动",
            ),
        ),
        ("kubelet-not-running", Words("kubelet itself is dead", "kubelet 本身未运行")),
        ("cgroup-driver-mismatch", Words("containers end cleanly in cycles", "容器周期性地正常结束")),
    ),
    signs=(*CLEAR, DEADLINE, NETDEVICE, RETRYING),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system logs <pod> -c upgrade-ipam --tail=5; timeout 10 crictl ps; timeout 10 docker ps; "
        "journalctl -u containerd -u docker -u kubelet --since -15min | tail -40",
        Words(
            "a command that hangs or a silent log is this cause; retries are the migration",
            "命令卡住或日志无输出就是此原因；不断重试则是迁移问题",
        ),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It answers at once (with docker: `time docker ps`)", "立即返回（使用 docker 时：`time docker ps`）"),
            "time crictl ps",
        ),
    ),
    prevent=(
        Words(
            "Keep docker and containerd at versions that belong together; alarm on PLEG latency and on Created to "
            "Started gaps.",
            "docker 与 containerd 版本配套；对 PLEG 延迟以及 Created 到 Started 的间隔告警。",
        ),
    ),
)

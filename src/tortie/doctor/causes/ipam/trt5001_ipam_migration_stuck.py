"""TRT5001: the init container upgrade-ipam repeats a migration that cannot succeed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tortie.doctor.causes.agent.init_timing import gap_s, timing
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
from tortie.doctor.picture.facts import HostFile, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

RETRYING = Sign("ipam-migration-retrying", "failed to migrate ipam, retrying…error=<rest>")
RETRYING_BARE = Sign("ipam-migration-retrying-bare", "failed to migrate ipam, retrying")
NOTHING_TO_DO = Sign("ipam-migration-none", "no migration necessary, successfully exiting")
COMPLETE = Sign("ipam-migration-complete", "migration from host-local to calico-ipam complete")
ASSIGNING = Sign("ipam-migration-assigning", "IPIP tunnel address not found, assigning")

CONTAINER = "upgrade-ipam"
DIRECTORY = "/var/lib/cni/networks/k8s-pod-network"
# Errors that belong to the way to the API server, its certificate or its permissions, not to the migration.
OTHERS_ERROR = (
    "dial tcp", "x509", "i/o timeout", "forbidden", "connection refused", "unauthorized", "no such host",
    "deadline exceeded", "network is unreachable", "tls:", "proxyconnect",
)  # fmt: skip
FIXED_BY_UPGRADE = ("already assigned in block", "failed to create handle", "is invalid", "failed to parse ip")
PROMPT_S = 5.0  # a healthy runtime starts a container within a second or two of the pod
GAP_S = 30.0
LONG_S = 120.0  # the migration itself takes seconds


def judge(picture: Picture) -> Finding:
    retries = picture.hits(RETRYING) or picture.hits(RETRYING_BARE)
    done = picture.hits(NOTHING_TO_DO, COMPLETE)
    if retries:
        return _by_log(picture, retries)
    if done:
        return ruled_out(
            Words("upgrade-ipam had nothing to migrate, or finished", "upgrade-ipam 无需迁移或已完成迁移"), done[:1]
        )
    assigning = picture.hits(ASSIGNING)
    if len(assigning) >= 2:  # the same step again and again
        return _stuck(STRONG, picture, _repeats(len(assigning)), assigning[:2])
    return _by_timing(picture)


def _by_log(picture: Picture, retries: list[Hit]) -> Finding:
    # The head of a log may be pasted after its tail: the newest by the log's own clock counts.
    newest = max(retries, key=lambda hit: hit.line[:23] if hit.line[:4].isdecimal() else "")
    error = _error(newest if newest.line[:4].isdecimal() else retries[-1])
    low = error.lower()
    if any(text in low for text in OTHERS_ERROR):
        return ruled_out(
            Words(
                f"the retries quote another fault, which comes first: {error}",
                f"重试所引用的是另一个更靠前的故障：{error}",
            ),
            retries[:2],
        )
    why = Words(
        f"upgrade-ipam repeats the migration from host-local every second and fails each time: {error}",
        f"upgrade-ipam 每秒重试一次 host-local 迁移，每次都失败：{error}",
    )
    return _stuck(STRONG, picture, why, retries[:2], error)


def _repeats(count: int) -> Words:
    return Words(
        f"upgrade-ipam repeats the same step of its migration ({count} times in this log) and never finishes",
        f"upgrade-ipam 反复执行同一个迁移步骤（日志中出现 {count} 次），始终没有结束",
    )


def _stuck(
    strength: float, picture: Picture, why: Words, evidence: list[Hit] | tuple[object, ...], error: str = ""
) -> Finding:
    pod = _pod(picture)
    files = [file for file in picture.of(HostFile) if "cni/networks" in file.folder]
    node = _node(evidence) or (pod.node if pod else "")
    stray = [file for file in files if file.name in error or not _expected(file.name)]
    named = _named(error)
    objects = (CONTAINER, DIRECTORY, named, *(file.name for file in stray[:3]), pod.name if pod else "", node)
    places = (*evidence, *(stray or files)[:1], *((pod,) if pod else ()))
    return found(strength, why, objects, places, node=node, pod=pod.name if pod else "", error=error)


def _node(evidence: Iterable[object]) -> str:
    """The node that the retries name."""
    for item in evidence:
        match = re.search(r"\bnode=[\\\"']*([\w.-]+)", item.line) if isinstance(item, Hit) else None
        if match:
            return match[1]
    return ""


def _named(error: str) -> str:
    """What the error could not read or place: an address, a range, a file."""
    match = re.search(r"\d{1,3}(?:\.\d{1,3}){3}[\w./~-]*", error)
    return match.group().rstrip(".,:") if match else ""


def _expected(name: str) -> bool:
    """What host-local itself writes: a file for each address, its lock and its memory."""
    return (
        name.startswith(("lock", "last_reserved_ip")) or re.fullmatch(r"\d+(?:\.\d+){3}|[0-9a-f:_-]+", name) is not None
    )


def _error(hit: Hit) -> str:
    text = hit.value("rest") or hit.line
    return text.split(" node=")[0].strip().strip('"')[:240]


def _pod(picture: Picture) -> Pod | None:
    stuck = [pod for pod in picture.agents_now() if pod.status.startswith("Init") or pod.status == "Pending"]
    return stuck[-1] if stuck else None


def _by_timing(picture: Picture) -> Finding:
    seen = timing(picture, CONTAINER)
    if seen is None:
        return _by_status(picture)
    pod, container = seen.pod, seen.container
    evidence = (container, *seen.events, *((pod,) if pod else ()))
    if seen.gap_s is not None and seen.gap_s >= GAP_S:
        return _slow_runtime(seen.gap_s, evidence)
    prompt = seen.gap_s is not None and seen.gap_s <= PROMPT_S
    lasting = seen.running_s is None or seen.running_s >= LONG_S
    if not lasting:
        return cannot_tell(
            Words("upgrade-ipam has been running for a moment only", "upgrade-ipam 刚开始运行，还不能判断")
        )
    strength = LIKELY if prompt and not picture.said("runtime-broken") else POSSIBLE
    minutes = f"{round(seen.running_s / 60)} min" if seen.running_s else ""
    started = "promptly" if prompt else "at an unknown pace"
    why = Words(
        f"upgrade-ipam is still Running{f' after {minutes}' if minutes else ''} with 0 restarts although it was "
        f"started {started}: a retry loop of the migration; its log is not shown.",
        f"upgrade-ipam 仍在 Running{f'（已 {minutes}）' if minutes else ''}，重启 0 次"
        f"{'，而容器启动很及时' if prompt else ''}：符合迁移重试死循环；缺少该容器的日志。",
    )
    return _stuck(strength, picture, why, evidence)


def _slow_runtime(gap: float, evidence: tuple[object, ...]) -> Finding:
    seconds = round(gap)
    return ruled_out(
        Words(
            f"the runtime needed {seconds} s to start upgrade-ipam: the runtime hangs, not the migration",
            f"运行时用了 {seconds} 秒才启动 upgrade-ipam：问题在运行时，而不是迁移",
        ),
        evidence,
    )


def _by_status(picture: Picture) -> Finding:
    """The pod table alone: the first init container is not done, for long, without restarts."""
    held = [
        pod for pod in picture.agents_now()
        if pod.status.startswith("Init:0/") and not pod.restarts and (pod.age_s or 0) >= LONG_S
    ]  # fmt: skip
    if not held:
        return cannot_tell(Words("no log or state of upgrade-ipam is shown", "没有 upgrade-ipam 的日志或状态"))
    pod = held[0]
    events = tuple(event for event in picture.events("Created", "Started") if CONTAINER in event.message)
    gap = gap_s(None, None, events)
    if gap is not None and gap >= GAP_S:
        return _slow_runtime(gap, events)
    why = Words(
        f"{pod.name} waits for its first init container; whether that is a migration loop is not shown.",
        f"{pod.name} 停在第一个 init 容器；尚不能确定是否为迁移死循环。",
    )
    return found(POSSIBLE, why, (CONTAINER, pod.name, pod.node), (pod,), pod=pod.name, node=pod.node)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    pod = finding.value("pod", "<calico-node pod>")
    error = finding.value("error").lower()
    steps = [
        Step(
            Words("Read which error it repeats; cure that one first", "先看它重复的是什么错误，针对该错误处理"),
            f"kubectl -n {picture.namespace} logs {pod} -c {CONTAINER} --tail=20",
        )
    ]
    if "podcidr" in error or "not in a configured pool" in error or not error:
        steps.append(
            Step(
                Words(
                    "Give the node a podCIDR inside the pool (controller-manager with --allocate-node-cidrs)",
                    "让节点的 podCIDR 落在地址池内（controller-manager 开启 --allocate-node-cidrs）",
                ),
                f"kubectl get node {finding.value('node', '<node>')} -o jsonpath='{{.spec.podCIDR}}'; "
                "calicoctl get ippool -o wide",
            )
        )
    version = picture.version("calico")
    if any(text in error for text in FIXED_BY_UPGRADE) and (version is None or version < (3, 9)):
        steps.append(
            Step(
                Words(
                    "Upgrade Calico: loops by an already assigned address or a broken host-local file end with v3.9",
                    "升级 Calico：地址已分配、host-local 文件损坏导致的死循环在 v3.9 修复",
                ),
                "",
                "disruptive",
            )
        )
    steps += [
        Step(
            Words(
                "When no pod on that node uses host-local any more: move its state away",
                "确认该节点已没有 Pod 使用 host-local 后，移走其状态目录",
            ),
            f"mv {DIRECTORY} ~/k8s-pod-network.old",
            "disruptive",
        ),
        Step(
            Words("Start the pod again", "重建该 Pod"),
            f"kubectl -n {picture.namespace} delete pod {pod}",
            "disruptive",
        ),
    ]
    return tuple(steps)


CAUSE = Cause(
    id="ipam-migration-stuck",
    code="TRT5001",
    severity="medium",
    name=Words("IPAM migration stuck", "IPAM 迁移卡住"),
    what=Words(
        "The init container upgrade-ipam found host-local data and repeats its migration to Calico's IPAM every "
        "second, without limit, because a step always fails.",
        "init 容器 upgrade-ipam 发现 host-local 数据后每秒重试迁移到 Calico IPAM，某一步始终失败，于是无限循环。",
    ),
    explains=(
        "init-stuck",
        "not-ready",
        "pod-pending",
        "no-address",
        "node-not-ready",
        "controllers-failing",
        "log-errors",
    ),
    look_alikes=(
        (
            "runtime-unresponsive",
            Words(
                "there the log is silent and minutes pass between Created and Started",
                "运行时卡死时日志为空，Created 到 Started 间隔数分钟",
            ),
        ),
        (
            "kube-proxy-down",
            Words(
                "there the repeated error is a dial time-out of the service address", "那时重复的错误是访问服务地址超时"
            ),
        ),
        ("rbac-forbidden", Words("there the repeated error says forbidden", "那时重复的错误含 forbidden")),
    ),
    signs=(RETRYING, RETRYING_BARE, NOTHING_TO_DO, COMPLETE, ASSIGNING),
    judge=judge,
    ask=Ask(
        f"kubectl -n <ns> logs <pod> -c {CONTAINER} --tail=20; ls -la {DIRECTORY}",
        Words(
            "retry lines with an IPAM error mean this; silence means the runtime; a dial error means the API's address",
            "有 IPAM 错误的重试日志即为本因；无日志说明是运行时；dial 错误说明是 API 地址不通",
        ),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The init containers finish and the pod becomes 1/1", "init 容器全部完成，Pod 变为 1/1"),
            "kubectl -n <ns> get pod -l k8s-app=calico-node -o wide",
        ),
    ),
    prevent=(
        Words(
            f"Remove {DIRECTORY} when a node changes from host-local to Calico's IPAM.",
            f"节点从 host-local 切换到 Calico IPAM 时清理 {DIRECTORY}。",
        ),
    ),
    yields_to=("runtime-unresponsive",),
)

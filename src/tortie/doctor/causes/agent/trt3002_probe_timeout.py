"""TRT3002: the exec probe's own time limit is shorter than the check takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, culprits, kills, probe_failures, settled, sick_names
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, overload
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
from tortie.doctor.picture.facts import Probe
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

COMMAND_TIMED_OUT: Final = Sign("probe-timeout-command", "probe failed: command <list> timed out")
ERRORED: Final = Sign("probe-timeout-errored", "failed to exec in container: timeout <limit> exceeded")
GENEROUS_S: Final = 10.0  # what manifests carry since v3.20; a check that misses this is not a matter of the limit
ENFORCED: Final = (1, 20)  # kubelet ignored the limit of exec probes before
_REAL: Final = re.compile(r"^real\s+(?:(\d+)m)?\s?([\d.]+)s?")


def judge(picture: Picture) -> Finding:
    failures = [f for f in probe_failures(picture) if _of_agent(f.hit)]
    named = [hit for hit in picture.hits(COMMAND_TIMED_OUT, ERRORED) if _of_agent(hit)]
    silent = [failure.hit for failure in failures if not failure.text]
    limit = _limit(picture)
    measured, where = _measured(picture)
    if not (named or silent):
        if failures:
            why = Words(
                "a reason follows `probe failed:`; it is not a time-out", "`probe failed:` 之后有原因，不是超时"
            )
            return ruled_out(why, [failures[0].hit])
        if limit and measured and measured > limit.timeout_s and limit.timeout_s < GENEROUS_S:
            return _found(picture, LIKELY, limit, measured, [limit, *where])
        return cannot_tell(Words("no failed probe is shown", "没有探测失败的记录"))
    if pods := settled(picture):
        return ruled_out(
            Words("all agents are ready and never restarted", "所有 calico-node 均就绪且从未重启"), pods[:2]
        )
    kubernetes = picture.version("kubernetes") or picture.version("kubelet")
    if not named and kubernetes and kubernetes < ENFORCED:
        why = Words(
            "this kubelet does not enforce the limit of exec probes", "该版本的 kubelet 并不强制执行 exec 探测的超时"
        )
        return ruled_out(why, silent[:1])
    if limit and limit.timeout_s >= GENEROUS_S:
        why = Words(f"the probe's limit is already {limit.timeout_s:g} s", f"探测超时已是 {limit.timeout_s:g} 秒")
        return ruled_out(why, (limit,))
    evidence = [limit, *where, *named[:2], *silent[:2], *kills(picture)[:1]]
    if overload(picture):
        return _found(picture, POSSIBLE, limit, measured, evidence)
    if limit and measured and measured > limit.timeout_s:
        return _found(picture, PROVEN, limit, measured, evidence)
    if limit or named:
        return _found(picture, STRONG, limit, measured, evidence)
    return _found(picture, LIKELY if _limit_expected(picture) else POSSIBLE, limit, measured, evidence)


def _of_agent(hit: Hit) -> bool:
    """Another program's probe is another matter; a line that names nobody counts when the agent is what is shown."""
    other = re.search(r"\b(?:pod/)?((?:coredns|metrics-server|kube-proxy|etcd|kube-[a-z]+)-[a-z0-9-]+)", hit.line)
    return not other or is_agent(other[1])


def _limit(picture: Picture) -> Probe | None:
    """The strictest limit among the agent's exec probes."""
    probes = [probe for kind in ("liveness", "readiness") if (probe := picture.probe(kind))]
    probes = [probe for probe in probes if not probe.action.startswith("http")] or probes
    return min(probes, key=lambda probe: probe.timeout_s, default=None)


def _limit_expected(picture: Picture) -> bool:
    """No probe is shown, and both releases are ones where the limit is 1 s and enforced."""
    kubernetes = picture.version("kubernetes") or picture.version("kubelet")
    calico = picture.version("calico")
    if picture.said("after-kubernetes-upgrade"):
        return True
    return bool(kubernetes and kubernetes >= ENFORCED and (calico is None or calico < (3, 20)))


def _measured(picture: Picture) -> tuple[float | None, list[Place]]:
    """How long somebody saw the check take, with `time`."""
    for exhibit in picture.exhibits:
        if "time " not in exhibit.command or not re.search(r"-(?:felix|bird)-(?:live|ready)", exhibit.command):
            continue
        for index, line in enumerate(exhibit.lines):
            if real := _REAL.match(line.strip()):
                return 60.0 * int(real[1] or 0) + float(real[2]), [exhibit.place(index)]
    return None, []


def _found(
    picture: Picture, strength: float, limit: Probe | None, measured: float | None, evidence: Sequence[object]
) -> Finding:
    seconds = f"{limit.timeout_s:g}" if limit else "1"
    took = (
        (f"takes {measured:g} s", f"耗时 {measured:g} 秒") if measured else ("does not answer in time", "未能及时返回")
    )
    shown = ("", "") if limit else (" (the default; the probe is not shown)", "（默认值；未给出探测配置）")
    why = Words(
        f"The probe's command {took[0]} and its limit is {seconds} s{shown[0]}: kubelet gives up on it and reports "
        f"no reason.",
        f"探测命令{took[1]}，而超时为 {seconds} 秒{shown[1]}：kubelet 放弃等待，且不给出原因。",
    )
    hits = [item for item in evidence if isinstance(item, Hit)]
    objects = [
        f"timeout={seconds}s", "timeoutSeconds", f"timeoutSeconds: {seconds}", *culprits(picture, *hits),
        *sick_names(picture), *([f"{limit.kind}Probe"] if limit else ["livenessProbe", "readinessProbe"]),
    ]  # fmt: skip
    return found(strength, why, objects, evidence)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    patch = (
        '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","livenessProbe":{"timeoutSeconds":10},'
        '"readinessProbe":{"timeoutSeconds":10}}]}}}}'
    )
    return (
        Step(
            Words(
                "Give both probes 10 s, as manifests do since v3.20; agents restart one after another",
                "把两个探测的超时都设为 10 秒（v3.20 起的默认值）；calico-node 会逐个重启",
            ),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "Write the same into the manifest that is applied", "同样写入日常使用的清单，避免下次 apply 时被覆盖"
            ),
            f"kubectl -n {picture.namespace} get ds calico-node -o yaml | grep -n timeoutSeconds",
        ),
    )


CAUSE = Cause(
    id="probe-timeout",
    code="TRT3002",
    severity="medium",
    name=Words("probe command times out", "探测命令超时"),
    what=Words(
        "The exec probe's timeoutSeconds (1 by default, enforced since Kubernetes 1.20) is shorter than the check "
        "takes.",
        "exec 探测的 timeoutSeconds（默认 1 秒，Kubernetes 1.20 起强制执行）短于检查所需的时间。",
    ),
    explains=("restarts", "killed-by-liveness", "not-ready", "crash-loop"),
    look_alikes=(
        ("node-overloaded", Words("load is many times the cores", "负载是核数的许多倍")),
        ("liveness-window-too-short", Words("killed during the start, port refused", "启动过程中被杀，端口拒绝连接")),
        ("cpu-throttled", Words("a CPU limit and a growing nr_throttled", "设了 CPU 限额且 nr_throttled 增长")),
        ("cgroup-driver-mismatch", Words("no `failed liveness probe` event", "没有 `failed liveness probe` 事件")),
    ),
    signs=(COMMAND_TIMED_OUT, ERRORED, *START_SIGNS, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system describe pod <pod> | grep -e Liveness: -e Readiness: -e 'probe failed'; "
        "kubectl -n kube-system exec <pod> -- sh -c 'time /bin/calico-node -felix-live -bird-live'",
        Words("timeout=1s and a check that takes longer is this cause", "timeout=1s 而检查耗时更长，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words(
                "Both probes show timeout=10s and no new Unhealthy events come",
                "两个探测均为 timeout=10s，且不再出现 Unhealthy 事件",
            ),
            "kubectl -n kube-system describe ds calico-node | grep -e Liveness: -e Readiness:",
        ),
    ),
    prevent=(
        Words(
            "Set timeoutSeconds before moving to Kubernetes 1.20 or newer.",
            "升级到 Kubernetes 1.20 及以上之前先设置 timeoutSeconds。",
        ),
    ),
    yields_to=("node-overloaded", "cpu-throttled", "bird-overloaded"),
)

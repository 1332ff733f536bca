"""TRT3004: a CPU limit on the agent throttles it while its host is idle."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, culprits, kills, probe_failures, sick_names
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, calm, overload
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
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

THROTTLED: Final = Sign("cpu-nr-throttled", "nr_throttled <n_count>")
PERIODS: Final = Sign("cpu-nr-periods", "nr_periods <n_count>")
METRIC: Final = Sign("cpu-throttled-metric", "container_cpu_cfs_throttled_periods_total")
SMALL_M: Final = 500  # millicores; Felix alone passes this while it programs many rules
OFTEN: Final = 0.05  # share of periods in which the agent had to wait


class Limit(NamedTuple):
    millicores: float
    text: str
    place: Place
    container: str = ""
    pod: str = ""


def judge(picture: Picture) -> Finding:
    limit = _limit(picture)
    counts = [hit for hit in picture.hits(THROTTLED) if float(hit.value("n_count")) > 0]
    idle_counts = [hit for hit in picture.hits(THROTTLED) if float(hit.value("n_count")) == 0]
    share = _share(picture)
    used, used_at = _use(picture)
    suffering = probe_failures(picture)
    if limit is None and not counts:
        if described := [b for b in picture.containers("calico-node", init=False) if b.requests and not b.limits]:
            return ruled_out(Words("the agent has no CPU limit", "calico-node 没有 CPU 限额"), described[:1])
        return cannot_tell(
            Words("limits of the agent and its cpu.stat are not shown", "没有 calico-node 的限额与 cpu.stat")
        )
    if not counts and idle_counts:
        return ruled_out(Words("nr_throttled is 0", "nr_throttled 为 0"), idle_counts[:1])
    objects = [
        "resources.limits.cpu", f"cpu: {limit.text}" if limit else "", limit.text if limit else "", "limits.cpu",
        limit.container if limit else "calico-node", limit.pod if limit else "",
        *culprits(picture, *counts[:1], *(f.hit for f in suffering[:2])), *sick_names(picture),
    ]  # fmt: skip
    evidence = [limit, *counts[:2], *used_at, *(f.hit for f in suffering[:2]), *kills(picture)[:1]]
    allowed = (f"limited to {limit.text} CPU", f"限额为 {limit.text} CPU") if limit else ("limited", "有 CPU 限额")
    much = f" ({share:.0%})" if share else ""
    if counts:
        why = Words(
            f"The agent is {allowed[0]} and was throttled in {counts[-1].value('n_count')} periods{much}; its probes "
            f"fail "
            "while it waits.",
            f"calico-node {allowed[1]}，已在 {counts[-1].value('n_count')} 个周期内被限流{much}；等待期间探测失败。",
        )
        often = share is None or share >= OFTEN
        return found((PROVEN if limit and suffering else STRONG) if often else POSSIBLE, why, objects, evidence)
    assert limit is not None
    at_limit = used is not None and used >= 0.9 * limit.millicores
    why = Words(
        f"The agent is {allowed[0]}" + (f" and uses {used}m, all of it." if at_limit else "."),
        f"calico-node {allowed[1]}" + (f"，实际用到 {used}m，已达上限。" if at_limit else "。"),
    )
    if overload(picture):
        return found(POSSIBLE, why, objects, evidence)
    if at_limit:
        return found(STRONG if suffering or kills(picture) else LIKELY, why, objects, evidence)
    if limit.millicores <= SMALL_M and (suffering or kills(picture)):
        slow = all(not f.text or "timed out" in f.text or "deadline" in f.text for f in suffering)
        return found(LIKELY if calm(picture) and slow else POSSIBLE, why, objects, evidence)
    return cannot_tell(Words("cpu.stat, which shows throttling, is not shown", "没有可显示限流的 cpu.stat"))


def _limit(picture: Picture) -> Limit | None:
    """The agent's CPU limit; limits that were shown without a name are taken for its own."""
    for box in picture.containers(init=False):
        cpu = dict(box.limits).get("cpu", "")
        ours = is_agent(box.pod) or is_agent(box.name) or not (box.pod or box.name)
        if cpu and ours:
            return Limit(_millicores(cpu), cpu, box.place, box.name or "calico-node", box.pod)
    return None


def _millicores(text: str) -> float:
    number = re.match(r"[\d.]+", text)
    return float(number[0]) * (1 if text.endswith("m") else 1000) if number else 0.0


def _share(picture: Picture) -> float | None:
    throttled, periods = picture.hits(THROTTLED), picture.hits(PERIODS)
    if throttled and periods and float(periods[-1].value("n_count")):
        return float(throttled[-1].value("n_count")) / float(periods[-1].value("n_count"))
    return None


def _use(picture: Picture) -> tuple[int | None, list[Place]]:
    """What `kubectl top pod` shows of the busiest agent, in millicores."""
    best: tuple[int | None, list[Place]] = (None, [])
    for row in picture.of(Setting):
        if (row.scope, row.name) == ("top", "cpu") and is_agent(row.owner) and row.value.rstrip("m").isdecimal():
            used = round(_millicores(row.value))
            if best[0] is None or used > best[0]:
                best = used, [row.place]
    return best


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    patch = '[{"op":"remove","path":"/spec/template/spec/containers/0/resources/limits/cpu"}]'
    return (
        Step(
            Words(
                "Remove the CPU limit, keep the request; agents restart one after another",
                "去掉 CPU 限额，保留 request；calico-node 会逐个重启",
            ),
            f"kubectl -n {picture.namespace} patch ds calico-node --type json -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "See whether a LimitRange or an admission rule puts the limit back",
                "检查是否有 LimitRange 或准入规则会重新加上限额",
            ),
            f"kubectl -n {picture.namespace} get limitrange -o yaml",
        ),
    )


CAUSE = Cause(
    id="cpu-throttled",
    code="TRT3004",
    severity="low",
    name=Words("CPU limit too low", "CPU 限额过低"),
    what=Words(
        "A CPU limit on calico-node throttles Felix or BIRD, so probes fail now and then on an idle host.",
        "calico-node 的 CPU 限额使 Felix 或 BIRD 被限流，主机空闲时探测仍会周期性失败。",
    ),
    explains=("restarts", "killed-by-liveness", "not-ready", "felix-not-ready", "bird-not-ready"),
    look_alikes=(
        ("node-overloaded", Words("the whole host is busy", "整台主机都繁忙")),
        ("probe-timeout", Words("there is no CPU limit", "没有 CPU 限额")),
        ("bird-overloaded", Words("bird is busy without any limit", "没有限额而 bird 繁忙")),
    ),
    signs=(THROTTLED, PERIODS, METRIC, *START_SIGNS, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system get ds calico-node -o jsonpath='{..resources}'; "
        "kubectl -n kube-system exec <pod> -- sh -c 'cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat'",
        Words("a CPU limit and a growing nr_throttled is this cause", "有 CPU 限额且 nr_throttled 增长，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("No cpu under limits", "limits 中没有 cpu"),
            "kubectl -n kube-system get ds calico-node -o jsonpath='{..resources}'",
        ),
    ),
    prevent=(Words("No CPU limits on the network agent.", "不要给网络组件设置 CPU 限额。"),),
    yields_to=("node-overloaded",),
)

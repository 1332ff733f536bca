"""TRT3010: two installations of Calico run on one host and fight for ports, rules and routes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
from tortie.doctor.causes.agent.trt3006_port_9099_conflict import IN_USE, OTHER_BIRD, OURS, PORTS
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
from tortie.doctor.picture.facts import Listener, Process, Setting, Workload
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.words import Words

INSTALLS: Final = ("calico-node", "canal", "canal-node", "kube-calico")
_FELIX: Final = re.compile(r"(?:^|/)calico-felix\b|calico-node -felix\b|(?:^|/)felix\b")


def judge(picture: Picture) -> Finding:
    birds = picture.hits(OTHER_BIRD)
    bound = [hit for hit in picture.hits(IN_USE) if hit.value("where").rpartition(":")[2] in PORTS]
    owners = [owner for owner in picture.of(Listener) if str(owner.port) in PORTS and owner.program]
    own = [owner for owner in owners if any(word in owner.program.lower() for word in OURS)]
    if bound:  # who has another port, or the port of another host, is not in its way
        where, ports = culprits(picture, *bound), {hit.value("where").rpartition(":")[2] for hit in bound}
        own = [
            owner
            for owner in own
            if str(owner.port) in ports and not (where and owner.host and owner.host not in where)
        ]
    felixes = _felixes(picture)
    sets = _daemonsets(picture)
    twice = _agents_of_one_node(picture)
    boxes = _containers_of_one_host(picture)
    objects = [
        *(name for box in boxes for name in (box.name, box.owner)),
        *sets, *(f"{process.pid}" for process in felixes[1:] if process.pid), "calico-felix" if felixes or own else "",
        *(process.host for process in felixes[:1]), *twice, *culprits(picture, *birds[:1], *bound[:1]),
        *sick_names(picture),
        "bird" if birds else "", *(str(owner.port) for owner in own[:1]),
    ]  # fmt: skip
    rows = [row for row in picture.of(Workload) if f"{row.namespace}/{row.name}".strip("/") in sets]
    evidence = (
        *rows[:2],
        *felixes[:2],
        *birds[:1],
        *own[:1],
        *boxes[:2],
        *bound[:1],
        *picture.said("two-installs")[:1],
    )
    proofs = [
        bool(birds),
        bool(own and bound),
        len(felixes) > 1,
        len(sets) > 1,
        bool(twice),
        bool(boxes),
        bool(picture.said("two-installs")),
    ]
    if sum(proofs) == 0:
        if bound and any(owner not in own for owner in owners):
            return ruled_out(Words("the port belongs to another program", "端口由其他程序占用"), owners[:1])
        if bound:
            why = Words("Felix's port is taken; by whom is not shown.", "Felix 的端口已被占用；占用者未给出。")
            return found(POSSIBLE / 2, why, objects, bound[:1])
        return cannot_tell(Words("processes of the host and DaemonSets are not shown", "没有主机进程与 DaemonSet 列表"))
    which = ", ".join(sets) or (f"{len(felixes)} calico-felix" if len(felixes) > 1 else "")
    why = Words(
        f"Two instances of Calico run on one host{f' ({which})' if which else ''} and take each other's ports and "
        f"rules.",
        f"同一主机上运行着两套 Calico{f'（{which}）' if which else ''}，互相争抢端口与规则。",
    )
    decisive = len(felixes) > 1 or (own and bound) or twice or boxes or (birds and (len(sets) > 1 or bound))
    if decisive and sum(proofs) > 1:
        strength = PROVEN
    elif decisive or birds:
        strength = STRONG
    else:
        strength = LIKELY if sick_names(picture) else POSSIBLE
    return found(strength, why, objects, evidence)


def _felixes(picture: Picture) -> list[Process]:
    """Felix processes of the host that has most of them; supervisors and greps are none."""
    running = [
        process
        for process in picture.of(Process)
        if _FELIX.search(process.command)
        and not re.search(r"\b(?:runsv|grep|svlogd|exec|live|ready)\b", process.command)
    ]
    hosts = Counter(process.host for process in running)
    most = max(hosts, key=lambda host: hosts[host], default="")
    return list({process.pid: process for process in running if process.host == most}.values())


def _daemonsets(picture: Picture) -> list[str]:
    """DaemonSets that bring an agent, as namespace/name, when there are several with pods."""
    rows = [
        row for row in picture.of(Workload) if row.kind.lower().startswith(("daemonset", "ds")) and row.name in INSTALLS
    ]
    names = dict.fromkeys(f"{row.namespace}/{row.name}".strip("/") for row in rows if row.desired != 0)
    return list(names) if len(names) > 1 else []


def _agents_of_one_node(picture: Picture) -> list[str]:
    """Node and pods where two agents of different installations run."""
    by_node: dict[str, dict[str, str]] = {}
    for pod in picture.pods_now():
        if is_agent(pod.name) and pod.node and pod.status == "Running":
            install = f"{pod.namespace}/{pod.name.rpartition('-')[0]}"
            by_node.setdefault(pod.node, {})[install] = pod.name
    for node, installs in by_node.items():
        if len(installs) > 1:
            return [node, *installs, *installs.values()]
    return []


def _containers_of_one_host(picture: Picture) -> list[Setting]:
    """Running agent containers of different pods on one host, what the API does not know first: an orphan."""
    known = {pod.name for pod in picture.pods_now()}
    by_host: dict[str, dict[str, Setting]] = {}
    for box in picture.of(Setting):
        if box.scope == "runtime-id" and box.host and is_agent(box.value):
            by_host.setdefault(box.host, {})[box.owner or box.name] = box
    for boxes in by_host.values():
        if len(boxes) > 1:
            return sorted(boxes.values(), key=lambda box: box.owner in known)
    return []


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("See what runs twice, and which installation is to stay", "确认哪些重复运行，以及保留哪一套"),
            "kubectl get ds -A | grep -e calico -e canal; ps -eo pid,lstart,cmd | grep -e '[c]alico-felix' -e "
            "'[c]alico-node -felix'",
        ),
        Step(
            Words("Delete the DaemonSet that must not be there", "删除多余的 DaemonSet"),
            "kubectl -n <namespace> delete ds <the second one>",
            "disruptive",
        ),
        Step(
            Words("A container without a pod is removed on its host", "没有对应 pod 的残留容器在主机上移除"),
            "crictl ps --name calico-node; crictl stop <id>; crictl rm <id>",
            "disruptive",
        ),
        Step(
            Words(
                "Restart the remaining agents, which write their rules and routes again",
                "重启保留的 calico-node，使其重写规则与路由",
            ),
            f"kubectl -n {picture.namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="duplicate-calico-instance",
    code="TRT3010",
    severity="medium",
    name=Words("two Calico instances on one host", "同机运行两套 Calico"),
    what=Words(
        "Two DaemonSets, operator and manifest together, or an orphaned container run Calico on one host.",
        "两个 DaemonSet、operator 与清单并存，或残留容器，使同一主机运行两套 Calico。",
    ),
    explains=("not-ready", "felix-not-ready", "bird-not-ready", "crash-loop", "restarts", "bgp-down", "log-errors"),
    look_alikes=(
        ("port-9099-conflict", Words("the port's owner is a foreign program", "端口占用者是其他程序")),
        ("port-179-conflict", Words("another BGP daemon owns 179", "179 由其他 BGP 程序占用")),
    ),
    signs=(IN_USE, OTHER_BIRD),
    judge=judge,
    ask=Ask(
        "ps -eo pid,lstart,cmd | grep -e '[c]alico-felix' -e '[c]alico-node -felix'; kubectl get ds -A | grep -e "
        "calico -e canal",
        Words("two Felix processes or two DaemonSets is this cause", "有两个 Felix 进程或两个 DaemonSet，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(Words("One Felix per host", "每台主机只有一个 Felix"), "pgrep -fc 'calico-node -felix|calico-felix'"),
    ),
    prevent=(Words("One method of installation for a cluster.", "一个集群只用一种安装方式。"),),
)

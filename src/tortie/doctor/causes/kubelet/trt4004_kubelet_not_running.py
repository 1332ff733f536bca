"""TRT4004: kubelet is dead for another reason than swap; the API keeps showing what it last reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits
from tortie.doctor.causes.cause import (
    HINT,
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
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, STOPPED_POSTING, answers, known_as, not_ready, silent
from tortie.doctor.causes.kubelet.trt4002_cgroup_driver_mismatch import DIFFERENT
from tortie.doctor.causes.kubelet.trt4003_kubelet_swap_on import SWAP_ON
from tortie.doctor.picture.facts import Condition, Ping, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

FAILED_TO_RUN: Final = Sign("kubelet-failed-to-run", "failed to run Kubelet: <rest>")
UNIT_FAILED: Final = Sign("kubelet-unit-failed", "kubelet.service: Main process exited, code=exited, status=<n_code>")
NO_CONFIG: Final = Sign("kubelet-no-config", "failed to load kubelet config file")
EXPIRED: Final = Sign("kubelet-cert-expired", "bootstrap client certificate (in <path> )?is expired")
DEAD: Final = ("inactive", "failed", "activating", "deactivating")


def judge(picture: Picture) -> Finding:
    if swap := picture.hits(SWAP_ON):
        return ruled_out(Words("kubelet's fatal line is about swap", "kubelet 的致命错误是 swap"), swap[:1])
    if drivers := picture.hits(DIFFERENT):
        why = Words("kubelet's fatal line is about its cgroup driver", "kubelet 的致命错误是 cgroup 驱动不一致")
        return ruled_out(why, drivers[:1])
    units = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet")]
    last = {unit.host or str(unit.place): unit for unit in units}
    dead = [unit for unit in last.values() if unit.active in DEAD]
    fatal = [hit for hit in picture.hits(FAILED_TO_RUN, NO_CONFIG, EXPIRED, UNIT_FAILED) if not hit.prose]
    said = picture.said("kubelet-stopped")
    quiet = silent(picture)
    gone = not_ready(picture)
    nodes = picture.nodes_now()
    ips = picture.internal_ips()
    names = [name for name in quiet if name] or [node.name for node in gone]
    alive, tried = answers(picture, *names, *(ips.get(name, "") for name in names))
    if alive is None and not any(ips.get(name) for name in names):
        foreign = {ip for name, ip in ips.items() if name not in names}
        alive, tried = answers(picture, *(ping.address for ping in picture.of(Ping) if ping.address not in foreign))
    if alive is False and (names or picture.hits(STOPPED_POSTING)):
        why = Words(
            "the host itself does not answer: the machine is down, not only kubelet",
            "主机本身没有应答：是机器宕机，不只是 kubelet",
        )
        return ruled_out(why, tried)
    posted = [hit for hit in picture.hits(STOPPED_POSTING) if not quiet]
    objects = [
        *(name for unit in dead for name in known_as(picture, unit.host)),
        *(name for host in culprits(picture, *fatal[:2]) for name in known_as(picture, host)), *names, "kubelet",
        *(hit.value("path") for hit in fatal), *(ips.get(name, "") for name in names[:1]),
    ]  # fmt: skip
    evidence = [*dead[:1], *fatal[:2], *said[:1], *tried, *_worst(quiet)[:2], *posted[:1], *gone[:1]]
    who = next((name for name in objects if name), "")
    if fatal or dead:
        if nodes and not gone and not quiet and not dead:
            back = Words(
                "all nodes are Ready: kubelet's failure is history", "所有节点均为 Ready：kubelet 的故障已是历史"
            )
            return ruled_out(back, list(nodes.values())[:2])
        reason = _reason(fatal)
        why = Words(
            f"kubelet{f' on {who}' if who and who != 'kubelet' else ''} does not run{f': {reason}' if reason else ''}.",
            f"{f'{who} 上的 ' if who and who != 'kubelet' else ''}kubelet 未运行{f'：{reason}' if reason else ''}。",
        )
        return found(PROVEN if (dead and fatal) or quiet or gone else STRONG, why, objects, evidence, node=who)
    if said and (quiet or gone or posted):
        why = Words(f"kubelet on {who} does not run, and its node is silent.", f"{who} 上的 kubelet 未运行，节点失联。")
        return found(STRONG, why, objects, evidence, node=who)
    if running := [
        unit for unit in last.values() if unit.active == "active" and (not names or unit.host.lower() in names)
    ]:
        return ruled_out(Words("kubelet is active there", "该节点的 kubelet 为 active"), running[:1])
    if quiet or posted:
        return _silent(quiet, objects, alive, evidence, who)
    posting = [
        c for c in picture.of(Condition) if c.kind == "Ready" and c.status == "False" and c.reason == "KubeletNotReady"
    ]
    if posting:
        why = Words(
            "kubelet reports by itself that the node is not ready, so it runs",
            "kubelet 自己上报节点未就绪，说明它在运行",
        )
        return ruled_out(why, posting[:1])
    if gone:
        why = Words(
            f"{gone[0].name} is NotReady; whether kubelet reports at all is not shown.",
            f"{gone[0].name} 为 NotReady；kubelet 是否仍在上报未给出。",
        )
        return found(HINT, why, objects, gone[:1], node=gone[0].name)
    return cannot_tell(
        Words("conditions of the node and the state of its kubelet are not shown", "没有节点状况与 kubelet 状态")
    )


def _silent(
    quiet: dict[str, list[Condition]], objects: list[str], alive: bool | None, evidence: Sequence[object], who: str
) -> Finding:  # fmt: skip
    """Only the API speaks: kubelet is silent, and the machine may be."""
    if alive:
        why = Words(
            f"The host of {who} answers, and its kubelet no longer reports: every condition is Unknown.",
            f"{who} 主机有应答，但其 kubelet 不再上报：所有状况均为 Unknown。",
        )
        return found(STRONG, why, objects, evidence, node=who)
    why = Words(
        f"The kubelet of {who or 'a node'} stopped reporting; conditions and pods of that node are shown as they "
        f"last were. From "
        "here kubelet and machine cannot be told apart: a ping decides.",
        f"{who or '某节点'} 的 kubelet 已停止上报；该节点的状况与 pod 停留在最后的状态。仅凭 API 无法区分 kubelet "
        f"与机器故障：ping 可以判定。",
    )
    # From the API's side alone a stopped kubelet and a machine that is off look the same.
    return found(POSSIBLE, why, objects, evidence, node=who)


def _worst(quiet: dict[str, list[Condition]]) -> list[Condition]:
    conditions = [condition for some in quiet.values() for condition in some]
    return sorted(conditions, key=lambda condition: condition.kind != "Ready")


def _reason(fatal: list[Hit]) -> str:
    for hit in fatal:
        if hit.sign in (FAILED_TO_RUN.key, EXPIRED.key, NO_CONFIG.key):
            return (hit.value("rest") or hit.text).strip(" \"'")[:160]
    return ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node = finding.value("node", "<node>")
    address = picture.internal_ips().get(node, node)
    return (
        Step(Words("Does the machine answer?", "机器是否应答？"), f"ping -c2 {address}"),
        Step(
            Words(
                "Read kubelet's last fatal line there and repair what it names",
                "查看 kubelet 最后的致命错误并修复其所指问题",
            ),
            f"ssh {address} 'systemctl status kubelet --no-pager; journalctl -u kubelet -n 50 --no-pager -o cat'",
        ),
        Step(
            Words("Start it, and let it start with the machine", "启动 kubelet 并设为开机自启"),
            f"ssh {address} 'systemctl enable --now kubelet'",
        ),
    )


CAUSE = Cause(
    id="kubelet-not-running",
    code="TRT4004",
    severity="high",
    name=Words("kubelet does not run", "kubelet 未运行"),
    what=Words(
        "kubelet is dead (certificate, configuration, cgroup, disk); its node is Unknown and its pods look Running "
        "for ever.",
        "kubelet 已停止（证书、配置、cgroup 或磁盘原因）；节点为 Unknown，其上的 pod 一直显示 Running。",
    ),
    explains=("node-not-ready", "status-stale", "bgp-down", "not-ready", "pod-pending", "terminating-stuck"),
    look_alikes=(
        ("kubelet-swap-on", Words("the fatal line is about swap", "致命错误是 swap")),
        ("peer-node-down", Words("the host does not answer ping", "主机 ping 不通")),
        ("runtime-unresponsive", Words("kubelet runs and reports PLEG", "kubelet 在运行并上报 PLEG")),
    ),
    signs=(FAILED_TO_RUN, UNIT_FAILED, NO_CONFIG, EXPIRED, SWAP_ON, DIFFERENT, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "ping -c2 <node>; ssh <node> 'systemctl status kubelet --no-pager; journalctl -u kubelet -n 50 --no-pager -o "
        "cat'",
        Words("a host that answers with a dead kubelet is this cause", "主机有应答而 kubelet 未运行，就是此原因"),
    ),
    fix=fix,
    verify=(Step(Words("The node is Ready", "节点为 Ready"), "kubectl get nodes"),),
    prevent=(
        Words(
            "Alarm on failed units; rotate kubelet's certificates.", "对失败的 systemd 单元告警；轮换 kubelet 证书。"
        ),
    ),
    yields_to=("kubelet-swap-on", "peer-node-down", "cgroup-driver-mismatch", "disk-pressure", "runtime-unresponsive"),
)

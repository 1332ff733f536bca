"""TRT4003: kubelet refuses to run because swap is active, so what the API shows of that node is old."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, line_after
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, known_as, not_ready, silent
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
from tortie.doctor.picture.facts import Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

SWAP_ON: Final = Sign("swap-on", "running with swap on is not")  # screens cut the rest
ACCEPTED: Final = Sign("swap-accepted", "failSwapOn: false")
ACCEPTED_FLAG: Final = Sign("swap-accepted-flag", "--fail-swap-on=false")
_DEVICE: Final = re.compile(
    r"(/(?:dev|swap|var|mnt|home)[\w./-]*|/swap\w*)\s+(?:partition|file)\b|\bswap\S*\s+(/dev/[\w./-]+)"
)
_ANY_DEVICE: Final = re.compile(r"(/dev/(?:sd|vd|xvd|nvme|dm-|mapper/|zram)[\w./-]*|/swap[\w.]*)")
_FREE: Final = re.compile(r"^Swap:\s+([\d.]+)", re.M)


def judge(picture: Picture) -> Finding:
    refused = picture.hits(SWAP_ON)
    devices, shown = _devices(picture)
    units = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet") and unit.active != "active"]
    hosts = _hosts(picture, refused) or [unit.host for unit in units if unit.host]
    gone = not_ready(picture)
    objects = [
        *(name for host in hosts for name in known_as(picture, host)), *(node.name for node in gone if not hosts),
        *devices,
        "swap", "kubelet",
    ]  # fmt: skip
    of_it = [condition for name, conditions in silent(picture).items() if name in objects for condition in conditions]
    down = [node for node in gone if node.name in objects]
    evidence = (*refused[:1], *shown[:1], *units[:1], *of_it[:1], *down[:1])
    device = devices[0] if devices else ""
    if refused:
        on = (f" ({device})", f"（{device}）") if device else ("", "")
        who = objects[0] if hosts else ""
        why = Words(
            f"kubelet{f' on {who}' if who else ''} ends itself because swap is on{on[0]}; the node's status in the "
            f"API is old.",
            f"{f'{who} 上的 ' if who else ''}kubelet 因 swap 已启用{on[1]}而退出；API 中该节点的状态是旧的。",
        )
        if hosts and all(host in _mended(picture) for host in hosts):
            now = Words("swap is off there now, and kubelet runs", "那里的 swap 现已关闭，kubelet 正在运行")
            return ruled_out(now, refused[:1])
        if picture.agents_now() and gone == [] and picture.nodes_now() and not units:
            back = Words(
                "all nodes are Ready: kubelet's refusal is history", "所有节点均为 Ready：kubelet 的报错已是历史"
            )
            return ruled_out(back, list(picture.nodes_now().values())[:2])
        return found(PROVEN if units or of_it or down else STRONG, why, objects, evidence, device=device)
    if accepted := picture.hits(ACCEPTED, ACCEPTED_FLAG):
        return ruled_out(Words("kubelet is told to accept swap", "kubelet 已设置为接受 swap"), accepted[:1])
    active = bool(shown) or bool(picture.said("swap-on"))
    if active and (units or picture.said("kubelet-stopped")):
        why = Words(
            f"Swap is on{f' ({device})' if device else ''} and kubelet does not run; its last line is not shown.",
            f"swap 已启用{f'（{device}）' if device else ''}且 kubelet 未运行；其最后一行日志未给出。",
        )
        return found(LIKELY, why, objects, (*picture.said("swap-on")[:1], *evidence), device=device)
    if active and (silent(picture) or gone):
        why = Words(
            "Swap is on, and a node's kubelet is silent; why is not shown.",
            "swap 已启用，且有节点的 kubelet 失联；原因未给出。",
        )
        return found(POSSIBLE, why, objects, (*picture.said("swap-on")[:1], *evidence), device=device)
    return cannot_tell(Words("kubelet's last lines are not shown", "没有 kubelet 的最后几行日志"))


def _mended(picture: Picture) -> set[str]:
    """Hosts whose kubelet runs, and whose /proc/swaps was looked at and lists nothing."""
    shown = [exhibit for exhibit in picture.commands("/proc/swaps") if exhibit.host]
    empty = {each.host for each in shown if each.lines and not any(_DEVICE.search(line) for line in each.lines)}
    kubelets = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet")]
    return empty & {unit.host for unit in kubelets if unit.active == "active"}


def _hosts(picture: Picture, refused: list[Hit]) -> list[str]:
    """Where kubelet refused: the journal's host, else the prompt's."""
    return [name for name in culprits(picture, *refused[:2]) if not name.startswith(("calico", "canal"))]


def _devices(picture: Picture) -> tuple[list[str], list[Place]]:
    """Swap devices: of kubelet's own list, /proc/swaps, swapon or lsblk; a non-zero total of free counts without a "
    "name."""
    devices: list[str] = []
    shown: list[Place] = []
    for hit in picture.hits(SWAP_ON):
        for line in (hit.line, line_after(picture, hit.place)):
            devices += _ANY_DEVICE.findall(line.partition("/proc/swaps")[2] or ("" if line is hit.line else line))
    for exhibit in picture.exhibits:
        if not re.search(r"/proc/swaps|swapon|\bfree\b|list-units.*swap|lsblk", exhibit.command):
            continue
        for index, line in enumerate(exhibit.lines):
            found_here = [one or two for one, two in _DEVICE.findall(line)]
            if re.search(r"\bswap\b.*\bactive\b|\[SWAP\]", line):
                found_here += _ANY_DEVICE.findall(line) or [line.split()[0].lstrip("●├─└ ")]
            total = _FREE.match(line)
            if found_here or (total and float(total[1]) > 0):
                devices += found_here
                shown.append(exhibit.place(index))
    return list(dict.fromkeys(devices)), shown


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    device = finding.value("device")
    unit = device.strip("/").replace("-", "\\x2d").replace("/", "-") + ".swap" if device else "<device>.swap"
    return (
        Step(Words("Turn swap off now", "立即关闭 swap"), "swapoff -a", "disruptive"),
        Step(
            Words("Comment it out of fstab", "注释掉 fstab 中的 swap 条目"),
            "sed -i.bak '/^[^#].*\\sswap\\s/s/^/#/' /etc/fstab",
        ),
        Step(
            Words(
                "Mask the unit as well: systemd makes swap from the partition's type even without fstab",
                "同时屏蔽该单元：即使没有 fstab 条目，systemd 也会按分区类型重新启用 swap",
            ),
            f"systemctl mask '{unit}'; systemctl list-units --all '*.swap'",
        ),
        Step(Words("Start kubelet", "启动 kubelet"), "systemctl restart kubelet", "disruptive"),
    )


CAUSE = Cause(
    id="kubelet-swap-on",
    code="TRT4003",
    severity="high",
    name=Words("kubelet ends because swap is on", "swap 未关导致 kubelet 退出"),
    what=Words(
        "Swap is active again, mostly after a reboot, and kubelet refuses to run; pods of that node look as they "
        "last were.",
        "swap 再次启用（多在重启之后），kubelet 拒绝运行；该节点上的 pod 停留在最后的状态。",
    ),
    explains=("node-not-ready", "status-stale", "bgp-down", "not-ready", "pod-pending", "traffic-dead"),
    look_alikes=(
        ("kubelet-not-running", Words("another fatal line ends kubelet", "kubelet 因其他致命错误退出")),
        ("peer-node-down", Words("the host does not answer", "主机没有应答")),
    ),
    signs=(SWAP_ON, ACCEPTED, ACCEPTED_FLAG, *NODE_SIGNS),
    judge=judge,
    ask=Ask(
        "journalctl -u kubelet -n 30 --no-pager -o cat; cat /proc/swaps",
        Words("the swap line at kubelet's end is this cause", "kubelet 最后一行是 swap 报错，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(Words("Nothing but the heading", "只有表头"), "cat /proc/swaps"),
        Step(Words("The node is Ready", "节点为 Ready"), "kubectl get nodes"),
    ),
    prevent=(
        Words(
            "After a test reboot look at `systemctl list-units '*.swap'`; or set failSwapOn: false on purpose.",
            "测试重启后检查 `systemctl list-units '*.swap'`；或有意设置 failSwapOn: false。",
        ),
    ),
)

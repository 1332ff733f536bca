"""TRT4005: the node's disk is full, so kubelet evicts pods, and images and files cannot be written."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits
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
from tortie.doctor.picture.facts import Condition, Disk, Pod
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LOW: Final = Sign("disk-low-on", "node was low on resource: <resource>")
LOW_LIST: Final = Sign("disk-low-on-list", "node was low on resource: [<resource>]")  # up to Kubernetes 1.15
NO_SPACE: Final = Sign("disk-no-space", "no space left on device")
FREE_FAILED: Final = Sign("disk-free-failed", "FreeDiskSpaceFailed")
HAS_PRESSURE: Final = Sign("disk-has-pressure", "KubeletHasDiskPressure")
NODE_HAS: Final = Sign("disk-node-has", "status is now: NodeHasDiskPressure")
RECLAIM: Final = Sign("disk-reclaim", "eviction manager: attempting to reclaim <resource>")
IMAGE_GC: Final = Sign("disk-image-gc", "failed to garbage collect required amount of images")
DISKS: Final = ("ephemeral-storage", "inodes", "nodefs", "imagefs", "disk", "diskpressure")
FULL: Final = 95  # percent; kubelet's own limits are 85 (images) and 90 (eviction)
TIGHT: Final = 85
NOT_DISKS: Final = ("inotify", "fsnotify", "watch", "bpf", "shm", "/dev/shm", "sysfs")
IRRELEVANT: Final = ("/snap", "/boot", "/mnt", "/media", "/run", "/sys", "/dev/shm", "/proc")


def judge(picture: Picture) -> Finding:
    low = [hit for hit in picture.hits(LOW, LOW_LIST, RECLAIM) if hit.value("resource").rstrip(".").lower() in DISKS]
    memory = [hit for hit in picture.hits(LOW, LOW_LIST) if hit.value("resource").lower().startswith("memory")]
    written = [hit for hit in picture.hits(NO_SPACE) if not any(word in hit.line.lower() for word in NOT_DISKS)]
    kubelet = picture.hits(HAS_PRESSURE, NODE_HAS, FREE_FAILED, IMAGE_GC)
    pressed = [c for c in picture.of(Condition) if c.kind == "DiskPressure" and c.status == "True"]
    tainted = [node for node in picture.nodes_now().values() if any("disk-pressure" in taint for taint in node.taints)]
    disks = [disk for disk in picture.of(Disk) if not disk.mount.startswith(IRRELEVANT)]
    full = sorted((disk for disk in disks if disk.used_percent >= FULL), key=lambda disk: -disk.used_percent)
    evicted = [pod for pod in picture.pods_now() if pod.status == "Evicted"]
    said = picture.said("disk-full")
    objects = _objects(picture, low, [*written, *kubelet], full, pressed)
    evidence = (*full[:2], *pressed[:1], *low[:2], *kubelet[:1], *written[:2], *tainted[:1], *evicted[:1], *said[:1])
    where = next((c.owner for c in pressed if c.owner), next((n.name for n in tainted), ""))
    room = f"{full[0].mount} {full[0].used_percent} %" if full else ""
    why = Words(
        f"The disk of {where or 'the node'} is full{f' ({room})' if room else ''}: pods are evicted, and images and "
        f"files cannot "
        "be written.",
        f"{where or '节点'} 的磁盘已满{f'（{room}）' if room else ''}：pod 被驱逐，镜像与文件无法写入。",
    )
    states = [bool(low), bool(kubelet), bool(pressed or tainted), bool(full), bool(written), bool(said)]
    fine = [c for c in picture.of(Condition) if c.kind == "DiskPressure" and c.status == "False"]
    if fine and not (full or pressed or tainted or written):
        if low or kubelet:
            past = Words(
                "Pods were evicted for disk; DiskPressure is False now.", "曾因磁盘被驱逐；目前 DiskPressure 为 False。"
            )
            return found(POSSIBLE, past, objects, evidence)
        if not evicted:
            return ruled_out(Words("DiskPressure is False", "DiskPressure 为 False"), fine[:1])
    if sum(states) > 1:
        return found(PROVEN, why, objects, evidence, node=where)
    if low or pressed or tainted or kubelet or written:
        return found(STRONG, why, objects, evidence, node=where)
    if full or said:
        return found(LIKELY if evicted else POSSIBLE, why, objects, evidence, node=where)
    if memory:
        return ruled_out(Words("the eviction was for memory", "驱逐原因是内存"), memory[:1])
    if [disk for disk in disks if disk.mount == "/" and not disk.inodes] and all(d.used_percent < TIGHT for d in disks):
        return ruled_out(Words("the disks have room", "磁盘尚有空间"), disks[:1])
    if [pod for pod in evicted if is_agent(pod.name)]:
        why = Words("calico-node was evicted; for which resource is not shown.", "calico-node 被驱逐；因何资源未给出。")
        return found(POSSIBLE, why, ["DiskPressure", *(pod.node or pod.name for pod in evicted)], evicted[:2])
    return cannot_tell(Words("conditions of the node and df are not shown", "没有节点状况与 df"))


def _objects(
    picture: Picture, low: list[Hit], others: list[Hit], full: list[Disk], pressed: list[Condition]
) -> list[str]:
    pods = [pod for pod in picture.of(Pod) if pod.status == "Evicted"]
    tainted = [n.name for n in picture.nodes_now().values() if any("disk-pressure" in taint for taint in n.taints)]
    return [
        *(c.owner for c in pressed), *tainted, *(pod.node for pod in pods), *(disk.host for disk in full),
        *(disk.mount for disk in full), *(hit.value("resource").rstrip(".") for hit in low),
        *culprits(picture, *low[:2], *others[:2]),
        "DiskPressure", *(pod.name for pod in pods[:2]), "ephemeral-storage",
        "no space left on device" if others else "",
    ]  # fmt: skip


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    inodes = any(disk.inodes and disk.used_percent >= FULL for disk in picture.of(Disk))
    look = (
        "df -i; find /var -xdev -type f | cut -d/ -f1-4 | sort | uniq -c | sort -rn | head"
        if inodes
        else "df -h; du -xhd2 /var | sort -rh | head"
    )
    docker = any("docker" in node.runtime for node in picture.nodes_now().values())
    prune = "docker image prune -a" if docker else "crictl rmi --prune"
    return (
        Step(Words("See what fills the disk", "找出占用空间的内容"), look),
        Step(Words("Remove images that nothing uses", "清理未使用的镜像"), prune, "disruptive"),
        Step(Words("Shorten the journal and old logs", "收缩 journal 与旧日志"), "journalctl --vacuum-size=500M"),
        Step(
            Words("Remove the evicted pods; their DaemonSet makes new ones", "删除被驱逐的 pod，DaemonSet 会重建"),
            f"kubectl -n {picture.namespace} delete pod --field-selector status.phase=Failed -l k8s-app=calico-node",
        ),
    )


CAUSE = Cause(
    id="disk-pressure",
    code="TRT4005",
    severity="high",
    name=Words("disk pressure", "磁盘压力"),
    what=Words(
        "The node's disk is full: calico-node is evicted, images cannot be pulled, files cannot be written.",
        "节点磁盘已满：calico-node 被驱逐，镜像无法拉取，文件无法写入。",
    ),
    explains=(
        "evicted",
        "image-pull",
        "not-ready",
        "pod-pending",
        "pod-not-created",
        "init-crash",
        "crash-loop",
        "node-not-ready",
    ),
    look_alikes=(
        ("image-pull-failed", Words("the registry refuses, the disk has room", "镜像仓库拒绝，而磁盘有空间")),
        ("oom-killed", Words("killed by the kernel for memory", "因内存被内核杀掉")),
    ),
    signs=(LOW, LOW_LIST, NO_SPACE, FREE_FAILED, HAS_PRESSURE, NODE_HAS, RECLAIM, IMAGE_GC),
    judge=judge,
    ask=Ask(
        "kubectl describe node <node> | grep -A8 Conditions; df -h / /var/lib/containerd /var/lib/docker /var/log; "
        "df -i /",
        Words("DiskPressure True or a full disk is this cause", "DiskPressure 为 True 或磁盘已满，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("DiskPressure is False", "DiskPressure 为 False"), "kubectl describe node <node> | grep DiskPressure"
        ),
    ),
    prevent=(
        Words(
            "Alarm on disks; requests for ephemeral-storage; tuned image collection.",
            "磁盘告警；设置 ephemeral-storage requests；调整镜像回收阈值。",
        ),
    ),
)

"""TRT6008: a host directory that Calico needs cannot be created or written."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import BIN_DIR, CP_DENIED, READ_ONLY, mounted, node_of
from tortie.doctor.causes.legacy import (
    LIKELY,
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
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

SETUP = Sign("host-path-setup", 'MountVolume.SetUp failed for volume "<volume>" : <rest>')
INSTALL_BUSY = Sign("host-path-busy", "<path>: text file busy")
INSTALL_COPY = Sign("host-path-copy", "copy_file_range: bad file descriptor")
INSTALL_COPY_OTHER = Sign(
    "host-path-copy-other", "copy_file_range: (operation not permitted|invalid argument|function not implemented)"
)
CP_READ_ONLY = Sign("host-path-cp", "cp: can't create '<path>': Read-only file system")
CP_READ_ONLY_GNU = Sign(
    "host-path-cp-gnu", "cp: cannot create (regular file|directory) '<path>': Read-only file system"
)
READ_ONLY_ALONE = Sign("host-path-read-only-alone", "read-only file system")
PATHS = (
    "/usr/libexec",
    "/opt/",
    "/host/",
    "/etc/cni",
    "/var/lib/calico",
    "/var/lib/cni",
    "kubelet-plugins",
    "cni",
    "/var/log/calico",
    "flexvol",
)
KERNEL = ("/proc/sys", "/sys/")  # sysctls and bpffs are other causes
SIGNS = (
    READ_ONLY, SETUP, INSTALL_BUSY, INSTALL_COPY, INSTALL_COPY_OTHER, CP_READ_ONLY, CP_READ_ONLY_GNU, READ_ONLY_ALONE,
    CP_DENIED,
)  # fmt: skip


def judge(picture: Picture) -> Finding:
    hits = [hit for hit in picture.hits(READ_ONLY, CP_READ_ONLY, CP_READ_ONLY_GNU) if _ours(hit)]
    alone = [h for h in picture.hits(READ_ONLY_ALONE) if any(p in h.line for p in PATHS) and not _kernel(h.line)]
    busy = [hit for hit in picture.hits(INSTALL_BUSY) if "cni" in hit.value("path") or "calico" in hit.value("path")]
    copy = picture.hits(INSTALL_COPY, INSTALL_COPY_OTHER)
    if hits or alone:
        return _read_only(picture, hits or alone)
    if busy or copy:
        return _unwritable(picture, busy or copy, bool(busy))
    denied = picture.hits(CP_DENIED)
    if denied:
        return ruled_out(
            Words("writing is denied, the file system is not read-only", "写入被拒绝，但文件系统并非只读"), denied[:1]
        )
    mount = mounted(picture, "ro", BIN_DIR, "/usr/libexec")
    if mount and any(pod.status.startswith("Init") for pod in picture.agents_now()):
        why = Words(f"{mount.path} is mounted read-only.", f"{mount.path} 以只读方式挂载。")
        return found(LIKELY, why, (mount.path, BIN_DIR), (mount,), path=mount.path)
    return cannot_tell(Words("no write was refused", "没有写入失败的证据"))


def _ours(hit: Hit) -> bool:
    path = hit.value("path")
    return any(part in path or part in hit.line for part in PATHS) and not _kernel(path)


def _kernel(text: str) -> bool:
    return any(part in text for part in KERNEL)


def _read_only(picture: Picture, hits: list[Hit]) -> Finding:
    hit = hits[0]
    path = hit.value("path") or next((w.strip("'\":,") for w in hit.line.split() if w.startswith("/")), "")
    volume = next((h.value("volume") for h in picture.hits(SETUP) if "read-only" in h.line), "")
    mount = mounted(picture, "ro", *[p for p in (path.removeprefix("/host"), "/usr/libexec", BIN_DIR) if p])
    node = node_of(hits, picture)
    why = Words(
        f"{path or 'A host path'} lies on a read-only file system{f' (volume {volume})' if volume else ''}.",
        f"{path or '主机路径'} 位于只读文件系统上{f'（卷 {volume}）' if volume else ''}。",
    )
    objects = (path, path.removeprefix("/host"), volume, path.rpartition("/")[0], mount.path if mount else "", node)
    evidence = (*((mount,) if mount else ()), *hits[:3])
    return found(PROVEN if mount else STRONG, why, objects, evidence, path=path, volume=volume, node=node)


def _unwritable(picture: Picture, hits: list[Hit], busy: bool) -> Finding:
    hit = hits[0]
    path = hit.value("path") or next((w.strip("'\":,") for w in hit.line.split() if "/host/" in w), "/host" + BIN_DIR)
    path = path.rpartition("=")[2]
    reason, reason_zh = ("is being executed (text file busy)", "正在被执行（text file busy）")
    if not busy:
        reason, reason_zh = ("cannot be copied by this kernel (copy_file_range)", "无法被该内核复制（copy_file_range）")
    why = Words(f"install-cni cannot replace {path}: it {reason}.", f"install-cni 无法替换 {path}：{reason_zh}。")
    objects = (path, path.removeprefix("/host"), BIN_DIR, "install-cni", node_of(hits, picture))
    return found(STRONG, why, objects, hits[:2], path=path, busy="yes" if busy else "")


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    again = Step(
        Words("Recreate the pod", "重建该 Pod"),
        f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
        "disruptive",
    )
    if finding.value("busy"):
        restart = Step(
            Words("Restart the runtime, which ends what still runs; drain first", "重启运行时以结束占用进程；先 drain"),
            "systemctl restart containerd",
            "disruptive",
        )
        return (restart, again)
    path = finding.value("path")
    flexvol = "flexvol" in finding.value("volume") or "libexec" in path or "kubelet-plugins" in path
    if flexvol:
        change = Step(
            Words("The operator can do without FlexVolume", "operator 可以不使用 FlexVolume"),
            'kubectl patch installation default --type=merge -p \'{"spec": {"flexVolumePath": "None"}}\'',
            "disruptive",
        )
        manifest = Step(
            Words(
                "With the manifest: put flexvol-driver-host on a path that this system can write",
                "使用清单安装时：把 flexvol-driver-host 改到该系统可写的路径",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        )
        return (change, manifest, again)
    return (
        Step(
            Words(
                "Put the host path on a writable one, for runtime and DaemonSet alike",
                "把该主机路径改为可写路径，运行时与 DaemonSet 同时修改",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        again,
    )


CAUSE = Cause(
    id="host-path-readonly",
    code="TRT6008",
    severity="high",
    name=Words("host path is read-only", "主机路径只读"),
    what=Words(
        "A host directory cannot be created or written: an immutable system, a read-only root, a busy file, a copy "
        "that the kernel refuses.",
        "主机目录无法创建或写入：不可变系统、只读根文件系统、文件正被占用，或内核不支持该复制方式。",
    ),
    explains=("init-stuck", "init-crash", "pod-pending", "node-not-ready", "not-ready", "sandbox-failed", "log-errors"),
    look_alikes=(
        ("selinux-denied", Words("there the path is writable, and the policy denies", "那时路径可写，由安全策略拒绝")),
        ("missing-mount", Words("there the path is not mounted at all", "那时根本没有挂载该路径")),
        ("disk-pressure", Words("there the words are `no space left`", "那时报 `no space left`")),
    ),
    signs=SIGNS,
    judge=judge,
    ask=Ask(
        "findmnt -no OPTIONS -T /usr/libexec; findmnt -no OPTIONS -T /opt/cni/bin; "
        "kubectl -n <ns> describe pod <pod> | tail -5",
        Words("ro among the options decides", "选项中有 ro 即可确定"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The init containers finish", "init 容器全部完成"), "kubectl -n <ns> get pod -l k8s-app=calico-node"
        ),
    ),
    prevent=(Words("Choose writable paths for each operating system.", "按操作系统选择可写路径。"),),
)

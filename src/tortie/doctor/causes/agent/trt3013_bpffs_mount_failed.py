"""TRT3013: the init step that mounts the BPF file system or cgroup2 fails."""

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
from tortie.doctor.picture.facts import Container
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NOT_SHARED: Final = Sign(
    "bpffs-not-shared", 'path (")?<path>(")? is mounted on (")?<mount>(")? but it is not a shared mount'
)
NOT_SHARED_SLAVE: Final = Sign("bpffs-not-slave", "but it is not a shared or slave mount")
BPF_FAILED: Final = Sign("bpffs-failed", "mount BPF file( )?system")
CGROUP_FAILED: Final = Sign("bpffs-cgroup-failed", "Failed to mount cgroup2 file( )?system")
NO_FLAG: Final = Sign("bpffs-no-flag", "flag provided but not defined: -best-effort")
STEPS: Final = ("mount-bpffs", "ebpf-bootstrap")
CODES: Final = {
    2: Words("the BPF file system could not be mounted", "BPF 文件系统未能挂载"),
    3: Words("cgroup2 could not be mounted", "cgroup2 未能挂载"),
    4: Words("the network could not be set up", "网络未能配置"),
}


def judge(picture: Picture) -> Finding:
    shared = [*picture.hits(NOT_SHARED), *picture.hits(NOT_SHARED_SLAVE)]
    about_bpf = [hit for hit in shared if "/sys" in hit.line or any(step in hit.line for step in STEPS)]
    failed = [hit for hit in picture.hits(BPF_FAILED) if "fail" in hit.line.lower() or "error" in hit.line.lower()]
    failed += picture.hits(CGROUP_FAILED)
    boxes = [box for box in picture.containers() if box.name in STEPS and _code(box) not in (None, 0)]
    if skew := picture.hits(NO_FLAG):
        why = Words(
            "the image does not know -best-effort: manifest and image are of different releases",
            "镜像不认识 -best-effort：清单与镜像版本不一致",
        )
        return ruled_out(why, skew[:1])
    cgroup = any(hit.sign == CGROUP_FAILED.key for hit in failed) or any(_code(box) == 3 for box in boxes)
    objects = [
        *(hit.value("path") for hit in about_bpf), "cgroup2" if cgroup else "/sys/fs/bpf", *(box.name for box in boxes),
        "mount-bpffs", *(box.pod for box in boxes), *culprits(picture, *about_bpf[:1], *failed[:1]), "/sys",
    ]  # fmt: skip
    evidence = (*about_bpf[:2], *failed[:2], *boxes[:1])
    if about_bpf:
        why = Words(
            "/sys is not a shared mount on this host, so the BPF file system cannot be mounted through the container.",
            "该主机的 /sys 不是共享挂载，容器无法把 BPF 文件系统挂载到主机。",
        )
        return found(PROVEN if boxes or failed else STRONG, why, objects, evidence)
    code = next((code for box in boxes if (code := _code(box)) in CODES), None)
    what = CODES.get(code or 0, CODES[3] if cgroup else CODES[2])
    if failed or code:
        step = boxes[0].name if boxes else "mount-bpffs"
        why = Words(f"The init step {step} fails: {what.en}.", f"初始化步骤 {step} 失败：{what.zh}。")
        return found(PROVEN if failed and code else STRONG, why, objects, evidence)
    stuck = [pod for pod in picture.agents_now() if pod.status.startswith("Init:")]
    if boxes:
        why = Words(f"The init step {boxes[0].name} ends with an error.", f"初始化步骤 {boxes[0].name} 以错误结束。")
        return found(LIKELY if stuck else POSSIBLE, why, objects, evidence)
    done = [box for box in picture.containers() if box.name in STEPS and _code(box) == 0]
    if done:
        return ruled_out(Words(f"{done[0].name} ended well", f"{done[0].name} 已正常结束"), done[:1])
    return cannot_tell(Words("the log of mount-bpffs is not shown", "没有 mount-bpffs 的日志"))


def _code(box: Container) -> int | None:
    """The exit code of the last run that ended."""
    return box.exit_code if box.exit_code is not None else box.last_exit_code


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    unit = (
        "[Unit]\\nBefore=kubelet.service\\n[Service]\\nType=oneshot\\n"
        "ExecStart=/bin/mount --make-rshared /sys\\n[Install]\\nWantedBy=multi-user.target\\n"
    )
    steps = [
        Step(
            Words("Share the mount on the host", "在主机上设为共享挂载"),
            "mount --make-rshared /sys; mount -t bpf bpffs /sys/fs/bpf",
        ),
        Step(
            Words("Keep it over reboots", "使其重启后仍生效"),
            f"printf '{unit}' > /etc/systemd/system/shared-sys.service; systemctl enable shared-sys",
        ),
    ]
    version = picture.version("calico")
    if version is None or version >= (3, 24):
        steps.append(
            Step(
                Words(
                    "Where eBPF is not used, let the step pass: it then only warns",
                    "未使用 eBPF 时可让该步骤放行：此时只会告警",
                ),
                f"kubectl -n {picture.namespace} get ds calico-node -o yaml | grep -n -A3 mount-bpffs  # command: "
                f"calico-node -init -best-effort",
            )
        )
    return tuple(steps)


CAUSE = Cause(
    id="bpffs-mount-failed",
    code="TRT3013",
    severity="medium",
    name=Words("BPF file system cannot be mounted", "BPF 文件系统挂载失败"),
    what=Words(
        "The init container mount-bpffs or ebpf-bootstrap cannot mount /sys/fs/bpf or cgroup2: no propagation, or an "
        "old kernel.",
        "初始化容器 mount-bpffs 或 ebpf-bootstrap 无法挂载 /sys/fs/bpf 或 cgroup2：没有挂载传播，或内核过旧。",
    ),
    explains=("init-crash", "init-stuck", "not-ready", "crash-loop", "pod-pending"),
    look_alikes=(
        (
            "manifest-image-skew",
            Words("`flag provided but not defined: -best-effort`", "`flag provided but not defined: -best-effort`"),
        ),
        ("host-path-readonly", Words("the path is read-only", "路径为只读")),
        ("selinux-denied", Words("the audit log has a denial", "审计日志有拒绝记录")),
    ),
    signs=(NOT_SHARED, NOT_SHARED_SLAVE, BPF_FAILED, CGROUP_FAILED, NO_FLAG),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system logs <pod> -c mount-bpffs; findmnt -o TARGET,PROPAGATION /sys",
        Words("private propagation of /sys is this cause", "/sys 的传播方式为 private，就是此原因"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("shared, and a bpf mount", "为 shared，且有 bpf 挂载"),
            "findmnt -o TARGET,FSTYPE,PROPAGATION /sys /sys/fs/bpf",
        ),
    ),
    prevent=(
        Words(
            "Keep systemd's default propagation; share /sys on containerised hosts.",
            "保留 systemd 默认的挂载传播；容器化主机需共享 /sys。",
        ),
    ),
)

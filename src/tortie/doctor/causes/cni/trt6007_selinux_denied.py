"""TRT6007: SELinux (or AppArmor) denies an init container writing to a host path."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    APPARMOR,
    AVC,
    BIN_DIR,
    CP_DENIED,
    CP_DENIED_GNU,
    READ_ONLY,
    Mode,
    mounted,
    node_of,
    selinux,
)
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
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

OPEN_DENIED = Sign("host-open-denied", "open /host/<path>: permission denied")
MKDIR_DENIED = Sign("host-mkdir-denied", "mkdir /host/<path>: permission denied")
CREATE_DENIED = Sign("host-create-denied", "create /host/<path>: permission denied")
STATE_DENIED = Sign("state-open-denied", "open /var/(lib|run)/calico/<path>: permission denied")
WRITES = (CP_DENIED, CP_DENIED_GNU, OPEN_DENIED, MKDIR_DENIED, CREATE_DENIED, STATE_DENIED)
# What Calico's containers and their files are called in an audit record.
CONCERNED = (
    'comm="cp"', 'comm="install', 'comm="calico', 'comm="flexvol', 'comm="mv"', 'comm="touch"', 'name="bin"',
    'name="net.d"', "calico", "cni", "nodeagent", "kubelet-plugins", 'comm="bird',
)  # fmt: skip


def judge(picture: Picture) -> Finding:
    writes = picture.hits(*WRITES)
    audits = [h for h in picture.hits(AVC, APPARMOR) if any(word in h.line for word in CONCERNED)]
    mode = selinux(picture)
    if mode and mode.word != "enforcing" and not picture.hits(APPARMOR):
        return ruled_out(Words(f"SELinux is {mode.word}", f"SELinux 为 {mode.word}"), (mode,))
    if not writes and not audits:
        return cannot_tell(Words("no denied write is shown", "没有写入被拒绝的证据"))
    read_only = picture.hits(READ_ONLY) or mounted(picture, "ro", BIN_DIR)
    if read_only and not audits:
        return ruled_out(
            Words("the file system is read-only", "文件系统为只读"),
            read_only[:1] if isinstance(read_only, list) else (read_only,),
        )
    return _denied(picture, writes, audits, mode)


def _denied(picture: Picture, writes: list[Hit], audits: list[Hit], mode: Mode | None) -> Finding:
    path = _path(writes)
    host_path = path.removeprefix("/host")
    folder = path.rpartition("/")[0]
    op = audits[0].value("op") if audits else ""
    if writes and audits:
        strength = PROVEN
    elif writes:
        strength = STRONG if mode else LIKELY
    else:
        strength = STRONG if mode else POSSIBLE
    guard = "AppArmor" if audits and audits[0].sign == APPARMOR.key else "SELinux"
    node = node_of([*audits, *writes], picture)
    rule, rule_zh = (f" ({op} in the audit log)", f"（审计日志：{op}）") if op else ("", "")
    why = Words(
        f"{guard} denies writing {path or 'a host path'}{rule}; the plugins never land there.",
        f"{guard} 拒绝写入 {path or '主机路径'}{rule_zh}，插件文件无法落盘。",
    )
    objects = (folder, path, host_path, host_path.rpartition("/")[0], guard, "Enforcing" if mode else "", node)
    evidence = (*((mode,) if mode else ()), *audits[:2], *writes[:2])
    return found(strength, why, objects, evidence, path=host_path.rpartition("/")[0] or BIN_DIR, node=node, guard=guard)


def _path(writes: list[Hit]) -> str:
    for hit in writes:
        path = hit.value("path")
        if path:
            return (
                path if path.startswith("/") else f"/host/{path}" if "/host/" in hit.text else f"/var/lib/calico/{path}"
            )
    return ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("guard") == "AppArmor":
        profile = Step(
            Words(
                "Let the profile allow that path, or run install-cni unconfined",
                "在 AppArmor 配置中放行该路径，或让 install-cni 不受限",
            ),
            f"kubectl -n {picture.namespace} get ds calico-node -o yaml | grep -i apparmor",
        )
        return (profile, _again(picture))
    path = finding.value("path", BIN_DIR)
    return (
        Step(
            Words(
                "Give the directory a label that containers may write, and keep it", "给目录设置容器可写的标签并持久化"
            ),
            f"semanage fcontext -a -t container_file_t '{path}(/.*)?' && restorecon -Rv {path} /etc/cni",
        ),
        Step(
            Words("Or run the install container privileged", "或让安装容器以 privileged 运行"),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        _again(picture),
    )


def _again(picture: Picture) -> Step:
    return Step(
        Words("Recreate the agent, so that install-cni runs again", "重建 calico-node，让 install-cni 重新执行"),
        f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
        "disruptive",
    )


CAUSE = Cause(
    id="selinux-denied",
    code="TRT6007",
    severity="high",
    name=Words("SELinux denies writing", "SELinux 拒绝写入"),
    what=Words(
        "SELinux or AppArmor denies install-cni or flexvol writing to a host path; the file system itself is writable.",
        "SELinux 或 AppArmor 拒绝 install-cni、flexvol 写入主机路径；文件系统本身可写。",
    ),
    explains=("node-not-ready", "init-crash", "init-stuck", "sandbox-failed", "pod-pending", "not-ready", "log-errors"),
    look_alikes=(
        ("host-path-readonly", Words("there the words are `read-only file system`", "那时报 `read-only file system`")),
        ("cni-bin-not-executable", Words("there writing works and running does not", "那时能写入但不能执行")),
    ),
    signs=(*WRITES, AVC, APPARMOR, READ_ONLY),
    judge=judge,
    ask=Ask(
        "getenforce; ausearch -m avc -ts recent | tail -5; ls -ldZ /opt/cni/bin",
        Words("Enforcing with an avc denial decides", "Enforcing 且有 avc denied 即可确定"),
    ),
    fix=fix,
    verify=(
        Step(Words("The binaries are there", "二进制已存在"), f"ls -lZ {BIN_DIR}/calico"),
        Step(Words("No new denial", "没有新的拒绝记录"), "ausearch -m avc -ts recent | tail -5"),
    ),
    prevent=(Words("Ship the policy module with the node image.", "把策略模块放进节点镜像。"),),
)

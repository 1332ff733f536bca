"""TRT6005: the plugin's binary is there and cannot run, mostly because of a noexec mount."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    AVC,
    BIN_DIR,
    CP_DENIED,
    CP_DENIED_GNU,
    Mount,
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
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

DENIED = Sign("cni-bin-denied", "cni/bin/<binary>: permission denied")
DENIED_EXEC = Sign("cni-bin-denied-exec", "fork/exec <path>: permission denied")
# Before a path these words mean writing it, not running it.
WRITING = ("open ", "create ", "mkdir ", "rename ", "chmod ", "copy ", "remove ")


def judge(picture: Picture) -> Finding:
    hits = [hit for hit in picture.hits(DENIED, DENIED_EXEC) if not _writing(hit)]
    hits = [
        hit for hit in hits if hit.sign == DENIED.key or "cni" in hit.value("path") or "calico" in hit.value("path")
    ]
    noexec = mounted(picture, "noexec", BIN_DIR, "/host" + BIN_DIR)
    modes = _modes(picture)
    if noexec and (hits or noexec.path.startswith("/opt")):
        return _found(picture, PROVEN if hits else LIKELY, _why_noexec(noexec), hits, noexec)
    if not hits:
        return cannot_tell(Words("no binary was refused execution", "没有二进制被拒绝执行"))
    if modes:
        why = Words(
            f"{BIN_DIR}/{modes[0].name} has mode {modes[0].mode}: nobody may execute it.",
            f"{BIN_DIR}/{modes[0].name} 权限为 {modes[0].mode}，没有执行权限。",
        )
        return _found(picture, PROVEN, why, hits, modes[0])
    denied = picture.hits(AVC)
    mode = selinux(picture)
    if denied and (mode is None or mode.word == "enforcing"):
        return ruled_out(Words("SELinux denies it", "由 SELinux 拒绝"), denied[:1])
    written = picture.hits(CP_DENIED, CP_DENIED_GNU)
    if written:
        return ruled_out(
            Words("it could not even be written, which noexec would allow", "连写入都失败，noexec 不会如此"),
            written[:1],
        )
    why = Words(
        "The plugin's binary is there, and running it is refused; the mount's options are not shown.",
        "插件二进制存在但被拒绝执行；没有挂载选项。",
    )
    strength = POSSIBLE if mode and mode.word == "enforcing" else LIKELY
    if mode and mode.word != "enforcing":
        strength = STRONG
    return _found(picture, strength, why, hits, None)


def _writing(hit: Hit) -> bool:
    before = hit.line.lower().partition(hit.text.lower())[0]
    path = before.rpartition(" ")[2]  # the sign begins inside the path
    return before.removesuffix(path).endswith(WRITING)


def _why_noexec(mount: Mount) -> Words:
    return Words(
        f"{mount.path or BIN_DIR} is mounted noexec, so the plugins in {BIN_DIR} cannot run.",
        f"{mount.path or BIN_DIR} 以 noexec 挂载，{BIN_DIR} 中的插件无法执行。",
    )


def _modes(picture: Picture) -> list[HostFile]:
    """Plugins that lack the executable bit."""
    return [
        file for file in picture.of(HostFile)
        if file.name in ("calico", "calico-ipam", "install") and "bin" in file.folder
        if len(file.mode) >= 10 and file.mode.startswith("-") and "x" not in file.mode
    ]  # fmt: skip


def _found(picture: Picture, strength: float, why: Words, hits: list[Hit], thing: Mount | HostFile | None) -> Finding:
    path = thing.path if isinstance(thing, Mount) else ""
    node = node_of(hits, picture)
    objects = (BIN_DIR, f"{BIN_DIR}/calico", "noexec" if path or isinstance(thing, Mount) else "", path, node)
    extra = (thing,) if thing else ()
    return found(strength, why, objects, (*extra, *hits[:2]), mount=path, node=node)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    mount = finding.value("mount", "/opt")
    return (
        Step(
            Words("See options and mode", "查看挂载选项与权限"),
            f"findmnt -no TARGET,OPTIONS -T {BIN_DIR}; ls -l {BIN_DIR}/calico",
        ),
        Step(Words("Allow execution now", "立即允许执行"), f"mount -o remount,exec {mount}", "disruptive"),
        Step(
            Words(
                "Keep it: take noexec out of that line of /etc/fstab (or of the mount unit)",
                "持久化：去掉 /etc/fstab（或 mount 单元）中的 noexec",
            ),
            f"grep -n ' {mount} ' /etc/fstab",
        ),
        Step(
            Words("Recreate the agent on that node", "重建该节点的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="cni-bin-not-executable",
    code="TRT6005",
    severity="medium",
    name=Words("CNI plugin cannot be executed", "CNI 插件无法执行"),
    what=Words(
        "The plugin's binary is there and cannot run: its directory is mounted noexec, or its mode lacks the x bit.",
        "插件二进制存在但无法执行：所在目录以 noexec 挂载，或缺少执行权限。",
    ),
    explains=("sandbox-failed", "pod-pending", "node-not-ready", "init-crash", "no-address", "log-errors"),
    look_alikes=(
        ("selinux-denied", Words("there avc denials are logged", "那时有 avc denied 记录")),
        ("cni-binary-missing", Words("there the binary is not found", "那时找不到二进制")),
        ("image-arch-mismatch", Words("there the words are `exec format error`", "那时报错为 `exec format error`")),
    ),
    signs=(DENIED, DENIED_EXEC, AVC, CP_DENIED, CP_DENIED_GNU),
    judge=judge,
    ask=Ask(
        f"findmnt -no OPTIONS -T {BIN_DIR}; {BIN_DIR}/calico -v",
        Words("noexec among the options decides", "选项中有 noexec 即可确定"),
    ),
    fix=fix,
    verify=(Step(Words("It prints its version", "能输出版本号"), f"{BIN_DIR}/calico -v"),),
    prevent=(Words(f"Exempt {BIN_DIR} in hardening profiles.", f"安全加固时放行 {BIN_DIR}。"),),
)

"""TRT6004: the runtime looks for a plugin's binary where it is not."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    AVC,
    BIN_DIR,
    CP_DENIED,
    DIRECTORY_SIGNS,
    FIND_PLUGIN,
    FIND_PLUGIN_CUT,
    READ_ONLY,
    Directory,
    node_of,
    runtime_bin_dirs,
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

NOT_WRITEABLE = Sign("cni-bin-not-writeable", "/host/opt/cni/bin is (not |non-)writeable, skipping")
NO_DIRECTORY = Sign("cni-no-writeable-directory", "found no writeable directory, exiting")
NO_SUCH_BINARY = Sign("cni-no-such-binary", "<path>/calico: no such file or directory")
# Calico's own, and those that its configuration chains.
PLUGINS = ("calico", "calico-ipam", "portmap", "bandwidth", "loopback", "tuning", "host-local", "tortie", "tortie-ipam")


def judge(picture: Picture) -> Finding:
    hits = picture.hits(FIND_PLUGIN) or picture.hits(FIND_PLUGIN_CUT)
    ours = [hit for hit in hits if hit.value("plugin") in PLUGINS]
    if ours:
        return _missing(picture, ours)
    if hits:
        plugin = hits[0].value("plugin")
        return ruled_out(
            Words(
                f"the plugin that is missing is {plugin}, not one of Calico's", f"缺少的插件是 {plugin}，不属于 Calico"
            ),
            hits[:1],
        )
    blocked = picture.hits(NOT_WRITEABLE, NO_DIRECTORY)
    if blocked:
        why = Words(
            "install-cni could not write the plugins: no directory for them was writable.",
            "install-cni 无法写入插件：没有可写的目录。",
        )
        explained = picture.hits(AVC, CP_DENIED, READ_ONLY)
        return found(
            POSSIBLE if explained else LIKELY, why, (BIN_DIR, "/host/opt/cni/bin", "calico", "install-cni"), blocked[:2]
        )
    dirs = runtime_bin_dirs(picture)
    binaries = _binaries(picture)
    if dirs and binaries and not any(d.path == f.folder.rstrip("/") for d in dirs for f in binaries):
        return _elsewhere(dirs[-1], binaries[0])
    return cannot_tell(Words("no missing plugin is reported", "没有找不到插件的报错"))


def _missing(picture: Picture, hits: list[Hit]) -> Finding:
    hit = hits[-1]
    plugin = hit.value("plugin")
    looked = hit.value("list_dirs").replace(",", " ").split()
    binaries = _binaries(picture)
    dirs = runtime_bin_dirs(picture)
    there = [f for f in binaries if f.folder.rstrip("/") not in [path.rstrip("/") for path in looked]]
    absent = _absent(picture)
    where = there[0].folder.rstrip("/") if there else ""
    place_en = f"; the binary is in {where}" if where else ""
    place_zh = f"；而二进制在 {where}" if where else ""
    path = " ".join(looked) or "its directory"
    why = Words(
        f"The runtime looks for plugin {plugin} in {path}, where it is not{place_en}.",
        f"运行时在 {path} 中寻找插件 {plugin}，但那里没有{place_zh}。",
    )
    node = node_of(hits, picture)
    # The file that holds the setting is not known; the setting's name and the directories are.
    objects = (plugin, *looked, where, *(f"{one}/{plugin}" for one in looked), f"{BIN_DIR}/{plugin}", "bin_dir", node)
    sure = bool(looked and (there or absent or any(d.path in looked for d in dirs)))
    evidence = (*there[:1], *absent[:1], *dirs[-1:], *hits[:2])
    return found(PROVEN if sure else STRONG, why, objects, evidence, plugin=plugin,
                 looked=looked[0] if looked else "", where=where or BIN_DIR, node=node)  # fmt: skip


def _elsewhere(reads: Directory, binary: HostFile) -> Finding:
    why = Words(
        f"The runtime looks for plugins in {reads.path}; Calico's are in {binary.folder}.",
        f"运行时在 {reads.path} 中寻找插件，而 Calico 的插件在 {binary.folder}。",
    )
    objects = (reads.path, binary.folder, "calico", "bin_dir")
    return found(POSSIBLE, why, objects, (reads, binary), looked=reads.path, where=binary.folder)


def _binaries(picture: Picture) -> list[HostFile]:
    return [file for file in picture.of(HostFile) if file.name in ("calico", "calico-ipam") and "bin" in file.folder]


def _absent(picture: Picture) -> list[Hit]:
    """`ls` said that the binary is not there."""
    return [hit for hit in picture.hits(NO_SUCH_BINARY) if "ls:" in hit.line or "stat" in hit.line]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    looked, where = finding.value("looked", "<directory of the message>"), finding.value("where", BIN_DIR)
    again = Step(
        Words("Recreate the agent: install-cni writes the binaries", "重建 calico-node：由 install-cni 写入二进制"),
        f"kubectl -n {picture.namespace} delete pod <calico-node pod of {finding.value('node', 'that node')}>",
        "disruptive",
    )
    if looked.rstrip("/") == where.rstrip("/"):  # the directory is right, the binary is gone
        log = Step(
            Words("See why install-cni did not write it", "查看 install-cni 为何没有写入"),
            f"kubectl -n {picture.namespace} logs <calico-node pod> -c install-cni; ls -l {where}",
        )
        return (log, again)
    return (
        Step(
            Words("See where the runtime looks and where the binary is", "确认运行时查找的目录与二进制所在目录"),
            f"grep -n bin_dir /etc/containerd/config.toml; ls -l {where}/calico {looked}/calico",
        ),
        Step(
            Words(
                f"Let both be one: the runtime's bin_dir {where}, or the DaemonSet's cni-bin-dir {looked}",
                f"统一目录：运行时 bin_dir 改为 {where}，或 DaemonSet 的 cni-bin-dir 改为 {looked}",
            ),
            "vi /etc/containerd/config.toml",
            "disruptive",
        ),
        Step(
            Words("Restart the runtime; drain the node first", "重启运行时；先 drain 节点"),
            "systemctl restart containerd",
            "disruptive",
        ),
        again,
    )


CAUSE = Cause(
    id="cni-binary-missing",
    code="TRT6004",
    severity="high",
    name=Words("CNI plugin not found", "找不到 CNI 插件"),
    what=Words(
        "The runtime looks for Calico's plugin where it is not: another bin_dir, never installed, pruned.",
        "运行时查找 Calico 插件的目录中没有该二进制：bin_dir 不同、从未安装或被清理。",
    ),
    explains=("sandbox-failed", "pod-pending", "node-not-ready", "no-address", "terminating-stuck", "log-errors"),
    look_alikes=(
        (
            "cni-bin-not-executable",
            Words("there the binary is found and cannot run", "那时二进制能找到但无法执行"),
        ),
        ("stale-cni-config", Words("there another plugin is named", "那时报错的是别的插件")),
        ("runtime-cni-watch-lost", Words("there no configuration is loaded at all", "那时根本没有加载配置")),
    ),
    signs=(FIND_PLUGIN, FIND_PLUGIN_CUT, NOT_WRITEABLE, NO_DIRECTORY, NO_SUCH_BINARY, *DIRECTORY_SIGNS),
    judge=judge,
    ask=Ask(
        "grep -n bin_dir /etc/containerd/config.toml; ls -l /opt/cni/bin/calico <directory of the message>",
        Words("the binary must be in the directory that the runtime names", "二进制必须位于运行时所用的目录"),
    ),
    fix=fix,
    verify=(Step(Words("New pods start", "新 Pod 能启动"), "kubectl get pod -A | grep ContainerCreating"),),
    prevent=(Words("Pin bin_dir and cni-bin-dir in provisioning.", "在装机配置中固定 bin_dir 与 cni-bin-dir。"),),
    yields_to=("selinux-denied", "host-path-readonly", "cni-bin-not-executable"),
)

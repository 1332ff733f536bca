"""TRT6006: the runtime watches a directory that was deleted, and never loads the new configuration."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    CONFIG_UNINITIALIZED,
    DIRECTORY_SIGNS,
    FIND_PLUGIN_CUT,
    NO_NETWORK_CONFIG,
    NO_NETWORKS,
    NOT_INITIALIZED,
    OWN_FILE,
    agents_fine,
    conf_files,
    is_own,
    node_of,
    runtime_conf_dirs,
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
from tortie.doctor.picture.facts import HostFile, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

RELOAD = Sign(
    "cni-reload-failed",
    "failed to reload cni configuration after receiving fs change event\\(<list_event>\\)",
)
RELOAD_CUT = Sign("cni-reload-failed-cut", "failed to reload cni configuration after receiving fs change event")
WATCH_GONE = Sign("cni-watch-gone", "cni watching dir is deleted")
ACTIVE_SINCE = Sign("runtime-active-since", "ActiveEnterTimestamp=<rest>")
SIGNS = (
    RELOAD, RELOAD_CUT, WATCH_GONE, ACTIVE_SINCE, NOT_INITIALIZED, CONFIG_UNINITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG,
    FIND_PLUGIN_CUT,
)  # fmt: skip


def judge(picture: Picture) -> Finding:
    ready = agents_fine(picture)
    removed = [h for h in picture.hits(RELOAD) if "remove" in h.text.lower() or "rename" in h.text.lower()]
    removed += picture.hits(WATCH_GONE)
    reload = removed or picture.hits(RELOAD_CUT)
    uninitialized = picture.hits(NOT_INITIALIZED, CONFIG_UNINITIALIZED, NO_NETWORKS, NO_NETWORK_CONFIG)
    if not reload and not uninitialized:
        return cannot_tell(Words("nothing says that no CNI configuration is loaded", "没有未加载 CNI 配置的证据"))
    missing = picture.hits(FIND_PLUGIN_CUT)
    if missing:
        return ruled_out(
            Words("a configuration is loaded; it is a plugin that is missing", "配置已加载，缺的是插件"), missing[:1]
        )
    if ready is False:
        return ruled_out(
            Words(
                "calico-node has not finished: until then the message is normal",
                "calico-node 尚未就绪，此时该消息属正常",
            ),
            uninitialized[:1],
        )
    nodes = [node for node in picture.nodes_now().values() if node.status]
    if nodes and all(node.status.split(",")[0] == "Ready" for node in nodes):
        return ruled_out(Words("every node shown is Ready", "所列节点均为 Ready"), nodes[:1])
    other = [d for d in runtime_conf_dirs(picture) if d.path != CONF_DIR]
    if other:
        return ruled_out(
            Words(f"the runtime reads {other[0].path}, another directory", f"运行时读取的是另一目录 {other[0].path}"),
            other[:1],
        )
    files = [file for file in conf_files(picture) if is_own(file.name)]
    return _weigh(picture, removed, reload, uninitialized, files, ready is True)


def _weigh(
    picture: Picture, removed: list[Hit], reload: list[Hit], symptom: list[Hit], files: list[HostFile], ready: bool
) -> Finding:
    newer = _newer(picture, files)
    evidence = (*removed[:1], *files[:1], *((newer,) if newer else ()), *(reload or symptom)[:2], *symptom[:1])
    node = node_of(symptom, picture)
    objects = ("containerd", CONF_DIR, files[0].name if files else OWN_FILE, node)
    if removed:
        why = Words(
            f"{CONF_DIR} was deleted under the runtime, which still watches the old directory.",
            f"{CONF_DIR} 曾被删除，运行时仍在监听旧目录。",
        )
        return found(PROVEN if files and symptom else STRONG, why, objects, evidence, node=node)
    if files:
        age = " and is newer than the runtime's start" if newer else ""
        age_zh = "，且晚于运行时启动时间" if newer else ""
        why = Words(
            f"{files[0].name} is in {CONF_DIR}{age}, yet the runtime says that CNI is not initialised.",
            f"{CONF_DIR} 中已有 {files[0].name}{age_zh}，但运行时仍报 CNI 未初始化。",
        )
        strength = PROVEN if newer and ready else STRONG if newer else LIKELY if ready else POSSIBLE
        return found(strength, why, objects, evidence, node=node)
    why = Words(
        "The runtime has loaded no CNI configuration; whether the file is there is not shown.",
        "运行时没有加载任何 CNI 配置；没有显示配置文件是否存在。",
    )
    return found(POSSIBLE, why, objects, evidence, node=node)


def _newer(picture: Picture, files: list[HostFile]) -> Hit | Setting | None:
    """The runtime's start, when the file was written after it."""
    from tortie.doctor.reading.readers.times import epoch

    written = max((file.modified for file in files if file.modified is not None), default=None)
    if written is None:
        return None
    for hit in picture.hits(ACTIVE_SINCE):
        since = epoch(hit.value("rest").partition(" ")[2] or hit.value("rest"))
        if since is not None and since < written:
            return hit
    return None


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    node = finding.value("node", "<node>")
    return (
        Step(
            Words("Drain the node if it serves production", "生产环境先排空节点"),
            f"kubectl drain {node} --ignore-daemonsets",
            "disruptive",
        ),
        Step(
            Words(
                "Restart the runtime: it watches the directory that is there now", "重启运行时，使其重新监听现有目录"
            ),
            "systemctl restart containerd",
            "disruptive",
        ),
        Step(Words("Take the node back", "恢复调度"), f"kubectl uncordon {node}"),
    )


CAUSE = Cause(
    id="runtime-cni-watch-lost",
    code="TRT6006",
    severity="medium",
    name=Words("runtime did not reload the CNI configuration", "运行时未重载 CNI 配置"),
    what=Words(
        "The runtime watches an /etc/cni/net.d that was deleted (kubeadm reset, rm -rf, a mount over it) and never "
        "loads the new file.",
        "运行时监听的 /etc/cni/net.d 已被删除（kubeadm reset、rm -rf 或被挂载覆盖），新文件始终未被加载。",
    ),
    explains=("node-not-ready", "sandbox-failed", "pod-pending", "no-address", "log-errors"),
    look_alikes=(
        ("cni-binary-missing", Words("there the error names a plugin that is not found", "那时报找不到插件")),
        ("stale-cni-config", Words("there another plugin's configuration is loaded", "那时加载的是别的插件配置")),
        ("cni-bin-not-executable", Words("there the plugin cannot run", "那时插件无法执行")),
    ),
    signs=(*SIGNS, *DIRECTORY_SIGNS),
    judge=judge,
    ask=Ask(
        "crictl info | grep -i lastCNILoadStatus; systemctl show containerd -p ActiveEnterTimestamp; "
        "ls -la --time-style=full-iso /etc/cni/net.d",
        Words(
            "a good file newer than the runtime's start, and still not loaded, decides",
            "文件正常且晚于运行时启动、却仍未加载，即可确定",
        ),
    ),
    fix=fix,
    verify=(
        Step(Words("The node becomes Ready", "节点变为 Ready"), "kubectl get nodes"),
        Step(Words("It says OK", "输出 OK"), "crictl info | grep -i lastCNILoadStatus"),
    ),
    prevent=(Words(f"Empty {CONF_DIR}, never delete it.", f"只清空 {CONF_DIR}，不要删除目录本身。"),),
    yields_to=("cni-conf-dir-mismatch", "cni-binary-missing", "stale-cni-config"),
)

"""TRT6003: files or bridges of another or older CNI win over Calico's."""

from __future__ import annotations

from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    FIND_PLUGIN,
    FIND_PLUGIN_CUT,
    OWN_FILE,
    PLUGIN_FAILED,
    conf_files,
    current,
    failing,
    is_own,
    node_of,
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
from tortie.doctor.picture.facts import HostFile, Interface, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

FLANNEL = Sign("stale-cni-flannel", "open /run/flannel/subnet.env: no such file")
CILIUM = Sign("stale-cni-cilium", "unable to connect to Cilium (daemon|agent)")
CILIUM_SOCKET = Sign("stale-cni-cilium-socket", "dial unix /var/run/cilium/cilium.sock")
BRIDGE = Sign("stale-cni-bridge", '"<bridge>" already has an IP address different from <cidr>')
WEAVE = Sign("stale-cni-weave", "http://127.0.0.1:6784/<path>")
OVN = Sign("stale-cni-ovn", "failed to send CNI request: Post http://dummy/")
ANTREA = Sign("stale-cni-antrea", "/var/run/antrea/cni.sock")
WORDS = (
    (FLANNEL, "flannel"),
    (CILIUM, "cilium"),
    (CILIUM_SOCKET, "cilium"),
    (WEAVE, "weave"),
    (ANTREA, "antrea"),
    (OVN, "ovn"),
)
FOREIGN = (
    "flannel",
    "cilium",
    "weave",
    "antrea",
    "kube-router",
    "romana",
    "contiv",
    "ovn",
    "bridge",
    "kindnet",
    "aws-cni",
)
BRIDGES = ("cni0", "flannel.1", "weave", "cilium_host", "cilium_net", "kube-bridge", "antrea-gw0")
# They call Calico themselves, or are what every runtime ships.
HARMLESS = ("multus", "loopback", "podman", "istio", "linkerd", "nerdctl")


def judge(picture: Picture) -> Finding:
    plugin, errors = _named(picture)
    files = conf_files(picture)
    first = _winner(files)
    if first and not is_own(first.name):
        return _by_file(picture, first, plugin, errors, files)
    older = _older_conf(files)
    if older and (errors or failing(picture)):
        why = Words(
            f"{older.name} lies beside {OWN_FILE} in {older.folder} and is loaded first.",
            f"{older.folder} 中 {older.name} 与 {OWN_FILE} 并存，且先被加载。",
        )
        apart = _two_datastores(picture)
        strong = bool(errors or apart)
        return _found(STRONG if strong else LIKELY, why, older, plugin, (older, *apart, *errors[:2]), picture)
    if errors:
        return _by_error(picture, plugin, errors, files)
    bridge = _bridge(picture)
    if bridge and current(picture):
        why = Words(
            f"The bridge {bridge.name} of another CNI is still there.", f"仍残留其他 CNI 的网桥 {bridge.name}。"
        )
        return found(POSSIBLE, why, (bridge.name, bridge.host), (bridge,), bridge=bridge.name)
    if files and all(is_own(file.name) for file in files):
        return ruled_out(
            Words(f"only Calico's own files are in {CONF_DIR}", f"{CONF_DIR} 中只有 Calico 自己的文件"), files[:2]
        )
    return cannot_tell(Words(f"{CONF_DIR} is not listed", f"没有列出 {CONF_DIR}"))


def _winner(files: list[HostFile]) -> HostFile | None:
    """The file that a runtime takes: the first by name, wrappers of Calico set aside."""
    real = [file for file in files if not any(word in file.name.lower() for word in HARMLESS)]
    return real[0] if real else None


def _older_conf(files: list[HostFile]) -> HostFile | None:
    """A .conf beside the .conflist of the same name sorts first."""
    lists = {file.name for file in files if file.name.endswith(".conflist")}
    return next((f for f in files if f.name.endswith(".conf") and is_own(f.name) and f"{f.name}list" in lists), None)


def _two_datastores(picture: Picture) -> tuple[Setting, ...]:
    """One file speaks to etcd and the other one to Kubernetes: they are of two installations."""
    etcd = picture.setting("etcd_endpoints", "cni")
    kubernetes = [s for s in picture.settings("datastore_type", "cni") if s.value == "kubernetes"]
    return (etcd, kubernetes[-1]) if etcd and kubernetes else ()


def _named(picture: Picture) -> tuple[str, list[Hit]]:
    """The other plugin that an error names."""
    for sign, plugin in WORDS:
        if hits := picture.hits(sign):
            return plugin, hits
    if hits := picture.hits(BRIDGE):
        return hits[0].value("bridge"), hits
    for hit in picture.hits(PLUGIN_FAILED, FIND_PLUGIN, FIND_PLUGIN_CUT):
        plugin = hit.value("plugin").lower()
        if any(word in plugin for word in FOREIGN):
            return plugin, [hit]
    return "", []


def _by_file(picture: Picture, first: HostFile, plugin: str, errors: list[Hit], files: list[HostFile]) -> Finding:
    ours = [file for file in files if is_own(file.name)]
    if not ours and not errors:
        return cannot_tell(Words("Calico's own file is not in the listing", "列表中没有 Calico 自己的配置文件"))
    fits = bool(plugin) and plugin.split("-")[0] in first.name.lower()
    own = ours[0].name if ours else OWN_FILE
    why = Words(
        f"{first.name} sorts before {own}, so the runtime calls another plugin{f' ({plugin})' if plugin else ''}.",
        f"{first.name} 排在 {own} 之前，运行时调用的是另一个插件{f'（{plugin}）' if plugin else ''}。",
    )
    strength = PROVEN if fits else STRONG if errors or current(picture) else LIKELY
    return _found(strength, why, first, plugin, (first, *errors[:2]), picture)


def _by_error(picture: Picture, plugin: str, errors: list[Hit], files: list[HostFile]) -> Finding:
    """Only the words of another plugin. Canal runs flannel by right."""
    canal = any(pod.name.startswith("canal") for pod in picture.pods_now()) and plugin in ("flannel", "cni0")
    seen = [file for file in files if not is_own(file.name)]
    why = Words(
        f"The sandbox fails with words of another plugin ({plugin}): its configuration or bridge is still in use.",
        f"沙箱报错来自另一个插件（{plugin}）：其配置或网桥仍在生效。",
    )
    file = seen[0] if seen else None
    strength = POSSIBLE if canal else STRONG
    return _found(strength, why, file, plugin, (*((file,) if file else ()), *errors[:2]), picture)


def _bridge(picture: Picture) -> Interface | None:
    canal = any(pod.name.startswith(("canal", "kube-flannel")) for pod in picture.pods_now())
    links = [link for link in picture.of(Interface) if link.name.split("@")[0] in BRIDGES]
    return next((link for link in links if not (canal and link.name.startswith(("flannel", "cni0")))), None)


def _found(
    strength: float, why: Words, file: HostFile | None, plugin: str, evidence: tuple[object, ...], picture: Picture
) -> Finding:
    bridge = _bridge(picture)
    name = file.name if file else ""
    folder = (file.folder if file else CONF_DIR).rstrip("/") or CONF_DIR
    node = (file.host if file else "") or node_of(picture.hits(PLUGIN_FAILED), picture)
    objects = (name, f"{folder}/{name}" if name else folder, plugin, bridge.name if bridge else "", node)
    extra = (bridge,) if bridge else ()
    return found(strength, why, objects, (*evidence, *extra), file=f"{folder}/{name}" if name else "",
                 bridge=bridge.name if bridge else "", plugin=plugin)  # fmt: skip


def fix(_picture: Picture, finding: Finding) -> tuple[Step, ...]:
    file = finding.value("file", f"{CONF_DIR}/<foreign file>")
    steps = [
        Step(
            Words("Move the foreign file away, on every node that has it", "在所有存在该文件的节点上移走外来配置"),
            f"mkdir -p ~/cni-old && mv {file} ~/cni-old/",
            "disruptive",
        )
    ]
    bridge = finding.value("bridge") or (finding.value("plugin") if finding.value("plugin") in BRIDGES else "")
    if bridge:
        steps.append(Step(Words("Delete the stray bridge", "删除残留网桥"), f"ip link del {bridge}", "disruptive"))
    steps.append(
        Step(
            Words("Recreate pods that the other plugin connected", "重建由另一插件接入网络的 Pod"),
            "kubectl -n <namespace> delete pod <pod>",
            "disruptive",
        )
    )
    return tuple(steps)


CAUSE = Cause(
    id="stale-cni-config",
    code="TRT6003",
    severity="high",
    name=Words("leftover CNI configuration", "残留 CNI 配置"),
    what=Words(
        "A configuration or bridge of another or older CNI wins: the runtime takes the first file by name.",
        "其他或旧版 CNI 的配置、网桥抢先生效：运行时按文件名顺序取第一个。",
    ),
    explains=("sandbox-failed", "pod-pending", "no-address", "traffic-dead", "node-not-ready", "log-errors"),
    look_alikes=(
        (
            "runtime-cni-watch-lost",
            Words("there the right file is there and not loaded", "那时正确的文件在，但未被加载"),
        ),
        ("cni-conf-dir-mismatch", Words("there the old files lie in another directory", "那时旧文件在另一个目录")),
        ("route-conflict", Words("there Calico itself refuses a route", "那时是 Calico 自己拒绝路由")),
    ),
    signs=(FLANNEL, CILIUM, CILIUM_SOCKET, BRIDGE, WEAVE, OVN, ANTREA, PLUGIN_FAILED, FIND_PLUGIN, FIND_PLUGIN_CUT),
    judge=judge,
    ask=Ask(
        "ls -la /etc/cni/net.d; ip -br link | grep -e cni0 -e flannel -e weave -e cilium",
        Words("a foreign file that sorts before Calico's decides", "排在 Calico 之前的外来文件即可确定"),
    ),
    fix=fix,
    verify=(Step(Words("Only Calico's files are left", "只剩 Calico 的文件"), f"ls -la {CONF_DIR}"),),
    prevent=(Words(f"Clean {CONF_DIR} when a CNI is removed.", f"卸载 CNI 时清理 {CONF_DIR}。"),),
)

"""TRT3012: a path of the host that this release needs is not mounted into the agent."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
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
from tortie.doctor.picture.facts import Pod
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NO_SOCKET: Final = Sign("mount-control-socket", "Cannot create control socket <path>: No such file or directory")
EXPECTED: Final = Sign("mount-expected", "Expected <path> to be mounted into the container but it wasn't present")
MODULES: Final = Sign("mount-modules", "can't change directory to '/lib/modules'")
LOCK: Final = Sign("mount-xtables-lock", "can't open lock file <path>: No such file or directory")
NODENAME: Final = Sign("mount-nodename", "stat /var/lib/calico/nodename: no such file or directory")
STARTING_S: Final = 180.0  # an agent needs so long, and ages are rounded
FOLDERS: Final = ("/var/lib/calico", "/var/run/calico", "/lib/modules", "/run/xtables.lock", "/sys/fs")


def judge(picture: Picture) -> Finding:
    own = picture.hits(NO_SOCKET, EXPECTED, LOCK)
    modules, nodename = picture.hits(MODULES), [hit for hit in picture.hits(NODENAME) if not _of_a_probe(hit)]
    absent = _absent_mounts(picture)
    paths = [_folder(hit) for hit in own]
    if modules:
        paths.append("/lib/modules")
    if own or modules:
        path = paths[0]
        objects = [
            *paths,
            *(hit.value("path") for hit in own),
            *culprits(picture, *own[:2], *modules[:1]),
            *sick_names(picture),
        ]
        why = Words(
            f"{path} of the host is not mounted into the container, and this release needs it.",
            f"主机的 {path} 没有挂载进容器，而该版本需要它。",
        )
        mounted = [
            box for box in picture.containers(init=False) if box.mounts and path in box.mounts and _ours(box.pod)
        ]
        if mounted:
            return ruled_out(Words(f"{path} is mounted", f"{path} 已挂载"), mounted[:1])
        strength = PROVEN if path in absent else STRONG if own else LIKELY if sick_names(picture) else POSSIBLE
        return found(strength, why, (*objects, "hostPath", "calico-node"), (*own[:2], *modules[:1]), path=path)
    if nodename:
        return _by_nodename(picture, nodename, absent)
    return cannot_tell(Words("mounts of the agent are not shown", "没有 calico-node 的挂载列表"))


def _of_a_probe(hit: Hit) -> bool:
    """The agent's own readiness while it starts: it has not written the file yet, and no plugin misses it."""
    return "is not ready" in hit.line or "probe" in hit.line.lower()


def _by_nodename(picture: Picture, nodename: list[Hit], absent: list[str]) -> Finding:
    """The file is missing for kubelet's plugin: a consequence, unless the agent there has long been ready."""
    path = "/var/lib/calico"
    agents = picture.agents_now()
    objects = [path, "/var/lib/calico/nodename", "hostPath", *culprits(picture, *nodename[:2])]
    if not agents:
        why = Words(
            "The CNI plugin misses /var/lib/calico/nodename; whether calico-node runs on that node is not shown.",
            "CNI 插件找不到 /var/lib/calico/nodename；该节点上的 calico-node 是否在运行未给出。",
        )
        return found(POSSIBLE / 2, why, objects, nodename[:2])
    there = _agents_there(picture, nodename, agents)
    if not there or not all(pod.all_ready for pod in there):
        why = Words(
            "calico-node has not started there, so the missing nodename file is only a consequence",
            "该节点的 calico-node 尚未启动，nodename 文件缺失只是结果",
        )
        return ruled_out(why, (*there[:1], *nodename[:1]))
    if _over(picture, nodename, there):
        why = Words(
            "the complaint is from the minutes before calico-node was up, and has not come again",
            "该报错出现在 calico-node 启动之前，此后没有再出现",
        )
        return ruled_out(why, (*nodename[:1], *there[:1]))
    why = Words(
        "calico-node is ready and still the CNI plugin misses /var/lib/calico/nodename: the directory is not shared "
        "with "
        "the host.",
        "calico-node 已就绪，CNI 插件仍找不到 /var/lib/calico/nodename：该目录没有与主机共享。",
    )
    objects += [pod.node for pod in there] + [pod.name for pod in there]
    return found(PROVEN if path in absent else STRONG, why, objects, (*there[:1], *nodename[:2]), path=path)


def _agents_there(picture: Picture, nodename: list[Hit], agents: list[Pod]) -> list[Pod]:
    """Agents of the nodes that complain; all when nothing says which nodes these are."""
    known = {pod.node for pod in agents if pod.node}
    rows = {pod.name: pod.node for pod in picture.of(Pod) if pod.node}
    named = {hit.host for hit in nodename if "kubectl" not in hit.command} & known
    for hit in nodename:
        named |= {word for word in re.split(r"[\s,\"/():]+", hit.line) if word in known}
        named |= {rows[word] for word in re.split(r"[\s,\"/():]+", hit.line) if word in rows}
    return [pod for pod in agents if pod.node in named] if named else agents


def _over(picture: Picture, nodename: list[Hit], there: list[Pod]) -> bool:
    """Whether every complaint is of a pod that is ready by now, or older than the start of the agent there."""
    at = {hit.place for hit in nodename}
    events = [event for event in picture.events() if event.place in at]
    if len(events) < len(at):
        return False
    ready = {pod.name for pod in picture.pods_now() if pod.all_ready}
    young = min((pod.age_s for pod in there if pod.age_s is not None), default=None)
    return all(
        event.object.rpartition("/")[2] in ready
        or (event.age_s is not None and young is not None and event.age_s >= young - STARTING_S)
        for event in events
    )


def _folder(hit: Hit) -> str:
    path = hit.value("path")
    return next((folder for folder in FOLDERS if path.startswith(folder)), path.rpartition("/")[0] or path)


def _ours(pod: str) -> bool:
    return not pod or is_agent(pod)


def _absent_mounts(picture: Picture) -> list[str]:
    """Paths that no shown agent container mounts; empty when no mounts are shown."""
    boxes = [
        box for box in picture.containers(init=False) if box.mounts and (is_agent(box.pod) or box.name == "calico-node")
    ]
    have = {mount.rstrip("/") for box in boxes for mount in box.mounts}
    return [folder for folder in FOLDERS if folder not in have] if boxes else []


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    path = finding.value("path", "/var/lib/calico")
    return (
        Step(
            Words("See what is mounted", "查看现有挂载"),
            f"kubectl -n {picture.namespace} get ds calico-node -o yaml | grep -A2 hostPath",
        ),
        Step(
            Words(
                f"Apply the manifest of the running release, which mounts {path}, whole and not in parts",
                f"应用与运行版本一致的完整清单（其中挂载了 {path}），不要只取一部分",
            ),
            "kubectl apply -f calico.yaml",
            "disruptive",
        ),
        Step(
            Words(f"A container started by hand needs `-v {path}:{path}`", f"手工启动的容器需加 `-v {path}:{path}`"),
        ),
    )


CAUSE = Cause(
    id="missing-mount",
    code="TRT3012",
    severity="medium",
    name=Words("a mount is missing", "缺少挂载"),
    what=Words(
        "A path of the host that this release needs is not mounted into calico-node, or kubelet in a container does "
        "not see it.",
        "该版本所需的主机路径没有挂载进 calico-node，或容器化的 kubelet 看不到它。",
    ),
    explains=(
        "not-ready",
        "bird-not-ready",
        "felix-not-ready",
        "crash-loop",
        "sandbox-failed",
        "init-crash",
        "log-errors",
    ),
    look_alikes=(
        ("host-path-readonly", Words("the path is there and cannot be written", "路径存在但不可写")),
        (
            "kernel-module-missing",
            Words("/lib/modules is mounted and the module is not in it", "/lib/modules 已挂载，但其中没有该模块"),
        ),
    ),
    signs=(NO_SOCKET, EXPECTED, MODULES, LOCK, NODENAME),
    judge=judge,
    ask=Ask(
        "kubectl -n kube-system get ds calico-node -o yaml | grep -A2 hostPath",
        Words("the path of the message must be among them", "报错中的路径必须在其中"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("The path is mounted and the pod is 1/1", "路径已挂载，pod 为 1/1"),
            "kubectl -n kube-system describe ds calico-node | grep -A10 Mounts",
        ),
    ),
    prevent=(Words("No partial copies of manifests.", "不要只复制清单的一部分。"),),
    yields_to=("kernel-module-missing", "ipset-kernel-mismatch"),
)

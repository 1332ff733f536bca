"""Faults of a node's disk and of its folders."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import Deed, FillDisk, RemoveFile, RestartNode, SealFolder
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.words import Pair

_PLUGINS: Final = "/opt/cni/bin"


def _full(scene: Scene) -> tuple[Deed, ...]:
    return FillDisk(scene.node.name, "/var/lib/calico"), RestartNode(scene.node.name)


def _sealed(scene: Scene) -> tuple[Deed, ...]:
    """Plugins that are there and right would not be written again."""
    node = scene.node.name
    gone = (RemoveFile(node, f"{_PLUGINS}/{plugin}") for plugin in ("calico", "calico-ipam"))
    return *gone, SealFolder(node, _PLUGINS), RestartNode(node)


FAULTS: Final = (
    Fault(
        "disk-full",
        "disk-pressure",
        "TRT4005",
        Pair("the disk of the state directory is full", "状态目录所在的磁盘已满"),
        Pair(
            "`no space left on device` for /var/lib/calico/nodename: Calico's start terminates; Tortie's node says "
            "which file it could not write. df shows 100 %.",
            "写 /var/lib/calico/nodename 时报 `no space left on device`：Calico 启动终止；"
            "Tortie 节点会说明写不了哪个文件。df 显示 100 %。",
        ),
        _full,
        needs=("kubelet",),
    ),
    Fault(
        "read-only-path",
        "host-path-readonly",
        "TRT6008",
        Pair("after an OS update /opt/cni/bin is empty and read-only", "系统更新后 /opt/cni/bin 为空且只读"),
        Pair(
            "The init container install-cni fails with `read-only file system`; the pod stays in Init.",
            "init 容器 install-cni 因 `read-only file system` 失败，Pod 停在 Init 阶段。",
        ),
        _sealed,
        needs=("kubelet",),
    ),
)

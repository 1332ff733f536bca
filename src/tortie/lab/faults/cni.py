"""Faults of the files by which a container runtime finds Calico: new pods get no network."""

from __future__ import annotations

import json
from typing import Final

from tortie.lab.faults.deeds import Deed, RemoveFile, RunPods, WriteFile
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.faults.trying import tried
from tortie.lab.words import Pair

_FLANNEL: Final = {
    "name": "cbr0",
    "cniVersion": "0.3.1",
    "plugins": [
        {"type": "flannel", "delegate": {"hairpinMode": True, "isDefaultGateway": True}},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


def _before(node: str) -> tuple[Deed, ...]:
    """A pod from better days, which goes on. Where there was none yet, it is what brings the plugins."""
    return (RunPods(node, "old", 1),)


def _stale(scene: Scene) -> tuple[Deed, ...]:
    text = json.dumps(_FLANNEL, indent=2) + "\n"
    node = scene.node.name
    return *_before(node), WriteFile(node, "/etc/cni/net.d/05-flannel.conflist", text), *tried(node, "web", 1)


def _missing(scene: Scene) -> tuple[Deed, ...]:
    node = scene.node.name
    return *_before(node), RemoveFile(node, "/opt/cni/bin/calico"), *tried(node, "web", 1)


FAULTS: Final = (
    Fault(
        "stale-cni-config",
        "stale-cni-config",
        "TRT6003",
        Pair("a leftover flannel configuration sorts before Calico's", "残留的 flannel 配置排在 Calico 之前"),
        Pair(
            "calico-node is fine, but new pods of the node fail: the runtime calls the plugin flannel.",
            "calico-node 正常，但该节点的新 Pod 失败：运行时调用的是 flannel 插件。",
        ),
        _stale,
    ),
    Fault(
        "cni-binary-missing",
        "cni-binary-missing",
        "TRT6004",
        Pair("the plugin calico is gone from /opt/cni/bin", "/opt/cni/bin 中的 calico 插件不见了"),
        Pair(
            'calico-node is fine, but new pods of the node fail: `failed to find plugin "calico" in path`.',
            'calico-node 正常，但该节点的新 Pod 失败：`failed to find plugin "calico" in path`。',
        ),
        _missing,
    ),
)

"""What a lab cannot do of what kubectl can; part of the catalogue in `tortie.lab.failures`."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Told

KUBECTL_FAILURES: Final[dict[str, Kind]] = {
    "kubectl-verb": Kind(
        1,
        Told(
            'unknown command "{verb}" for "kubectl"',
            "a lab has no API server, only what its kubelets have written down",
            "these are understood:\n{verbs}",
        ),
        Told(
            'unknown command "{verb}" for "kubectl"',
            "实验环境没有 API server：只能查看和更改各 kubelet 的记录",
            "支持的命令：\n{verbs}",
        ),
    ),
    "kubectl-use": Kind(
        1,
        Told("`kubectl {words}` cannot be done in a lab", "it is not one of the forms that are understood", "{fix}"),
        Told("在实验环境中无法执行 `kubectl {words}`", "不支持这种用法", "{fix}"),
    ),
    "kubectl-kind": Kind(
        1,
        Told(
            'the server doesn\'t have a resource type "{kind}"',
            "a lab has\n{kinds}",
            "Calico's resources are shown by: tortie get {kind}",
        ),
        Told(
            'the server doesn\'t have a resource type "{kind}"',
            "实验环境中有\n{kinds}",
            "Calico 的资源请用 tortie get {kind} 查看",
        ),
    ),
    "no-kubelets": Kind(
        1,
        Told(
            "the lab {name} has no DaemonSet that could be changed",
            "its agents are plain processes, without kubelets",
            "bring it up with them:\ntortie lab down --name {name}; tortie lab up --name {name} --kubelet",
        ),
        Told(
            "实验环境 {name} 没有可更改的 DaemonSet",
            "其 agent 是普通进程，没有 kubelet",
            "启动带 kubelet 的实验环境：\ntortie lab down --name {name}; tortie lab up --name {name} --kubelet",
        ),
    ),
    "kubelet-gone": Kind(
        1,
        Told(
            "the kubelet of {node} does not answer",
            "it alone can end a pod there",
            "look at it: tortie lab exec {node} -- systemctl status kubelet",
        ),
        Told(
            "{node} 的 kubelet 没有应答",
            "只有它能结束该节点上的 pod",
            "查看其状态：tortie lab exec {node} -- systemctl status kubelet",
        ),
    ),
}

"""Pods on the network of their node: they need no plugin, and what is tried in them is tried from the node."""

from __future__ import annotations

from typing import Final

AGENTS: Final = ("calico-node", "canal", "rke2-canal", "rke2-calico-node", "kube-calico", "tortie-node")
_OTHERS: Final = (
    "calico-typha", "tigera-operator", "csi-node", "kube-proxy", "kube-apiserver", "kube-controller-manager",
    "kube-scheduler", "etcd", "kube-vip", "node-debugger",
)  # fmt: skip


def is_agent(pod: str) -> bool:
    return pod.startswith(AGENTS)


def on_host_network(pod: str) -> bool:
    return is_agent(pod) or pod.startswith(_OTHERS)

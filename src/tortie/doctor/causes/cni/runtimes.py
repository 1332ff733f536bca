"""Which program reads the CNI files on a node, where it is told their directories, and how it starts anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import Do, do
from tortie.doctor.causes.cni.cni_evidence import CONFIG_UNINITIALIZED, sandbox_events, sandbox_lines
from tortie.doctor.causes.steps import Step, step_of
from tortie.doctor.picture.facts import Unit
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple


class Runtime(NamedTuple):
    unit: str
    config: str  # the file that names its directories
    conf_key: str
    bin_key: str


CONTAINERD: Final = Runtime("containerd", "/etc/containerd/config.toml", "conf_dir", "bin_dir")
_CRIO: Final = Runtime("crio", "/etc/crio/crio.conf", "network_dir", "plugin_dirs")
# With Docker it is kubelet itself that calls plugins, until Kubernetes 1.24; then cri-dockerd.
_KUBELET: Final = Runtime("kubelet", "/var/lib/kubelet/kubeadm-flags.env", "cni-conf-dir", "cni-bin-dir")
_CRI_DOCKER: Final = Runtime("cri-docker", "/usr/lib/systemd/system/cri-docker.service", "cni-conf-dir", "cni-bin-dir")
_RANCHER: Final = "/var/lib/rancher/{}/agent/etc/containerd/config.toml.tmpl"  # config.toml is made from it
_MICROK8S: Final = Runtime(
    "snap.microk8s.daemon-containerd", "/var/snap/microk8s/current/args/containerd-template.toml", "conf_dir", "bin_dir"
)


def runtime_of(picture: Picture, name: str = "") -> Runtime:
    """That node's; where it is not shown, what any node has, a unit or an error tells; else containerd."""
    nodes = picture.nodes_now()
    shown = [nodes[name]] if name in nodes else list(nodes.values())
    for node in shown:
        for flavour, server, agent in (("k3s", "k3s", "k3s-agent"), ("rke2", "rke2-server", "rke2-agent")):
            if f"+{flavour}" in node.version:
                master = "control-plane" in node.roles or "master" in node.roles
                return CONTAINERD._replace(unit=server if master else agent, config=_RANCHER.format(flavour))
    told = " ".join([*(node.runtime for node in shown), *(unit.name for unit in picture.of(Unit))])
    if "cri-o" in told or "crio" in told or picture.commands("crio config"):
        return _CRIO
    if "docker://" in told or (not any(node.runtime for node in shown) and _by_kubelet(picture)):
        version = picture.version("kubernetes")
        return _CRI_DOCKER if version and version >= (1, 24) else _KUBELET
    return (
        _MICROK8S if any("/microk8s/" in " ".join(exhibit.lines[:50]) for exhibit in picture.exhibits) else CONTAINERD
    )


def _by_kubelet(picture: Picture) -> bool:
    """Only kubelet's own code for Docker calls itself so."""
    messages = [
        *(event.message for event in sandbox_events(picture)),
        *(line.message for line in sandbox_lines(picture)),
    ]
    said = any("networkplugin cni failed" in message.lower() for message in messages)
    return said or bool(picture.hits(CONFIG_UNINITIALIZED))


def restart_runtime(picture: Picture, node: str = "") -> Iterable[Step]:
    """On an empty node: containers survive it mostly, not always."""
    yield from ways.drain_node(picture, node)
    yield step_of(__name__, "restart", {"unit": runtime_of(picture, node).unit})
    yield step_of(__name__, "uncordon")


def restarted(picture: Picture, node: str) -> Iterable[Do | Step]:
    """The agent of that node; where nobody says which, the cause's own step with a hole for the pod."""
    return ways.restart_agent(picture, node) if node else (do("restart"),)

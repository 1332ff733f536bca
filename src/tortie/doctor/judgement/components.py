"""Who printed a line, and in which phase of a start that program runs: where to look when no cause is known."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.words import Words

# In the order in which they come up on a node.
_LOOK: Final = {
    "kernel": Words("the kernel, before any container: dmesg of that node", "内核，先于所有容器：查看该节点的 dmesg"),
    "containerd": Words("the container runtime, before the pod starts", "容器运行时，Pod 启动之前"),
    "dockerd": Words("the container runtime, before the pod starts", "容器运行时，Pod 启动之前"),
    "crio": Words("the container runtime, before the pod starts", "容器运行时，Pod 启动之前"),
    "kubelet": Words("kubelet, which creates the pods: journalctl -u kubelet",
                     "kubelet，负责创建 Pod：journalctl -u kubelet"),
    "etcd": Words("the datastore, before the API server answers", "数据存储，先于 API Server"),
    "kube-apiserver": Words("the API server, before any agent connects", "API Server，先于 calico-node 建连"),
    "kube-proxy": Words("kube-proxy, which makes service addresses reachable", "kube-proxy，负责 Service 地址的转发"),
    "operator": Words("the operator, which rolls Calico out: kubectl get tigerastatus -o yaml",
                      "operator，负责部署 Calico：kubectl get tigerastatus -o yaml"),
    "upgrade-ipam": Words("first init container: IPAM migration", "第一个 init 容器：IPAM 迁移"),
    "cni-installer": Words("init container install-cni: writing the CNI plugin and its configuration",
                           "init 容器 install-cni：写入 CNI 插件及其配置"),
    "mount-bpffs": Words("init container mount-bpffs: mounting the BPF file system",
                         "init 容器 mount-bpffs：挂载 BPF 文件系统"),
    "flexvol-driver": Words("init container flexvol-driver", "init 容器 flexvol-driver"),
    "startup": Words("calico-node's start: address and node entry, before Felix and BIRD run",
                     "calico-node 启动阶段：探测地址并注册节点，先于 Felix 和 BIRD"),
    "tunnel-ip-allocator": Words("calico-node's start: the tunnel's address", "calico-node 启动阶段：分配隧道地址"),
    "felix": Words("Felix, after the start: rules, routes and interfaces", "Felix，启动之后：规则、路由与网卡"),
    "confd": Words("confd, after the start: BIRD's configuration", "confd，启动之后：生成 BIRD 配置"),
    "bird": Words("BIRD, after the start: BGP sessions and routes", "BIRD，启动之后：BGP 会话与路由"),
    "bird6": Words("BIRD, after the start: BGP sessions and routes", "BIRD，启动之后：BGP 会话与路由"),
    "typha": Words("Typha, between the API server and Felix", "Typha，位于 API Server 与 Felix 之间"),
    "kube-controllers": Words("calico-kube-controllers, beside the agents",
                              "calico-kube-controllers，与 calico-node 并行"),
    "calico-apiserver": Words("Calico's API server, beside the agents: kubectl get apiservice",
                              "calico-apiserver，与 calico-node 并行：kubectl get apiservice"),
    "cni": Words("the CNI plugin, when a pod is created or deleted", "CNI 插件，创建或删除 Pod 时"),
    "coredns": Words("CoreDNS, after pods have a network", "CoreDNS，Pod 网络就绪之后"),
    "calico-node": Words("calico-node: kubectl logs of that pod, with -p the run before",
                         "calico-node：查看该 Pod 日志，-p 看上一次运行"),
}  # fmt: skip
_ANY: Final = Words(
    "the program that printed it, and what it says before this line", "打印这一行的程序，以及这一行之前的输出"
)
NODE: Final = Words("that node: kubectl describe node, dmesg", "该节点：kubectl describe node、dmesg")
POD: Final = Words("that pod: kubectl describe pod, kubectl logs -p", "该 Pod：kubectl describe pod、kubectl logs -p")
PATH: Final = Words(
    "the path between the two ends: route, rules and a capture at both", "两端之间的路径：路由、规则，并在两端抓包"
)
POOLS: Final = Words("which CNI plugin gave it: /etc/cni/net.d of that node, and the IP pools",
                     "由哪个 CNI 插件分配：该节点的 /etc/cni/net.d 与地址池")  # fmt: skip
PERSON: Final = Words("a trial that shows it: the command, from where to where, and its output",
                      "可复现该问题的测试：命令、源与目的、完整输出")  # fmt: skip

_IN_POD: Final = (
    (lazily(r"calico-apiserver"), "calico-apiserver"),
    (lazily(r"calico-kube-controllers"), "kube-controllers"),
    (lazily(r"calico-typha"), "typha"),
    (lazily(r"tigera-operator"), "operator"),
    (lazily(r"calico-node|canal|kube-calico"), "calico-node"),
    (lazily(r"coredns"), "coredns"),
    (lazily(r"kube-proxy"), "kube-proxy"),
    (lazily(r"dmesg|journalctl -k"), "kernel"),
    (lazily(r"kubelet"), "kubelet"),
    (lazily(r"containerd|crictl"), "containerd"),
    (lazily(r"docker"), "dockerd"),
    (lazily(r"tigerastatus|installation"), "operator"),
    (lazily(r"apiservice"), "calico-apiserver"),
)
_IN_LINE: Final = (
    (lazily(r"libbpf:|\bbpf\b", re.IGNORECASE), "felix"),
    (lazily(r"FailedDiscoveryCheck|projectcalico\.org", re.IGNORECASE), "calico-apiserver"),
    (lazily(r"\bcgroup:|\bkernel:|Out of memory: Kill|neighbour: |nf_conntrack", re.IGNORECASE), "kernel"),
    (lazily(r"\bbird6?: "), "bird"),
)
_ABOVE: Final = 5  # lines


def look_at(component: str) -> Words:
    return _LOOK.get(component, _ANY)


def component_of(line: str, exhibit: Exhibit | None) -> str:
    """By what the line says of itself, else by the command that printed it or the file it stands in."""
    for pattern, component in _IN_LINE:
        if pattern.search(line):
            return component
    where = f"{exhibit.command} {exhibit.source}" if exhibit else ""
    return next((component for pattern, component in _IN_POD if pattern.search(where)), "")


class Owners:
    """The exhibit and the log line that stand on a line of a source."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        lines = picture.of(LogLine)
        self._programs = {(line.place.source, line.place.first): line.program or line.pod for line in lines}

    def component(self, place: Place, line: str) -> str:
        """The program of the log line; of a line without a form, else, the program of the lines right above it."""
        own = self._programs.get((place.source, place.first), "") or component_of(line, self.exhibit(place))
        above = (self._programs.get((place.source, place.first - back), "") for back in range(1, _ABOVE + 1))
        return own or next(filter(None, above), "")

    def exhibit(self, place: Place) -> Exhibit | None:
        return exhibit_at(self._picture, place)

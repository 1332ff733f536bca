"""Plays of the incidents in which a node takes the wrong address."""

from __future__ import annotations

from typing import Final

from tortie.lab.plays.phrases import PODS, WHAT_PEOPLE_SEE, WHERE_TO_LOOK
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.words import Pair

_BOTH_SUFFER: Final = r"(?s)\s0/1\s.*\s0/1\s"
_BOTH: Final = Pair("until neither of the two is ready", "等待两个 Pod 都变为未就绪")
_MESSAGE: Final = Pair("until kubelet has noted the message", "等待 kubelet 记下这条消息")

_DOCKER_BRIDGE: Final = Play(
    name="docker-bridge",
    title=Pair("Incident 2: a docker bridge becomes the node's address", "事件 2：docker 网桥成了节点地址"),
    story=Pair(
        "A node hung and was rebooted. Since then calico-node does not become ready, and complains of a peer that "
        "nobody knows: 172.18.0.1. All machines of this cluster have addresses that begin with 10. Meanwhile a "
        "colleague had started a monitor in docker.",
        "一个节点因资源耗尽卡死，重启之后 calico-node 一直不就绪，报出一个谁也不认识的对端：172.18.0.1。"
        "而集群里所有机器的地址都以 10 开头。原来在此期间，有同事用 docker 启动了一个监控容器。",
    ),
    flags="--nodes 2 --classic 3.20 --hurry 10",
    node="node-2",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "calico-node starts again on node-2 without any complaint. But neither node is ready now, and the "
                "message comes from the one that nobody has touched.",
                "node-2 上的 calico-node 重新启动，没有任何报错。但现在两个节点都未就绪，而且报错的恰恰是"
                "谁也没动过的那个节点。",
            ),
            (
                Show(PODS, until=_BOTH_SUFFER, awaits=_BOTH, table=True),
                Show(
                    "lab kubectl describe pod -n kube-system {pod node-1}",
                    grep="BGP not established",
                    tail=1,
                    until=r"BIRD is not ready: BGP not established with 172\.18\.0\.1",
                    awaits=_MESSAGE,
                ),
            ),
            Pair(
                "Running and 0 restarts: readiness does not kill. It only takes the pod out of service.",
                "状态是 Running，重启 0 次：就绪探测不会杀掉容器，只会把它标成未就绪。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "Who has 172.18.0.1? The one who complains does not. Ask for its peers, then look at the peer's own "
                "log and links.",
                "172.18.0.1 是谁的？不是报错的这个节点。先看它的对端列表，再到对端查看日志和网卡。",
            ),
            (
                Show("lab exec node-1 -- tortie node status", grep="PEER|mesh"),
                Show(
                    "lab kubectl logs -n kube-system {pod} -c calico-node",
                    grep="Using autodetected",
                    until="Using autodetected IPv4 address on interface br-",
                ),
                Show("lab exec node-2 -- ip -br -4 addr", until=r"br-[0-9a-f]{12}"),
            ),
            Pair(
                "The culprit is the node that registered the address, not the node that complains: node-2 took the "
                "address of br-…, a bridge of docker's.",
                "有问题的是登记了这个地址的节点，而不是报错的节点：node-2 用了 docker 网桥 br-… 的地址。",
            ),
        ),
    ),
    why=Pair(
        "Calico looks for the node's address anew at every start. `first-found` skips docker0, but up to v3.24 not "
        "br-…, which docker makes for a network of one's own. So the fault sleeps until the next restart.",
        "Calico 每次启动都重新探测节点地址。first-found 会跳过 docker0，但在 v3.24 及以前不会跳过 br-…，"
        "那是 docker 自建网络的网桥。所以这个隐患会一直潜伏到下一次重启。",
    ),
    prevention=Pair(
        "So that it does not come again: pin the method, on every cluster, before somebody starts a docker network: "
        "IP_AUTODETECTION_METHOD=cidr=10.77.0.0/24.",
        "如何不再发生：在有人使用 docker 网络之前，给每个集群固定探测方法：IP_AUTODETECTION_METHOD=cidr=10.77.0.0/24。",
    ),
    instead=Pair(
        "For Tortie's node a bridge without a real port is never the node's address, whatever its name. Of the rest it "
        "takes the one from which the other nodes are reached: node-2 is still 10.77.0.2.",
        "在 Tortie 的节点看来，没有真实端口的网桥绝不会是节点地址，不管它叫什么名字。在其余地址中，"
        "选用能到达其他节点的那个：node-2 仍是 10.77.0.2。",
    ),
    own_flags="--nodes 2 --kubelet --hurry 10",
    own=(
        Show(
            "lab exec node-1 -- tortie node status",
            grep="PEER|mesh",
            until=r"10\.77\.0\.2 .* up .*Established",
        ),
    ),
)

_SECOND_NIC: Final = Play(
    name="second-nic",
    title=Pair("Incident 6: BGP on the second network card", "事件 6：BGP 用上了第二块网卡"),
    story=Pair(
        "After a reboot of the whole cluster a NodePort answers on one master, but not on the other. kube-proxy "
        "listens on both, the manifest is applied again, Calico is upgraded: no change. Some weeks before, one "
        "master had been given a second network card.",
        "整个集群重启之后，同一个 NodePort 在一台 master 上能访问，在另一台上却不通。两边 kube-proxy 都在监听；"
        "重新 apply 清单、升级 Calico，都没有用。几周前，其中一台 master 加装了第二块网卡。",
    ),
    flags="--nodes 2 --classic 3.9 --hurry 10",
    node="node-2",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "Every calico-node is Running, and none is ready. The message names an address, and has a time stamp "
                "glued to it.",
                "所有 calico-node 都是 Running，却没有一个就绪。报错里有一个地址，后面还紧紧粘着一个时间戳。",
            ),
            (
                Show(PODS, until=_BOTH_SUFFER, awaits=_BOTH, table=True),
                Show(
                    "lab kubectl describe pod -n kube-system {pod node-1}",
                    grep="BGP not established",
                    tail=1,
                    until=r"BGP not established with 10\.0\.0\.66",
                    awaits=_MESSAGE,
                ),
            ),
            Pair(
                "Calico 3.9 writes no blank between the two: read it as 10.0.0.66, then the year 2026.",
                "Calico 3.9 在两者之间没有输出空格：应读作 10.0.0.66，后面是年份 2026。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "Both ends always fail together. Compare what each node has registered with the address it is known "
                "by in the cluster.",
                "BGP 的两端总是同时失败。把每个节点登记的地址，与它在集群里的 InternalIP 比较一下。",
            ),
            (
                Show("lab exec node-2 -- tortie node status", grep="PEER|mesh"),
                Show(
                    "lab kubectl logs -n kube-system {pod} -c calico-node",
                    grep="Using autodetected",
                    until=r"autodetected IPv4 address on interface eth1: 10\.0\.0\.66",
                ),
                Show("lab exec node-2 -- ip -br -4 addr", until=r"10\.0\.0\.66"),
            ),
            Pair(
                "node-2 has 10.77.0.2 on eth0 and 10.0.0.66 on eth1. It registered the second, and node-1 has no way "
                "to that network.",
                "node-2 的 eth0 是 10.77.0.2，eth1 是 10.0.0.66。它登记了后者，而 node-1 到不了那个网络。",
            ),
        ),
    ),
    why=Pair(
        "`first-found` starts with the highest link index: the card that came last. No release of Calico skips a "
        "real card. Pods on the two nodes cannot reach each other any more, so a NodePort fails where the pod is not.",
        "first-found 从序号最大的网卡找起，也就是最后加装的那块；任何版本的 Calico 都不会跳过真实网卡。"
        "两个节点上的 Pod 从此互不相通，所以 NodePort 在没有运行该 Pod 的节点上不通。",
    ),
    prevention=Pair(
        "So that it does not come again: set IP_AUTODETECTION_METHOD=cidr=… or interface=… before cards are added, "
        "and raise an alarm when a node's BGP address is not its InternalIP.",
        "如何不再发生：加装网卡之前先设好 IP_AUTODETECTION_METHOD=cidr=… 或 interface=…；"
        "当节点的 BGP 地址与 InternalIP 不一致时告警。",
    ),
    instead=Pair(
        "Tortie's node lets the others vote: it takes the address from which most of them are reached. The new card "
        "leads to none of them, so it makes no difference.",
        "Tortie 的节点由其他节点“投票”：从哪个地址能到达的节点最多，就用哪个。新网卡一个节点也到不了，"
        "所以加装它不会有任何影响。",
    ),
    own_flags="--nodes 2 --kubelet --hurry 10",
    own=(
        Show(
            "lab exec node-1 -- tortie node status",
            grep="PEER|mesh",
            until=r"10\.77\.0\.2 .* up .*Established",
        ),
    ),
)

PLAYS: Final = (_DOCKER_BRIDGE, _SECOND_NIC)

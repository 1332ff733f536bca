"""Plays of the incidents below Calico: the container runtime, and kubelet itself."""

from __future__ import annotations

from typing import Final

from tortie.lab.plays.phrases import PODS, WHAT_PEOPLE_SEE, WHERE_TO_LOOK
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.words import Pair

_NOT_READY: Final = Pair("until the node is NotReady", "等待节点变为 NotReady")

_STUCK_RUNTIME: Final = Play(
    name="stuck-runtime",
    title=Pair("Incident 4: Init:0/3 for an hour, and nobody at work", "事件 4：Init:0/3 卡了一小时，其实没人在干活"),
    story=Pair(
        "calico-node stands at Init:0/3 for 56 minutes on one node. Its first init container is Running, with 0 "
        "restarts. kube-proxy and IPv6 are suspected, as the internet advises. But the runtime is what has stopped: "
        "docker does not reach containerd any more.",
        "一个节点上的 calico-node 停在 Init:0/3 已经 56 分钟，第一个 init 容器显示 Running，重启 0 次。"
        "照网上的说法去查 kube-proxy、查 IPv6，都不是。真正停住的是容器运行时：docker 连不上 containerd 了。",
    ),
    flags="--nodes 3 --classic 3.20 --hurry 10",
    node="node-3",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "The pod waits for its first init container, upgrade-ipam. That seems to run, and run.",
                "Pod 在等第一个 init 容器 upgrade-ipam。它看起来一直在运行。",
            ),
            (
                Show(PODS, until=r"Init:0/3.*node-3", awaits=Pair("until Init:0/3", "等待出现 Init:0/3"), table=True),
                Show(
                    "lab kubectl describe pod -n kube-system {pod}",
                    grep="^  [a-z-]+:$|State:|Restart Count",
                    head=3,
                    until=r"State:\s+Running",
                ),
            ),
            Pair(
                "Running, Restart Count 0: the same picture as a migration that cannot finish (incident 8). One "
                "command tells them apart.",
                "Running、重启 0 次：与“迁移无法完成”（事件 8）看上去一模一样。有一条命令可以区分两者。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "Read the log of the init container. Then ask the runtime itself, on the node, and kubelet's journal.",
                "先看 init 容器自己的日志，再到节点上直接问容器运行时，最后看 kubelet 的日志。",
            ),
            (
                Show(
                    "lab kubectl logs -n kube-system {pod} -c upgrade-ipam",
                    tail=1,
                    until="migration from host-local to calico-ipam complete",
                ),
                Show("lab kubectl get nodes", until=r"node-3\s+NotReady", awaits=_NOT_READY, table=True),
                Show("lab exec node-3 -- crictl ps", until="DeadlineExceeded"),
                Show(
                    "lab exec node-3 -- journalctl -u kubelet -n 20",
                    grep="PLEG",
                    tail=1,
                    until="PLEG is not healthy",
                    awaits=Pair("until PLEG is not healthy", "等待 PLEG 变为不健康"),
                ),
            ),
            Pair(
                "The log says `complete`: the work was done long ago. crictl gets no answer. So nobody tells kubelet "
                "that the container has ended, and the pod waits for ever.",
                "日志里写着 complete：活早就干完了。crictl 得不到应答。没有人告诉 kubelet 容器已经结束，"
                "所以 Pod 会一直等下去。",
            ),
        ),
    ),
    why=Pair(
        "kubelet knows of containers only what the runtime tells it, by listing them once a second (PLEG). When the "
        "runtime stops, the last answer stays: `Running`. It is history, not the present.",
        "kubelet 对容器的了解全部来自运行时：每秒列举一次（PLEG）。运行时停住后，最后一次的答案就留在那里："
        "Running。那是历史，不是现状。",
    ),
    prevention=Pair(
        "On a real node `systemctl restart containerd` ends it; with care, for it touches all pods of the node. "
        "So that it does not come again: watch PLEG, alarm when Created and Started are far apart, keep docker and "
        "containerd in versions that belong together.",
        "在真实节点上执行 systemctl restart containerd 即可恢复；但要谨慎，它会影响该节点上的所有 Pod。"
        "如何不再发生：监控 PLEG，Created 与 Started 事件相隔过久时告警，docker 与 containerd 的版本要配套。",
    ),
    instead=Pair(
        "Tortie's node cannot help here: it was not even started. But its doctor tells this from incident 8 by the "
        "log of the init container, which nobody had read.",
        "这种情况 Tortie 的节点也无能为力：它根本还没有启动。但诊断程序会去读那份没人看过的 init 容器日志，"
        "把它与事件 8 区分开来。",
    ),
)

_SWAP_ON: Final = Play(
    name="swap-on",
    title=Pair("Incident 5: swap is back, kubelet is gone", "事件 5：swap 回来了，kubelet 走了"),
    story=Pair(
        "After a reboot a node is NotReady, for days. Its pods look Running. The line in fstab is commented out, so "
        "swap cannot be it. And yet kubelet starts, and ends, every ten seconds; the reason is cut off at the "
        "edge of the screen.",
        "一个节点重启后一直是 NotReady，持续好几天，而上面的 Pod 看起来都是 Running。fstab 里那行已经注释掉了，"
        "按说不会是 swap 的问题。可是 kubelet 每 10 秒启动一次又退出，真正的原因正好在屏幕边缘被截断了。",
    ),
    flags="--nodes 2 --classic 3.9 --hurry 10",
    node="node-2",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "The node turns NotReady. Its pods stay as they were: 1/1, Running.",
                "节点变成 NotReady，上面的 Pod 却还是老样子：1/1，Running。",
            ),
            (
                Show("lab kubectl get nodes", until=r"node-2\s+NotReady", awaits=_NOT_READY, table=True),
                Show(PODS, until=r"\s1/1\s+Running\s.*node-2", table=True),
                Show(
                    "lab kubectl describe node node-2",
                    grep="^Taints|unreachable|Ready +Unknown",
                    until="Kubelet stopped posting node status",
                ),
            ),
            Pair(
                "Unknown: nobody says that the pod is well. Nobody has said anything since kubelet is gone.",
                "Unknown 的意思是：并没有人说 Pod 正常，而是 kubelet 消失之后，再也没有人报告过任何消息。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "The node is up, so log in. Ask systemd for kubelet, and read its last words to the end.",
                "机器本身没问题，登录上去。用 systemctl 看 kubelet，再把它最后一句话完整读完。",
            ),
            (
                Show("lab exec node-2 -- systemctl status kubelet", grep="Active:|Process:", until="auto-restart"),
                Show(
                    "lab exec node-2 -- journalctl -u kubelet -n 12",
                    grep="failed to run Kubelet",
                    tail=1,
                    until="running with swap on is not supported, please disable swap!",
                ),
                Show("lab exec node-2 -- cat /proc/swaps", until="/dev/sda3"),
            ),
            Pair(
                "Exit code 255 every ten seconds (here every second), and the line names the partition: /dev/sda3.",
                "每 10 秒（这里是每秒）以 255 退出一次，日志里点出了分区：/dev/sda3。",
            ),
        ),
    ),
    why=Pair(
        "kubelet refuses to run while swap is on. A comment in fstab is not enough: systemd finds swap partitions by "
        "their type in the partition table, and a .swap unit turns them on at boot.",
        "只要开着 swap，kubelet 就拒绝运行。只在 fstab 里注释掉是不够的：systemd 会根据分区表中的类型"
        "发现 swap 分区，由 .swap 单元在开机时启用它。",
    ),
    prevention=Pair(
        "`swapoff -a` brings the node back at once; it works in this lab, too. So that it does not come again: "
        "`systemctl mask dev-sda3.swap`, or another type for the partition.",
        "执行 swapoff -a，节点立即恢复；在这个实验环境里同样有效。如何不再发生："
        "systemctl mask dev-sda3.swap，或修改该分区的类型。",
    ),
    instead=Pair(
        "Calico had no part in this, and Tortie's node would have none either: pods that run go on, and traffic with "
        "them. What is missing is kubelet; the doctor says so instead of suspecting the network.",
        "这件事与 Calico 无关，换成 Tortie 的节点也一样：已经运行的容器照常运行，流量不断。缺的只是 kubelet；"
        "诊断程序会直接指出这一点，而不是去怀疑网络。",
    ),
)

PLAYS: Final = (_STUCK_RUNTIME, _SWAP_ON)

"""Plays of the incidents in which liveness gives a node less time than its start takes."""

from __future__ import annotations

from typing import Final

from tortie.lab.plays.phrases import PODS, WHAT_PEOPLE_SEE, WHERE_TO_LOOK
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.words import Pair

_RESTARTED: Final = r"\s0/1\s+\S+\s+[2-9]\d* \(.*\s{node}\s"
_TWICE: Final = Pair("until calico-node was restarted twice", "等待 calico-node 重启两次")

_OVERLOADED: Final = Play(
    name="overloaded",
    title=Pair("Incident 1: a node too busy to start calico-node", "事件 1：节点太忙，calico-node 起不来"),
    story=Pair(
        "In a cluster in production calico-node is in a crash loop on two nodes, and well on all others. The pods "
        "are deleted, and come back the same. The log shows no error; it just ends. Half of the internet says it is "
        "the address. It is not.",
        "生产集群里，有两个节点的 calico-node 反复崩溃重启，其他节点都正常。删掉 Pod 重建，还是一样。"
        "日志里没有任何错误，只是突然中断。网上一半的帖子说是地址选错了，其实不是。",
    ),
    flags="--nodes 3 --classic 3.8 --hurry 10",
    node="node-3",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "One pod of three is restarted again and again. kubelet says that nobody listens on port 9099.",
                "三个 Pod 中有一个不断重启。kubelet 说 9099 端口没有人监听。",
            ),
            (
                Show(PODS, until=_RESTARTED.replace("{node}", "node-3"), within_s=60.0, awaits=_TWICE, table=True),
                Show(
                    "lab kubectl describe pod -n kube-system {pod}",
                    grep="Liveness probe failed|failed liveness probe",
                    until=r"Liveness probe failed: Get .*:9099/liveness: dial tcp .*connection refused",
                ),
            ),
            Pair(
                "`Killing` says who ended it: kubelet, because of liveness. Readiness alone never restarts anything.",
                "Killing 事件说明是谁结束了它：kubelet，因为存活探测失败。单是就绪探测失败，绝不会重启容器。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "What did the container say before it was killed? And how busy is its node, compared with another?",
                "容器被杀之前最后说了什么？这个节点与别的节点相比有多忙？",
            ),
            (
                Show("lab kubectl logs -n kube-system {pod} -c calico-node --previous", tail=3, until="startup.go"),
                Show("lab exec node-3 -- uptime", until=r"load average: (?:[4-9]|\d\d+)\."),
                Show("lab exec node-1 -- uptime"),
            ),
            Pair(
                "No error, and no `Terminating`: it did not give up, it was stopped in the middle. The load of node-3 "
                "is many times that of node-1, on the same two cores.",
                "没有错误，也没有 Terminating：它不是自己放弃的，而是中途被杀。同样两个核，node-3 的负载是 "
                "node-1 的许多倍。",
            ),
        ),
    ),
    why=Pair(
        "Calico opens port 9099 only when its start is over. On a starved node that takes longer than liveness "
        "grants: 5 s, then six failures 10 s apart, so 55 s. Each kill makes it begin anew, and adds to the load.",
        "Calico 要等启动全部完成才打开 9099 端口。在饥饿的节点上，这比存活探测给的时间还长："
        "先等 5 秒，再每 10 秒探测一次，失败 6 次即杀，总共 55 秒。每次被杀都得从头再来，还进一步加重负载。",
    ),
    prevention=Pair(
        "So that it does not come again: find what makes the load, for a reboot only clears it. Limits for workloads, "
        "a CPU request for calico-node, an alarm on load; and a startupProbe, so that slow is not taken for dead.",
        "如何不再发生：查清负载从哪里来，重启只是暂时清掉它。给业务设限额，给 calico-node 设 CPU request，"
        "对负载告警；再加上 startupProbe，别把“慢”当成“死”。",
    ),
    instead=Pair(
        "Tortie's node opens its health port first and says how far it is. Slow is not dead: liveness is content, "
        "nobody kills it, and its start is over when there was time for it.",
        "Tortie 的节点最先打开健康端口，并报告启动进行到哪一步。慢不等于死：存活探测通过，没有人杀它，"
        "启动虽慢，终会完成。",
    ),
    own_flags="--nodes 3 --kubelet --hurry 10",
    settled_s=15,
    own_within_s=60.0,
    own=(Show("lab exec node-3 -- uptime"),),
)

_FAR: Final = Play(
    name="far-datastore",
    title=Pair("Incident 3: 53 nodes, and etcd on another continent", "事件 3：53 个节点，etcd 在另一个大洲"),
    story=Pair(
        "Masters and etcd are in Singapore. A new machine in the east of the United States joins as the 53rd node, "
        "and its calico-node is in a crash loop with two lines of log. The same machine in Singapore joins at once. "
        "Security groups, route limits, etcd's health: all fine.",
        "master 和 etcd 都在新加坡。美国东部的一台新机器作为第 53 个节点加入，calico-node 反复崩溃，"
        "日志只有两行。同样的机器放在新加坡，马上就能加入。安全组、路由条数、etcd 健康状况，都没有问题。",
    ),
    flags="--nodes 2 --store etcd --classic 2.6 --hurry 10",
    node="node-2",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "The new node's pod is restarted again and again. What it had to say fits in two lines.",
                "新节点的 Pod 不断重启。它的日志只有寥寥两行。",
            ),
            (
                Show(PODS, until=_RESTARTED.replace("{node}", "node-2"), within_s=60.0, awaits=_TWICE, table=True),
                Show(
                    "lab kubectl logs -n kube-system {pod} -c calico-node --previous",
                    tail=2,
                    until="Using autodetected IPv4 address",
                ),
            ),
            Pair(
                "No error. When Calico's start fails it says `Terminating`. There is no such line: it was killed.",
                "没有错误。Calico 启动失败时会打印 Terminating，这里没有，说明它是被外面杀掉的。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "Who killed it, and how much time did it have? And how many nodes are there?",
                "是谁杀了它？给了它多少时间？集群里又有多少个节点？",
            ),
            (
                Show(
                    "lab kubectl describe pod -n kube-system {pod}",
                    grep="Liveness:|Exit Code: +[1-9]|failed liveness",
                    until="Liveness probe failed",
                ),
                Show("lab exec node-2 -- tortie get nodes", tail=2, until="far-53"),
            ),
            Pair(
                "A new node asks whether anybody else has its address. Calico 2.6 reads six keys of each of 53 "
                "nodes for that, one after the other. Each answer comes from far away.",
                "新节点要先确认自己的地址没有被别人占用。为此 Calico 2.6 要对 53 个节点逐个读取 6 个键，"
                "每次都要等远方的回答。",
            ),
        ),
    ),
    why=Pair(
        "53 nodes, six reads each, 0.25 s a read: about 80 s. Liveness grants 10 s and six failures: 60 s. So it "
        "dies at host 40 of 53, every time. Old nodes are spared: only who is new, or has a new address, checks it.",
        "53 个节点，每个读 6 次，每次约 0.25 秒，共需约 80 秒。而存活探测只给 10 秒加 6 次失败，即 60 秒。"
        "于是每次都死在第 40 个主机左右。老节点不受影响：只有新节点或换了地址的节点才做这项检查。",
    ),
    prevention=Pair(
        "So that it does not come again: initialDelaySeconds 60 and failureThreshold 10 gave that node time enough; a "
        "startupProbe is better. Keep the datastore near the nodes, and watch how long a start takes.",
        "如何不再发生：当时把 initialDelaySeconds 改为 60、failureThreshold 改为 10，时间就够了；"
        "用 startupProbe 更好。让数据存储离节点近一些，并关注启动耗时的变化。",
    ),
    instead=Pair(
        "Tortie's node reads all nodes in one request, so 53 cost as much as one. And while it starts, liveness is "
        "answered: a long way is no reason to die.",
        "Tortie 的节点用一次请求读完所有节点，53 个和 1 个的代价一样；而且启动期间存活探测一直有应答："
        "路远，不该成为被杀的理由。",
    ),
    own_flags="--nodes 2 --store etcd --kubelet --hurry 10",
    own_within_s=60.0,
)

PLAYS: Final = (_OVERLOADED, _FAR)

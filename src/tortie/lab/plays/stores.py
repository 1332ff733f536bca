"""Plays of the incidents that begin with what is stored: an etcd that is not steady, and addresses of an old plugin."""

from __future__ import annotations

from typing import Final

from tortie.lab.plays.phrases import ALL_PODS, PODS, WHAT_PEOPLE_SEE, WHERE_TO_LOOK
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.words import Pair

_UNSTABLE_ETCD: Final = Play(
    name="unstable-etcd",
    title=Pair("Incident 7: etcd loses its leader, again and again", "事件 7：etcd 一次次失去 leader"),
    story=Pair(
        "In the cluster of incident 6 something else is wrong, and nobody looks at it: calico-kube-controllers turns "
        "unready now and then, controller-manager and scheduler have restarted 25 times each. It is noted down as a "
        "part of the BGP trouble. It is a fault of its own.",
        "事件 6 的集群里还有另一个毛病，却没有人去查：calico-kube-controllers 时不时变为未就绪，"
        "controller-manager 和 scheduler 各重启了二十多次。当时把它当成 BGP 问题的一部分，其实是另一个独立的故障。",
    ),
    flags="--nodes 2 --store etcd --members 3 --classic 3.9 --hurry 10",
    node="",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "calico-node is well on every node. Only calico-kube-controllers turns 0/1, comes back, and turns "
                "0/1 again.",
                "各节点的 calico-node 都正常，只有 calico-kube-controllers 变成 0/1，恢复，又变成 0/1。",
            ),
            (
                Show(
                    ALL_PODS,
                    until=r"calico-kube-controllers\S+\s+0/1",
                    within_s=60.0,
                    awaits=Pair("until calico-kube-controllers is 0/1", "等待 calico-kube-controllers 变为 0/1"),
                    table=True,
                ),
                Show(
                    "lab kubectl get events -n kube-system",
                    grep="Error verifying datastore",
                    tail=3,
                    until=r"Error verifying datastore: etcdserver: (?:request timed out|leader changed)",
                    within_s=60.0,
                    awaits=Pair("until etcd itself is named in an event", "等待事件里出现 etcd 的报错"),
                ),
            ),
            Pair(
                "`etcdserver:` is etcd speaking. It was reached, and could not answer: there was no leader. That is "
                "not the network.",
                "etcdserver: 开头的话是 etcd 自己说的。连接是通的，只是它答不上来：当时没有 leader。这不是网络问题。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "Ask etcd itself. What its members write about each other is in the log of each of them.",
                "直接去看 etcd。成员之间发生了什么，各成员自己的日志里都有。",
            ),
            (
                Show(
                    "lab logs etcd-1",
                    grep="elected leader|lost leader",
                    tail=4,
                    until="lost leader",
                    within_s=30.0,
                    awaits=Pair("until a leader is lost", "等待 leader 失联"),
                ),
                Show("lab logs etcd-1", grep="could not connect", tail=1, until="could not connect"),
            ),
            Pair(
                "One member is gone. The other two have to agree on everything, so each hiccup of the leader stops "
                "all writes until there is another one.",
                "一个成员已经不在。剩下两个必须事事一致，leader 稍有停顿，所有写入就得停下，直到选出新的 leader。",
            ),
        ),
    ),
    why=Pair(
        "etcd writes only when most members agree. Of three, one may fail; of two, none. A slow disk or a busy machine "
        "is enough for an election then, and every election shows as `leader changed` and `request timed out`.",
        "etcd 的每次写入都要多数成员同意。三个成员可以坏一个，两个则一个也坏不起。这时磁盘稍慢、机器稍忙，"
        "就会触发选举；每次选举都表现为 leader changed 和 request timed out。",
    ),
    prevention=Pair(
        "So that it does not come again: three members or five, never two; a fast disk of their own; alarms on "
        "leader changes and on the time that fsync takes.",
        "如何不再发生：成员要三个或五个，绝不要两个；给 etcd 单独的快速磁盘；对 leader 切换次数和 fsync 耗时告警。",
    ),
    instead=Pair(
        "Tortie's nodes go on as Calico's do: what they know of the cluster is on the node, and routes stay. They try "
        "again until etcd answers. The doctor keeps this apart from any BGP fault beside it.",
        "Tortie 的节点和 Calico 一样照常工作：所需信息已在本地，路由保持不变，并不断重试直到 etcd 应答。"
        "诊断程序会把它和同时存在的 BGP 故障分开报告。",
    ),
)

_STUCK_MIGRATION: Final = Play(
    name="stuck-migration",
    title=Pair("Incident 8: a migration that never ends", "事件 8：永远迁不完的地址"),
    story=Pair(
        "A cluster made by hand. New pods never get an address; calico-node stands at Init:0/3 for half an hour. "
        "Another network plugin had run on this node before, and its files were still there.",
        "一个手工搭建的集群：新建的 Pod 一直拿不到地址，calico-node 停在 Init:0/3 半个小时。"
        "这个节点以前用过别的网络插件，旧文件还留在那里。",
    ),
    flags="--nodes 3 --classic 3.11 --hurry 10",
    node="node-3",
    acts=(
        Act(
            WHAT_PEOPLE_SEE,
            Pair(
                "The pod waits for its first init container, upgrade-ipam: Running, 0 restarts, no event.",
                "Pod 在等第一个 init 容器 upgrade-ipam：Running，重启 0 次，没有任何异常事件。",
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
                "A container that is Running is not in trouble, kubelet thinks. So nothing is restarted, and nothing "
                "is reported.",
                "在 kubelet 看来，Running 的容器就没有问题，所以既不重启，也不报告。",
            ),
        ),
        Act(
            WHERE_TO_LOOK,
            Pair(
                "`kubectl logs` shows the main container, which has not begun. Ask for the init container by its name.",
                "kubectl logs 默认显示主容器，而主容器还没启动。要用 -c 指定 init 容器。",
            ),
            (
                Show(
                    "lab kubectl logs -n kube-system {pod} -c upgrade-ipam",
                    tail=3,
                    until=r"failed to migrate ipam, retrying\.\.\.",
                    awaits=Pair("until it has tried once", "等待它尝试一次"),
                ),
            ),
            Pair(
                "It tries again every second, and would do so for ever. This line is what tells incident 8 from "
                "incident 4, where the log ends with `complete`.",
                "它每秒重试一次，永不结束。正是这一行把事件 8 和事件 4 区分开：事件 4 的日志以 complete 结尾。",
            ),
        ),
    ),
    why=Pair(
        "Files of host-local in /var/lib/cni/networks make Calico believe that addresses are to be taken over. They "
        "cannot be: the node has no podCIDR, or one outside of the pool. It does not give up, and it does not go on.",
        "/var/lib/cni/networks 里 host-local 的旧文件，让 Calico 以为有地址需要迁移。但迁移做不成："
        "节点没有 podCIDR，或者不在地址池内。它既不放弃，也不继续。",
    ),
    prevention=Pair(
        "When nothing uses host-local any more, remove the folder and delete the pod. So that it does not come again: "
        "clean up the state of the old plugin before changing it; look at the init container's log first.",
        "如果已经没有程序使用 host-local，删掉该目录并删除 Pod 即可。如何不再发生：更换网络插件之前先清理旧状态；"
        "遇到 Init 卡住，先看 init 容器的日志。",
    ),
    instead=Pair(
        "Tortie's upgrade-ipam decides for each address: who uses it takes it along, what nobody uses stays behind. It "
        "names what it leaves out and why, keeps the old files, and ends. So the node starts.",
        "Tortie 的 upgrade-ipam 逐个地址判断：有 Pod 在用的就接管，没人用的就留下；并说明哪些没有接管、为什么，"
        "旧文件也保留着，然后结束。节点于是正常启动。",
    ),
    own_flags="--nodes 3 --kubelet --hurry 10",
    own=(Show("lab kubectl logs -n kube-system {pod} -c upgrade-ipam", tail=4),),
)

PLAYS: Final = (_UNSTABLE_ETCD, _STUCK_MIGRATION)

"""What can go wrong when a lab is broken on purpose and healed; part of the catalogue in `tortie.lab.failures`."""

from __future__ import annotations

from typing import Final

from tortie.lab.words import Kind, Pair, Told

# What a lab has to have for a fault, and the flags that give it.
NEEDS: Final[dict[str, tuple[Pair, str]]] = {
    "kubelet": (Pair("nodes that run as pods", "以 pod 方式运行的节点"), "--kubelet"),
    "etcd": (Pair("a store that is reached over the network", "通过网络访问的数据存储"), "--store etcd"),
    "three-members": (Pair("an etcd of three members", "三个成员的 etcd"), "--store etcd --members 3"),
    "tls": (Pair("an etcd with certificates", "使用证书的 etcd"), "--store etcd --tls"),
    "vxlan": (
        Pair("pods that reach each other through VXLAN", "通过 VXLAN 互通的 pod"),
        "-f examples/lab/vxlan-racks.yaml",
    ),
    "two-nodes": (Pair("two nodes", "两个节点"), "--nodes 2"),
    "three-nodes": (Pair("three nodes", "三个节点"), "--nodes 3"),
    "bgp": (Pair("nodes that speak BGP", "使用 BGP 的节点"), "--nodes 3"),
    "cpu-limit": (
        Pair("control groups for CPU, which this machine does not let us make", "CPU 控制组，而本机不允许创建"),
        "",
    ),
}


def _given(flags: str, separator: str) -> str:
    """More nodes join a lab that is there; all else is decided when it comes up."""
    raised = f"tortie lab up --name {{lab}} {flags}" if flags else ""
    return raised if not flags or flags.startswith("--nodes") else f"tortie lab down --name {{lab}}{separator}{raised}"


FAULT_FAILURES: Final[dict[str, Kind]] = {
    "unknown-fault": Kind(
        2,
        Told("there is no fault '{fault}'", "no name is like it", "`tortie lab faults` lists them all"),
        Told("没有名为“{fault}”的故障", "也没有相近的名称", "`tortie lab faults` 可列出全部"),
    ),
    "misspelt-fault": Kind(
        2,
        Told("there is no fault '{fault}'", "did you mean {guess}?", "`tortie lab faults` lists them all"),
        Told("没有名为“{fault}”的故障", "是否指 {guess}？", "`tortie lab faults` 可列出全部"),
    ),
    "unknown-decoy": Kind(
        2,
        Told("there is no decoy '{decoy}'", "there are {decoys}", "use one of these names"),
        Told("没有名为“{decoy}”的干扰项", "现有：{decoys}", "使用其中之一"),
    ),
    "no-fault": Kind(
        2,
        Told(
            "no fault was named", "nothing is broken by chance", "tortie lab break NAME; `tortie lab faults` lists them"
        ),
        Told("没有指定故障", "不会随意破坏", "tortie lab break 名称；`tortie lab faults` 可列出全部"),
    ),
    "file-and-faults": Kind(
        2,
        Told("both a scenario file and {what} were given", "the file says it all", "leave one of them out"),
        Told("同时给出了场景文件和 {what}", "文件已说明全部内容", "去掉其中之一"),
    ),
    "fault-unknown-node": Kind(
        2,
        Told("the lab {lab} has no node '{node}'", "it has {nodes}", "use one of these names: --node {first}"),
        Told("实验环境 {lab} 中没有节点“{node}”", "现有：{nodes}", "使用其中之一：--node {first}"),
    ),
    "fault-everywhere": Kind(
        2,
        Told("{fault} strikes the whole cluster", "a node makes no difference to it", "leave out --node {node}"),
        Told("{fault} 影响整个集群", "与具体节点无关", "去掉 --node {node}"),
    ),
    "fault-active": Kind(
        2,
        Told(
            "{fault} is there already",
            "it was brought about before, and has not been healed",
            "tortie lab heal --name {lab} {name}",
        ),
        Told("{fault} 已经存在", "之前已注入，尚未恢复", "tortie lab heal --name {lab} {name}"),
    ),
    "fault-collides": Kind(
        2,
        Told(
            "{fault} and {other} cannot be there together",
            "both change {what}, and how it was before could not be told",
            "heal one first: tortie lab heal --name {lab} {other_name}",
        ),
        Told(
            "{fault} 与 {other} 不能同时存在",
            "两者都会改动 {what}，将无法得知原状",
            "先恢复其一：tortie lab heal --name {lab} {other_name}",
        ),
    ),
    "no-free-address": Kind(
        2,
        Told(
            "there is no free address for {node}",
            "all addresses of {network} are taken",
            "take another fault, or give its network a larger `cidr` in the file that the lab is made from",
        ),
        Told(
            "{node} 没有可用的空闲地址",
            "{network} 中的地址均已占用",
            "选择其他故障，或在实验环境的定义文件中为该网络设置更大的 `cidr`",
        ),
    ),
    "nobody-left": Kind(
        2,
        Told(
            "no node is left for {fault}",
            "every node has it already",
            "tortie lab heal --name {lab} {fault}",
        ),
        Told("没有节点可供注入 {fault}", "每个节点都已有此故障", "tortie lab heal --name {lab} {fault}"),
    ),
    "deed-refused": Kind(
        2,
        Told("not done: {deed}", "{why}", "nothing was changed; look at the lab: tortie lab status"),
        Told("未执行：{deed}", "{why}", "没有做任何改动；查看实验环境：tortie lab status"),
    ),
    "deed-failed": Kind(
        1,
        Told("a part of the fault could not be done", "{what}", "`tortie lab heal` undoes whatever is left of it"),
        Told("故障的一部分无法执行", "{what}", "`tortie lab heal` 可撤销残留部分"),
    ),
    "inside-slow": Kind(
        1,
        Told("{machine} takes too long", "what was to be done there is not done after {seconds} s", "try again"),
        Told("{machine} 耗时过长", "{seconds} 秒后仍未完成", "请重试"),
    ),
    "inside-ended": Kind(
        1,
        Told("a process in {machine} ended unexpectedly", "it said nothing", "look at dmesg"),
        Told("{machine} 中的进程意外结束", "没有任何输出", "查看 dmesg"),
    ),
    "ledger-damaged": Kind(
        1,
        Told(
            "what is broken in the lab {name} cannot be read",
            "{path}: {reason}",
            "take the lab down and up again: tortie lab down --name {name}",
        ),
        Told("无法读取实验环境 {name} 的故障记录", "{path}：{reason}", "拆除后重建：tortie lab down --name {name}"),
    ),
    "not-broken": Kind(
        2,
        Told(
            "{fault} is not there", "what is broken now: {active}", "`tortie lab heal` without a name heals everything"
        ),
        Told("没有故障 {fault}", "目前的故障：{active}", "不带名称的 `tortie lab heal` 会恢复全部"),
    ),
    "heal-remains": Kind(
        1,
        Told(
            "the lab {name} is not as it was",
            "{what}",
            "`tortie lab heal --name {name}` tries again; `tortie lab down` and `up` make everything anew",
        ),
        Told(
            "实验环境 {name} 未恢复原状",
            "{what}",
            "`tortie lab heal --name {name}` 可重试；`tortie lab down` 和 `up` 可全部重建",
        ),
    ),
    "heal-not-ready": Kind(
        3,
        Told(
            "everything is undone, but the lab {name} is not as ready as before after {seconds} s",
            "{what}",
            "tortie lab status --name {name}; a larger --timeout waits for it",
        ),
        Told(
            "已全部撤销，但实验环境 {name} 在 {seconds} 秒后仍未恢复就绪",
            "{what}",
            "tortie lab status --name {name}；可用更大的 --timeout 等待",
        ),
    ),
    "bad-helper": Kind(
        2,
        Told("'{words}' is nothing that a helper of faults does", "it does {known}", "this is used by faults only"),
        Told("“{words}”不是故障辅助进程的功能", "支持：{known}", "此命令仅供故障使用"),
    ),
} | {
    f"needs-{need}": Kind(
        2,
        Told(
            "{fault} needs " + what.en, "the lab {lab} does not have that", _given(flags, "; ") or "run the lab as root"
        ),
        Told("{fault} 需要" + what.zh, "实验环境 {lab} 不具备", _given(flags, "；") or "以 root 运行实验环境"),
    )
    for need, (what, flags) in NEEDS.items()
}

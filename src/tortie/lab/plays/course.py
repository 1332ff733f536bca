"""The course that all plays take, around what is special about one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.lab.faults.fault import Fault
from tortie.lab.plays.phrases import ALL_PODS, PODS
from tortie.lab.plays.play import Act, Play, Show
from tortie.lab.words import Pair

_ALL_READY = r"(?s)\A(?!.*\s0/1\s).*\s1/1\s"
_READY = Pair("until every pod is 1/1", "等待所有 Pod 变为 1/1")
_DOCTOR_LINES = 26
_PART_LINES = 7
_JUDGED_S = 60.0


def course(play: Play, fault: Fault) -> Iterator[Act]:
    yield _well(play)
    yield _breaks(play)
    yield from play.acts
    yield _doctor(play, fault)
    yield _healed(play)
    if play.own_flags:
        yield _spared(play)


def pod_is_fine(node: str, age_s: int) -> str:
    """Matches `get pods -o wide` when the pod of a node is ready, was never restarted, and is at least so old."""
    ages = "|".join((*_seconds_from(age_s), r"\d+m\S*"))
    return rf"(?m)\s1/1\s+Running\s+0\s+(?:{ages})\s+\S+\s+{node}\s"


def _seconds_from(least: int) -> Iterator[str]:
    """Alternatives for numbers of two or three digits that are not smaller; `kubectl` counts seconds up to 120."""
    tens, ones = divmod(least, 10)
    yield rf"{tens or ''}[{ones}-9]s"
    if tens < 9:
        yield rf"[{tens + 1}-9]\ds"
    yield r"1\d\ds"


def _on(play: Play) -> str:
    return f" --node {play.node}" if play.node else ""


def _well(play: Play) -> Act:
    return Act(
        Pair("A cluster that is well", "一切正常的集群"),
        Pair(
            "A lab of its own on this machine. Each node is a network namespace with a real BIRD, and its programs "
            "run as pods under a small kubelet whose clock ticks ten times as fast.",
            "在本机搭建一个独立的实验环境。每个节点是一个网络命名空间，运行真实的 BIRD；节点上的程序以 Pod "
            "形式由一个小型 kubelet 管理，其时钟快十倍。",
        ),
        (
            Show(f"lab up {play.flags}", code=0),
            Show(ALL_PODS, until=_ALL_READY, awaits=_READY, table=True),
        ),
    )


def _breaks(play: Play) -> Act:
    return Act(
        Pair("It breaks", "故障发生"),
        Pair(
            "What happened in that cluster is now done to this one, by real means.",
            "当时集群里发生的事，现在用真实的手段在这里重现。",
        ),
        (Show(f"lab break {play.name}{_on(play)}", code=0),),
    )


def _doctor(play: Play, fault: Fault) -> Act:
    return Act(
        Pair("The doctor", "诊断"),
        Pair(
            "The doctor collects what a careful person would collect from every node, and reads it. Nobody has told "
            "it what was broken.",
            "诊断程序像细心的运维人员那样从每个节点收集证据，然后判读。没有人告诉它注入了什么故障。",
        ),
        (
            Show(
                "doctor --lab",
                until=rf"\A\S.*{fault.code}",
                within_s=_JUDGED_S,
                awaits=Pair("until the evidence is enough for the doctor", "等待证据足以作出诊断"),
                code=3,
                most=_DOCTOR_LINES,
                of_each_part=_PART_LINES,
            ),
        ),
        play.why,
    )


def _healed(play: Play) -> Act:
    return Act(
        Pair("Healed", "恢复"),
        Pair(
            "`heal` undoes what was done, compares every machine with how it was before, and waits until all nodes "
            "are as ready as they were. Then the doctor is asked once more.",
            "heal 撤销所做的一切，把每台机器与故障前逐项比较，并等到各节点恢复原来的就绪状态。然后再问一次诊断程序。",
        ),
        (
            Show("lab heal", code=0),
            Show(ALL_PODS, until=_ALL_READY, awaits=_READY, table=True),
            Show(
                "doctor --lab",
                until=r"\A(?:HEALTHY|健康)",
                within_s=_JUDGED_S,
                awaits=Pair("until the doctor finds nothing any more", "等待诊断程序不再发现问题"),
                code=0,
                head=1,
            ),
        ),
        play.prevention if play.own_flags else _both(play.prevention, play.instead),
    )


def _both(first: Pair, second: Pair) -> Pair:
    return Pair(f"{first.en}\n{second.en}", f"{first.zh}\n{second.zh}")


def _spared(play: Play) -> Act:
    return Act(
        Pair("The same, with Tortie's own node", "同样的故障，换成 Tortie 自己的节点"),
        Pair(
            "Up to here the nodes started as Calico does. Now the same fault meets nodes that start as Tortie's own.",
            "到此为止，节点都按 Calico 的方式启动。现在让同样的故障发生在 Tortie 自己的节点上。",
        ),
        (
            Show("lab down", code=0),
            Show(f"lab up {play.own_flags}", code=0),
            Show(f"lab break {play.name}{_on(play)}", code=0, head=1),
            Show(
                PODS,
                until=pod_is_fine(play.node, play.settled_s),
                within_s=play.own_within_s,
                awaits=Pair(
                    f"until the new pod on {play.node} has lasted {play.settled_s} s",
                    f"等待 {play.node} 上的新 Pod 运行满 {play.settled_s} 秒",
                ),
                table=True,
            ),
            *play.own,
        ),
        play.instead,
    )

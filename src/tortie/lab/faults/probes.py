"""Faults that probes die of: the health port in other hands, `localhost` elsewhere, a loopback that is down."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import CoverFile, Deed, RestartNode, RunHelper, SetLink
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.words import Pair


def _port_taken(scene: Scene) -> tuple[Deed, ...]:
    return (
        RunHelper(scene.node.name, "port-9099", ("listen", "9099", "::", "node_exporter")),
        RestartNode(scene.node.name),
    )


def _localhost_elsewhere(scene: Scene) -> tuple[Deed, ...]:
    # A name service that knows every name, here as the line that it comes to.
    text = f"{scene.plan.router.address} localhost localhost.localdomain\n{scene.node.address} {scene.node.name}\n"
    return (CoverFile(scene.node.name, "/etc/hosts", text), RestartNode(scene.node.name))


def _loopback_down(scene: Scene) -> tuple[Deed, ...]:
    return (SetLink(scene.node.name, "lo", up=False),)


FAULTS: Final = (
    Fault(
        name="port-9099-taken",
        cause="port-9099-conflict",
        code="TRT3006",
        summary=Pair("another program on the node takes the health port 9099", "节点上另一个程序占用健康端口 9099"),
        shows=Pair(
            "Probes ask the wrong program and get 404; liveness kills an agent that works, again and again, in both "
            "modes.",
            "探测问到别的程序，得到 404；存活探测反复杀掉正常的 calico-node，两种模式皆然。",
        ),
        plan=_port_taken,
        needs=("kubelet",),
    ),
    Fault(
        name="localhost-elsewhere",
        cause="localhost-misresolved",
        code="TRT3007",
        summary=Pair("`localhost` resolves to another machine on the node", "节点上 `localhost` 被解析到另一台机器"),
        shows=Pair(
            "Felix cannot open its health port: `bind: cannot assign requested address`, and liveness kills it. Tortie "
            "and its probes use 127.0.0.1 itself.",
            "Felix 无法监听健康端口：`bind: cannot assign requested address`，并被存活探测杀掉。"
            "Tortie 及其探测直接使用 127.0.0.1。",
        ),
        plan=_localhost_elsewhere,
        needs=("kubelet",),
        spared=True,
    ),
    Fault(
        name="loopback-down",
        cause="loopback-down",
        code="TRT3008",
        summary=Pair("the node's loopback link goes down", "节点的回环接口被停用"),
        shows=Pair(
            "Nothing reaches 127.0.0.1: probes fail although the agent works and BGP stands, and liveness kills it, in "
            "both modes.",
            "127.0.0.1 不可达：calico-node 正常、BGP 也在，探测却失败，并被存活探测杀掉，两种模式皆然。",
        ),
        plan=_loopback_down,
        needs=("kubelet",),
    ),
)

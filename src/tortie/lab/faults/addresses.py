"""Faults of a node's address: the wrong one, none, another's, an old one."""

from __future__ import annotations

from typing import Final

from tortie.lab.faults.deeds import (
    AddAddress,
    AddBridge,
    AddNic,
    Deed,
    PutResource,
    RemoveAddress,
    RemoveResource,
    RestartNode,
    SendSignal,
    SetVariable,
)
from tortie.lab.faults.fault import Fault, Scene
from tortie.lab.faults.places import docker_bridge, free_address, in_its_network, own_address, uplink
from tortie.lab.words import Pair

METHOD: Final = "IP_AUTODETECTION_METHOD"
# What docker gives to the first network that somebody makes; docker0 itself has 172.17.0.1.
DOCKER: Final = "172.18.0.1/16"
SECOND_NIC: Final = "10.0.0.66/24"


def _docker_bridge(scene: Scene) -> tuple[Deed, ...]:
    name, mac = docker_bridge(scene)
    return (AddBridge(scene.node.name, name, DOCKER, mac), RestartNode(scene.node.name))


def _second_nic(scene: Scene) -> tuple[Deed, ...]:
    return (AddNic(scene.node.name, "eth1", SECOND_NIC), RestartNode(scene.node.name))


def _duplicate_address(scene: Scene) -> tuple[Deed, ...]:
    # The machine was cloned together with its network's configuration: the address of its own is gone.
    node, twin = scene.node, scene.others[0]
    nic = uplink(node).name
    return (
        SetVariable(node.name, "IP", "autodetect"),
        RemoveAddress(node.name, nic, str(own_address(node))),
        AddAddress(node.name, nic, in_its_network(node, twin.address)),
        RestartNode(node.name),
    )


def _renamed_node(scene: Scene) -> tuple[Deed, ...]:
    # The machine was called otherwise before; nobody removed what was recorded under that name.
    node = scene.node
    before = f"{node.name}-before"
    record: dict[str, object] = {
        "apiVersion": "projectcalico.org/v3",
        "kind": "Node",
        "metadata": {"name": before},
        "spec": {"bgp": {"ipv4Address": str(own_address(node))}},
    }
    return (
        SetVariable(node.name, "IP", "autodetect"),
        PutResource(record),  # first: an agent that runs writes its record again at once if nobody else has its address
        RemoveResource("Node", node.name),
        RestartNode(node.name),
    )


def _address_changed(scene: Scene) -> tuple[Deed, ...]:
    # A new lease; the manifest still has the old address.
    node, nic = scene.node, uplink(scene.node).name
    return (
        SetVariable(node.name, "IP", str(node.address)),
        RemoveAddress(node.name, nic, str(own_address(node))),
        AddAddress(node.name, nic, free_address(scene)),
        RestartNode(node.name),
    )


def _no_address(scene: Scene) -> tuple[Deed, ...]:
    # As on a machine that joins: with a stored address some releases would go on with that one.
    node = scene.node
    return (
        SetVariable(node.name, "IP", "autodetect"),
        SetVariable(node.name, METHOD, "interface=ens.*"),
        SendSignal(node.name, "agent", "STOP", undo="CONT"),  # it would write its record again
        RemoveResource("Node", node.name),
        RestartNode(node.name),
    )


def _wrong_method(scene: Scene) -> tuple[Deed, ...]:
    node = scene.node
    return (
        SetVariable(node.name, "IP", "autodetect"),
        SetVariable(node.name, METHOD, uplink(node).name),
        RestartNode(node.name),
    )


FAULTS: Final = (
    Fault(
        name="docker-bridge",
        cause="autodetect-wrong-interface",
        code="TRT1001",
        summary=Pair(
            "a docker network's bridge appears, then the node restarts", "出现 docker 自建网络的网桥，随后节点重启"
        ),
        shows=Pair(
            "Calico up to 3.24 registers 172.18.0.1, and the peers say `BGP not established with 172.18.0.1`; later "
            "releases skip br-*. Tortie keeps the node's own address.",
            "Calico 3.24 及以前会注册 172.18.0.1，对端报 `BGP not established with 172.18.0.1`；之后的版本跳过 br-*。"
            "Tortie 仍使用节点自己的地址。",
        ),
        plan=_docker_bridge,
        needs=("two-nodes", "bgp"),
        spared=True,
        incident=2,
    ),
    Fault(
        name="second-nic",
        cause="autodetect-wrong-interface",
        code="TRT1001",
        summary=Pair("a second NIC with 10.0.0.66, then the node restarts", "加装第二块网卡 10.0.0.66，随后节点重启"),
        shows=Pair(
            "Every Calico registers 10.0.0.66, the NIC that came last, and BGP with that node is down. Tortie keeps "
            "the address that the other nodes reach.",
            "任何版本的 Calico 都会注册最后出现的网卡地址 10.0.0.66，与该节点的 BGP 中断。"
            "Tortie 仍使用其他节点能到达的地址。",
        ),
        plan=_second_nic,
        needs=("two-nodes", "bgp"),
        spared=True,
        incident=6,
    ),
    Fault(
        name="duplicate-address",
        cause="duplicate-node-ip",
        code="TRT1005",
        summary=Pair("the node comes up with another node's address", "节点启动时使用了另一个节点的地址"),
        shows=Pair(
            "Two machines have one address: `Calico node '...' is already using the IPv4 address`; Calico "
            "terminates and starts again, Tortie waits and says who has it.",
            "两台机器同一地址：`Calico node '...' is already using the IPv4 address`；Calico 退出并反复重启，"
            "Tortie 等待并指出占用者。",
        ),
        plan=_duplicate_address,
        needs=("two-nodes", "kubelet"),
    ),
    Fault(
        name="renamed-node",
        cause="stale-node-entry",
        code="TRT1006",
        summary=Pair("the record of the node's old name still has its address", "旧节点名的记录仍占用该节点地址"),
        shows=Pair(
            "Start-up ends with `already using the IPv4 address`, and the name in it is no node of kubectl get nodes; "
            "Tortie waits and names the record.",
            "启动因 `already using the IPv4 address` 结束，其中的名字不在 kubectl get nodes 里；"
            "Tortie 等待并指出该记录。",
        ),
        plan=_renamed_node,
        needs=("kubelet",),
    ),
    Fault(
        name="address-changed",
        cause="node-ip-changed",
        code="TRT1004",
        summary=Pair("the node has a new address, its settings the old one", "节点换了地址，配置里仍是旧地址"),
        shows=Pair(
            "`Unable to confirm IPv4 address ... is assigned to this host`; BIRD cannot bind the address it is "
            "told, and all sessions of the node are down, in both modes.",
            "`Unable to confirm IPv4 address ... is assigned to this host`；BIRD 无法绑定所配地址，"
            "该节点的会话全部中断，两种模式皆然。",
        ),
        plan=_address_changed,
        needs=("two-nodes", "bgp"),
    ),
    Fault(
        name="no-address",
        cause="no-ip-found",
        code="TRT1002",
        summary=Pair("the autodetection pattern matches no link of the node", "自动探测的正则匹配不到任何网卡"),
        shows=Pair(
            "Calico ends at once: `Couldn't autodetect an IPv4 address`, CrashLoopBackOff. Tortie runs, is not "
            "ready, and says which pattern matches nothing.",
            "Calico 立即退出：`Couldn't autodetect an IPv4 address`，CrashLoopBackOff。Tortie 运行但未就绪，"
            "并指出没有匹配的正则。",
        ),
        plan=_no_address,
    ),
    Fault(
        name="wrong-method",
        cause="autodetect-method-invalid",
        code="TRT1003",
        summary=Pair("IP_AUTODETECTION_METHOD is a bare link's name", "IP_AUTODETECTION_METHOD 只写了网卡名"),
        shows=Pair(
            "Calico: `Invalid IP autodetection method: eth0`, Terminating, CrashLoopBackOff. Tortie does not start "
            "either and prints the right form.",
            "Calico：`Invalid IP autodetection method: eth0`，Terminating，CrashLoopBackOff。"
            "Tortie 同样不启动，并给出正确写法。",
        ),
        plan=_wrong_method,
    ),
)
